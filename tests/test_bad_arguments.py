import nasty
import numpy as np
import pytest
from refusals import cases, refuses
from shopca_rs import k_neighbors, local_shape_operators, mean_shape_operator, operator_curvatures

X = nasty.continuous(50, 3)
FOUND = k_neighbors(X, 4)[0]
OPERATORS = [mean_shape_operator, local_shape_operators, operator_curvatures]

every_operator = pytest.mark.parametrize("function", OPERATORS, ids=lambda function: function.__name__)
every_function = pytest.mark.parametrize(
    "function", [*OPERATORS, k_neighbors], ids=lambda function: function.__name__
)


def with_index(index):
    given = FOUND.copy()
    given[9, 2] = index
    return given


COUNTS = {
    "zero": (0, ValueError, ["k must be at least 2", "got 0"]),
    "one": (1, ValueError, ["k must be at least 2", "got 1"]),
    "negative": (-3, ValueError, ["k must be at least 2", "got -3"]),
    "n": (50, ValueError, ["k must be at most n − 1 = 49", "not its neighbour", "got 50"]),
    "large": (2**40, ValueError, ["k must be at most n − 1 = 49", "got 1099511627776"]),
    "float": (3.0, TypeError, ["k must be an integer", "got 3.0 (float)"]),
    "numpy_float": (np.float64(3), TypeError, ["k must be an integer", "(float64)"]),
    "bool": (True, TypeError, ["k must be an integer", "got True (bool)"]),
    "numpy_bool": (np.True_, TypeError, ["k must be an integer", "(bool)"]),
    "string": ("3", TypeError, ["k must be an integer", "got '3' (str)"]),
    "none": (None, TypeError, ["k must be an integer", "got None (NoneType)"]),
    "list": ([3], TypeError, ["k must be an integer", "got [3] (list)"]),
}


@every_function
@cases(COUNTS)
def test_a_bad_number_of_neighbours_is_refused_in_a_sentence(function, value, exception, parts):
    refuses(exception, parts, function, X, value)


@pytest.mark.parametrize("option", ["k", "n_jobs"])
def test_integers_beyond_any_machine_are_refused_in_a_sentence(option):
    refuses(ValueError, [option], mean_shape_operator, X, **({"k": 4} | {option: 10**30}))


@pytest.mark.parametrize("k", [0, -1])
def test_queries_need_at_least_one_neighbour(k):
    refuses(ValueError, ["k must be at least 1", f"got {k}"], k_neighbors, X, k, queries=X)


def test_queries_have_at_most_all_rows_as_neighbours():
    refuses(ValueError, ["at most n = 50", "got 51"], k_neighbors, X, 51, queries=X)


def test_one_point_has_no_neighbours():
    refuses(ValueError, ["k must be at most n − 1 = 0", "got 2"], mean_shape_operator, X[:1], 2)


SHAPE = "neighbors must have shape (n, k) = (50, 4), got"
ROWS = "must hold row indices from 0 to n − 1 = 49, got"
WRAPPING = FOUND.astype(np.uint64) + np.uint64(2**63)
NEIGHBORS = {
    "too_few_columns": (FOUND[:, :3], ValueError, [SHAPE, "(50, 3)"]),
    "too_few_rows": (FOUND[:-1], ValueError, [SHAPE, "(49, 4)"]),
    "transposed": (FOUND.T, ValueError, [SHAPE, "(4, 50)"]),
    "one_dimension": (FOUND[0], ValueError, ["neighbors must be 2-D of shape (n, k)", "1-D of shape (4,)"]),
    "negative": (with_index(-1), ValueError, ["neighbors", ROWS, "-1 in row 9"]),
    "out_of_range": (with_index(50), ValueError, ["neighbors", ROWS, "50 in row 9"]),
    "wrapping_64_bits": (WRAPPING, ValueError, ["neighbors", ROWS, "in row 0"]),
    "wrapping_32_bits": (with_index(2**32), ValueError, ["neighbors", ROWS, "4294967296 in row 9"]),
    "floats": (FOUND.astype(float), TypeError, ["neighbors must hold integers", "float64", ".astype(int)"]),
    "truth_values": (FOUND.astype(bool), TypeError, ["neighbors must hold integers", "bool"]),
    "text": (FOUND.astype(str), TypeError, ["neighbors must hold integers", "<U"]),
}


@every_operator
@cases(NEIGHBORS)
def test_bad_neighbours_are_refused_in_a_sentence(function, value, exception, parts):
    refuses(exception, parts, function, X, 4, neighbors=value)


POINTS = {
    "out_of_range": ([3, 50], ValueError, ["points", ROWS, "50 in row 1"]),
    "negative": ([-1], ValueError, ["points", ROWS, "-1 in row 0"]),
    "floats": ([1.0], TypeError, ["points must hold integers", "float64", ".astype(int)"]),
    "mask": (FOUND[:, 0].astype(bool), TypeError, ["points must hold integers", "bool"]),
    "two_dimensions": ([[1, 2]], ValueError, ["points must be 1-D", "2-D of shape (1, 2)"]),
    "number": (3, ValueError, ["points must be 1-D", "0-D"]),
}


@pytest.mark.parametrize("neighbors", [None, FOUND], ids=["searched", "given"])
@cases(POINTS)
def test_bad_points_are_refused_in_a_sentence(value, exception, parts, neighbors):
    refuses(exception, parts, local_shape_operators, X, 4, points=value, neighbors=neighbors)


THREADS = {
    "zero": (0, ValueError, ["n_jobs must not be 0", "None for all cores"]),
    "text": ("a", TypeError, ["n_jobs must be an integer", "got 'a' (str)"]),
    "float": (2.0, TypeError, ["n_jobs must be an integer", "got 2.0 (float)"]),
    "bool": (True, TypeError, ["n_jobs must be an integer", "got True (bool)"]),
}


@every_function
@cases(THREADS)
def test_a_bad_number_of_threads_is_refused_in_a_sentence(function, value, exception, parts):
    refuses(exception, parts, function, X, 4, n_jobs=value)


CHOICES = {
    "unknown": ("ball_tree", ValueError, ["got 'ball_tree'"]),
    "capitals": ("AUTO", ValueError, ["got 'AUTO'"]),
    "none": (None, TypeError, ["got None (NoneType)"]),
    "number": (1, TypeError, ["got 1 (int)"]),
}


@every_function
@cases(CHOICES)
def test_a_bad_algorithm_is_refused_in_a_sentence(function, value, exception, parts):
    known = 'algorithm must be one of "auto", "kd_tree", "brute"'
    refuses(exception, [known, *parts], function, X, 4, algorithm=value)


@every_operator
@cases(CHOICES)
def test_a_bad_degenerate_is_refused_in_a_sentence(function, value, exception, parts):
    known = 'degenerate must be one of "average", "lapack"'
    refuses(exception, [known, *parts], function, X, 4, degenerate=value)


@every_function
@pytest.mark.parametrize("progress", [1, "yes", []], ids=["number", "text", "list"])
def test_a_bad_progress_is_refused_in_a_sentence(function, progress):
    known = "progress must be True, False, None or a callable (done, total)"
    refuses(TypeError, [known, f"got {progress!r}"], function, X, 4, progress=progress)
