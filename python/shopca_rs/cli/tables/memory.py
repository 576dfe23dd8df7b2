"""How much memory a table may take."""

from __future__ import annotations

from pathlib import Path

from ... import machine

_GIB = 2.0**30


def available() -> int:
    """Return how many bytes of memory this process can still get without swapping.

    Returns
    -------
    size : int
        What Linux calls available, at most the limit of the container; elsewhere all of the machine's.
    """
    sizes = [machine.memory()]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        sizes += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        # Another system.
        pass
    return min(sizes)


def check_fits(size: int, file: str, limit: int | None = None) -> None:
    """Reject a table that does not fit in memory.

    Parameters
    ----------
    size : int
        Its size in bytes.
    file : str
        Its name.
    limit : int, optional
        Available bytes; `available()` by default.

    Raises
    ------
    ValueError
        With one sentence that says what to do.

    Examples
    --------
    >>> check_fits(8 * 2**30, "big.npy", limit=2**30)
    Traceback (most recent call last):
        ...
    ValueError: big.npy must fit in memory, but takes at least 8 GiB of the 1 GiB available. Give fewer
    rows or columns.
    """
    limit = available() if limit is None else limit
    if size > limit:
        raise ValueError(
            f"{file} must fit in memory, but takes at least {size / _GIB:.2g} GiB of the "
            f"{limit / _GIB:.2g} GiB available. Give fewer rows or columns."
        )
