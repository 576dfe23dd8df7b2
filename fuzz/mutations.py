"""Valid tables as bytes, and ways to break them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re

import numpy as np
import pandas as pd

from .clouds import choose

TOKENS = (
    *("", " ", "nan", "NA", "inf", "-inf", "1e999", "-1e400", "1e-400", "1e308", "1e200", "1e-320", "0x1F"),
    *("1_000", "1,5", "1.2.3", "--1", "+", "-", ".", "١٢", "½", "∞", "true", "None", "2024-01-01", "#", "'"),
    *(
        '"',
        '""',
        '"a',
        'a"b',
        "a\nb",
        '"a\nb"',
        "\r",
        "\0",
        "\t",
        ";",
        ",",
        ",,,",
        "\ufeff",
        "\u2028",
        "é",
        "💥",
    ),
    *(
        "9" * 400,
        "1" + "0" * 30,
        "x" * 3000,
        "=1+1",
        "\x1b[31m",
        "NaN(1)",
        "1e",
        "e5",
        "1E+05",
        "9223372036854775808",
    ),
)
DESCRIPTIONS = (
    *(
        "'|O'",
        "'<U5'",
        "'<c16'",
        "'<M8[s]'",
        "'|V8'",
        "'>f4'",
        "'<f2'",
        "'|b1'",
        "'<i8'",
        "'<u1'",
        "'|S3'",
        "'<f16'",
    ),
    *(
        "[('a', '<f8')]",
        "[('a', '<f8'), ('b', '|O')]",
        "'abc'",
        "''",
        "None",
        "1",
        "'<f8",
        "[]",
        "('<f8', (2,))",
    ),
)
SHAPES = ("()", "(0,)", "(0, 3)", "(3, 0)", "(-1, 3)", "(2, 2, 2)", "(10**9, 10**9)", "(1000000000000, 4)")
SHAPES += (
    "(True, 4)",
    "(3.0, 4)",
    "('a',)",
    "(99999999999999999999999, 1)",
    "5",
    "(,)",
    "(2305843009213693952, 8)",
)


def file(rng):
    """Return the name and the bytes of a table, and the words of what was done to it."""
    ending, make = choose(rng, *MAKERS.items())
    data, words = make(rng, table(rng))
    for _ in range(choose(rng, 0, 0, 0, 0, 1, 1, 2, 4) if words else choose(rng, 0, 1, 1, 2, 4)):
        change = choose(rng, *CHANGES)
        data = change(rng, data)
        words.append(change.__name__.strip("_"))
    return f"data{ending}", data, words


def table(rng):
    """Return a valid table with a column of classes."""
    n, d = int(rng.integers(4, 40)), int(rng.integers(1, 6))
    frame = pd.DataFrame(rng.normal(size=(n, d)).round(int(rng.integers(1, 17))))
    frame.columns = [f"x{j}" for j in range(d)]
    frame["kind"] = np.array(["left", "right", "über"])[rng.integers(3, size=n)]
    if rng.random() < 0.3:
        frame.loc[int(rng.integers(n)), "x0"] = np.nan
    return frame


def _text(separator):
    def make(rng, frame):
        text = frame.to_csv(
            sep=separator,
            index=bool(rng.random() < 0.1),
            header=bool(rng.random() < 0.8),
            decimal="," if separator == ";" else ".",
            lineterminator=choose(rng, "\n", "\n", "\r\n", "\r"),
        )
        words = []
        for _ in range(choose(rng, 0, 1, 1, 2, 3)):
            change = choose(rng, *TEXT_CHANGES)
            text = change(rng, text, separator)
            words.append(change.__name__.strip("_"))
        encoding = choose(rng, *["utf-8"] * 6, "utf-8-sig", "utf-16", "latin-1", "utf-32", "cp1252")
        return text.encode(encoding, errors="replace"), [*words, encoding]

    return make


def _packed(compress):
    def make(rng, frame):
        data, words = _text(",")(rng, frame)
        return compress(data), words

    return make


def _token(rng, text, separator):
    """Put something strange in the place of a cell."""
    lines = text.split("\n")
    row = rng.integers(len(lines))
    cells = lines[row].split(separator)
    cells[rng.integers(len(cells))] = choose(rng, *TOKENS)
    lines[row] = separator.join(cells)
    return "\n".join(lines)


def _tokens_in_a_column(rng, text, separator):
    lines = [line.split(separator) for line in text.split("\n")]
    column, token = rng.integers(len(lines[0])), choose(rng, *TOKENS)
    for cells in lines[1:]:
        if column < len(cells) and rng.random() < 0.7:
            cells[column] = token
    return "\n".join(map(separator.join, lines))


def _longer_row(rng, text, separator):
    lines = text.split("\n")
    lines[rng.integers(len(lines))] += separator * int(rng.integers(1, 4))
    return "\n".join(lines)


def _same_names(rng, text, separator):
    return re.sub(r"x\d", choose(rng, "x0", "", "1", "row", "kind", "shopca0"), text)


def _blank_lines(rng, text, separator):
    return text.replace("\n", choose(rng, "\n\n", "\n\n\n", "\n \n"), int(rng.integers(1, 9)))


def _rows_gone(rng, text, separator):
    return "\n".join(text.split("\n")[: rng.integers(0, 5)])


def _spaces(rng, text, separator):
    return text.replace(separator, choose(rng, " ", separator + "  ", "  " + separator, " | "))


def _letters(rng, text, separator):
    position = rng.integers(len(text) + 1)
    return text[:position] + choose(rng, *TOKENS) + text[position:]


def _npy(rng, frame):
    array = frame.drop(columns="kind").to_numpy()
    array = array.astype(choose(rng, *["<f8"] * 4, ">f8", "<f4", "<f2", "<i8", "?", "<c16", "U5", "S3"))
    if rng.random() < 0.3:
        array = choose(
            rng, array.T, np.asfortranarray(array), array.ravel(), array[None], array[:0], array[0, 0]
        )
    return _as_npy(rng, array)


def _as_npy(rng, array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), version=choose(rng, None, (1, 0), (2, 0), (3, 0)))
    data = buffer.getvalue()
    if rng.random() < 0.5:
        return data, []
    pattern, values = choose(
        rng,
        (rb"'descr': '[^']*'", [f"'descr': {text}" for text in DESCRIPTIONS]),
        (rb"'shape': \([^)]*\)", [f"'shape': {text}" for text in SHAPES]),
        (rb"'fortran_order': \w+", ["'fortran_order': True", "'fortran_order': 3", "'order': False", ""]),
        (rb"\x93NUMPY.", ["\x93NUMPY\x07", "NUMPY\x01", "PK\x03\x04"]),
    )
    found = re.search(pattern, data, re.DOTALL)
    if found is None:
        return data, []
    value = choose(rng, *values).encode("latin-1")
    missing = len(found[0]) - len(value)
    # The header keeps its length, if it can: otherwise that alone would be found wrong.
    padding = data[found.end() : found.end() + max(-missing, 0)]
    rest = data[found.end() + (len(padding) if not padding.strip() else 0) :]
    if missing > 0:
        end = rest.index(b"}") + 1 if b"}" in rest else 0
        rest = rest[:end] + b" " * missing + rest[end:]
    return data[: found.start()] + value + rest, ["header"]


def _npz(rng, frame):
    arrays = {"X": frame.drop(columns="kind").to_numpy(), "y": frame["kind"].to_numpy().astype(str)}
    arrays["names"] = np.array(frame.columns[:-1].astype(str))
    for _ in range(choose(rng, 0, 1, 1, 2)):
        key = choose(rng, "X", "y", "names", "Z", "y")
        arrays[key] = choose(
            rng,
            np.zeros((3, 2)),
            np.arange(5.0),
            np.array(3),
            np.array(["a", "b"]),
            np.zeros((0, 4)),
            np.array([1 + 1j, 2]),
            np.full(len(frame), np.nan),
            np.array(["2024-01-01"] * len(frame), dtype="M8[D]"),
            np.arange(2 * len(frame)).reshape(2, -1),
        )
        if rng.random() < 0.3:
            del arrays[key]
    buffer = io.BytesIO()
    choose(rng, np.savez, np.savez_compressed)(buffer, **arrays)
    return buffer.getvalue(), ["arrays"]


def _parquet(rng, frame):
    n = len(frame)
    if rng.random() < 0.5:
        frame["more"] = choose(
            rng,
            pd.Series([b"a", b"b"] * n)[:n],
            pd.Series([[1, 2], []] * n)[:n],
            pd.Series([{"a": 1}] * n),
            pd.Series(pd.date_range("2024", periods=n, tz="UTC")),
            pd.Series([None] * n),
            pd.Series(range(n), dtype="Int64").mask(np.arange(n) % 2 == 0),
            pd.Series(["a", None] * n, dtype="category")[:n],
            pd.Series([True, None] * n, dtype="boolean")[:n],
            pd.Series([np.inf] * n),
            pd.Series([2**63] * n, dtype="uint64"),
        )
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=bool(rng.integers(2)), compression=choose(rng, None, "snappy", "gzip"))
    return buffer.getvalue(), []


def _flip(rng, data):
    """Flip some bits."""
    changed = bytearray(data)
    for _ in range(min(int(10 ** rng.uniform(0, 1.5)), len(changed))):
        changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _flip_at_an_end(rng, data):
    """Flip a bit where formats have their headers and footers."""
    changed = bytearray(data)
    if changed:
        position = int(rng.integers(min(len(changed), 80)))
        changed[choose(rng, position, -position - 1)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _truncate(rng, data):
    return data[: rng.integers(len(data) + 1)]


def _cut(rng, data):
    start, end = sorted(rng.integers(len(data) + 1, size=2))
    return data[:start] + data[min(end, start + 50) :]


def _insert(rng, data):
    position = rng.integers(len(data) + 1)
    return (
        data[:position]
        + choose(rng, b"\0", b"\0" * 50, b"\xff", rng.bytes(9), b"\xef\xbb\xbf")
        + data[position:]
    )


def _double(rng, data):
    start, end = sorted(rng.integers(len(data) + 1, size=2))
    return data[:end] + data[start:end] + data[end:]


def _splice(rng, data):
    """Go on with the bytes of a file of another kind."""
    other, _ = choose(rng, *MAKERS.values())(rng, table(rng))
    return data[: rng.integers(len(data) + 1)] + other[rng.integers(len(other) + 1) :]


def _number(rng, data):
    """Put a large or negative number where a length may stand."""
    position = rng.integers(len(data) + 1)
    number = choose(rng, 0, 2**31 - 1, 2**31, 2**32 - 1, 2**16 - 1, 1)
    return data[:position] + number.to_bytes(4, "little") + data[position + 4 :]


CHANGES = (_flip, _flip_at_an_end, _truncate, _cut, _insert, _double, _splice, _number)
TEXT_CHANGES = (
    *(_token, _token, _tokens_in_a_column, _longer_row, _same_names, _blank_lines, _rows_gone, _spaces),
    _letters,
)
MAKERS = {
    ".csv": _text(","),
    ".tsv": _text("\t"),
    ".CSV": _text(";"),
    ".csv.gz": _packed(gzip.compress),
    ".csv.bz2": _packed(bz2.compress),
    ".csv.xz": _packed(lzma.compress),
    ".npy": _npy,
    ".npz": _npz,
    ".parquet": _parquet,
}
