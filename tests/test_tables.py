"""Files as people have them → tables of numbers, with a note for whatever was changed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
from datetime import date
from decimal import Decimal
from threading import Thread

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from shopca_rs.tables import read_table

NAN = np.nan


@pytest.fixture
def read(tmp_path):
    """Write a file and read it as a table."""

    def read(content, name="data.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return read


@pytest.fixture
def refused(read, tmp_path):
    """Write a file that must not become a table, and return the one line that says why."""

    def refused(content, name="data.csv", **options):
        with pytest.raises((ValueError, OSError)) as caught:
            read(content, name, **options)
        line = str(caught.value)
        assert "\n" not in line
        assert line.endswith((".", "?"))
        return line.replace(f"{tmp_path}/", "")

    return refused


def columns(table):
    return dict(zip(table.names, table.X.T.tolist(), strict=True))


def has_note(table, *parts):
    assert any(all(part in note for part in parts) for note in table.notes), table.notes
    return True


def parquet(columns, tmp_path, name="data.parquet"):
    pa.parquet.write_table(pa.table(columns), tmp_path / name)
    return tmp_path / name


# The ordinary case


def test_a_clean_table_is_read_to_the_last_bit_without_a_note(read):
    X = np.random.default_rng(0).normal(size=(50, 4)) * 10.0 ** np.arange(-8, 8, 4)
    lines = ["a,b,c,d", *(",".join(map(repr, row)) for row in X.tolist())]
    table = read("\n".join(lines))
    assert np.array_equal(table.X, X)
    assert table.X.flags.c_contiguous
    assert table.names == ["a", "b", "c", "d"]
    assert table.rows.tolist() == list(range(50))
    assert (table.labels, table.notes, table.n_rows) == (None, [], 50)


def test_the_label_is_no_feature(read):
    table = read("x,kind,y\n1,a,2\n3,b,5\n4,,1\n", label="kind")
    assert table.names == ["x", "y"]
    assert table.labels.tolist() == ["a", "b", ""]
    assert table.notes == []


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["1", "2", "-3"], [1, 2, -3]),
        (["1.5", "", "2"], [1.5, NAN, 2]),
        (["007", "7", "1"], ["007", "7", "1"]),
        (["None", "NA", "x"], ["None", "NA", "x"]),
        (["99999999999999999999", "1", "2"], [1e20, 1, 2]),
    ],
    ids=["integers", "floats_one_missing", "leading_zeros", "words_for_missing", "beyond_64_bits"],
)
def test_labels_are_numbers_only_if_they_read_the_same_as_numbers(cells, labels, read):
    table = read("x,kind\n" + "\n".join(f"{j},{cell}" for j, cell in enumerate(cells)), label="kind")
    np.testing.assert_array_equal(table.labels, np.array(labels, dtype=table.labels.dtype))
    assert table.labels.dtype.kind == np.array(labels).dtype.kind.replace("U", "O")


def test_columns_to_drop_are_left_out(read):
    assert read("id,x,y\n7,1,2\n8,3,5\n9,4,1\n", drop=["id", "y"]).names == ["x"]


# Text, truth values, dates


def test_text_is_dropped_with_its_name_and_number_of_values(read):
    table = read("x,name,kind\n1,anna,a\n2,ben,b\n3,cleo,a\n")
    assert table.names == ["x"]
    assert has_note(table, "2 columns of text", "name (3 values)", "kind (2 values)", "--text encode")


def test_encoded_text_is_one_column_for_each_value_and_one_for_two(read):
    table = read("x,kind,sex\n1,c,f\n2,a,m\n3,b,f\n4,a,f\n", text="encode")
    assert columns(table) == {
        "x": [1, 2, 3, 4],
        "kind=a": [0, 1, 0, 1],
        "kind=b": [0, 0, 1, 0],
        "kind=c": [1, 0, 0, 0],
        "sex=m": [0, 1, 0, 0],
    }
    assert has_note(table, "Turned 2 columns of text", "kind, sex")


def test_text_of_many_values_is_not_encoded(read):
    table = read("x,name\n" + "\n".join(f"{j},name {j}" for j in range(21)), text="encode")
    assert table.names == ["x"]
    assert has_note(table, "of text of more than 20 values", "name (21 values)")


def test_missing_text_is_missing_in_its_encoded_columns(read):
    table = read("x,kind\n1,a\n2,\n3,b\n4,b\n", text="encode", missing="drop-rows")
    assert columns(table) == {"x": [1, 3, 4], "kind=b": [0, 1, 1]}
    assert table.rows.tolist() == [0, 2, 3]


def test_a_few_cells_that_are_no_numbers_count_as_missing(read):
    table = read("x,y\n1,5\n2,broken\n3,7\n12_34,9\n")
    assert columns(table) == {"x": [1, 2, 3, 2], "y": [5, 7, 7, 9]}
    assert has_note(
        table, "not numbers count as missing", "x (1, such as '12_34')", "y (1, such as 'broken')"
    )


def test_a_column_of_which_half_are_numbers_is_text(read):
    assert read("x,y\n1,5\n2,b\n3,7\n4,d\n").names == ["x"]


def test_truth_values_are_0_and_1_also_with_some_missing(read):
    table = read("a,b\nTrue,true\nFalse,\nTrue,FALSE\nFalse,true\n", missing="zero")
    assert columns(table) == {"a": [1, 0, 1, 0], "b": [1, 0, 0, 1]}


def test_integers_beyond_64_bits_are_numbers(read):
    table = read("x,y\n123456789012345678901234567890,1\n2,18446744073709551615\n3,3\n")
    assert columns(table) == {
        "x": [123456789012345678901234567890.0, 2, 3],
        "y": [1, 18446744073709551615.0, 3],
    }


# Missing, infinite, constant


MISSING = "x,y\n1,10\n,20\n4,\n7,90\n"


@pytest.mark.parametrize(("missing", "x", "y"), [("median", 4, 20), ("mean", 4, 40), ("zero", 0, 0)])
def test_missing_numbers_are_filled(missing, x, y, read):
    table = read(MISSING, missing=missing)
    assert columns(table) == {"x": [1, x, 4, 7], "y": pytest.approx([10, 20, y, 90])}
    assert has_note(table, "Filled 2 missing values with", missing, "x (1), y (1)")


def test_rows_with_missing_numbers_can_be_dropped_with_their_labels(read):
    table = read("x,y,k\n1,10,a\n,20,b\n4,,c\n7,90,d\n8,1,e\n", missing="drop-rows", label="k")
    assert columns(table) == {"x": [1, 7, 8], "y": [10, 90, 1]}
    assert table.rows.tolist() == [0, 3, 4]
    assert table.labels.tolist() == ["a", "d", "e"]
    assert table.n_rows == 5
    assert has_note(table, "Dropped 2 of 5 rows", "x (1), y (1)")


def test_missing_numbers_can_be_an_error(refused):
    assert "must have no missing values, got 2: x (1), y (1)." in refused(MISSING, missing="error")


def test_too_few_complete_rows_say_which_columns_to_blame(refused):
    line = refused(MISSING, missing="drop-rows")
    assert "at least 3 rows without missing values, got 2 of 4" in line
    assert "x (1), y (1)" in line


@pytest.mark.parametrize("word", ["", "NA", "?", "nan", "NULL", "None", "#N/A", " NA "])
def test_the_usual_words_for_missing_are_known(word, read):
    table = read(f"x,y\n1,1\n2,{word}\n3,3\n4,4\n")
    assert table.X[1, 1] == 3
    assert has_note(table, "Filled 1 missing value")


@pytest.mark.parametrize("word", ["inf", "-inf", "1e999"])
def test_infinite_numbers_count_as_missing(word, read):
    table = read(f"x,y\n1,1\n2,{word}\n3,3\n4,4\n")
    assert table.X[1, 1] == 3
    assert has_note(table, "Infinite values count as missing: y (1)")


def test_of_many_columns_with_missing_values_only_some_are_named(read):
    names = [f"c{j}" for j in range(40)]
    rows = [["1"] * 40, [""] * 39 + ["5"], ["3"] * 40, ["4"] * 40]
    table = read("\n".join(",".join(row) for row in [names, *rows]))
    (note,) = table.notes
    assert "Filled 39 missing values" in note
    assert "and 31 more" in note
    assert len(note) < 200


def test_columns_that_carry_nothing_are_dropped(read):
    table = read("x,same,empty,almost\n1,5,,2\n2,5,,\n3,5,,2\n")
    assert table.names == ["x"]
    assert has_note(table, "1 column without any number: empty")
    assert has_note(table, "2 columns of one value only: same, almost")


# Text tables of every shape


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
    assert ("signs" in str(table.notes)) == (separator != ",")


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
    assert "not utf-8: it holds the byte 0xff. Try --encoding latin-1." in refused(content)


def test_an_unknown_encoding_is_refused(refused):
    assert "no encoding 'klingon'" in refused("x\n1\n2\n3\n", encoding="klingon")


@pytest.mark.parametrize("separator", ["ab", "", "a", "\n", '"'])
def test_a_separator_is_one_sign(separator, refused):
    assert "The separator must be one sign" in refused("x\n1\n2\n3\n", separator=separator)


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


# Parquet


def test_parquet_columns_are_sorted_by_their_kind(tmp_path):
    path = parquet(
        {
            "number": [1.5, None, 3.0, 4.0],
            "whole": pa.array([1, 2, None, 4], pa.int64()),
            "truth": [True, False, None, True],
            "exact": [Decimal("1.5"), None, Decimal("2.5"), Decimal("3.5")],
            "levels": pa.array([3, 1, None, 2]).dictionary_encode(),
            "digits": ["1", "2", "3", "x"],
            "kind": ["a", "b", None, "a"],
            "day": [date(2020, 1, j + 1) for j in range(4)],
            "moment": pa.array(range(4), pa.timestamp("s")),
            "lists": [[1], [2, 3], [], None],
            "nothing": pa.nulls(4),
        },
        tmp_path,
    )
    table = read_table(path, missing="zero")
    assert columns(table) == {
        "number": [1.5, 0, 3, 4],
        "whole": [1, 2, 0, 4],
        "truth": [1, 0, 0, 1],
        "exact": [1.5, 0, 2.5, 3.5],
        "levels": [3, 1, 0, 2],
        "digits": [1, 2, 3, 0],
    }
    assert has_note(table, "2 columns of dates or times: day, moment")
    assert has_note(table, "1 column of text: kind (2 values)")
    assert has_note(table, "1 column of neither numbers nor text: lists")
    assert has_note(table, "without any number: nothing")


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([1.5, None, 2], [1.5, NAN, 2]),
        ([1.0, np.inf, 2], [1.0, np.inf, 2]),
        (["a", None, "007"], ["a", "", "007"]),
    ],
    ids=["integers", "floats", "infinite", "text"],
)
def test_parquet_labels_keep_their_kind(values, labels, tmp_path):
    table = read_table(parquet({"x": [1.0, 2, 4], "k": values}, tmp_path), label="k")
    np.testing.assert_array_equal(table.labels, np.array(labels, dtype=table.labels.dtype))
    assert table.labels.dtype.kind == np.array(labels).dtype.kind.replace("U", "O")


def test_a_pandas_index_is_no_feature(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2, 4]}, index=pd.Index([7, 8, 9], name="id"))
    frame.to_parquet(tmp_path / "data.parquet")
    assert read_table(tmp_path / "data.parquet").names == ["x"]


# NumPy's formats


@pytest.mark.parametrize("dtype", ["f8", ">f4", "f2", "i4", "u1"])
def test_an_npy_file_is_a_table(dtype, tmp_path):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    table = read_table(tmp_path / "x.npy")
    assert np.array_equal(table.X, X.astype(float))
    assert table.X.dtype == np.float64
    assert table.names == ["column0", "column1", "column2"]


def test_an_npy_column_can_be_the_label(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1.5, 0], [2, 1], [3, 1]]))
    table = read_table(tmp_path / "x.npy", label="column1")
    assert table.names == ["column0"]
    assert table.labels.tolist() == [0, 1, 1]
    assert table.labels.dtype.kind == "i"


def test_an_npz_file_with_x_and_y_has_labels_and_names(tmp_path):
    X, other = np.eye(4)[:, :2], np.zeros((2, 2))
    np.savez(tmp_path / "x.npz", X=X, y=np.array(list("abca")), names=np.array(["u", "v"]), other=other)
    table = read_table(tmp_path / "x.npz")
    assert columns(table) == {"u": [1, 0, 0, 0], "v": [0, 1, 0, 0]}
    assert table.labels.tolist() == ["a", "b", "c", "a"]
    assert has_note(table, "y holds the labels")


def test_the_only_table_of_an_npz_file_is_taken_and_any_array_can_be_the_label(tmp_path):
    np.savez(tmp_path / "x.npz", points=np.eye(4), year=np.arange(4) + 2000)
    table = read_table(tmp_path / "x.npz", label="year")
    assert table.X.shape == (4, 4)
    assert table.labels.tolist() == [2000, 2001, 2002, 2003]


@pytest.mark.parametrize(
    ("arrays", "parts"),
    {
        "two tables": ({"a": np.eye(3), "b": np.eye(3)}, ["exactly one 2-D array", "a (3, 3), b (3, 3)"]),
        "no table": ({"a": np.arange(3)}, ["exactly one 2-D array", "a (3,)"]),
        "nothing": ({}, ["exactly one 2-D array", "got nothing"]),
        "flat X": ({"X": np.arange(3)}, ["2-D array with points as rows, got 1-D of shape (3,)"]),
        "complex": ({"X": np.eye(3) * 1j}, ["real numbers, got dtype complex128"]),
        "text": ({"X": np.array([["a"]])}, ["real numbers, got dtype <U1"]),
        "short y": ({"X": np.eye(3), "y": np.arange(2)}, ["one label for each of the 3 rows", "(2,)"]),
        "objects": ({"X": np.array([[1, "a"]], dtype=object)}, ["holds Python objects"]),
    }.values(),
)  # fmt: skip
def test_an_npz_file_without_a_table_says_what_it_holds(arrays, parts, refused):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    line = refused(buffer.getvalue(), "data.npz")
    assert all(part in line for part in parts), line


def test_a_flat_npy_file_is_refused(refused):
    buffer = io.BytesIO()
    np.save(buffer, np.arange(5.0))
    assert "must hold a 2-D array with points as rows, got 1-D of shape (5,)" in refused(
        buffer.getvalue(), "x.npy"
    )


# Libraries that are not there


@pytest.mark.parametrize(
    ("absent", "name", "needs"),
    [
        ("pandas", "data.csv", "text tables needs pandas, "),
        ("pandas", "data.parquet", ".parquet needs pandas and pyarrow"),
        ("pyarrow", "data.parquet", ".parquet needs pandas and pyarrow"),
    ],
)
def test_without_its_library_a_format_says_what_to_install(absent, name, needs, read, monkeypatch):
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(ImportError, match=r'pip install "shopca-rs\[cli\]"\.$') as caught:
        read("x,y\n1,2\n3,4\n5,1\n", name)
    assert needs in str(caught.value)


def test_numpy_files_need_no_other_library(run_python, tmp_path):
    np.save(tmp_path / "x.npy", np.eye(4))
    code = """
import sys
sys.modules["pandas"] = None
from shopca_rs.tables import read_table
print(read_table(sys.argv[1]).X.shape)
"""
    assert run_python(code, tmp_path / "x.npy").strip() == "(4, 4)"


@pytest.mark.parametrize("options", [{"text": "keep"}, {"missing": "guess"}])
def test_an_unknown_choice_is_refused(options, refused):
    assert "must be one of" in refused("x,y\n1,2\n3,4\n5,1\n", **options)
