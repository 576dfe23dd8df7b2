import nasty
import numpy as np
import pytest
import reference
from shopca_rs import k_neighbors
from sklearn.neighbors import NearestNeighbors

MOST_TREE_COLUMNS = 32


def both(X, k, **options):
    """What every algorithm that takes X returns, after checking that they agree bit for bit."""
    indices, distances = k_neighbors(X, k, algorithm="brute", **options)
    for algorithm in ("auto", "kd_tree") if X.shape[1] <= MOST_TREE_COLUMNS else ("auto",):
        other, apart = k_neighbors(X, k, algorithm=algorithm, **options)
        assert np.array_equal(other, indices), algorithm
        assert apart.tobytes() == distances.tobytes(), algorithm
    assert indices.dtype == np.int64
    assert distances.dtype == np.float64
    return indices, distances


def assert_nearest(X, indices, rows, k):
    """The given lines are those of the oracle for some rows of X."""
    for row in rows:
        assert np.array_equal(indices[row], reference.nearest(X, X[row], k, own=row))


@pytest.mark.parametrize(
    ("n", "d", "k"), [(300, 1, 5), (300, 3, 2), (500, 8, 20), (200, 33, 7), (150, 100, 149)]
)
def test_continuous_data_have_the_neighbours_scikit_learn_finds(n, d, k):
    X = nasty.continuous(n, d, seed=d)
    distances, indices = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X).kneighbors()
    found, apart = both(X, k)
    assert np.array_equal(found, indices)
    assert np.allclose(apart, distances, rtol=1e-7, atol=0)


# Where a tie hangs on rounding, the order of summation decides it; the two tests after this one see to it.
EXACT_TIES = {name: make for name, make in nasty.ALL.items() if name != "categorical"}


@pytest.mark.parametrize("make", EXACT_TIES.values(), ids=EXACT_TIES)
def test_ties_follow_distance_then_index(make):
    X = make()
    for k in (*nasty.neighbor_counts(X), len(X) - 1):
        indices, _ = both(X, k)
        assert np.array_equal(indices, reference.neighbors(X, k)), f"k = {k}"


def test_ties_up_to_rounding_still_have_the_right_distance_at_every_rank(nasty_points):
    n = len(nasty_points)
    _, distances = both(nasty_points, n - 1)
    squares = ((nasty_points[:, None] - nasty_points) ** 2).sum(axis=2)
    expected = np.sqrt(np.sort(squares[~np.eye(n, dtype=bool)].reshape(n, n - 1), axis=1))
    assert np.allclose(distances, expected, rtol=1e-14, atol=0)


def test_equal_rows_come_in_the_order_of_their_numbers():
    X = nasty.categorical()
    indices, distances = both(X, 60)
    for line in indices:
        rows = [tuple(row) for row in X[line]]
        for row in set(rows):
            twins = line[[other == row for other in rows]]
            assert (np.diff(twins) > 0).all()
    assert (distances == 0).any()


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 12])
@pytest.mark.parametrize("make", ["random", "gridded", "clustered"])
def test_tree_and_brute_force_agree_bit_for_bit_over_many_blocks(d, make):
    rng = np.random.default_rng(d)
    X = {
        "random": lambda: rng.normal(size=(3000, d)),
        "gridded": lambda: rng.integers(0, 4, size=(3000, d)).astype(float),
        "clustered": lambda: (
            rng.normal(size=(30, d))[rng.integers(0, 30, size=3000)] + 1e-3 * rng.normal(size=(3000, d))
        ),
    }[make]()
    indices, _ = both(X, 9)
    assert_nearest(X, indices, rng.choice(3000, size=20, replace=False), 9)


@pytest.mark.parametrize("d", [16, 31, 32])
def test_the_tree_takes_all_the_columns_it_promises(d):
    X = nasty.continuous(300, d)
    assert_nearest(X, both(X, 6)[0], range(0, 300, 20), 6)


def test_the_tree_says_when_there_are_too_many_columns():
    with pytest.raises(
        ValueError, match=r'"kd_tree" takes at most 32 columns, got 33. Use "brute" or "auto"'
    ):
        k_neighbors(nasty.continuous(50, 33), 3, algorithm="kd_tree")


def test_queries_have_every_row_as_a_possible_neighbour():
    X = nasty.grid()
    indices, distances = both(X, 3, queries=X)
    assert np.array_equal(indices[:, 0], np.arange(len(X)))
    assert not distances[:, 0].any()
    assert np.array_equal(distances[:, 1], np.ones(len(X)))


def test_a_query_equal_to_two_rows_gets_the_first_of_them():
    X = nasty.two_copies()
    indices, _ = both(X, 1, queries=X)
    assert np.array_equal(indices[:, 0], np.tile(np.arange(len(X) // 2), 2))


@pytest.mark.parametrize(
    "make", [nasty.grid, nasty.continuous, nasty.many_copies], ids=lambda make: make.__name__
)
def test_queries_take_any_k_from_one_to_all_rows(make):
    X = make()
    queries = np.concatenate([X[:5], X[:5] + 0.5, [np.full(X.shape[1], 1e4)]])
    expected = np.array([reference.nearest(X, query, len(X)) for query in queries])
    for k in range(1, len(X) + 1):
        indices, _ = both(X, k, queries=queries)
        assert np.array_equal(indices, expected[:, :k])


def test_own_rows_can_have_all_other_rows_as_neighbours():
    X = nasty.continuous(30, 3)
    indices, _ = both(X, 29)
    assert np.array_equal(np.sort(indices, axis=1), [[j for j in range(30) if j != i] for i in range(30)])


def test_distances_are_norms(nasty_points):
    k = len(nasty_points) // 2
    indices, distances = both(nasty_points, k)
    norms = np.linalg.norm(nasty_points[indices] - nasty_points[:, None], axis=2)
    assert np.allclose(distances, norms, rtol=1e-15, atol=0)
    assert (np.diff(distances, axis=1) >= 0).all()


@pytest.mark.parametrize("offset", [1e6, 1e8, -1e12])
@pytest.mark.parametrize("d", [2, 7, 24])
def test_an_offset_does_not_confuse_the_search(offset, d):
    X = nasty.continuous(1200, d) + offset
    assert_nearest(X, both(X, 8)[0], range(0, 1200, 50), 8)


@pytest.mark.parametrize("d", [2, 5, 20])
def test_tight_clusters_far_apart_are_searched_exactly(d):
    # In single precision all points of a cluster are one point.
    rng = np.random.default_rng(d)
    X = 1e-9 * rng.normal(size=(600, d))
    X[::2] += 1.0
    for k in (5, 320):
        assert_nearest(X, both(X, k)[0], range(0, 600, 25), k)


@pytest.mark.parametrize("d", [4, 8, 32])
@pytest.mark.parametrize("make", ["sheet", "far apart", "few distinct"])
def test_large_clouds_of_few_dimensions_are_searched_exactly(d, make):
    rng = np.random.default_rng(d)
    sheet = nasty.sheet(9000, d)
    X = {
        "sheet": lambda: sheet,
        "far apart": lambda: 1e-3 * sheet + 1e4 * (np.arange(9000)[:, None] % 2),
        "few distinct": lambda: sheet[np.arange(9000) % 50],
    }[make]()
    indices, _ = both(X, 16)
    assert_nearest(X, indices, rng.choice(9000, size=20, replace=False), 16)
    both(X[:8500], 5, queries=X[8500:] + 0.01)


def test_columns_of_very_different_size_are_searched_exactly():
    X = nasty.continuous(900, 6) * 10.0 ** np.array([-12, -6, 0, 0, 3, 6])
    assert_nearest(X, both(X, 7)[0], range(0, 900, 30), 7)


def test_differences_whose_squares_vanish_are_ties():
    X = np.zeros((40, 2))
    X[:, 0] = 1e-170 * np.random.default_rng(0).normal(size=40)
    X[-1, 1] = 1.0
    indices, distances = both(X, 5)
    assert np.array_equal(indices, reference.neighbors(X, 5))
    assert not distances[:-1].any()


@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_neighbours_do_not_depend_on_who_else_is_asked(algorithm):
    X = nasty.continuous(1000, 4)
    indices, distances = k_neighbors(X, 6, queries=X, algorithm=algorithm)
    for row in (0, 1, 499, 999):
        alone, apart = k_neighbors(X, 6, queries=X[[row]], algorithm=algorithm)
        assert np.array_equal(alone[0], indices[row])
        assert apart.tobytes() == distances[row].tobytes()


@pytest.mark.parametrize("far", [1e3, 1e12, 1e30])
def test_far_queries_are_answered_exactly(far):
    X = nasty.continuous(200, 3)
    queries = np.array([[far, 0, 0], [0, 0, -far]])
    indices, _ = both(X, 4, queries=queries)
    assert np.array_equal(indices, [reference.nearest(X, query, 4) for query in queries])


@pytest.mark.parametrize("far", [1e40, 1e100])
def test_queries_beyond_single_precision_are_answered_exactly(far):
    X = nasty.continuous(50, 5)
    X[:, 1] = 0
    indices, distances = both(X, 4, queries=[[0, far, 0, 0, 0]])
    assert np.array_equal(indices, [[0, 1, 2, 3]])
    assert np.array_equal(distances, np.full((1, 4), far))


def test_queries_may_lie_as_close_together_as_they_like():
    X = nasty.continuous(30, 2)
    indices, _ = both(X, 3, queries=[[0.0, 0.0], [1e-200, 0.0]])
    assert np.array_equal(indices[0], indices[1])
