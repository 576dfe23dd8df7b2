"""LPP against its plain NumPy twin on real and nasty data, its weights, its bits, and at the edges."""

from __future__ import annotations

import os
import pickle
import warnings
from pathlib import Path

import lpp_twin
import nasty
import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.distance import cdist
from shopca_rs import LPP, k_neighbors, resolution
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

DATA = Path(os.environ.get("SHOPCA_DATA", Path(__file__).parents[2] / "shared" / "data"))
REAL = [
    "abalone",
    "eucalyptus",
    "glass",
    "heart-h",
    "ionosphere",
    "letter",
    "mammography",
    "mfeat-factors",
    "mfeat-zernike",
    "penguins",
    "segment",
    "sonar",
]
BUNDLED = [load_iris, load_wine, load_breast_cancer, load_diabetes, load_digits]
IRIS = load_iris().data
WEIGHTS = np.random.default_rng(5).integers(0, 4, 120).astype(float)


def standardised(X, most=800):
    return StandardScaler().fit_transform(np.nan_to_num(X[:: -(-len(X) // most)].astype(float)))


def assert_same_map(lpp, twin):
    np.testing.assert_allclose(lpp.eigenvalues_, twin.eigenvalues, rtol=1e-8, atol=1e-8)
    angles = scipy.linalg.subspace_angles(lpp.components_.T, twin.components.T)
    assert np.sin(angles).max() < 1e-8


def check_on(X):
    lpp = LPP().fit(X)
    k = round(np.log2(len(X)))
    assert lpp.n_neighbors_ == k
    assert_same_map(lpp, lpp_twin.fit(X, 2, k, limit=max(25, min(100, len(X) // 10))))


@pytest.mark.parametrize("name", REAL)
def test_it_is_the_plain_twin_on_real_data(name):
    if not (DATA / f"{name}.npz").exists():
        pytest.skip(f"{name}.npz is not in {DATA}; set SHOPCA_DATA to the folder that has it")
    with np.load(DATA / f"{name}.npz") as file:
        check_on(standardised(file["X"]))


@pytest.mark.parametrize("load", BUNDLED, ids=lambda load: load.__name__)
def test_it_is_the_plain_twin_on_scikit_learn_s_data(load):
    check_on(standardised(load().data))


@pytest.mark.parametrize("options", [{}, {"ridge": 0.1}, {"ridge": 0.0}, {"resolution": False}], ids=str)
def test_every_matrix_is_that_of_the_twin(options):
    X = nasty.continuous()
    X[:, 0] = X[:, 0].round()
    lpp = LPP(3, n_neighbors=9, **options).fit(X)
    twin = lpp_twin.fit(X, 3, 9, ridge=options.get("ridge", 0.003), resolved=options.get("resolution", True))
    np.testing.assert_allclose(lpp.local_scatter_, twin.local_scatter, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(lpp.degree_covariance_, twin.degree_covariance, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(lpp.covariance_, np.cov(X, rowvar=False), rtol=1e-12)
    np.testing.assert_array_equal(lpp.resolution_, resolution(X) * options.get("resolution", True))
    assert_same_map(lpp, twin)


def test_the_components_solve_the_pencil_and_are_scaled_by_the_local_scatter():
    lpp = LPP(4).fit(nasty.continuous())
    V, mu = lpp.components_.T, lpp.eigenvalues_
    np.testing.assert_allclose(V.T @ lpp.local_scatter_ @ V, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(lpp.degree_covariance_ @ V, lpp.local_scatter_ @ V * mu[:4], atol=1e-10)
    assert len(mu) == 5
    assert (np.diff(mu) <= 0).all()
    assert (V.max(axis=0) > -V.min(axis=0)).all()


def test_connected_points_differ_by_at_most_the_root_of_two_along_every_component():
    X = nasty.continuous()
    lpp = LPP(3, n_neighbors=9).fit(X)
    first, second = np.nonzero(lpp_twin.adjacency(k_neighbors(X, 9)[0]))
    Z = lpp.transform(X)
    mean_squares = ((Z[first] - Z[second]) ** 2).mean(axis=0)
    assert (mean_squares > 1.8).all()
    assert (mean_squares < 2).all()


def test_pca_in_front_is_folded_into_the_components():
    X = load_digits().data[:300]
    lpp, pca = LPP(3, max_features=10).fit(X), PCA(10, svd_solver="full").fit(X)
    assert lpp.components_.shape == (3, 64)
    assert lpp.local_scatter_.shape == (10, 10)
    assert_same_map(lpp, lpp_twin.fit(X, 3, 8, limit=10))
    # R is that of the features, turned by the loadings.
    R = pca.components_ @ np.diag(resolution(X)) @ pca.components_.T
    without = LPP(3, max_features=10, resolution=False, ridge=0).fit(X).local_scatter_
    of_both = LPP(3, max_features=10, ridge=0).fit(X).local_scatter_
    np.testing.assert_allclose(of_both - without, R, atol=1e-10)
    np.testing.assert_allclose(lpp.transform(X), (X - X.mean(0)) @ lpp.components_.T, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "kept"), [((60, 30), 25), ((280, 40), 28), ((280, 20), 20), ((1200, 110), 100)]
)
def test_auto_keeps_a_tenth_of_the_rows_from_25_to_100_features(shape, kept):
    X = np.random.default_rng(0).normal(size=shape)
    assert len(LPP().fit(X).local_scatter_) == kept
    assert len(LPP(max_features=None).fit(X).local_scatter_) == shape[1]


def test_a_column_of_few_values_wins_without_its_resolution_and_not_with_it():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(600, 3)), 3.0 * rng.integers(0, 2, 600)])
    X[:, 0] = np.where(rng.integers(0, 2, 600), 4, -4) + X[:, 0]
    plain, ours = LPP(1, resolution=False).fit(X), LPP(1).fit(X)
    assert np.abs(plain.components_[0]).argmax() == 3
    assert np.abs(ours.components_[0]).argmax() == 0


def test_a_large_ridge_gives_the_principal_components_of_the_degree_covariance():
    lpp = LPP(2, ridge=1e9).fit(nasty.continuous())
    _, vectors = np.linalg.eigh(lpp.degree_covariance_)
    cosines = lpp.components_ @ vectors[:, ::-1][:, :2] / np.linalg.norm(lpp.components_, axis=1)
    np.testing.assert_allclose(np.abs(cosines), np.eye(2), atol=1e-6)


def test_explained_variance_is_that_along_unit_vectors():
    X = nasty.continuous()
    lpp = LPP(3).fit(X)
    units = lpp.components_ / np.linalg.norm(lpp.components_, axis=1)[:, None]
    expected = ((X - X.mean(0)) @ units.T).var(axis=0, ddof=1)
    np.testing.assert_allclose(lpp.explained_variance_, expected)
    total = X.var(axis=0, ddof=1).sum()
    np.testing.assert_allclose(lpp.explained_variance_ratio_, expected / total)


def test_a_weight_of_zero_is_absence_to_the_last_bit():
    X = nasty.continuous(d=30)
    kept = WEIGHTS > 0
    for weights in (WEIGHTS, kept.astype(float)):
        weighted, absent = LPP().fit(X, sample_weight=weights), LPP().fit(X[kept], None, weights[kept])
        for name in ("components_", "mean_", "eigenvalues_", "local_scatter_", "resolution_"):
            np.testing.assert_array_equal(getattr(weighted, name), getattr(absent, name))
        assert weighted.n_samples_ == kept.sum()
    np.testing.assert_array_equal(absent.components_, LPP().fit(X[kept]).components_)


@pytest.mark.parametrize("max_features", [None, 4])
def test_weights_are_those_of_the_twin(max_features):
    X, weights = nasty.continuous(), WEIGHTS + 0.5
    lpp = LPP(n_neighbors=7, max_features=max_features).fit(X, sample_weight=weights)
    assert_same_map(lpp, lpp_twin.fit(X, 2, 7, limit=max_features, weights=weights))
    np.testing.assert_allclose(lpp.mean_, np.average(X, axis=0, weights=weights))
    total = np.average((X - lpp.mean_) ** 2, axis=0, weights=weights).sum()
    share = np.average(lpp.transform(X) ** 2, axis=0, weights=weights) / total
    lengths = np.linalg.norm(lpp.components_, axis=1)
    np.testing.assert_allclose(lpp.explained_variance_ratio_, share / lengths**2)


def test_only_the_ratios_of_the_weights_matter():
    X = nasty.continuous()
    np.testing.assert_array_equal(
        LPP().fit(X, sample_weight=WEIGHTS).components_, LPP().fit(X, sample_weight=8 * WEIGHTS).components_
    )
    np.testing.assert_array_equal(
        LPP().fit(X, sample_weight=np.full(120, 0.3)).components_, LPP().fit(X).components_
    )


def test_weights_of_any_size_give_a_finite_map():
    rng = np.random.default_rng(0)
    X = nasty.continuous()
    for smallest, largest in ((-320, 0), (-300, 300), (-323, -300), (290, 308)):
        lpp = LPP().fit(X, sample_weight=10.0 ** rng.uniform(smallest, largest, len(X)))
        assert np.isfinite(lpp.transform(X)).all()
        assert np.linalg.matrix_rank(lpp.components_) == 2


def test_a_weight_of_two_is_two_rows_that_take_up_one_place_among_the_neighbours():
    X = nasty.continuous()
    counts = np.random.default_rng(1).integers(1, 3, len(X))
    weighted = LPP(n_neighbors=7).fit(X, sample_weight=counts)
    copies = np.repeat(np.arange(len(X)), counts)
    # Every copy is connected with all copies of the neighbours of its row, and not with its own.
    graph = lpp_twin.adjacency(k_neighbors(X, 7)[0])[np.ix_(copies, copies)]
    assert_same_map(weighted, lpp_twin.fit(X[copies], 2, 7, graph=graph))
    # Rows that are really there twice are neighbours of each other, and push others out.
    repeated = LPP(n_neighbors=7).fit(X[copies])
    assert_same_map(repeated, lpp_twin.fit(X[copies], 2, 7))
    assert np.abs(repeated.eigenvalues_ / weighted.eigenvalues_ - 1).max() > 0.01


@pytest.mark.parametrize("shape", [(3000, 6), (800, 60)], ids=str)
def test_the_bits_do_not_depend_on_threads_or_algorithm(shape):
    X = np.random.default_rng(0).normal(size=shape)
    expected = pickle.dumps(LPP(n_jobs=1).fit(X).__dict__ | {"n_jobs": None, "algorithm": None})
    for options in ({"n_jobs": 2}, {"n_jobs": 3}, {"n_jobs": None}, {"algorithm": "brute"}):
        fitted = LPP(**options).fit(X)
        assert pickle.dumps(fitted.__dict__ | {"n_jobs": None, "algorithm": None}) == expected


@pytest.mark.parametrize("power", [-498, -200, 200, 498])
def test_scaling_the_data_scales_the_components_back(power):
    X = nasty.continuous()
    plain, scaled = LPP().fit(X), LPP().fit(np.ldexp(X, power))
    np.testing.assert_allclose(scaled.eigenvalues_, plain.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(np.ldexp(scaled.components_, power), plain.components_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scaled.mahalanobis(np.ldexp(X, power)), plain.mahalanobis(X), rtol=1e-9)
    np.testing.assert_allclose(scaled.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-9)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("options", [{}, {"resolution": False}, {"n_neighbors": 15}], ids=str)
def test_any_nasty_data_give_a_finite_map_and_distance(nasty_points, m, options):
    m = min(m, nasty_points.shape[1])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The local scatter is zero")
        lpp = LPP(m, **options).fit(nasty_points)
    Z = lpp.transform(nasty_points)
    assert np.isfinite(Z).all()
    assert np.linalg.matrix_rank(lpp.components_) == m
    assert (lpp.eigenvalues_ >= 0).all()
    np.testing.assert_allclose(
        lpp.transform(lpp.inverse_transform(Z)), Z, atol=1e-9 * max(np.abs(Z).max(), 1)
    )
    assert np.isfinite(lpp.mahalanobis(nasty_points)).all()
    assert lpp.summary()


@pytest.mark.parametrize(
    ("maker", "options"),
    [(nasty.all_same, {}), (nasty.many_copies, {"resolution": False})],
    ids=["same", "copies"],
)
@pytest.mark.parametrize("shift", [0.0, 1e6 / 3])
def test_without_local_scatter_it_is_pca_and_says_so(maker, options, shift):
    X = maker() + shift
    with pytest.warns(UserWarning, match="local scatter is zero.*Fitting PCA instead") as caught:
        lpp = LPP(**options).fit(X)
    assert caught[0].filename == __file__
    with np.errstate(invalid="ignore"):
        pca = PCA(2, svd_solver="full").fit(X)
    np.testing.assert_allclose(lpp.explained_variance_, pca.explained_variance_, atol=1e-9)
    np.testing.assert_allclose(lpp.components_ @ lpp.components_.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(lpp.eigenvalues_[:2], pca.explained_variance_, atol=1e-9)
    np.testing.assert_allclose(lpp.mahalanobis(X), cdist(X, X), atol=1e-9)
    assert "PCA: neighbours do not differ" in lpp.summary()


def test_duplicates_without_local_scatter_are_told_apart_by_their_resolution():
    X = nasty.many_copies()
    assert LPP().fit(X).transform(X)[::30].std() > 0.1


def test_a_constant_column_changes_nothing():
    X = nasty.continuous()
    plain, padded = LPP().fit(X), LPP().fit(np.insert(X, 2, 7.1, axis=1))
    np.testing.assert_allclose(np.delete(padded.components_, 2, axis=1), plain.components_, atol=1e-9)
    np.testing.assert_allclose(padded.components_[:, 2], 0, atol=1e-12)


def test_distances_follow_the_formula_and_neighbour_estimators_take_the_metric():
    X, y = load_iris(return_X_y=True)
    lpp = LPP().fit(X)
    inverse = np.linalg.inv(lpp.local_scatter_)
    expected = [[np.sqrt((a - b) @ inverse @ (a - b)) for b in X[:9]] for a in X[:7]]
    np.testing.assert_allclose(lpp.mahalanobis(X[:7], X[:9]), expected, atol=1e-10)
    metric = pickle.loads(pickle.dumps(lpp.metric()))
    mapped = X @ metric.map.T
    np.testing.assert_allclose(cdist(mapped, mapped), lpp.mahalanobis(X), atol=1e-9)
    slow = KNeighborsClassifier(7, metric=metric, algorithm="brute").fit(X[::3], y[::3]).predict(X)
    fast = KNeighborsClassifier(7).fit(mapped[::3], y[::3]).predict(mapped)
    np.testing.assert_array_equal(slow, fast)


def test_all_components_together_are_the_distance():
    X = nasty.continuous()
    lpp = LPP(None).fit(X)
    Z = lpp.transform(X)
    np.testing.assert_allclose(cdist(Z, Z), lpp.mahalanobis(X), rtol=1e-9, atol=1e-9)


def test_float32_in_gives_float32_out_with_the_numbers_of_float64():
    X = nasty.continuous().astype(np.float32)
    single, double = LPP().fit(X), LPP().fit(X.astype(np.float64))
    np.testing.assert_array_equal(single.components_, double.components_)
    assert single.transform(X).dtype == np.float32


def test_the_summary_says_what_was_done():
    text = LPP(3, max_features=10).fit(load_digits().data[:300]).summary()
    for part in ("64 features to 3 components, through 10 principal", 'k = 8 (rule "log2")', "ridge 0.003"):
        assert part in text
    assert "0.0% of it resolution" in LPP(resolution=False).fit(IRIS).summary()


def test_verbose_shows_a_bar(capsys):
    LPP(verbose=True).fit(IRIS)
    assert "100%" in capsys.readouterr().err


REFUSED = {
    "more neighbours than rows": (
        {"n_neighbors": 120},
        {},
        "n_neighbors must be at most n_samples - 1 = 119",
    ),
    "more components than columns": ({"n_components": 6}, {}, "n_components must be at most min.* = 5"),
    "negative ridge": ({"ridge": -1.0}, {}, "ridge"),
    "ridge of nan": ({"ridge": np.nan}, {}, "ridge"),
    "infinite ridge": ({"ridge": np.inf}, {}, "ridge"),
    "huge ridge": ({"ridge": 1.7e308}, {}, "ridge must be small enough for B to fit"),
    "unknown max_features": ({"max_features": "all"}, {}, "max_features"),
    "no threads": ({"n_jobs": 0}, {}, "n_jobs must not be 0"),
    "few weights": ({}, {"sample_weight": [1.0]}, "each of the 120 rows of X, got 1"),
    "negative weight": ({}, {"sample_weight": WEIGHTS - 1}, "got -1 among them"),
    "two rows with a weight": ({}, {"sample_weight": np.arange(120) > 117}, "at least 3 rows .* got 2"),
}


@pytest.mark.parametrize(("options", "given", "text"), REFUSED.values(), ids=REFUSED)
def test_what_it_cannot_use_is_refused_in_a_sentence(options, given, text):
    with pytest.raises(ValueError, match=text):
        LPP(**options).fit(nasty.continuous(), **given)


def test_without_a_ridge_a_singular_scatter_is_refused():
    for maker in (nasty.constant_columns, nasty.collinear):
        with pytest.raises(ValueError, match=r"singular.*raise the ridge above 0\."):
            LPP(1, ridge=0, resolution=False).fit(maker())


def test_sizes_whose_squares_overflow_or_vanish_are_refused():
    X = nasty.continuous()
    for scale in (1e200, 1e-160):
        with pytest.raises(ValueError, match="Rescale"):
            LPP().fit(X * scale)


@pytest.mark.parametrize("ridge", [np.float32(0.003), np.float64(0.003)], ids=repr)
def test_the_ridge_may_be_any_real_number(ridge):
    lpp = LPP(ridge=ridge).fit(IRIS)
    np.testing.assert_allclose(lpp.components_, LPP().fit(IRIS).components_, rtol=1e-6)
    assert "ridge 0.003" in lpp.summary()
