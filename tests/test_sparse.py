"""Sparse tables give what their dense copies give, and are never filled in."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from shopca_rs import LPP, SHOPCA, ShapeOperatorEigenmaps, mean_shape_operator, resolution

ALL = [SHOPCA, ShapeOperatorEigenmaps, LPP]
every_estimator = pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)


def counts(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Return counts of words in topics of different sizes: the leading variances are distinct."""
    rng = np.random.default_rng(seed)
    topics = rng.gamma(0.3, size=(40, d)) * np.linspace(4, 0.5, 40)[:, None]
    mixtures = rng.gamma(0.5, size=(n, 40))
    # Weights of the words, because whole numbers have ties.
    return rng.poisson(0.02 * mixtures @ topics) * rng.uniform(0.5, 2, size=d)


# Wide, tall, few enough rows for the dense solver, and one with as many rows as are kept.
TABLES = {"wide": (400, 700), "tall": (700, 350), "small": (150, 500), "few rows": (24, 200)}


def assert_same(given, expected, X, sparse_X):
    assert given.n_components_ == expected.n_components_
    assert np.allclose(given.mean_, expected.mean_, rtol=1e-12, atol=1e-14)
    scale = np.abs(expected.components_).max()
    assert np.allclose(given.components_, expected.components_, rtol=0, atol=1e-8 * scale)
    assert np.allclose(given.eigenvalues_, expected.eigenvalues_, rtol=1e-8, atol=1e-8)
    assert np.allclose(given.explained_variance_ratio_, expected.explained_variance_ratio_, rtol=1e-8)
    Z = expected.transform(X)
    assert np.allclose(given.transform(sparse_X), Z, rtol=0, atol=1e-8 * np.abs(Z).max())


@every_estimator
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array])
def test_a_sparse_table_gives_the_fit_of_its_dense_copy(make, table, form):
    if (make, table) == (ShapeOperatorEigenmaps, "few rows"):
        pytest.skip("neighbourhoods of so few rows leave S̄ with eigenvalues that nearly coincide")
    X = counts(*TABLES[table])
    assert_same(make().fit(form(X)), make().fit(X), X, form(X))


@every_estimator
@pytest.mark.parametrize("n_components", [1, 7, None, 0.3, 0.9])
def test_the_number_of_components_is_that_of_the_dense_fit(make, n_components):
    X = counts(120, 400)
    given, expected = make(n_components).fit(sparse.csr_array(X)), make(n_components).fit(X)
    assert given.n_components_ == expected.n_components_
    assert given.components_.shape == expected.components_.shape


def test_weights_of_rows_count_in_a_sparse_fit():
    X = counts(400, 700)
    weights = np.random.default_rng(1).integers(0, 4, size=400)
    given = LPP().fit(sparse.csr_matrix(X), sample_weight=weights)
    assert_same(given, LPP().fit(X, sample_weight=weights), X, sparse.csr_matrix(X))


@every_estimator
def test_few_columns_are_copied_and_give_the_same_bits(make):
    X = counts(200, 12)
    assert make().fit(sparse.csr_matrix(X)).components_.tobytes() == make().fit(X).components_.tobytes()


def test_without_a_limit_the_size_of_the_dense_copy_is_told():
    X = counts(200, 60)
    with pytest.warns(UserWarning, match="dense copy of X, 0 MB. Set max_features") as caught:
        given = SHOPCA(max_features=None).fit(sparse.csr_matrix(X))
    assert caught[0].filename == __file__
    assert given.components_.tobytes() == SHOPCA(max_features=None).fit(X).components_.tobytes()


@every_estimator
def test_single_precision_stays_single(make):
    X = sparse.csr_matrix(counts(300, 400), dtype=np.float32)
    model = make().fit(X)
    assert model.transform(X).dtype == np.float32
    assert model.components_.tobytes() == make().fit(X.astype(float)).components_.tobytes()


@every_estimator
def test_two_fits_have_the_same_bits(make):
    X = sparse.csr_matrix(counts(500, 600))
    assert make().fit(X).components_.tobytes() == make().fit(X).components_.tobytes()


def test_low_rank_and_constant_tables_end_like_their_dense_copies():
    rng = np.random.default_rng(0)
    low = rng.gamma(0.5, size=(400, 2)) @ (rng.random((2, 500)) < 0.2)
    given, expected = SHOPCA().fit(sparse.csr_array(low)), SHOPCA().fit(low)
    assert given.covariance_.shape == expected.covariance_.shape == (2, 2)
    assert np.allclose(given.components_, expected.components_, atol=1e-8)
    constant = np.tile(np.arange(500.0) % 2, (400, 1))
    with pytest.warns(UserWarning, match="Fitting PCA instead"):
        flat = SHOPCA().fit(sparse.csr_array(constant))
    assert not flat.transform(sparse.csr_array(constant)).any()


def test_entries_stored_twice_are_added_and_the_table_is_left_alone():
    X = counts(300, 400)
    rows, columns = X.nonzero()
    twice = sparse.csr_matrix(
        (
            np.repeat(X[rows, columns] / 2, 2),
            np.repeat(columns, 2),
            np.append(0, np.cumsum(2 * (X > 0).sum(axis=1))),
        ),
        shape=X.shape,
    )
    stored = twice.nnz
    assert np.allclose(SHOPCA().fit(twice).components_, SHOPCA().fit(X).components_, atol=1e-8)
    assert twice.nnz == stored


def test_a_sparse_table_is_never_filled_in():
    rng = np.random.default_rng(0)
    n, d = 10_000, 4_000
    X = sparse.random(n, d, density=0.005, format="csr", random_state=rng)
    X = X + sparse.csr_matrix(np.outer(rng.normal(size=n) > 2, rng.normal(size=d) > 2).astype(float))
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    tracemalloc.start()
    SHOPCA(n_components=2, max_features=10).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * stored + 10 * n * 8 < n * d * 8 / 10


@every_estimator
def test_a_fit_takes_four_times_the_sparse_data_and_the_scores(make):
    n, features = 20_000, 25
    X = sparse.random(n, 600, density=0.02, format="csr", random_state=np.random.RandomState(0))
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    model = make(max_features=features)
    tracemalloc.start()
    try:
        model.fit(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The table itself was made before.
    assert peak + stored < 4 * stored + 8 * n * features


def test_the_mean_shape_operator_takes_a_narrow_sparse_table():
    X = counts(200, 30)
    assert mean_shape_operator(sparse.csc_matrix(X), 8).tobytes() == mean_shape_operator(X, 8).tobytes()
    with pytest.raises(TypeError, match="at most 1000 columns here, where it is made dense, got 1001"):
        mean_shape_operator(sparse.csr_matrix((50, 1001)), 8)


def test_the_resolution_of_sparse_columns_counts_their_zeros():
    X = np.c_[counts(200, 30), np.zeros(200), np.ones(200), -counts(200, 3) / 2]
    weights = np.arange(200) % 3
    assert np.allclose(resolution(sparse.csr_array(X)), resolution(X), rtol=1e-13)
    assert np.allclose(resolution(sparse.csr_array(X), weights), resolution(X, weights), rtol=1e-12)


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        (sparse.csr_matrix(([np.nan], ([0], [1])), shape=(50, 40)), ValueError, "NaN"),
        (sparse.csr_matrix((50, 40), dtype=complex), ValueError, "[Cc]omplex"),
        (1e200 * sparse.csr_matrix(counts(60, 50)), ValueError, "squares that fit in float64"),
        (sparse.csr_matrix((2, 40)), ValueError, "minimum of 3"),
    ],
    ids=["nan", "complex", "huge", "two rows"],
)
@every_estimator
def test_bad_sparse_tables_are_refused_in_a_sentence(make, X, error, words):
    with pytest.raises(error, match=words):
        make().fit(X)


@pytest.mark.parametrize("make", [SHOPCA, LPP])
@pytest.mark.parametrize("name", ["cnae-9", "wap.wc"])
def test_real_counts_of_words_give_the_dense_fit(make, name):
    folder = os.environ.get("SHOPCA_DATA")
    files = sorted(Path(folder).rglob(f"{name}.npz")) if folder else []
    if not files:
        pytest.skip(f"no {name}.npz in the folder SHOPCA_DATA")
    X = np.asarray(np.load(files[0], allow_pickle=False)["X"], dtype=float)
    assert_same(make().fit(sparse.csr_matrix(X)), make().fit(X), X, sparse.csr_matrix(X))
