"""The divisor of the average over the bases of a null space, by random bases."""

from __future__ import annotations

import numpy as np
import pytest
from shopca_rs import operator_curvatures

from benches.null_space import closed_form, neighborhood, sampled


@pytest.mark.parametrize(("d", "k"), [(30, 12), (10, 5), (40, 6)])
def test_the_average_over_random_bases_has_the_divisor_q_plus_2_and_not_q(d, k):
    parts = neighborhood(d, k, seed=0)
    mean, error = sampled(*parts, 1500, seed=1)
    q = parts[2].shape[1]
    assert abs(closed_form(*parts, q + 2) - mean) < 4 * error
    assert abs(closed_form(*parts, q) - mean) > 20 * error


def test_the_package_has_the_trace_with_q_plus_2():
    d, k = 30, 12
    P = np.random.default_rng(0).normal(size=(k, d))
    parts = neighborhood(d, k, seed=0)
    # The neighbours of the first row are the k others.
    cloud = np.vstack([P.mean(axis=0), P])
    mean = operator_curvatures(cloud, k).mean[0]
    assert mean == pytest.approx(-closed_form(*parts, parts[2].shape[1] + 2) / d, rel=1e-12)
