"""Labels become classes: what is missing, in which order, and with which colours and markers."""

from __future__ import annotations

import decimal
import subprocess
import sys

import matplotlib.markers
import numpy as np
import pandas as pd
import pytest
from shopca_rs.classes import MARKERS, PALETTE, Classes, as_classes, as_colors, class_style, short_name

ABSENT = [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), "", "  ", decimal.Decimal("nan"), b""]


@pytest.mark.parametrize("absent", ABSENT, ids=repr)
@pytest.mark.parametrize("container", [list, lambda y: np.array(y, dtype=object), pd.Series])
def test_every_kind_of_missing_label_is_minus_one(absent, container):
    names, codes = as_classes(container(["b", absent, "a", absent]))
    assert names == ["a", "b"]
    assert codes.tolist() == [1, -1, 0, -1]


@pytest.mark.parametrize(
    "labels",
    [
        np.array([2.0, np.nan, 10.0]),
        pd.Series([2, None, 10], dtype="Int64"),
        pd.Series([2, None, 10]),
        [2, None, 10],
        np.ma.array([2, 5, 10], mask=[0, 1, 0]),
        pd.Categorical([2, None, 10]),
        np.array(["2", "", "10"]),
        np.array([b"2", b"", b"10"]),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_codes_of_classes_are_in_the_order_of_their_numbers(labels):
    names, codes = as_classes(labels)
    assert names == ["2", "10"]
    assert codes.tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    "ordered",
    [
        ["a2", "a10", "b1"],
        ["-10", "-2", "1.5", "3"],
        ["2", "10", "x"],
        ["x9y2", "x9y10", "x010y1"],
        ["nan", "nano"],
        ["1" * 5000 + "x", "2" * 5000 + "x", "1" * 5001 + "x"],
        ["2020-01-02", "2020-02-01", "2021-01-01"],
    ],
    ids=lambda names: names[0][:10],
)
def test_names_are_in_natural_order(ordered):
    assert as_classes(np.array(ordered[::-1]))[0] == ordered
    assert as_classes(ordered[::-1])[0] == ordered


def test_truth_values_dates_and_complex_numbers_are_classes_of_their_text():
    assert as_classes([True, False, True])[0] == ["False", "True"]
    assert as_classes(np.array(["2020-02-01", "2020-01-01"], dtype="M8[D]"))[0] == [
        "2020-01-01",
        "2020-02-01",
    ]
    assert len(as_classes(np.array([1j, 2j]))[0]) == 2


@pytest.mark.parametrize("kind", [int, float, object])
def test_few_whole_numbers_are_classes_and_others_a_scale(kind):
    assert isinstance(as_colors(np.arange(20).astype(kind), 20), Classes)
    assert as_colors(np.arange(21).astype(kind), 21).dtype == np.float64
    assert as_colors([0.5, 1.0], 2).tolist() == [0.5, 1.0]
    assert as_colors([np.inf, 1.0], 2).tolist() == [np.inf, 1.0]
    assert as_colors([10**400, 1], 2).names == ["1", "1" + "0" * 400]


def test_whole_floats_are_named_without_a_point_and_huge_ones_as_they_are():
    assert as_classes([1.0, 2.0, 1e300])[0] == ["1", "2", "1e+300"]
    assert as_classes(np.array([2**63 + 1, 1], dtype=np.uint64))[0] == ["1", str(2**63 + 1)]


def test_labels_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"one entry for each of the 3 rows of X, got shape \(2,\)."):
        as_colors(["a", "b"], 3)
    assert as_colors(np.array([["a"], ["b"]]), 2).names == ["a", "b"]


def test_twenty_classes_differ_in_colour_or_marker():
    styles = [class_style(j) for j in range(20)]
    assert len(set(styles)) == 20
    assert {marker for marker, _ in MARKERS} <= set(matplotlib.markers.MarkerStyle.markers)
    assert not {class_style(-1).color} & set(PALETTE)


def luminance(linear):
    return linear @ [0.2126, 0.7152, 0.0722]


# Linear RGB as it is seen without one kind of cones (Viénot, Brettel and Mollon, 1999).
WITHOUT = {
    "red": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "green": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
}


@pytest.mark.parametrize("cones", WITHOUT)
def test_colours_are_told_apart_without_red_or_green_cones(cones):
    srgb = matplotlib.colors.to_rgba_array(PALETTE)[:, :3]
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = (linear @ np.transpose(WITHOUT[cones])).clip(0, 1)
    shown = np.where(seen <= 0.0031308, 12.92 * seen, 1.055 * seen ** (1 / 2.4) - 0.055)
    distances = np.linalg.norm(shown[:, None] - shown, axis=2)[np.triu_indices(len(PALETTE), 1)]
    assert distances.min() > 0.12
    # And on white, at least as well as the lightest of Okabe and Ito's but yellow.
    assert (1.05 / (luminance(linear) + 0.05)).min() > 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("short", "short"),
        ("x" * 40, "x" * 29 + "…"),
        ("a\nb\x00c", "a b c"),
        ("\n", r"'\n'"),
        ("\ud800a", "a"),
    ],
)
def test_a_name_is_shortened_to_one_line_that_can_be_drawn(name, expected):
    assert short_name(name) == expected


def test_classes_need_no_library_for_pictures():
    code = "import sys, shopca_rs.classes; print('matplotlib' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_labels_that_are_tables_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"y must be a list of labels or numbers: .*\."):
        as_classes([np.zeros((2, 2)), np.zeros((2, 3))])
