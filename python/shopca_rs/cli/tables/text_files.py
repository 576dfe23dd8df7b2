"""CSV and TSV → columns. pandas reads them; problems that it would ignore are checked here."""

from __future__ import annotations

import io
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from .columns import Column, Contents, as_column, as_labels, as_text, check_label
from .memory import available, check_fits
from .number_columns import Cells, candidates, evidence, numbers
from .numerals import Signs
from .text_format import MISSING, TextFormat, detect, undecodable, zero_byte

_SAMPLE_BYTES = 2**18
_LONGEST_LINE = 2**26
# Bytes that pandas needs for a cell besides its text: two offsets and the number.
_BYTES_PER_CELL = 24
_PART = 32


@dataclass(frozen=True)
class TextOptions:
    r"""What is known about a text table before it is read; None for what is to be detected.

    Attributes
    ----------
    separator : str, optional
        One character or the name of one.
    encoding : str, optional
        As `codecs` names it.
    header : bool, optional
        Whether the first row holds names.
    decimal : {".", ","}, optional
        The decimal sign.
    thousands : {",", ".", "'", " ", ""}, optional
        The thousands separator; "" for none.
    """

    separator: str | None = None
    encoding: str | None = None
    header: bool | None = None
    decimal: str | None = None
    thousands: str | None = None

    @property
    def signs(self) -> Signs | None:
        """How numbers are written, if that is known."""
        if self.decimal is not None and self.decimal == self.thousands:
            raise ValueError(
                f"The decimal sign and the thousands separator must differ, got {self.decimal} for both."
            )
        implied = {",": ".", ".": ","}.get(self.thousands or "")
        decimal = self.decimal or implied
        return None if decimal is None else Signs(decimal, self.thousands)


def read_text(
    handle: BinaryIO,
    file: str,
    options: TextOptions,
    *,
    label: str | None = None,
    drop: Collection[str] = (),
    usual: str = ",",
) -> Contents:
    """Read a text table.

    Parameters
    ----------
    handle : binary file
        Open and seekable.
    file : str
        Its name, for error messages.
    options : TextOptions
        What is known.
    label : str, optional
        The column of labels.
    drop : collection of str, default=()
        Columns that are not read as numbers.
    usual : str, default=","
        The separator that the extension implies.

    Returns
    -------
    contents : Contents
        Its columns.

    Raises
    ------
    OSError, ValueError, ImportError
        With one sentence that says what to do.
    """
    told = options.signs
    aside = {label, *drop}
    sample = handle.read(_SAMPLE_BYTES)
    sample += handle.readline(_LONGEST_LINE)
    form = detect(
        sample,
        file,
        separator=options.separator,
        encoding=options.encoding,
        header=options.header,
        usual=usual,
        thousands=options.thousands,
        aside=aside,
    )
    check_label(label, form.names, file)
    guess = told.decimal if told else form.evidence.decimal(form.separator) or "."
    frame = _parsed(handle, file, form, guess, label)
    n_rows = len(frame)
    labels = None if label is None else as_labels(as_text(frame[label]))
    columns, cells = _sorted(frame, label, aside)
    seen = evidence(cells.values(), options.thousands)
    found = form.evidence | seen
    decimal = told.decimal if told else found.decimal(form.separator)
    if decimal != guess:
        # A number under one sign is text under the other: both readings together show all cells.
        other = "," if guess == "." else "."
        columns_then, cells_then = _sorted(_parsed(handle, file, form, other, label), label, aside)
        found = seen | evidence(cells_then.values(), options.thousands)
        decimal = found.decimal(form.separator)
        if decimal == other:
            columns, cells = columns_then, cells_then
    if decimal is None:
        raise found.refusal(file)
    certain = [column for column in columns if column.kind == "numbers" and column.name not in aside]
    odd = [column.name for column in certain if np.isinf(column.values).any()]
    if odd:
        # Infinity is either written as such, or a number beyond float64.
        frame = _parsed(handle, file, form, decimal, label, odd)
        cells |= candidates(Column(name, "text", as_text(frame[name])) for name in odd)
    read, notes = numbers(
        [cells.get(column.name, column) for column in columns],
        Signs(decimal, options.thousands),
        file,
        guessed=None if told else found,
    )
    doubt = not told and decimal == "." and form.separator != "," and found.perhaps_point and not found.point
    if doubt and (fractions := _thousandths(certain)):
        text = _parsed(handle, file, form, decimal, label, fractions)
        written = candidates(Column(name, "text", as_text(text[name])) for name in fractions)
        if not evidence(written.values(), options.thousands).point:
            notes.append(
                f"Decimal signs are points. If they mark thousands, as they may in {found.perhaps_point}, "
                "give --thousands point."
            )
    return Contents(read, n_rows, labels, form.notes + notes)


def _sorted(
    frame: Any, label: str | None, aside: Collection[str | None]
) -> tuple[list[Column], dict[str, Cells]]:
    """Return all columns but the label, and the cells of those that may turn out to be numbers."""
    columns = [as_column(name, frame[name]) for name in frame if name != label]
    return columns, candidates(columns, aside)


def _thousandths(columns: list[Column]) -> list[str]:
    """Name the columns with fractions, if all fractions may be thousands separated by a point."""
    names = []
    for column in columns:
        size = np.abs(column.values[column.values % 1 > 0])
        if (size < 1).any() or (size > 1000).any() or (np.abs(size * 1000 % 1 - 0.5) < 0.49).any():
            return []
        names += [column.name] if size.size else []
    return names


class _Checked(io.TextIOWrapper):
    """Text that rejects zero bytes and more than fits in memory, and remembers why a read failed."""

    def __init__(self, handle: BinaryIO, file: str, form: TextFormat) -> None:
        super().__init__(handle, encoding=form.encoding, newline="")
        self.file, self.separator = file, form.separator
        self.needed, self.limit = 0, available()
        self.fault: Exception | None = None

    def read(self, size: int | None = -1, /) -> str:
        """Read as `io.TextIOWrapper` does."""
        try:
            text = super().read(size)
            if "\0" in text:
                raise ValueError(zero_byte(self.file))
            # A few lines of each chunk tell how many cells it has.
            part = text[: len(text) // _PART + 1]
            cells = _PART * (part.count(self.separator) + part.count("\n"))
            self.needed += len(text) + _BYTES_PER_CELL * cells
            check_fits(self.needed, self.file, self.limit)
        except Exception as error:
            self.fault = error
            raise
        return text


def _parsed(
    handle: BinaryIO,
    file: str,
    form: TextFormat,
    decimal: str,
    label: str | None,
    as_text: Collection[str] = (),
) -> Any:
    """Let pandas read the table, the labels and some other columns as text."""
    pandas = _pandas()
    # From 3.1 on, pandas reads floats exactly by default and warns if asked to.
    old = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)
    handle.seek(0)
    text = _Checked(handle, file, form)
    with warnings.catch_warnings():
        # These warnings of pandas mean a loss of data.
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            return pandas.read_csv(
                text,
                sep=r"\s+" if form.separator == " " else form.separator,
                decimal=decimal,
                header=0 if form.header else None,
                names=form.names,
                index_col=False,
                skipinitialspace=True,
                low_memory=False,
                float_precision="round_trip" if old else None,
                dtype={name: str for name in form.names if name in as_text or name == label},
                # A label may well be called "None".
                na_values={name: [""] if name == label else MISSING for name in form.names},
                keep_default_na=False,
            )
        except Exception as error:
            raise _explained(text.fault or error, file, form, pandas) from None
        finally:
            text.detach()


def _explained(error: Exception, file: str, form: TextFormat, pandas: Any) -> Exception:
    """Translate an error of pandas or of the codec into a message that says what to do."""
    if isinstance(error, UnicodeError):
        return ValueError(undecodable(file, form.encoding, error))
    if isinstance(error, pandas.errors.ParserWarning):
        return ValueError(
            f"{file} must have rows of one length, got {len(form.names)} cells in the first row and "
            "more in others. Check the separator and the header."
        )
    if isinstance(error, pandas.errors.ParserError):
        reason = (
            " ".join(str(error).split()).split("C error: ")[-1].replace("Expected", "expected").rstrip(".")
        )
        if reason == "out of memory":
            return MemoryError()
        return ValueError(
            f"{file} must have rows of one length and closed quotes: "
            f"{reason.replace('Expected', 'expected')}. Check that line and the separator."
        )
    return error


def _pandas() -> Any:
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(
            "Reading text tables needs pandas, which cannot be imported. "
            'Install it with pip install "shopca-rs[cli]".'
        ) from error
    return pandas
