"""CSV and TSV as people have them: separators, headers, encodings, and what is no table."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from threading import Thread

import numpy as np
import pytest
from shopca_rs.cli.tables import read_table
from table_checks import columns, has_note

NAN = np.nan


def test_a_table_without_header_gets_names_and_a_note(read):
    table = read("1,2\n3,4\n5,7\n")
    assert columns(table) == {"column0": [1, 3, 5], "column1": [2, 4, 7]}
    assert has_note(table, "first row holds only numbers", "column0 … column1", "--header")


def test_the_header_can_be_told_either_way(read):
    assert columns(read("1,2\n3,4\n5,7\n6,1\n", header=True)) == {"1": [3, 5, 6], "2": [4, 7, 1]}
    table = read("5.1,setosa\n4.9,setosa\n6.3,virginica\n", header=False, label="column1")
    assert columns(table) == {"column0": [5.1, 4.9, 6.3]}
    assert table.labels.tolist() == ["setosa", "setosa", "virginica"]


def test_a_first_row_with_some_numbers_is_a_header_under_suspicion(read):
    table = read("5.1,setosa\n4.9,setosa\n6.3,virginica\n7.0,virginica\n")
    assert table.names == ["5.1"]
    assert has_note(table, "such as 5.1", "--no-header")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(separator, read):
    lines = ['x,y,"z, or w"', '1,2,"a; b"', '3,4,"c | d"', '5,1,"e\tf"']
    content = "\n".join(separator.join(line.split(",", 2)) for line in lines)
    table = read(content)
    assert columns(table) == {"x": [1, 3, 5], "y": [2, 4, 1]}
    assert ("separated by" in str(table.notes)) == (separator != ",")


def test_a_tsv_file_needs_no_note_about_tabs(read):
    assert read("x\ty\n1\t2\n3\t4\n5\t1\n", "data.tsv").notes == []


def test_decimal_commas_are_found_where_they_are_not_separators(read):
    table = read("x;y\n1,5;2\n-3,25;4\n5;1,0\n")
    assert columns(table) == {"x": [1.5, -3.25, 5], "y": [2, 4, 1]}
    assert has_note(table, "Decimal signs are commas")
    assert columns(read("1,5;2,5\n3,5;4,5\n6,5;0,5\n")) == {
        "column0": [1.5, 3.5, 6.5],
        "column1": [2.5, 4.5, 0.5],
    }


def test_a_told_separator_reads_any_extension(read):
    assert columns(read("x  y\n1 2\n 3   4\n5 1\n", "data.txt", separator="space")) == {
        "x": [1, 3, 5],
        "y": [2, 4, 1],
    }
    assert columns(read("x#y\n1#2\n3#4\n5#1\n", "data", separator="#")) == {"x": [1, 3, 5], "y": [2, 4, 1]}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_tells_the_encoding(encoding, read):
    assert read("größe,y\n1,2\n3,4\n5,1\n".encode(encoding)).names == ["größe", "y"]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16-le", "utf-8"])
def test_the_encoding_can_be_told(encoding, read):
    content = "größe,y\n1,2\n3,4\n5,1\n"
    assert read(content.encode(encoding), encoding=encoding).names == ["größe", "y"]


@pytest.mark.parametrize(("suffix", "packed"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_packed_tables_are_unpacked(suffix, packed, read):
    content = packed.compress(b"x,y\n1,2\n3,4\n5,1\n")
    assert columns(read(content, f"data.csv{suffix}")) == {"x": [1, 3, 5], "y": [2, 4, 1]}


def test_repeated_and_empty_names_get_numbers(read):
    table = read("a,a,a.1,,a\n1,2,3,4,5\n5,1,2,3,4\n0,3,1,2,8\n")
    assert table.names == ["a", "a.2", "a.1", "column3", "a.3"]
    assert has_note(table, "Repeated column names", "a.")


def test_line_ends_blank_lines_and_spaces_do_not_matter(read):
    expected = {"x": [1, 3, 5], "y": [2, 4, 1]}
    assert columns(read("\n\nx, y\r\n1, 2\r\n\r\n3, 4\r\n5, 1")) == expected
    assert columns(read("x,y\r1,2\r3,4\r5,1\r")) == expected


def test_a_line_break_inside_quotes_is_part_of_a_name(read):
    assert read('"two\nlines",y\n1,2\n3,4\n5,1\n').names == ["two\nlines", "y"]


def test_a_short_row_misses_its_last_values(read):
    table = read("x,y\n1,2\n3\n5,1\n7,9\n")
    assert columns(table) == {"x": [1, 3, 5, 7], "y": [2, 2, 1, 9]}
    assert has_note(table, "Filled 1 missing value")


def test_separators_at_the_end_of_each_line_are_an_empty_column(read):
    table = read("x,y,\n1,2,\n3,4,\n5,1,\n")
    assert table.names == ["x", "y"]
    assert has_note(table, "without any number: column2")


def test_a_table_wider_than_the_sample_is_read(read):
    names = [f"{'a rather long name ' * 3}{j}" for j in range(5000)]
    rows = [[str(i * j) for j in range(1, 5001)] for i in (1, 2, 4)]
    table = read("\n".join(",".join(row) for row in [names, *rows]))
    assert table.X.shape == (3, 5000)
    assert table.names == names


def test_a_pipe_is_read_like_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    writer = Thread(target=(tmp_path / "pipe.csv").write_text, args=["x,y\n1,2\n3,4\n5,1\n"])
    writer.start()
    assert columns(read_table(tmp_path / "pipe.csv")) == {"x": [1, 3, 5], "y": [2, 4, 1]}
    writer.join()


def test_standard_input_is_csv(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x,y\n1,2\n3,4\n5,1\n")))
    assert columns(read_table("-")) == {"x": [1, 3, 5], "y": [2, 4, 1]}


@pytest.mark.parametrize(
    ("content", "parts"),
    {
        "nothing": ("", ["data.csv is empty"]),
        "blank": (" \n\n", ["data.csv is empty"]),
        "header_only": ("x,y\n", ["at least 3 rows besides the header, got 0"]),
        "one_row": ("x,y\n1,2\n", ["at least 3 rows besides the header, got 1"]),
        "two_rows": ("x,y\n1,2\n3,4\n", ["got 2"]),
        "latin_1": ("größe,y\n1,2\n3,4\n".encode("latin-1"), ["not utf-8", "0xf6", "--encoding latin-1"]),
        "long_row": ("x,y\n1,2\n3,4,5\n6,7\n", ["rows of one length", "expected 2 fields in line 3, saw 3"]),
        "narrow_header": ("x,y\n1,2,3\n3,4,5\n6,7,8\n", ["rows of one length", "2 cells in the first row"]),
        "open_quote": ('x,y\n1,2\n3,"4\n5,6\n', ["closed quotes", "EOF inside string"]),
        "zero_bytes": (b"x,y\n1,2\0\n3,4\n", ["not text", "zero bytes"]),
        "picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", ["not text", "zero bytes"]),
        "junk": (bytes(range(1, 256)) * 10, ["not utf-8"]),
        "only_text": ("a,b\nx,y\nz,w\nu,v\n", ["at least one column of numbers", "--text encode"]),
        "only_one_value": ("a,b\n1,2\n1,2\n1,2\n", ["not all the same, got none"]),
        "only_missing": ("a,b\n,\n,\n,\n", ["at least one column of numbers"]),
        "separators_only": (",,\n,,\n,,\n,,\n", ["at least one column of numbers"]),
    }.values(),
)  # fmt: skip
def test_what_is_no_table_is_refused_in_a_line(content, parts, refused):
    line = refused(content)
    assert all(part in line for part in parts), line


def test_a_wrong_byte_far_behind_the_sample_is_found(refused):
    content = b"x,y\n" + b"1.5,2.5\n" * 200_000 + b"3,\xff\n"
    assert "not utf-8: it contains the byte 0xff. Try --encoding latin-1." in refused(content)


def test_an_unknown_encoding_is_refused(refused):
    assert "no encoding 'klingon'" in refused("x\n1\n2\n3\n", encoding="klingon")


@pytest.mark.parametrize("separator", ["ab", "", "a", "\n", '"'])
def test_a_separator_is_one_sign(separator, refused):
    assert "The separator must be one character" in refused("x\n1\n2\n3\n", separator=separator)


def test_a_column_that_is_not_there_is_answered_with_those_that_are(refused):
    content = "length,width,species\n1,2,a\n3,4,b\n5,1,c\n"
    assert refused(content, label="specis") == "data.csv has no column specis. Did you mean species?"
    assert "Its columns are length, width, species." in refused(content, label="zzz")
    assert "Did you mean width?" in refused(content, drop=["widht"])
    assert "both the label and dropped" in refused(content, label="species", drop=["species"])


@pytest.mark.parametrize("name", ["data.xlsx", "data", "data.gz", "data.csv.zip"])
def test_an_unknown_extension_is_answered_with_the_known_ones(name, refused):
    line = refused("x,y\n1,2\n3,4\n5,1\n", name)
    assert ".csv, .tsv" in line
    assert "--separator" in line


def test_a_file_that_is_not_there_is_answered_with_one_of_a_similar_name(tmp_path):
    (tmp_path / "iris.csv").touch()
    with pytest.raises(
        FileNotFoundError, match=r"There is no file .*irsi\.csv\. Did you mean .*iris\.csv\?$"
    ):
        read_table(tmp_path / "irsi.csv")
    with pytest.raises(FileNotFoundError, match=r"Check the name and the folder\.$"):
        read_table(tmp_path / "nowhere" / "x.csv")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    {
        "csv.gz": ("data.csv.gz", b"x,y\n1,2\n"),
        "half csv.gz": ("data.csv.gz", gzip.compress(b"x,y\n1,2\n3,4\n5,1\n" * 99)[:-20]),
        "csv.xz": ("data.csv.xz", b"x,y\n1,2\n"),
        "csv.bz2": ("data.csv.bz2", b"x,y\n1,2\n"),
        "parquet": ("data.parquet", b"PAR1 but not really"),
        "empty parquet": ("data.parquet", b""),
        "npy": ("data.npy", b"x,y\n1,2\n"),
        "empty npy": ("data.npy", b""),
        "npz": ("data.npz", b"PK\x03\x04 but not really"),
        "csv as npz": ("data.npz", b"x,y\n1,2\n"),
    }.values(),
)  # fmt: skip
def test_a_broken_file_is_refused_in_a_line(name, content, refused):
    assert name in refused(content, name)
