"""The statistics of the report, against what they are defined by."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from shopca_rs.experiments.statistics import average_ranks, bootstrap_interval, compare, holm

scores = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=60)


def by_enumeration(differences):
    """Two-sided p of the signed-rank test: the share of all signs with a rank sum as far from the middle."""
    ranks = rankdata(np.abs(differences))
    middle = ranks.sum() / 2
    observed = abs(ranks[np.asarray(differences) > 0].sum() - middle)
    sums = np.array([ranks @ signs for signs in product((0, 1), repeat=len(ranks))])
    return (np.abs(sums - middle) >= observed - 1e-9).mean()


@pytest.mark.parametrize("seed", range(5))
def test_p_is_the_share_of_all_signs_that_are_as_extreme(seed):
    rng = np.random.default_rng(seed)
    ours, base = rng.random(10), rng.random(10)
    assert compare(ours, base).p == pytest.approx(by_enumeration(ours - base))


@given(scores)
def test_a_comparison_the_other_way_round_is_its_mirror_image(pairs):
    ours, base = np.array(pairs).T
    one, other = compare(ours, base), compare(base, ours)
    assert (one.wins, one.losses, one.ties) == (other.losses, other.wins, other.ties)
    assert one.wins + one.losses + one.ties == len(pairs)
    assert (one.mean, one.median) == (-other.mean, -other.median)
    assert one.p == pytest.approx(other.p)
    assert 0 <= one.p <= 1


def test_mean_and_median_are_those_of_the_differences():
    found = compare([0.9, 0.4, 0.5, 0.6], [0.1, 0.5, 0.5, 0.5])
    assert (found.mean, found.median) == (0.2, 0.05)
    assert (found.wins, found.losses, found.ties) == (2, 1, 1)


def test_scores_that_differ_by_rounding_errors_are_ties_and_no_evidence():
    base = np.random.default_rng(0).random(30)
    found = compare(base * (1 + 1e-15), base)
    assert (found.wins, found.losses, found.ties, found.p) == (0, 0, 30, 1.0)


def test_ties_do_not_enter_the_test():
    ours, base = [0.5, 0.7, 0.2, 0.9, 0.8], [0.1, 0.2, 0.4, 0.3, 0.1]
    assert compare([*ours, 0.3, 0.6], [*base, 0.3, 0.6]).p == compare(ours, base).p


def test_equal_differences_share_their_ranks_although_rounding_makes_them_differ():
    # 0.3 − 0.2 and 0.8 − 0.7 are not the same number.
    ours, base = [0.3, 0.8, 0.2, 0.9], [0.2, 0.7, 0.3, 0.5]
    exact = compare([1, 1, 0, 4], [0, 0, 1, 0])
    assert compare(ours, base).p == pytest.approx(exact.p, rel=1e-12)


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_few_equal_differences_give_a_p_without_a_warning(count):
    assert 0 < compare([0.5] * count, [0.4] * count).p <= 1


def test_holm_s_method_gives_the_values_of_its_definition():
    # 4 × 0.005, 3 × 0.01, 2 × 0.03, and 1 × 0.04 is raised to what came before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_s_method_raises_p_values_keeps_their_order_and_stays_below_bonferroni(p):
    adjusted = np.array(holm(p))
    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(len(p) * np.array(p), 1)).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


def test_the_bootstrap_interval_of_many_values_is_that_of_the_normal_distribution():
    values = np.random.default_rng(0).normal(3, 1, size=400)
    low, high = bootstrap_interval(values)
    half = 1.96 * values.std() / 20
    assert low == pytest.approx(values.mean() - half, abs=0.05 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.05 * half)


def test_the_bootstrap_interval_depends_on_the_seed_only_by_a_little_and_widens_with_the_level():
    values = np.random.default_rng(0).exponential(size=50)
    assert bootstrap_interval(values) == bootstrap_interval(list(values))
    assert bootstrap_interval(values) != bootstrap_interval(values, seed=1)
    assert bootstrap_interval(values) == pytest.approx(bootstrap_interval(values, seed=1), rel=0.02)
    (low, high), (lower, higher) = bootstrap_interval(values, 0.5), bootstrap_interval(values, 0.99)
    assert lower < low < values.mean() < high < higher


def test_the_bootstrap_interval_of_one_data_set_is_its_value():
    assert bootstrap_interval([0.3]) == (0.3, 0.3)


def test_the_highest_score_has_rank_1_and_equal_ones_share_the_mean():
    found = average_ranks({"a": [0.9, 0.5], "b": [0.3, 0.5], "c": [0.6, 0.5 + 1e-15]})
    assert found == {"a": (1 + 2) / 2, "b": (3 + 2) / 2, "c": (2 + 2) / 2}


@given(st.integers(1, 6), st.integers(1, 20), st.integers(0, 3))
def test_the_mean_ranks_of_m_methods_average_to_half_of_m_plus_1(m, n, seed):
    table = np.random.default_rng(seed).integers(4, size=(m, n)) / 4
    found = average_ranks({str(method): row for method, row in enumerate(table)})
    assert np.mean(list(found.values())) == pytest.approx((m + 1) / 2)


@pytest.mark.parametrize("bad", [[0.1, float("nan")], [], [[0.1]], 0.1])
def test_scores_that_are_not_a_finite_number_for_each_data_set_are_refused(bad):
    for call in (bootstrap_interval, lambda scores: compare(scores, scores)):
        with pytest.raises(ValueError, match="one finite number for each data set"):
            call(bad)
    with pytest.raises(ValueError, match="one finite number for each data set"):
        average_ranks({"a": bad})


def test_scores_of_different_data_sets_are_refused():
    with pytest.raises(ValueError, match="same data sets, got 1 and 2 numbers"):
        compare([0.1, 0.2], [0.1])
    with pytest.raises(ValueError, match="same data sets, got 3 and 2 numbers"):
        average_ranks({"a": [0.1, 0.2], "b": [0.1, 0.2, 0.3]})
