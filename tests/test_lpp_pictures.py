"""Pictures of LPP: its embedding is drawn, those that need an α are refused."""

from __future__ import annotations

import matplotlib
import nasty
import numpy as np
import pytest
from refusals import refuses
from shopca_rs import LPP, plot_eigengap, plot_embedding, plot_spectrum

matplotlib.use("Agg")

X = nasty.continuous()


@pytest.fixture
def ax():
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_the_embedding_is_drawn_without_an_alpha_in_its_title(ax):
    lpp = LPP().fit(X)
    assert plot_embedding(lpp, X, np.arange(len(X)) % 3, ax=ax) is ax
    np.testing.assert_allclose(ax.collections[0].get_offsets(), lpp.transform(X))
    assert ax.get_title() == "LPP: 120 points"
    assert ax.get_xlabel() == f"component 1 ({lpp.explained_variance_ratio_[0]:.1%} of variance)"


@pytest.mark.parametrize("draw", [plot_eigengap, plot_spectrum])
def test_what_needs_an_alpha_is_refused(draw, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["estimator must be a SHOPCA or a ShapeOperatorEigenmaps, which have an α, got LPP() (LPP)."]
    refuses(TypeError, words, draw, LPP().fit(X))
    assert not list(tmp_path.iterdir())
