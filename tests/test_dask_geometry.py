"""Curvature on dask: the same numbers as in memory, whatever the chunks."""

from __future__ import annotations

import re
import warnings
from dataclasses import fields

import dask
import dask.array as da
import dask.dataframe as dd
import nasty
import numpy as np
import pandas as pd
import pytest
import shapes
import shopca_rs
from dask.callbacks import Callback
from shopca_rs.dask import blocks, curvatures, from_npy, intrinsic_dimension, second_fundamental_form
from shopca_rs.dask import geometry as lazy_geometry
from shopca_rs.dask.workers import Workers

MODES = ("replicated", "sharded")


@pytest.fixture(autouse=True, scope="module")
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def torus(n=240, noise=0.0):
    rng = np.random.default_rng(3)
    X = shapes.torus(n, rng).points
    return shapes.noisy(X, noise, rng) if noise else X


def partly_flagged(n=240):
    """A torus with a point thirty times and a piece of a grid, whose points are flagged."""
    X = torus(n)
    X[40:70] = X[7]
    grid = np.stack(np.meshgrid(np.arange(8), np.arange(8)), axis=-1).reshape(-1, 2)
    X[100:164] = np.c_[10 + 0.5 * grid, np.zeros(64)]
    return X


CHUNKS = {
    "one chunk": (240,),
    "uneven chunks": (113, 120, 7),
    "chunks smaller than k + 1": (20,) * 11 + (13, 7),
}


def array(X, sizes):
    return da.from_array(X, chunks=(sizes, X.shape[1]))


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


def assert_same(ours, expected):
    """All fields agree to 1e-12 of the largest number, and NaN stands where it stood."""
    for field in fields(expected):
        computed, wanted = getattr(ours, field.name), getattr(expected, field.name)
        if field.name in ("tangent", "form"):
            continue  # a basis of the tangent space is as good as another
        if isinstance(wanted, np.ndarray):
            assert type(computed) is np.ndarray
            assert computed.dtype == wanted.dtype
            size = np.nanmax(np.abs(np.where(np.isinf(wanted), 0, wanted)), initial=0)
            np.testing.assert_allclose(computed, wanted, rtol=0, atol=1e-12 * size, err_msg=field.name)
        elif isinstance(wanted, float):
            assert computed == pytest.approx(wanted, rel=1e-12), field.name
        else:
            assert computed == wanted, field.name


@pytest.mark.parametrize("sizes", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("X", [torus(noise=0.01), partly_flagged()], ids=["noisy", "partly flagged"])
def test_curvatures_are_those_of_the_data_in_memory_for_every_chunking(X, sizes, mode, stages):
    options = {"n_neighbors": 24, "intrinsic_dim": 2, "stages": stages}
    expected = quietly(shopca_rs.curvatures, X, **options)
    assert expected.valid.any()
    ours = curvatures(array(X, sizes), mode=mode, **options)
    assert ours.mean.chunks == (sizes,)
    assert_same(quietly(ours.compute), expected)


def test_the_clouds_of_these_tests_have_flagged_points_and_others():
    for stages in (1, 2):
        bent = quietly(shopca_rs.curvatures, partly_flagged(), 24, intrinsic_dim=2, stages=stages)
        assert 20 < bent.valid.sum() < 220


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("noise", [0.0, 0.02], ids=["one stage", "two stages"])
def test_what_is_chosen_is_what_is_chosen_in_memory(mode, noise):
    X = torus(700, noise)
    expected = shopca_rs.curvatures(X, random_state=5)
    assert expected.stages == (2 if noise else 1)
    assert_same(curvatures(array(X, (300, 399, 1)), mode=mode, random_state=5).compute(), expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stages", [1, 2])
def test_some_points_are_answered_in_the_order_in_which_they_were_asked(mode, stages):
    X = partly_flagged()
    options = {"n_neighbors": 24, "intrinsic_dim": 2, "stages": stages, "points": [230, 5, 41, 5, 0]}
    expected = quietly(shopca_rs.curvatures, X, **options)
    assert_same(quietly(curvatures(array(X, (113, 120, 7)), mode=mode, **options).compute), expected)
    none = curvatures(array(X, (240,)), 24, intrinsic_dim=2, stages=stages, points=[], mode=mode).compute()
    assert none.mean.shape == (0,)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stages", [1, 2])
def test_the_form_and_all_that_follows_from_it_is_that_in_memory_and_lazy(mode, stages):
    X = torus(noise=0.01)
    options = {"n_neighbors": 30, "intrinsic_dim": 2, "stages": stages}
    expected = shopca_rs.second_fundamental_form(X, **options)
    lazy = second_fundamental_form(array(X, (100, 101, 39)), mode=mode, **options)
    assert "not yet computed" in repr(lazy)
    ours = lazy.compute()
    assert type(ours) is shopca_rs.SecondFundamentalForm
    assert_same(ours, expected)
    tensors = [shapes.ambient(each.tangent, each.form) for each in (ours, expected)]
    np.testing.assert_allclose(tensors[0], tensors[1], rtol=0, atol=1e-12 * np.abs(tensors[1]).max())
    kept = lazy.persist()
    for name in (
        *("mean_curvature_vector", "squared_norm", "scalar_curvature", "ricci", "normal"),
        *("principal_curvatures", "principal_directions"),
    ):
        found, here = getattr(kept, name), getattr(ours, name)
        assert isinstance(found, da.Array)
        assert (found.shape, found.chunks[0]) == (here.shape, (100, 101, 39))
        np.testing.assert_array_equal(found.compute(), here)
    for normal in (np.array([0.0, 0.6, 0.8]), ours.normal):
        np.testing.assert_allclose(
            kept.shape_operator(normal).compute(), ours.shape_operator(normal), rtol=0, atol=1e-14
        )
    with pytest.raises(ValueError, match=r"normal must have shape \(d,\) = \(3,\)"):
        kept.shape_operator([1.0, 0.0])


@pytest.mark.parametrize("mode", MODES)
def test_several_normal_directions_have_no_principal_curvatures(mode):
    X = shapes.SEEN["Veronese"](300, np.random.default_rng(0)).points
    expected = shopca_rs.curvatures(X, 20, intrinsic_dim=2)
    ours = curvatures(array(X, (170, 130)), 20, intrinsic_dim=2, mode=mode)
    assert ours.principal is None
    assert_same(ours.compute(), expected)
    form = second_fundamental_form(array(X, (170, 130)), 20, intrinsic_dim=2, mode=mode)
    for name in ("normal", "principal_curvatures", "principal_directions"):
        with pytest.raises(ValueError, match="need one normal direction"):
            getattr(form, name)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stages", [1, 2])
def test_a_cloud_in_which_no_fit_is_determined_is_flagged_throughout(mode, stages):
    X = np.c_[np.linspace(0, 1, 90), np.zeros((90, 2))]
    options = {"n_neighbors": 20, "intrinsic_dim": 2, "stages": stages}
    lazy = curvatures(array(X, (50, 40)), mode=mode, **options)
    with pytest.warns(UserWarning, match="90 of 90 points have neighbours that do not determine a fit"):
        ours = lazy.compute()
    assert_same(ours, quietly(shopca_rs.curvatures, X, **options))
    assert not ours.valid.any()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["mle", "pca", "two_nn"])
@pytest.mark.parametrize("points", [None, [7, 200, 7]])
def test_the_intrinsic_dimension_is_that_in_memory(mode, method, points):
    X = torus(noise=0.01)
    options = {"method": method, "n_neighbors": 12, "points": points}
    ours = intrinsic_dimension(array(X, (113, 120, 7)), mode=mode, **options)
    expected = shopca_rs.intrinsic_dimension(X, **options)
    assert ours[:2] == expected[:2]
    np.testing.assert_array_equal(ours.local, expected.local)


def test_dataframes_and_single_precision_go_through_the_same_door():
    X = torus().astype(np.float32)
    expected = shopca_rs.curvatures(X, 20, intrinsic_dim=2)
    for lazy in (array(X, (100, 140)), dd.from_pandas(pd.DataFrame(X), npartitions=3)):
        assert_same(curvatures(lazy, 20, intrinsic_dim=2, mode="sharded").compute(), expected)


def rows_of(result):
    """The length of the longest array in what a task returned."""
    if isinstance(result, np.ndarray):
        return len(result) if result.ndim else 0
    if isinstance(result, tuple | list):
        return max(map(rows_of, result), default=0)
    return 0


@pytest.mark.parametrize(("mode", "longest"), [("sharded", 300), ("replicated", 1500)])
def test_in_shards_no_task_ever_returns_more_than_a_chunk(monkeypatch, tmp_path, mode, longest):
    X = torus(1500, noise=0.01)
    np.save(tmp_path / "points.npy", X)
    lazy = from_npy(tmp_path / "points.npy", rows_per_chunk=300)
    monkeypatch.setattr(blocks, "_LIST_BYTES", 200_000)  # several blocks for each chunk
    lengths = []
    with Callback(posttask=lambda key, result, *_: lengths.append(rows_of(result))):
        ours = curvatures(lazy, 24, intrinsic_dim=2, stages=2, mode=mode).persist()
    assert max(lengths) == longest
    assert_same(ours.compute(), shopca_rs.curvatures(X, 24, intrinsic_dim=2, stages=2))


@pytest.mark.parametrize("least", [1, 3, 10, 1000])
def test_lists_of_rows_are_cut_into_blocks_that_say_whose_rows_they_have(monkeypatch, least):
    monkeypatch.setattr(blocks, "_LIST_BYTES", 8 * 21 * 5 * least)  # so many rows with 20 neighbours in R³
    lists = np.random.default_rng(0).integers(0, 99, (4, 7))
    cut, owners = blocks.blocks_of_lists(lists, 20, 3, Workers(2, 1 << 30, 1))
    found = [[] for _ in lists]
    for block, owner in zip(cut, owners, strict=True):
        assert 0 < sum(map(len, block)) <= max(least, 14 if least == 1000 else 0)
        for group, number in zip(block, owner, strict=True):
            assert len(group) > 0
            found[number].extend(group)
    np.testing.assert_array_equal(found, lists)


@pytest.mark.parametrize(("memory", "mode"), [(1 << 30, "replicated"), (60_000, "sharded")])
def test_auto_counts_the_table_of_the_first_stage(monkeypatch, memory, mode):
    # 90 rows of 3 columns fit into 60 kB as auto counts them, with 16 more columns they do not.
    monkeypatch.setattr(lazy_geometry, "workers", lambda: Workers(1, memory, 1))
    X = array(torus(90), (50, 40))
    one = curvatures(X, 20, intrinsic_dim=2).mean.__dask_graph__()
    two = curvatures(X, 20, intrinsic_dim=2, stages=2).mean.__dask_graph__()
    assert not any("walk-" in str(key) for key in one)
    assert any("walk-" in str(key) for key in two) == (mode == "sharded")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_neighbors": 1}, "n_neighbors must be at least 2"),
        ({"n_neighbors": 240}, "n_neighbors must be at most n − 1 = 239"),
        ({"n_neighbors": 5, "order": 3}, "n_neighbors must be at least 9: a fit of order 3"),
        ({"n_neighbors": "many"}, 'n_neighbors must be one of "auto"'),
        ({"intrinsic_dim": 3}, "intrinsic_dim must be from 1 to d − 1 = 2"),
        ({"stages": 3}, 'stages must be "auto" or one of 1, 2'),
        ({"order": 5}, 'order must be "auto" or one of 2, 3, 4'),
        ({"points": [240]}, "points must hold row indices from 0 to n − 1 = 239, got 240 in row 0"),
        ({"points": [[1]]}, "points must be 1-D"),
        ({"algorithm": "ball"}, "algorithm must be"),
        ({"random_state": -1}, "random_state must be at least 0"),
    ],
)
@pytest.mark.parametrize("name", ["curvatures", "second_fundamental_form"])
def test_bad_arguments_are_refused_in_the_sentence_of_the_data_in_memory(name, options, sentence):
    X, given = torus(), {"n_neighbors": 20, "intrinsic_dim": 2} | options
    said = []
    for function, table in (
        (getattr(lazy_geometry, name), array(X, (240,))),
        (getattr(shopca_rs, name), X),
    ):
        with pytest.raises(ValueError, match=sentence) as caught:
            function(table, **given)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_what_dask_alone_refuses_is_refused_in_a_sentence():
    X = array(torus(), (240,))
    with pytest.raises(ValueError, match="orient must be False for dask collections"):
        curvatures(X, orient=True)
    with pytest.raises(ValueError, match="mode must be"):
        curvatures(X, mode="both")
    with pytest.raises(TypeError, match="must be a dask array"):
        curvatures(torus())
    with pytest.raises(ValueError, match="points must hold at least one row number"):
        intrinsic_dimension(X, points=[])
    with pytest.raises(ValueError, match="k must be at most n − 1 = 239"):
        intrinsic_dimension(X, n_neighbors=240)


@pytest.mark.parametrize("mode", MODES)
def test_a_table_too_wide_too_small_or_with_nan_is_refused(mode):
    X = torus()
    with pytest.raises(ValueError, match="at least 2 columns"):
        curvatures(array(X[:, :1], (240,)), mode=mode)
    with pytest.raises(ValueError, match="at least 4 rows"):
        curvatures(array(X[:3], (3,)), mode=mode)
    with pytest.raises(ValueError, match='rows for n_neighbors="auto"'):
        curvatures(array(X[:20], (20,)), intrinsic_dim=2, mode=mode)
    with pytest.raises(ValueError, match="X") as caught:
        curvatures(array(1e200 * X, (100, 140)), 20, intrinsic_dim=2, mode=mode).compute()
    with pytest.raises(ValueError, match="X") as expected:
        shopca_rs.curvatures(1e200 * X, 20, intrinsic_dim=2)
    without_numbers = [re.sub(r"\d[\d.e]*", "…", str(each.value)) for each in (caught, expected)]
    assert without_numbers[0] == without_numbers[1]
    X[130, 1] = np.nan
    with pytest.raises(ValueError, match=r"chunk 1 of X \(from row 100\), row 130, column 1"):
        curvatures(array(X, (100, 140)), 20, intrinsic_dim=2, mode=mode).compute()


@pytest.mark.parametrize("mode", MODES)
def test_ties_are_broken_as_in_memory(mode):
    # Neighbours at equal distances everywhere; the cubic fit of a line is determined.
    X = np.round(nasty.continuous(240, 3), 1)
    options = {"n_neighbors": 15, "intrinsic_dim": 1}
    expected = quietly(shopca_rs.curvatures, X, **options)
    ours = quietly(curvatures(array(X, (113, 120, 7)), mode=mode, **options).compute)
    np.testing.assert_allclose(ours.mean, expected.mean, rtol=1e-9)
