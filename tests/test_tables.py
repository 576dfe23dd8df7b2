"""Columns of a file → a table of numbers, with a note for whatever was changed."""

from __future__ import annotations

import numpy as np
import pytest
from shopca_rs.cli.tables import read_table
from table_checks import columns, has_note

NAN = np.nan


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


def test_encoded_columns_get_names_that_no_other_has(read):
    table = read("a,a=b,a=c\nb=c,c,1\nc,d,2\nb=c,e,5\nx,c,7\n", text="encode")
    assert columns(table) == {
        "a=b=c": [1, 0, 1, 0],
        "a=c.1": [0, 1, 0, 0],
        "a=x": [0, 0, 0, 1],
        "a=b=c.1": [1, 0, 0, 1],
        "a=b=d": [0, 1, 0, 0],
        "a=b=e": [0, 0, 1, 0],
        "a=c": [1, 2, 5, 7],
    }


def test_text_of_many_values_is_not_encoded(read):
    table = read("x,name\n" + "\n".join(f"{j},name {j}" for j in range(21)), text="encode")
    assert table.names == ["x"]
    assert has_note(table, "of text of more than 20 values", "name (21 values)")


def test_missing_text_is_missing_in_its_encoded_columns(read):
    table = read("x,kind\n1,a\n2,\n3,b\n4,b\n", text="encode", missing="drop-rows")
    assert columns(table) == {"x": [1, 3, 4], "kind=b": [0, 1, 1]}
    assert table.rows.tolist() == [0, 2, 3]


def test_a_few_cells_that_are_no_numbers_count_as_missing(read):
    table = read("x,y\n1,5\n2,broken\n3,7\nNo. 4,9\n")
    assert columns(table) == {"x": [1, 2, 3, 2], "y": [5, 7, 7, 9]}
    assert has_note(
        table,
        "not numbers count as missing",
        "x (1, such as 'No. 4' in row 3)",
        "y (1, such as 'broken' in row 1)",
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


@pytest.mark.parametrize("word", ["inf", "-inf", "Infinity"])
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


# Identifiers


@pytest.mark.parametrize(
    "numbers",
    [range(1, 21), range(20), range(1000, 1020), range(-3, 17), range(20, 0, -1), [3, 1, 2, 0, 4]],
    ids=["from_1", "from_0", "from_1000", "from_below_0", "downwards", "shuffled"],
)
def test_a_column_that_numbers_the_rows_is_mentioned_as_a_likely_identifier(numbers, read):
    table = read("no,x\n" + "".join(f"{j},{j * j + 7}\n" for j in numbers))
    assert table.names == ["no", "x"]
    assert has_note(table, "possible identifier", f"no ({min(numbers)} … {max(numbers)})", "--drop no.")


@pytest.mark.parametrize(
    "numbers",
    [range(0, 40, 2), [0, 1, 2, 2, 4], [0, 1.5, 2, 3, 4], [0, "", 2, 3, 4], [7, 8, 9, 10, 12]],
    ids=["steps_of_2", "twice", "a_fraction", "one_missing", "a_gap"],
)
def test_other_columns_of_whole_numbers_are_not(numbers, read):
    assert "identifier" not in str(read("no,x\n" + "".join(f"{j},{7 if j else 8}\n" for j in numbers)).notes)


@pytest.mark.parametrize("options", [{"text": "keep"}, {"missing": "guess"}])
def test_an_unknown_choice_is_refused(options, refused):
    assert "must be one of" in refused("x,y\n1,2\n3,4\n5,1\n", **options)


@pytest.mark.parametrize("missing", ["median", "mean"])
def test_numbers_whose_sum_overflows_have_a_middle(read, missing):
    table = read("x,y\n1e308,1\n1.5e308,2\n,3\n", missing=missing)
    assert table.X[2, 0] == 1.25e308


def test_a_signalling_nan_is_a_missing_value(tmp_path):
    X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
    X[1, 1] = np.array(0x7FF0000000000001, dtype=np.uint64).view(np.float64)
    np.save(tmp_path / "data.npy", X)
    assert read_table(tmp_path / "data.npy", missing="mean").X[1, 1] == 4.5
