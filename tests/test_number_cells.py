"""Numbers written as people write them: decimal commas, thousands, currencies, percentages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shopca_rs.cli.tables import read_table
from shopca_rs.cli.tables.numerals import Signs, looks_numeric, parsed
from table_checks import columns, has_note, parquet

NNBSP, NBSP, THIN = "\u202f", "\u00a0", "\u2009"


def one_column(cells, name="x"):
    """A text table with the cells and a column of other numbers, whatever signs the cells hold."""
    return f"{name}\tother\n" + "".join(f"{cell}\t{j * j}\n" for j, cell in enumerate(cells))


def rows(*cells):
    return "".join(f"{cell}\n" for cell in cells)


# One decimal sign for the file, from all its rows


def test_a_german_file_has_thousands_where_it_has_points(read):
    table = read(rows("x;y", "1.174;23,1", "2.345;7,25", "987;8,5"))
    assert columns(table) == {"x": [1174, 2345, 987], "y": [23.1, 7.25, 8.5]}
    assert has_note(table, "Decimal signs are commas.")
    assert has_note(table, "Removed thousands separators", "x (1.174 is 1174)")


def test_an_english_file_has_thousands_where_it_has_commas(read):
    table = read(rows("x,y", '"1,174.39",2.5', '"2,345",3.5', "987,1"))
    assert columns(table) == {"x": [1174.39, 2345, 987], "y": [2.5, 3.5, 1]}
    assert has_note(table, "Removed thousands separators", "x (1,174.39 is 1174.39)")


@pytest.mark.parametrize("n_before", [99, 100, 101, 40_000])
def test_a_decimal_comma_in_any_row_counts(n_before, read):
    table = read("x;y\n" + "".join(f"{j};1.174\n" for j in range(n_before)) + rows("23,1;5", "7,2;6"))
    assert table.X[-2:].tolist() == [[23.1, 5], [7.2, 6]]
    assert table.X[0, 1] == 1174
    assert not has_filled(table)


def has_filled(table):
    return "Filled" in str(table.notes)


def test_a_column_of_decimal_commas_with_a_bad_cell_is_read_like_one_of_points(read):
    commas = read(rows("x;y", "1,5;1", "oops;2", "3,5;4", "4,5;8"))
    points = read(rows("x;y", "1.5;1", "oops;2", "3.5;4", "4.5;8"))
    assert columns(commas) == columns(points) == {"x": [1.5, 3.5, 3.5, 4.5], "y": [1, 2, 4, 8]}
    for table in (commas, points):
        assert has_note(table, "Cells that are not numbers count as missing: x (1, such as 'oops' in row 1).")


@pytest.mark.parametrize(
    "content",
    [
        rows("x;y", "12.5;1,5", "13.5;2,5", "1.25;3,5"),
        rows("x;y", "0.174;1,5", "0.345;2,5", "0.987;3,5"),
        rows("x,y", '12.5,"1,5"', '13.5,"2,5"', '1.25,"3,5"'),
        rows("x;y", "1;1,5", "12.5;2,5", "13;3,5"),
        rows("x;y", '"1,234.5";1,5', "12;2,5", "13;3,5"),
        rows("x;y", "12.5;1.234.567", "13.5;2", "1.25;3"),
        "x;y\n" + "1;2\n" * 200 + rows("1.5;2", "1;2,5"),
    ],
)
def test_a_file_with_both_decimal_signs_is_refused_with_the_cells_and_the_options(content, refused):
    line = refused(content)
    assert "must have one decimal sign, got a point in '" in line
    assert " of x) and a comma in '" in line
    assert " of y)" in line
    assert "--decimal point or --decimal comma" in line
    assert "--drop" in line


def test_the_cells_of_a_refusal_are_named_with_their_rows(refused):
    content = rows("x;y", "1;2", "12.5;2", "3;2", "4;7,5")
    assert "a point in '12.5' (row 1 of x) and a comma in '7,5' (row 3 of y)." in refused(content)


def test_a_file_with_both_decimal_signs_is_read_when_one_is_told(read):
    content = rows("x;y;z", "12.5;1,5;1", "13.5;2,5;2", "1.25;3,5;4")
    assert read(content, decimal="comma").names == ["y", "z"]
    assert read(content, decimal=".").names == ["x", "z"]
    assert read(content, drop=["x"]).names == ["y", "z"]
    assert read(content, label="y").names == ["x", "z"]


def test_the_label_stays_the_label_when_the_decimal_sign_shows_late(read):
    table = read("k;x\n" + "a;1\n" * 150 + "b;2,5\n", label="k")
    assert table.names == ["x"]
    assert table.labels.tolist() == ["a"] * 150 + ["b"]
    assert table.X[-1, 0] == 2.5


def test_what_is_dropped_may_hold_anything(read):
    assert read(rows("x,y", "1,1e999", "2,<0.5", "4,3"), drop=["y"]).names == ["x"]
    assert read(rows("x,y", "1,1e999", "2,1", "4,3"), drop=["y"]).names == ["x"]


def test_text_that_holds_a_number_or_two_tells_nothing_about_the_signs(read):
    table = read(rows("x;remark", "1.5;1,5", "2.5;good", "4.5;bad", "3.5;none at all"))
    assert columns(table) == {"x": [1.5, 2.5, 4.5, 3.5]}


# What no cell decides


def test_three_digits_behind_a_point_are_decimals_if_nothing_else_is_known(read):
    content = rows("x,y", "1.174,1", "2.345,2", "9.876,4")
    assert columns(read(content))["x"] == [1.174, 2.345, 9.876]
    assert read(content).notes == []
    assert columns(read(content, thousands="point"))["x"] == [1174, 2345, 9876]


def test_points_that_may_mark_thousands_are_mentioned_where_commas_do_not_separate(read):
    table = read(rows("x;y", "1.174;1", "2.345;2", "987;4"))
    assert columns(table)["x"] == [1.174, 2.345, 987]
    assert has_note(table, "Decimal signs are points", "'1.174' (row 0 of x)", "--thousands point")
    for other in ("0.5", "1.25", "1234.567"):
        assert "thousands" not in str(read(rows("x;y", "1.174;1", "2.345;2", f"{other};4")).notes)
        late = "x;y\n" + "1.174;1\n" * 200 + f"{other};4\n"
        assert "thousands" not in str(read(late).notes)


@pytest.mark.parametrize(("separator", "value"), [(",", 1174), ("\t", 1174), (";", 1.174)])
def test_three_digits_behind_a_comma_are_decimals_only_behind_semicolons(separator, value, read):
    lines = [["x", "y"], ['"1,174"', "1"], ["23", "2"], ["7", "4"]]
    table = read(rows(*map(separator.join, lines)))
    assert columns(table)["x"] == [value, 23, 7]
    assert has_note(table, "--thousands comma" if separator == ";" else "--decimal comma")


def test_the_signs_can_be_told_by_name_or_by_themselves(read):
    content = rows("x;y", "1,174;1", "2,345;2", "7;4")
    for sign in ("comma", ","):
        assert columns(read(content, thousands=sign))["x"] == [1174, 2345, 7]
        assert columns(read(content, decimal=sign))["x"] == [1.174, 2.345, 7]
    assert columns(read(content, decimal="point"))["x"] == [1174, 2345, 7]
    assert read(content, decimal="point", thousands="none", text="drop").names == ["y"]


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"decimal": ";"}, ["decimal sign must be one of point (.), comma (,), got ';'"]),
        ({"thousands": "dot"}, ["thousands sign must be one of comma (,), point (.), apostrophe", "'dot'"]),
        ({"decimal": ",", "thousands": "comma"}, ["must differ, got , for both"]),
    ],
)
def test_signs_that_cannot_be_are_refused(options, parts, refused):
    line = refused(rows("x;y", "1;2", "2;3", "4;5"), **options)
    assert all(part in line for part in parts), line


def test_a_single_column_may_have_decimal_commas(read):
    assert columns(read(rows("x", "1,5", "2,25", "4"))) == {"x": [1.5, 2.25, 4]}


# How numbers are written


@pytest.mark.parametrize(
    ("cell", "value"),
    {
        "thousands": ("1,234,567.5", 1234567.5),
        "lakh": ("12,34,567.5", 1234567.5),
        "apostrophes": ("1'234'567.5", 1234567.5),
        "typographic apostrophe": ("1’234.5", 1234.5),
        "spaces": ("1 234 567.5", 1234567.5),
        "no-break space": (f"1{NBSP}234.5", 1234.5),
        "narrow no-break space": (f"1{NNBSP}234.5", 1234.5),
        "thin space": (f"1{THIN}234.5", 1234.5),
        "dollars": ("$1,234", 1234),
        "dollars below zero": ("-$1,234.5", -1234.5),
        "dollars and a sign": ("$-1,234.5", -1234.5),
        "euros": ("0.64 €", 0.64),
        "euros and no-break space": (f"0.64{NBSP}€", 0.64),
        "code": ("USD 12.5", 12.5),
        "code behind": ("12.5 CHF", 12.5),
        "country": ("US$12.5", 12.5),
        "percent": ("12.3%", 0.123),
        "percent and space": ("12.3 %", 0.123),
        "permille": ("12.3‰", 0.0123),
        "parentheses": ("(1,234.5)", -1234.5),
        "parentheses and dollars": ("($1,234.5)", -1234.5),
        "minus behind": ("1,234.5-", -1234.5),
        "minus sign": ("−12.5", -12.5),
        "en dash": ("–12.5", -12.5),
        "plus": ("+12.5", 12.5),
        "exponent": ("1.5e3", 1500),
        "exponent below zero": ("1.5E−3", 0.0015),
        "no digit before": (".5", 0.5),
        "no digit behind": ("5.", 5),
        "other digits": ("１２.５", 12.5),
    }.values(),
)  # fmt: skip
def test_every_usual_way_to_write_a_number_is_read(cell, value, read):
    others = ["1%", "2%"] if value in (0.123, 0.0123) else ["1.5", "2.5"]
    table = read(one_column([cell, *others]))
    assert table.names == ["x", "other"]
    assert table.X[0, 0] == value
    assert not has_filled(table)


@pytest.mark.parametrize(
    "cell", ["1.234.567,5", "1'234,5", "1 234,5", "-0,64 €", "12,3%", "(1.234,50)", "1,5e3"]
)
def test_the_same_is_read_with_decimal_commas(cell, read):
    swapped = cell.translate(str.maketrans(",.", ".,"))
    expected = parsed(swapped).value(Signs("."))
    others = ["1,5%", "2%"] if "%" in cell else ["1,5", "2,5"]
    assert read(one_column([cell, *others])).X[0, 0] == expected


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15))
def test_a_number_is_read_to_the_last_bit_whatever_its_signs(number):
    for decimal, thousands in ((".", ","), (",", "."), (".", "'"), (",", NNBSP)):
        text = f"{number:,.6f}".replace(",", "T").replace(".", decimal).replace("T", thousands)
        numeral = parsed(text)
        assert numeral.fits(Signs(decimal))
        assert numeral.value(Signs(decimal)) == float(f"{number:.6f}")


@pytest.mark.parametrize(
    "cell",
    ["1.2.3", "1,23", "12,3456", "1,2345.6", "1.234,567.8", "0,174", "01,234.5", "1 23", "$1$", "1-2",
     "12.03.2020", "(5", "5)", "-(5)", "--5", "5-%", "1e5%", "1e", "e5", ".", ",", "", "$", "%", "12 kg",
     "1_000", "0x1A", "1,234 567", "٣٫٥"],
)  # fmt: skip
def test_what_is_no_number_with_a_decimal_point_is_not_read_as_one(cell):
    numeral = parsed(cell)
    assert numeral is None or not numeral.fits(Signs("."))


def test_a_long_cell_is_taken_apart_in_no_time():
    for cell in ("1" * 100_000, "1," * 50_000, "(" + " " * 100_000, "-" * 100_000, "1 " * 50_000 + "x"):
        parsed(cell)
        looks_numeric(cell)


def test_what_was_read_in_another_way_than_it_is_written_is_noted(read):
    table = read(rows("a\tb\tc\td", "$1\t12.3%\t(5)\t1,234.5", "$2\t7%\t3\t2.5", "$3.5\t0\t1\t7.5"))
    assert has_note(table, "Read 1 column with currency signs: a ($).")
    assert has_note(table, "Percentages are read as fractions: b (12.3% is 0.123).")
    assert has_note(table, "minus at the end are negative: c ((5) is -5).")
    assert has_note(table, "Removed thousands separators: d (1,234.5 is 1234.5).")
    assert columns(table)["b"] == [0.123, 0.07, 0]


# What looks like a number is read, or the file is refused


@pytest.mark.parametrize(
    "cell",
    ["12_34", "1.2.3", "<0.5", "7 kg", "3.0M", "12.03.2020", "1/2", "10-20", "5*", "~3", "1e", "$5 or 6"],
)
def test_a_cell_that_looks_like_a_number_is_never_replaced_by_a_median(cell, refused):
    line = refused(one_column([1.5, 2.5, cell, 4.5, cell]))
    assert "The column x of data.csv must hold numbers, got 2 that cannot be read: " in line
    assert f"'{cell}' (row 2 of x)" in line
    assert line.endswith("Correct them, or leave the column out with --drop x.")


def test_a_cell_that_only_the_other_sign_makes_a_number_is_told_so(refused):
    line = refused(rows("x;y", "1.5;1", "2.5;2", "7,5;3", "4.5;4"), decimal=".")
    assert "'7,5' (row 2 of x). Correct them, give --decimal comma, or leave the column out" in line


@pytest.mark.parametrize("cell", ["1e999", "-1e400", "9" * 400, "9" * 5000, "1" + ",000" * 120])
@pytest.mark.parametrize("others", [["1", "2", "3"], ["1.5", "2.5", "3.5"], ["1", "", "3"]])
def test_a_number_beyond_float64_is_refused_with_its_place(cell, others, refused):
    line = refused(one_column([others[0], cell, *others[1:]]))
    assert "must hold numbers up to 1.8e308 (float64), got '" in line
    assert "(row 1 of x)" in line


@pytest.mark.parametrize(
    "cells", [["$5", "€6", "$7"], ["5 USD", "6 EUR", "7"], ["12%", "5", "7%"], ["12%", "5 €", "7%"]]
)
def test_a_column_of_two_units_is_refused(cells, refused):
    line = refused(one_column(cells))
    assert "The column x of data.csv must be in one unit, got " in line
    assert f"{cells[1]!r} (row 1 of x)" in line


@pytest.mark.parametrize("cells", [["12%", "0", "7%"], ["12%", "5‰", "7%"], ["$5", "6", "7"]])
def test_a_column_of_one_unit_may_leave_it_out_or_divide_it(cells, read):
    assert read(one_column(cells)).names == ["x", "other"]


def test_dates_codes_and_versions_stay_text(read):
    content = rows(
        "day;version;phone;range;x", "12.03.2020;1.2.3;555 1234;1-5;1,5", "13.03.2020;1.2.4;555 9876;5-9;2,5",
        "14.03.2020;1.3.0;555 5555;9-99;4,5",
    )  # fmt: skip
    table = read(content)
    assert table.names == ["x"]
    assert has_note(table, "Dropped 4 columns of text: day (3 values), version (3 values), phone")


def test_text_columns_of_parquet_are_read_by_the_same_rules(tmp_path):
    path = parquet({"x": ["1.174", "23,1", "5"], "p": ["$1", "$2", "$4"]}, tmp_path)
    table = read_table(path)
    assert columns(table) == {"x": [1174, 23.1, 5], "p": [1, 2, 4]}
    with pytest.raises(ValueError, match="must have one decimal sign"):
        read_table(parquet({"x": ["1.5", "23,1", "5"]}, tmp_path))


def test_a_first_row_of_such_numbers_is_data(read):
    table = read(rows("1.174,5;$3", "2.345,5;$4", "7,5;$6"))
    assert np.array_equal(table.X, [[1174.5, 3], [2345.5, 4], [7.5, 6]])
