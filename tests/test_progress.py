import nasty
import numpy as np
import pytest
from shopca_rs import (
    LPP,
    SHOPCA,
    continuity,
    k_neighbors,
    local_shape_operators,
    mean_shape_operator,
    operator_curvatures,
    quality,
    trustworthiness,
)

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
    "curvatures": lambda **options: operator_curvatures(X, 6, **options).principal,
    "neighbours": lambda **options: k_neighbors(X, 6, **options)[1],
    "neighbours_in_a_tree": lambda **options: k_neighbors(X[:, :5], 6, algorithm="kd_tree", **options)[1],
    "neighbours_of_queries": lambda **options: k_neighbors(X, 6, queries=X[:300], **options)[1],
    "trustworthiness": lambda **options: trustworthiness(X, X[:, :2], **options),
    "continuity_of_a_sample": lambda **options: continuity(X, X[:, :5], sample=700, **options),
    "quality": lambda **options: quality(X[:1500], X[:1500, :2], **options).r_nx,
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


def shares(text):
    """What a bar showed: the name of the stage and the percentage, in order."""
    lines = [line.strip() for line in text.replace("\n", "\r").split("\r") if "%|" in line]
    return [(line.split(": ")[0], int(line.split(": ")[1].split("%")[0])) for line in lines]


@pytest.mark.parametrize(
    ("estimator", "names"),
    [
        (SHOPCA(verbose=True), ["principal components", "neighbours", "shape operators", "choice of α"]),
        (SHOPCA(max_features=None, verbose=True), ["neighbours", "shape operators", "choice of α"]),
        (LPP(verbose=True, max_features=5), ["principal components", "neighbours", "graph and directions"]),
    ],
)
def test_a_fit_shows_one_bar_that_names_its_stages_in_turn(estimator, names, capsys):
    estimator.fit(X)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    told = shares(err)
    order = [names.index(name) for name, _ in told]
    assert order == sorted(order)
    assert (told[0][0], told[-1]) == (names[0], (names[-1], 100))
    assert (np.diff([share for _, share in told]) >= 0).all()


def test_the_choice_of_alpha_is_counted_while_it_runs():
    from shopca_rs.alpha_search import best_alpha
    from shopca_rs.spectrum import default_grid

    fitted = SHOPCA(alpha=1, max_features=None).fit(nasty.continuous(300, 140))
    Sigma, S, _ = fitted._operators()
    reports = []
    best_alpha(Sigma, S, default_grid(), 2, "mass", 2, lambda done, total: reports.append((done, total)))
    assert len(reports) > 4
    assert reports[-1] == (50, 50)
    assert all(0 <= done <= 50 for done, _ in reports)


def test_an_estimator_without_verbose_is_silent(capsys):
    SHOPCA().fit(X)
    LPP().fit(X)
    assert capsys.readouterr() == ("", "")
