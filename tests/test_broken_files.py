"""Files that are broken, lie about their size or are something else: one sentence, no data read before."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import struct
import zipfile
from threading import Thread

import numpy as np
import pyarrow as pa
import pytest
from shopca_rs.cli import main
from shopca_rs.cli.tables import read_table
from table_checks import columns, has_note, parquet

X = np.random.default_rng(0).normal(size=(6, 3))


def npy(array, version=None):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=version, allow_pickle=True)
    return buffer.getvalue()


def npy_with(header, data=b"\0" * 144):
    """A .npy file with any header."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def npz(members, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.fixture
def small_machine(monkeypatch):
    """Let the machine have 1 MiB of memory."""
    monkeypatch.setattr("os.sysconf", lambda name: 2**20 if name == "SC_PHYS_PAGES" else 1)


# .npy


def header(descr="'<f8'", shape="(6, 3)"):
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


@pytest.mark.parametrize(
    ("text", "part"),
    {
        "a power": (header(shape="(10**9, 10**9)"), "header is broken"),
        "huge shape": (header(shape="(999999999999, 99999999)"), "promises"),
        "beyond 64 bits": (header(shape=f"({10**40}, 3)"), "promises"),
        "too many": (header(shape="(7, 3)"), "promises 168 bytes of data, but it holds 144"),
        "below zero": (header(shape="(-6, 3)"), "the shape (-6, 3)"),
        "truth value": (header(shape="(True, 3)"), "the shape (True, 3)"),
        "no rows": (header(shape="(0, 10000000000)"), "got an array of shape (0, 10000000000)"),
        "no columns": (header(shape="(10000000000, 0)"), "at least one number"),
        "wide items": (header("'<U99999999'"), "promises"),
        "wider items": (header("'<U999999999'"), "header is broken"),
        "empty items": (header("'|V0'", "(10000000000, 3)"), "real numbers, got dtype"),
        "no dtype": (header("'zebra'"), "header is broken"),
        "objects": (header("'|O'"), "holds Python objects"),
        "many brackets": ("(" * 5000, "header is broken"),
        "open string": ("{'descr", "header is broken"),
        "zero byte": ("{'descr': '<f8'\0}", "header is broken"),
        "no keys": ("{}", "header is broken"),
        "a call": ("__import__('os').abort()", "header is broken"),
        "empty": ("", "header is broken"),
    }.values(),
)  # fmt: skip
def test_a_npy_file_is_refused_by_its_header(text, part, refused):
    line = refused(npy_with(text), "data.npy")
    assert line.startswith("data.npy ")
    assert part in line


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_no_damage_to_a_header_raises_anything_but_a_value_error(version, read):
    whole = npy(X, version)
    start = len(whole) - X.nbytes
    damaged = [whole[:end] for end in range(start + 9)]
    for byte in b"\xff'(9":
        damaged += [whole[:place] + bytes([byte]) + whole[place + 1 :] for place in range(start)]
    for content in damaged:
        # Spaces may become other spaces.
        with contextlib.suppress(ValueError):
            read(content, "data.npy")


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_format_is_read(version, read):
    assert np.array_equal(read(npy(X, version), "data.npy").X, X)


def test_a_number_of_npy_beyond_float64_is_refused(refused):
    wide = X.astype(np.longdouble)
    wide[1, 1] = np.longdouble(1e308) * 100
    if np.isinf(wide).any():
        pytest.skip("longdouble is float64 here")
    assert "must hold numbers up to 1.8e308 (float64), got 1.0" in refused(npy(wide), "data.npy")


def test_an_array_larger_than_memory_is_refused_by_its_header(small_machine, tmp_path):
    path = tmp_path / "big.npy"
    path.write_bytes(npy_with(header(shape="(2097152, 2)"), b""))
    # A file with a hole: it has the size and takes no disk.
    os.truncate(path, path.stat().st_size + 2**25)
    with pytest.raises(ValueError, match=r"big\.npy must fit in memory, but takes at least 0\.062 GiB"):
        read_table(path)


# .npz


def test_what_is_no_array_in_a_npz_file_is_left_out_with_a_note(read):
    table = read(npz({"readme.txt": b"hello", "X.npy": npy(X), "folder/": b""}), "data.npz")
    assert np.array_equal(table.X, X)
    assert has_note(table, "Left out files that are not arrays: readme.txt.")


def test_a_member_without_a_name_is_left_out(read):
    content = bytearray(npz({"_": b"hello", "X.npy": npy(X)}))
    # The directory at the end says: a name of no letters, and one byte of something else.
    struct.pack_into("<HH", content, content.index(b"PK\x01\x02") + 28, 0, 1)
    assert np.array_equal(read(bytes(content), "data.npz").X, X)


def test_an_array_that_nobody_asks_for_may_be_broken(read):
    assert np.array_equal(read(npz({"X.npy": npy(X), "other.npy": b"junk"}), "data.npz").X, X)
    assert np.array_equal(read(npz({"points.npy": npy(X), "other.npy": b"junk"}), "data.npz").X, X)


@pytest.mark.parametrize(
    ("members", "parts"),
    {
        "foreign only": ({"readme.txt": b"hello"}, ["data.npz must hold an array called X", "got nothing"]),
        "foreign X": ({"X.npy": b"hello"}, ["The array X of data.npz cannot be read: its header is broken."]),
        "foreign array": ({"a.npy": b"hello"}, ["The array a of data.npz cannot be read: its header is"]),
        "empty X": ({"X.npy": b""}, ["The array X of data.npz cannot be read: its header is broken."]),
        "foreign y": ({"X.npy": npy(X), "y.npy": b"hello"}, ["The array y of data.npz cannot be read"]),
        "pickled": ({"X.npy": npy(np.array([[1, "a"]], object))}, ["The array X of", "holds Python objects"]),
        "short": ({"X.npy": npy(X)[:-8]}, ["its header promises 144 bytes of data, but it holds 136."]),
    }.values(),
)  # fmt: skip
def test_a_npz_file_without_a_sound_array_says_which(members, parts, refused):
    line = refused(npz(members), "data.npz")
    assert all(part in line for part in parts), line


def patched(content, offset, value):
    """Change two bytes of the entry of the only member, in both places where a zip archive has it."""
    local, central = content.index(b"PK\x03\x04"), content.index(b"PK\x01\x02")
    content = bytearray(content)
    struct.pack_into("<H", content, local + offset, value)
    struct.pack_into("<H", content, central + offset + 2, value)
    return bytes(content)


def test_an_encrypted_npz_file_is_refused(refused):
    content = patched(npz({"X.npy": npy(X)}), 6, 1)
    assert "The array X of data.npz cannot be read: it is encrypted." in refused(content, "data.npz")


def test_an_unknown_compression_is_refused(refused):
    content = patched(npz({"X.npy": npy(X)}), 8, 97)
    assert "its compression is not supported by zipfile (97)" in refused(content, "data.npz")


def test_a_wrong_checksum_is_found(refused):
    content = npz({"X.npy": npy(X)})
    at = content.index(X.tobytes())
    line = refused(content[:at] + b"\1\2\3" + content[at + 3 :], "data.npz")
    assert "The array X of data.npz cannot be read: it is broken (Bad CRC-32 for file 'X.npy')." in line


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compressed_array_larger_than_memory_is_refused_by_its_header(compression, small_machine, refused):
    content = npz({"X.npy": npy(np.zeros((2**18, 2)))}, compression)
    assert len(content) < 2**16
    assert "data.npz must fit in memory" in refused(content, "data.npz")


@pytest.mark.parametrize(
    "names",
    [np.array("abc"), np.array([["a", "b", "c"]]), np.arange(3), np.array(["a", "a", "b"]), np.array([])],
)
def test_names_that_do_not_fit_are_not_taken(names, read):
    table = read(npz({"X.npy": npy(X), "names.npy": npy(names)}), "data.npz")
    assert table.names == ["column0", "column1", "column2"]


@pytest.mark.parametrize(
    "labels", [np.array([b"\xff", *"abcde"], "S1"), np.full(6, 0xD800, "<u4").view("<U1"),
               np.full(6, 0x7FFFFFFF, "<u4").view("<U1")],
    ids=["bytes", "half_letters", "no_letters"],
)  # fmt: skip
def test_labels_that_are_no_text_are_refused(labels, refused):
    line = refused(npz({"X.npy": npy(X), "y.npy": npy(labels)}), "data.npz")
    assert line.startswith("data.npz cannot be read: it has invalid text (")


def test_labels_of_bytes_are_text(read):
    table = read(npz({"X.npy": npy(X), "y.npy": npy(np.array(["ä".encode(), *[b"b"] * 5]))}), "data.npz")
    assert table.labels.tolist() == ["ä", "b", "b", "b", "b", "b"]


# Text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", "latin-1"])
@pytest.mark.parametrize("n_before", [3, 200_000])
def test_a_zero_byte_anywhere_is_seen(encoding, n_before, refused):
    content = ("x,y\n" + "1.5,2.5\n" * n_before + "3,4\0\n" + "1,2\n" * 3).encode(encoding)
    assert "data.csv is not text: it contains zero bytes." in refused(content, encoding=encoding)


@pytest.mark.parametrize(("suffix", "packed"), [("", None), (".gz", gzip), (".bz2", bz2), (".xz", lzma)])
@pytest.mark.parametrize(
    "line", [b"0,0\n", b"0" * 1000 + b",1\n", b"0", b","], ids=["short", "long", "none", "cells"]
)
def test_a_table_larger_than_memory_is_refused(line, suffix, packed, small_machine, refused):
    content = b"x,y\n1,2\n" + line * (2**22 // len(line))
    name = f"data.csv{suffix}"
    text = refused(packed.compress(content) if packed else content, name)
    assert f"{name} must fit in memory" in text or f"{name} is not a table: field larger than" in text


def test_a_pipe_without_end_is_refused(small_machine, tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)

    def pour():
        with contextlib.suppress(BrokenPipeError), open(path, "wb", buffering=0) as pipe:
            while True:
                pipe.write(b"1,2\n" * 2**14)

    writer = Thread(target=pour)
    writer.start()
    with pytest.raises(ValueError, match=r"pipe\.csv must fit in memory"):
        read_table(path)
    writer.join()


@pytest.mark.parametrize("encoding", ["rot13", "base64", "hex", "undefined", "utf-8\0", "x" * 1000])
def test_what_is_no_encoding_of_text_is_refused(encoding, refused):
    line = refused("x,y\n1,2\n3,4\n5,6\n", encoding=encoding)
    assert line.startswith(("There is no encoding", "data.csv is not undefined"))


@pytest.mark.parametrize("separator", ["§", "\0", "\x07"])
def test_a_separator_that_pandas_cannot_take_is_refused(separator, refused):
    assert "The separator must be one character" in refused("x\n1\n2\n3\n", separator=separator)


def test_labels_beyond_float64_stay_apart(read):
    cells = ["9" * 400, "8" * 400, "1", "inf", "1_0"]
    content = "x,k\n" + "".join(f"{j * j},{cell}\n" for j, cell in enumerate(cells))
    assert read(content, label="k").labels.tolist() == cells


# Parquet


def test_a_parquet_file_larger_than_memory_is_refused_by_its_footer(small_machine, tmp_path):
    path = parquet({"x": pa.array(np.zeros(2**20))}, tmp_path)
    assert path.stat().st_size < 2**16
    with pytest.raises(ValueError, match=r"data\.parquet must fit in memory"):
        read_table(path)


def test_a_complex_column_is_neither_numbers_nor_text(tmp_path):
    table = read_table(parquet({"x": [1.0, 2, 4], "s": [{"a": 1}, {"a": 2}, {"a": 3}]}, tmp_path))
    assert columns(table) == {"x": [1, 2, 4]}
    assert has_note(table, "neither numbers nor text: s")


# What is no file


def test_a_link_that_leads_back_to_itself_cannot_be_read(tmp_path):
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    with pytest.raises(OSError, match=r"loop\.csv cannot be read: Too many levels of symbolic links\.$"):
        read_table(tmp_path / "loop.csv")


def test_a_name_too_long_for_the_system_cannot_be_read(tmp_path):
    with pytest.raises(OSError, match=r"\.csv cannot be read: File name too long\.$"):
        read_table(tmp_path / ("x" * 300 + ".csv"))


@pytest.mark.parametrize("name", ["pipe.npy", "pipe.npz", "pipe.parquet"])
def test_arrays_are_not_read_from_a_pipe(name, tmp_path):
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match=r"is a pipe or a device, and only text tables can be read from one"):
        read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content"),
    {
        "digits": ("a.csv", b"x,y\n1,2\n" + b"9" * 400 + b",3\n4,5\n6,7\n"),
        "shape": ("a.npy", npy_with(header(shape=f"({10**30}, 3)"))),
        "header": ("a.npy", npy_with("{'descr")),
        "member": ("a.npz", npz({"X.npy": b"hello"})),
        "encrypted": ("a.npz", patched(npz({"X.npy": npy(X)}), 6, 1)),
        "compression": ("a.npz", patched(npz({"X.npy": npy(X)}), 8, 97)),
        "zip version": ("a.npz", patched(npz({"X.npy": npy(X)}), 4, 109)),
        "zero byte": ("a.csv", b"x,y\n" + b"1.5,2.5\n" * 50_000 + b"1,\0\n"),
    }.values(),
)  # fmt: skip
def test_the_command_says_one_line_and_ends_with_2(name, content, tmp_path, capsys):
    (tmp_path / name).write_bytes(content)
    assert main(["embed", str(tmp_path / name)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("shopca embed: error: ")
    assert err.count("\n") == 1
