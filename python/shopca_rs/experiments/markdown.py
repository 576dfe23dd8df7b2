"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""Write a table.

    Parameters
    ----------
    head : sequence of str
        Titles of the columns.
    rows : sequence of sequence of str
        The cells, equally many in each row.

    Returns
    -------
    str
        Its lines.

    Examples
    --------
    >>> print(table(["a", "b"], [["1", "2|3"]]))
    | a | b |
    | --- | --- |
    | 1 | 2\|3 |
    """

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(head), line(["---"] * len(head)), *(line(row) for row in rows)])
