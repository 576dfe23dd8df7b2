"""Trustworthiness, continuity and the overlap of neighbourhoods, against full matrices of ranks in NumPy."""

from __future__ import annotations

import re

import nasty
import numpy as np
import pytest
from refusals import cases, refuses
from shopca_rs import continuity, quality, trustworthiness
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.manifold import trustworthiness as sklearn_trustworthiness

X = nasty.continuous(211, 7)
Z = X[:, :2] + 0.1 * np.sin(3 * X[:, 2:4])
MEASURES = [trustworthiness, continuity, quality]

every_measure = pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.__name__)


def squared_distances(X, rows=slice(None)):
    """Sum in the one order of the package, so that ties are its ties."""
    squares = (X[rows][:, None] - X[None]) ** 2
    sums = np.zeros((8, *squares.shape[:2]))
    for column in range(X.shape[1]):
        sums[column % 8] += squares[..., column]
    a, b, c, d, e, f, g, h = sums
    return ((a + e) + (c + g)) + ((b + f) + (d + h))


def ranks(X, rows=slice(None)):
    """The rank of row j from each of some rows i, from 1 on; 0 for itself."""
    D = squared_distances(X, rows)
    D[np.arange(len(D)), np.arange(len(X))[rows]] = -1
    order = np.argsort(D, axis=1, kind="stable")
    found = np.empty_like(order)
    np.put_along_axis(found, order, np.arange(len(X))[None], axis=1)
    return found


def plain_trustworthiness(X, Z, k, rows=slice(None)):
    r, s = ranks(X, rows), ranks(Z, rows)
    m, n = r.shape
    penalty = np.where((s <= k) & (r > k), r - k, 0).sum()
    return 1 - 2 / (m * k * (2 * n - 3 * k - 1)) * penalty


def plain_curves(X, Z, rows=slice(None)):
    larger = np.maximum(ranks(X), ranks(Z))[rows]
    m, n = larger.shape
    K = np.arange(1, n - 1)
    q_nx = np.array([((larger <= size) & (larger > 0)).sum() for size in K]) / (m * K)
    r_nx = ((n - 1) * q_nx - K) / (n - 1 - K)
    return q_nx, r_nx, (r_nx / K).sum() / (1 / K).sum()


def judge(result, X, Z, k, rows=slice(None)):
    """Compare all of a result with the plain definitions."""
    q_nx, r_nx, auc = plain_curves(X, Z, rows)
    assert result.trustworthiness == pytest.approx(plain_trustworthiness(X, Z, k, rows), abs=1e-12)
    assert result.continuity == pytest.approx(plain_trustworthiness(Z, X, k, rows), abs=1e-12)
    assert np.abs(result.q_nx - q_nx).max() <= 1e-12
    # Near K = n − 2 the formula itself loses the digits of n.
    assert np.abs(result.r_nx - r_nx).max() <= 1e-12 * len(X)
    assert result.auc == pytest.approx(auc, abs=1e-12)
    assert result.n_neighbors == k


@pytest.mark.parametrize("k", [1, 2, 5, 10, 100])
def test_all_numbers_are_those_of_the_plain_definitions(k):
    result = quality(X, Z, k)
    judge(result, X, Z, k)
    assert trustworthiness(X, Z, k) == result.trustworthiness
    assert continuity(X, Z, k) == result.continuity


def test_ties_are_decided_by_the_row_number(nasty_points):
    rng = np.random.default_rng(5)
    embeddings = [nasty_points[:, :1], nasty_points.round(), rng.integers(0, 3, (len(nasty_points), 2))]
    for Z in embeddings:
        for k in (1, 7):
            result = quality(nasty_points, Z, k)
            judge(result, nasty_points, np.asarray(Z, dtype=float), k)
            assert trustworthiness(nasty_points, Z, k) == result.trustworthiness
            assert continuity(nasty_points, Z, k) == result.continuity


def test_many_rows_with_ties_are_counted_and_sorted_alike():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 9, (3000, 4)).astype(float)
    Z = rng.integers(0, 50, (3000, 2)).astype(float)
    result = quality(X, Z, 8)
    assert trustworthiness(X, Z, 8) == result.trustworthiness
    assert continuity(X, Z, 8) == result.continuity
    assert result.trustworthiness == pytest.approx(plain_trustworthiness(X, Z, 8), abs=1e-12)


REAL = {
    "breast cancer": (load_breast_cancer, True),
    "diabetes": (load_diabetes, False),
    "wine": (load_wine, True),
}


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("k", [1, 5, 30])
def test_real_data_without_ties_have_the_trustworthiness_of_scikit_learn(name, k):
    load, standardised = REAL[name]
    X = load().data
    X = (X - X.mean(axis=0)) / X.std(axis=0) if standardised else X
    left, values, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    Z = left[:, :2] * values[:2]
    for table in (X, Z):
        gaps = np.diff(np.sort(squared_distances(table), axis=1), axis=1)
        assert gaps.min() > 0
    for a, b in ((X, Z), (X.astype(np.float32), Z.astype(np.float32))):
        assert trustworthiness(a, b, k) == pytest.approx(
            sklearn_trustworthiness(a.astype(float), b.astype(float), n_neighbors=k), abs=1e-12
        )
        assert continuity(a, b, k) == pytest.approx(
            sklearn_trustworthiness(b.astype(float), a.astype(float), n_neighbors=k), abs=1e-12
        )


def test_digits_whose_distances_are_whole_numbers_are_ranked_by_the_definition():
    X = load_digits().data[:600]
    judge(quality(X, X[:, 20:23]), X, X[:, 20:23], 10)


@every_measure
def test_a_perfect_embedding_has_one_everywhere(measure):
    result = measure(X, X[:, ::-1] * 1e-3 + 4)
    if measure is quality:
        assert (result.q_nx == 1).all()
        assert result.auc == pytest.approx(1, abs=1e-12)
        result = result.trustworthiness + result.continuity - 1
    assert result == 1


def test_a_random_embedding_has_an_r_nx_about_zero():
    rng = np.random.default_rng(0)
    result = quality(rng.normal(size=(1500, 5)), rng.normal(size=(1500, 2)))
    assert abs(result.auc) < 0.01
    assert abs(result.r_nx[:700]).max() < 0.03
    assert abs(result.trustworthiness - 0.5) < 0.03


def test_the_order_of_rows_the_scale_and_rotations_change_nothing():
    rng = np.random.default_rng(1)
    shuffled = rng.permutation(len(X))
    turn, _ = np.linalg.qr(rng.normal(size=(7, 7)))
    expected = quality(X, Z)
    for a, b in ((X[shuffled], Z[shuffled]), (X * 2.0**200, Z * 2.0**-200), (X @ turn, Z[:, ::-1] + 5)):
        result = quality(a, b)
        assert np.abs(result.r_nx - expected.r_nx).max() < 1e-12
        assert result[:3] == expected[:3]
        assert trustworthiness(a, b, 10) == expected.trustworthiness


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_tables_of_any_kind_of_number_and_layout_are_taken(dtype):
    a, b = (np.asfortranarray((table * 100).round().astype(dtype)) for table in (X, Z))
    judge(quality(a, b), a.astype(float), b.astype(float), 10)


def test_a_sample_has_the_numbers_of_its_rows():
    rows = np.random.RandomState(3).permutation(len(X))[:50]
    result = quality(X, Z, 6, sample=50, random_state=3)
    judge(result, X, Z, 6, rows)
    found = trustworthiness(X, Z, 6, sample=50, random_state=3, return_error=True)
    assert found == (result.trustworthiness, result.standard_error.trustworthiness)
    found = continuity(X, Z, 6, sample=50, random_state=3, return_error=True)
    assert found == (result.continuity, result.standard_error.continuity)


def test_the_standard_error_of_a_sample_is_that_of_a_mean_without_replacement():
    m, n = 50, len(X)
    rows = np.random.RandomState(0).permutation(n)[:m]
    error = quality(X, Z, 6, sample=m).standard_error
    single = [[row, row] for row in rows]
    curves = [plain_curves(X, Z, pair) for pair in single]
    values = {
        "trustworthiness": [plain_trustworthiness(X, Z, 6, pair) for pair in single],
        "continuity": [plain_trustworthiness(Z, X, 6, pair) for pair in single],
        "q_nx": [curve[0] for curve in curves],
        "r_nx": [curve[1] for curve in curves],
        "auc": [curve[2] for curve in curves],
    }
    for name, each in values.items():
        expected = np.std(each, axis=0, ddof=1) * np.sqrt((1 - m / n) / m)
        assert np.abs(getattr(error, name) - expected).max() < 1e-9, name


def test_about_two_thirds_of_samples_lie_within_their_standard_error():
    exact = quality(X, Z)
    inside = []
    for seed in range(150):
        sampled = quality(X, Z, sample=60, random_state=seed)
        inside.append(
            [
                abs(getattr(sampled, name) - getattr(exact, name)) <= getattr(sampled.standard_error, name)
                for name in ("trustworthiness", "continuity", "auc")
            ]
        )
    share = np.mean(inside, axis=0)
    # The standard deviation of such a share is 0.04.
    assert (share > 0.55).all()
    assert (share < 0.82).all()


@every_measure
def test_a_sample_of_all_rows_is_exact(measure):
    everything, sampled = measure(X, Z), measure(X, Z, sample=len(X))
    if measure is quality:
        assert everything.standard_error[:3] == sampled.standard_error[:3] == (0, 0, 0)
        assert not everything.standard_error.q_nx.any()
        assert not everything.standard_error.r_nx.any()
        assert np.array_equal(everything.r_nx, sampled.r_nx)
        everything, sampled = everything[:3], sampled[:3]
    else:
        assert measure(X, Z, return_error=True) == (everything, 0.0)
    assert everything == sampled


def test_the_bits_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 12))
    Z = X[:, :2].round(1)
    for sample in (None, 700):
        expected = quality(X, Z, sample=sample, n_jobs=1)
        counted = [measure(X, Z, sample=sample, n_jobs=1) for measure in (trustworthiness, continuity)]
        for n_jobs in (2, 3, 8):
            result = quality(X, Z, sample=sample, n_jobs=n_jobs)
            assert result[:3] == expected[:3]
            assert result.r_nx.tobytes() == expected.r_nx.tobytes()
            assert result.standard_error[:3] == expected.standard_error[:3]
            assert result.standard_error.q_nx.tobytes() == expected.standard_error.q_nx.tobytes()
            assert counted == [
                measure(X, Z, sample=sample, n_jobs=n_jobs) for measure in (trustworthiness, continuity)
            ]


@pytest.mark.parametrize(("ties", "k"), [(False, 5), (True, 8)])
def test_many_rows_are_ranked_alike_in_pairs_and_one_by_one(ties, k):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(3200, 12))
    Z = X[:, :2] + rng.normal(size=(3200, 2))
    if ties:
        X, Z = (2 * X).round(), Z.round(1)
    chunks = np.arange(len(X)).reshape(-1, 200)
    for measure, (a, b) in {trustworthiness: (X, Z), continuity: (Z, X)}.items():
        expected = np.mean([plain_trustworthiness(a, b, k, rows) for rows in chunks])
        # One thread has rows enough for blocks that meet in pairs; more threads and a sample have not.
        found = [measure(X, Z, k, n_jobs=n_jobs) for n_jobs in (1, 2, 5)] + [measure(X, Z, k, sample=len(X))]
        assert found == [pytest.approx(expected, abs=1e-12)] * 4
        assert len(set(found)) == 1


BAD = {
    "no neighbours": ({"n_neighbors": 0}, ValueError, ["n_neighbors must be at least 1", "got 0"]),
    "half": ({"n_neighbors": 106}, ValueError, ["less than n / 2 = 105.5 for n = 211 rows", "got 106"]),
    "other rows": ({"Z": Z[:-1]}, ValueError, ["Z must have as many rows as X (211)", "got 210"]),
    "nan": ({"Z": np.where(Z > 2, np.nan, Z)}, ValueError, ["Z must hold finite numbers only", "NaN"]),
    "a line": ({"Z": Z[:, 0]}, ValueError, ["Z must be 2-D", "Z.reshape(-1, 1)"]),
    "huge": ({"Z": Z * 1e200}, ValueError, ["Z spans", "overflow"]),
    "no rows": ({"X": X[:0], "Z": Z[:0]}, ValueError, ["X must have at least one row"]),
    "large sample": ({"sample": 212}, ValueError, ["sample must be at most n = 211", "got 212"]),
    "small sample": ({"sample": 1}, ValueError, ["sample must be at least 2", "got 1"]),
}


@every_measure
@cases(BAD)
def test_bad_arguments_are_refused_in_a_sentence(measure, value, exception, parts):
    refuses(exception, parts, measure, **({"X": X, "Z": Z} | value))


@every_measure
def test_the_most_neighbours_are_just_below_half(measure):
    for n in (3, 4, 5, 6):
        measure(X[:n], Z[:n], (n - 1) // 2)
        with pytest.raises(ValueError, match="n_neighbors must be at least 1 and less than"):
            measure(X[:n], Z[:n], (n + 1) // 2)


def test_a_result_is_shown_in_one_line():
    X = nasty.continuous(200, 4)
    exact, sampled = quality(X, X[:, :2], 7), quality(X, X[:, :2], 7, sample=50)
    pattern = (
        r"Quality\(trustworthiness = 0\.\d{3}, continuity = 0\.\d{3}, auc = 0\.\d{3}, n_neighbors = 7, curves"
    )
    assert re.fullmatch(pattern + r" for K = 1 … 198\)", repr(exact))
    assert re.fullmatch(pattern.replace(",", r" ± 0\.\d{3},", 3) + r" for K = 1 … 198\)", repr(sampled))
