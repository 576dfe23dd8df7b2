"""The intrinsic dimension of known manifolds."""

import numpy as np
import pytest
import shapes
from refusals import refuses
from shopca_rs import intrinsic_dimension, k_neighbors
from shopca_rs.geometry.dimension import METHODS

KNOWN = {
    **shapes.ALL,
    "circle": lambda n, rng: shapes.sphere(n, rng, 1),
    "S4": lambda n, rng: shapes.sphere(n, rng, 4),
}


# At this density S4 is so curved that its neighbourhoods fill five directions.
CASES = [(name, method) for name in KNOWN for method in METHODS if (name, method) != ("S4", "pca")]


@pytest.mark.parametrize(("name", "method"), CASES)
def test_the_dimension_of_clean_shapes_is_found(name, method):
    shape = KNOWN[name](3000, np.random.default_rng(0))
    assert intrinsic_dimension(shape.points, method=method).dimension == shape.dimension


def test_maximum_likelihood_follows_its_formula():
    X = np.random.default_rng(1).normal(size=(200, 4))
    _, distances = k_neighbors(X, 12)
    expected = 10 / np.log(distances[:, -1:] / distances).sum(1)
    found = intrinsic_dimension(X, n_neighbors=12)
    assert np.allclose(found.local, expected, rtol=1e-12)
    assert np.isclose(found.estimate, 1 / np.mean(1 / expected), rtol=1e-12)


def test_local_dimensions_count_large_eigenvalues():
    X = np.random.default_rng(2).normal(size=(300, 5)) * [1.0, 0.8, 0.6, 0.2, 0.05]
    found = intrinsic_dimension(X, method="pca", n_neighbors=40)
    indices, _ = k_neighbors(X, 40)
    for row in (0, 100, 299):
        values = np.linalg.eigvalsh(np.cov(X[indices[row]], rowvar=False))
        assert found.local[row] == (values > 0.05 * values[-1]).sum()


def test_some_points_have_the_dimensions_they_have_in_company():
    X = shapes.torus(500, np.random.default_rng(3)).points
    for method in ("mle", "pca"):
        whole = intrinsic_dimension(X, method=method)
        some = intrinsic_dimension(X, method=method, points=[5, 400])
        assert np.allclose(some.local, whole.local[[5, 400]])


def test_duplicates_do_not_count_and_only_duplicates_are_refused():
    X = shapes.torus(1000, np.random.default_rng(4)).points
    X[:100] = X[100:200]
    assert intrinsic_dimension(X).dimension == 2
    assert intrinsic_dimension(X, method="two_nn").dimension == 2
    for method in ("mle", "two_nn"):
        refuses(
            ValueError,
            ("different distances", "Drop duplicated rows"),
            intrinsic_dimension,
            np.ones((30, 2)),
            method=method,
        )


def test_bad_arguments_are_refused_in_a_sentence():
    X = np.random.default_rng(5).normal(size=(30, 3))
    refuses(ValueError, ("method must be one of", "got 'pcx'"), intrinsic_dimension, X, method="pcx")
    refuses(ValueError, ("n_neighbors must be at least 3",), intrinsic_dimension, X, n_neighbors=2)
    refuses(ValueError, ("k must be at most n − 1 = 29",), intrinsic_dimension, X, n_neighbors=40)
