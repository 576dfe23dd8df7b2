"""The data sets of the paper: the catalogue, and those that scikit-learn or a folder has."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from refusals import cases, refuses
from shopca_rs.experiments.catalogue import CATALOGUE
from shopca_rs.experiments.sources import Loaded, Missing, fingerprint, load
from sklearn.model_selection import train_test_split
from small_data_set import in_folder, rows, small

DATA = Path(os.environ.get("SHOPCA_DATA", Path(__file__).parents[2] / "shared" / "data"))
BY_NAME = {data_set.name: data_set for data_set in CATALOGUE}

needs_data = pytest.mark.skipif(
    not (DATA / "manifest.csv").exists(),
    reason=f"no data in {DATA}; set SHOPCA_DATA to the folder that has them",
)


# The catalogue


def test_the_catalogue_has_the_papers_57_data_sets_in_tables_of_30_25_and_28():
    assert len(BY_NAME) == len(CATALOGUE) == 57
    assert [sum(table in data_set.tables for data_set in CATALOGUE) for table in (1, 2, 3)] == [30, 25, 28]


def test_every_data_set_is_built_in_or_has_a_version_on_openml():
    built_in = [data_set.name for data_set in CATALOGUE if data_set.builtin]
    assert built_in == ["iris", "wine", "digits"]
    assert all((data_set.version is None) == (data_set.name in built_in) for data_set in CATALOGUE)


@needs_data
def test_the_catalogue_has_the_sizes_that_the_manifest_of_the_data_gives_for_the_paper():
    with (DATA / "manifest.csv").open(encoding="utf-8", newline="") as file:
        listed = {row["name"]: [int(row[f"paper_{size}"]) for size in "ndc"] for row in csv.DictReader(file)}
    # The manifest counts the rows before the paper's sample was taken.
    whole = {name: 70000 if entry.sampled else entry.n for name, entry in BY_NAME.items()}
    assert listed == {name: [whole[name], BY_NAME[name].d, BY_NAME[name].classes] for name in listed}


# scikit-learn's own


@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_the_built_in_data_sets_need_neither_folder_nor_network(name):
    loaded = load(BY_NAME[name], openml=False)
    assert loaded.source == f"scikit-learn's load_{name}"
    assert loaded.matches_paper
    assert loaded.notes == ()
    assert loaded.X.dtype == np.float64
    assert loaded.y.dtype == np.int64


@needs_data
@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_the_built_in_data_sets_equal_their_copies_in_the_folder(name):
    loaded = load(BY_NAME[name], openml=False)
    with np.load(DATA / f"{name}.npz") as stored:
        np.testing.assert_array_equal(loaded.X, stored["X"])
        np.testing.assert_array_equal(loaded.y, stored["y"])


def test_scikit_learn_is_not_imported_before_a_data_set_is_loaded(run_python):
    code = "import sys, shopca_rs.experiments.sources; print('sklearn' in sys.modules)"
    assert run_python(code).strip() == "False"


# The folder


@needs_data
def test_every_stored_data_set_loads_and_says_where_its_size_is_not_the_papers():
    loaded = {
        entry.name: load(entry, DATA, openml=False)
        for entry in CATALOGUE
        if (DATA / f"{entry.name}.npz").exists()
    }
    assert len(loaded) > 45
    for name, data in loaded.items():
        entry = BY_NAME[name]
        assert data.X.dtype == np.float64
        assert data.X.flags.c_contiguous
        assert np.array_equal(np.unique(data.y), np.arange(data.y.max() + 1))
        as_in_paper = (*data.X.shape, data.y.max() + 1) == (entry.n, entry.d, entry.classes)
        assert data.matches_paper == as_in_paper
        assert any("the paper has" in note for note in data.notes) != as_in_paper
    assert "3119 × 617 with 26 classes; the paper has 7797 × 617 with 26 classes." in loaded["isolet"].notes
    assert np.isnan(loaded["penguins"].X).sum() == 19


def test_numbers_of_any_kind_become_float64_and_classes_are_numbered_in_sorted_order(tmp_path):
    X = np.array([[0, 255]] * 6, dtype=np.uint8)
    y = np.array(["red", "blue", "red", "green", "blue", "red"])
    loaded = load(small(), in_folder(tmp_path, X=X, y=y))
    assert loaded.X.dtype == np.float64
    assert loaded.X[0].tolist() == [0.0, 255.0]
    assert loaded.y.tolist() == [2, 0, 2, 1, 0, 2]
    assert loaded.source == "small.npz in the given folder"
    assert loaded.matches_paper
    assert loaded.notes == ()


def test_missing_values_stay_nan(tmp_path):
    arrays = rows()
    arrays["X"][2, 1] = np.nan
    loaded = load(small(), in_folder(tmp_path, **arrays))
    assert np.argwhere(np.isnan(loaded.X)).tolist() == [[2, 1]]


def test_the_manifest_adds_its_source_and_notes_and_its_doubt(tmp_path):
    in_folder(tmp_path)
    lines = [
        "name,matches_paper,source,notes",
        "other,yes,there,",
        'small,NO,the attic,"SUBSTITUTE: small, grey"',
    ]
    (tmp_path / "manifest.csv").write_text("\n".join(lines), encoding="utf-8-sig")
    loaded = load(small(), tmp_path)
    assert loaded.source == "small.npz in the given folder, from the attic"
    assert loaded.notes == ("SUBSTITUTE: small, grey",)
    assert not loaded.matches_paper


def test_a_manifest_that_lacks_the_data_set_or_its_columns_adds_nothing(tmp_path):
    in_folder(tmp_path)
    (tmp_path / "manifest.csv").write_text("name\nsmall\nother\n")
    loaded = load(small(), tmp_path)
    assert (loaded.source, loaded.notes, loaded.matches_paper) == ("small.npz in the given folder", (), True)


def test_a_data_set_in_no_source_is_missing_with_the_reason(tmp_path):
    refuses(Missing, ["No folder", "downloads from OpenML are off"], load, small(), openml=False)
    refuses(Missing, ["small.npz is not in the given folder"], load, small(), tmp_path, openml=False)


NUMBERS = rows()["X"]
CLASSES = rows()["y"]


@cases(
    {
        "no y": ({"X": NUMBERS}, Missing, ["small.npz", "the arrays X and y", "y is not a file"]),
        "other names": ({"data": NUMBERS, "y": CLASSES}, Missing, ["small.npz", "X is not a file"]),
        "pickled": ({"X": NUMBERS.astype(object), "y": CLASSES}, Missing, ["small.npz", "without pickled"]),
        "text": ({"X": NUMBERS.astype(str), "y": CLASSES}, Missing, ["small.npz", "must hold numbers", "<U"]),
        "complex": ({"X": NUMBERS + 1j, "y": CLASSES}, Missing, ["small.npz", "numbers", "complex128"]),
        "images": ({"X": np.zeros((6, 2, 2)), "y": CLASSES}, Missing, ["small.npz", "2-D", "(6, 2, 2)"]),
        "no rows": ({"X": np.zeros((0, 2)), "y": CLASSES[:0]}, Missing, ["small.npz", "not empty", "(0, 2)"]),
        "short y": ({"X": NUMBERS, "y": CLASSES[:5]}, Missing, ["small.npz", "each of 6 rows", "(5,)"]),
        "table y": (
            {"X": NUMBERS, "y": CLASSES[:, None]},
            Missing,
            ["small.npz", "each of 6 rows", "(6, 1)"],
        ),
        "NaN in y": (
            {"X": NUMBERS, "y": np.array([0, 1, 2, 0, 1, np.nan])},
            Missing,
            ["small.npz", "got NaN"],
        ),
        "infinite": (
            {"X": np.full((6, 2), -np.inf), "y": CLASSES},
            Missing,
            ["small.npz", "finite", "infinity"],
        ),
    }
)
def test_a_file_with_the_wrong_arrays_is_missing_with_the_reason(tmp_path, value, exception, parts):
    refuses(exception, parts, load, small(), in_folder(tmp_path, **value))


def whole(path):
    np.savez_compressed(path, X=np.random.default_rng(0).normal(size=(60, 2)), y=np.arange(60) % 3)
    return path.read_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"a page that says 404",
        lambda content: content[:-40],
        lambda content: content[:200] + bytes(300) + content[500:],
    ],
    ids=["empty", "text", "cut off", "overwritten"],
)
def test_a_damaged_file_is_missing_with_the_reason(tmp_path, damage):
    path = tmp_path / "small.npz"
    path.write_bytes(damage(whole(path)))
    refuses(Missing, ["small.npz must be an .npz file"], load, small(), tmp_path)


def test_a_single_array_under_the_name_of_an_archive_is_missing_with_the_reason(tmp_path):
    with (tmp_path / "small.npz").open("wb") as file:
        np.save(file, NUMBERS)
    refuses(Missing, ["small.npz must be an .npz file"], load, small(), tmp_path)


# Samples


def test_a_sample_is_stratified_fixed_and_in_the_order_of_the_rows(tmp_path):
    X, y = np.arange(180.0).reshape(90, 2), np.arange(90) // 30
    loaded = load(small(n=30, sampled=True), in_folder(tmp_path, X=X, y=y))
    kept = np.sort(train_test_split(np.arange(90), train_size=30, stratify=y, random_state=0)[0])
    np.testing.assert_array_equal(loaded.X, X[kept])
    assert np.bincount(loaded.y).tolist() == [10, 10, 10]
    assert "sample of 30 of 90 rows" in loaded.notes[0]
    assert loaded.matches_paper


def test_rows_beyond_the_papers_are_kept_where_the_paper_took_no_sample(tmp_path):
    loaded = load(small(), in_folder(tmp_path, **rows(9)))
    assert len(loaded.X) == 9
    assert loaded.notes == ("9 × 2 with 3 classes; the paper has 6 × 2 with 3 classes.",)


def test_what_is_no_larger_than_the_sample_is_taken_whole(tmp_path):
    assert load(small(sampled=True), in_folder(tmp_path, **rows(6))).notes == ()


def test_what_cannot_be_sampled_class_by_class_is_missing_with_the_reason(tmp_path):
    in_folder(tmp_path, X=np.ones((9, 2)), y=np.array([0, 0, 0, 0, 1, 1, 1, 1, 2]))
    refuses(Missing, ["small.npz", "cannot be sampled class by class"], load, small(sampled=True), tmp_path)


# Fingerprints


def test_a_fingerprint_depends_on_every_number_and_on_the_shape_alone():
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 3
    known = fingerprint(Loaded(X, y, "here"))
    assert fingerprint(Loaded(np.asfortranarray(X), y, "there", ("a note",), False)) == known
    others = [
        (X + 0.0 * X, y),
        (np.where(X == 11, np.nextafter(11, 12), X), y),
        (X, y[::-1]),
        (X.reshape(2, 6), y),
    ]
    assert [fingerprint(Loaded(*other, "here")) == known for other in others] == [True, False, False, False]


def test_a_fingerprint_is_the_same_in_every_process(run_python):
    code = (
        "from shopca_rs.experiments.catalogue import CATALOGUE\n"
        "from shopca_rs.experiments.sources import fingerprint, load\n"
        "print(fingerprint(load(CATALOGUE[0])))"
    )
    assert run_python(code).strip() == fingerprint(load(CATALOGUE[0]))
