import nasty
import numpy as np
import pytest
from shopca_rs import curvatures, k_neighbors, local_shape_operators, mean_shape_operator

X = nasty.continuous(4000, 40)
FOUND = k_neighbors(X, 6)[0]
CALLS = {
    "mean": lambda **options: mean_shape_operator(X, 6, **options),
    "mean_of_given_neighbours": lambda **options: mean_shape_operator(X, 6, neighbors=FOUND, **options),
    "mean_of_a_sample": lambda **options: mean_shape_operator(X, 6, sample=700, **options),
    "mean_of_a_sample_of_given_neighbours": lambda **options: mean_shape_operator(
        X, 6, neighbors=FOUND, sample=700, **options
    ),
    "local": lambda **options: local_shape_operators(X, 6, points=range(500), **options),
    "curvatures": lambda **options: curvatures(X, 6, **options).principal,
    "neighbours": lambda **options: k_neighbors(X, 6, **options)[1],
    "neighbours_in_a_tree": lambda **options: k_neighbors(X[:, :5], 6, algorithm="kd_tree", **options)[1],
    "neighbours_of_queries": lambda **options: k_neighbors(X, 6, queries=X[:300], **options)[1],
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


class EnoughError(Exception):
    pass


@every_call
def test_progress_never_goes_back_and_ends_complete(call):
    reports = []
    result = call(progress=lambda done, total: reports.append((done, total)))
    assert np.array_equal(result, call())
    assert (np.diff(reports, axis=0) >= 0).all()
    assert all(0 <= done <= total for done, total in reports)
    done, total = reports[-1]
    assert done == total > 0


def test_progress_is_reported_while_the_call_runs():
    reports = []
    many = np.random.default_rng(0).normal(size=(100_000, 60))

    def report(done, total):
        reports.append((done, total))
        if len({done for done, _ in reports}) == 4:
            raise EnoughError

    with pytest.raises(EnoughError):
        mean_shape_operator(many, 10, algorithm="brute", progress=report)
    assert reports[-1][0] < reports[-1][1]


@every_call
def test_an_exception_in_the_callable_ends_the_call(call):
    reports = []

    def report(done, total):
        reports.append(done)
        raise EnoughError("enough")

    with pytest.raises(EnoughError, match="enough"):
        call(progress=report)
    assert len(reports) == 1
    assert np.array_equal(call(), call(progress=False))


@every_call
def test_true_shows_a_bar_on_stderr(call, capsys):
    call(progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "100%" in err
    assert "pt/s" in err


@pytest.mark.parametrize("progress", [None, False])
def test_no_progress_is_silent(progress, capsys):
    mean_shape_operator(X, 6, progress=progress)
    assert capsys.readouterr() == ("", "")


def test_bad_input_is_refused_with_a_bar_as_without(capsys):
    with pytest.raises(ValueError, match="k must be at most"):
        mean_shape_operator(X, len(X), progress=True)
