"""What is given to SHOPCA on dask is accepted and refused as in memory, and what is lazy stays lazy."""

from __future__ import annotations

import dask
import dask.array as da
import dask.dataframe as dd
import nasty
import numpy as np
import pandas as pd
import pytest
import shopca_rs
from shopca_rs.dask import SHOPCA, from_npy, mean_shape_operator
from sklearn.datasets import load_iris

MODES = ("replicated", "sharded")
K = 6


@pytest.fixture(autouse=True, scope="module")
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def worst(ours, expected):
    return np.abs(ours - expected).max() / np.abs(expected).max()


FRAME = load_iris(as_frame=True).data
LAZY = dd.from_pandas(FRAME, npartitions=4)
ARRAY = da.from_array(FRAME.to_numpy(), chunks=(40, 4))


@pytest.fixture(scope="module")
def model():
    return SHOPCA(alpha=1).fit(LAZY)


@pytest.fixture(scope="module")
def plain():
    return shopca_rs.SHOPCA(alpha=1).fit(FRAME)


def said(function, *arguments):
    with pytest.raises((ValueError, TypeError)) as caught:
        function(*arguments)
    return type(caught.value), str(caught.value)


OTHER_COLUMNS = {
    "reordered": lambda X: X[list(X.columns)[::-1]],
    "renamed": lambda X: X.rename(columns={"petal width (cm)": "width"}),
    "one missing": lambda X: X[list(X.columns)[:3]],
    "one more": lambda X: X.assign(more=1.0),
}


@pytest.mark.parametrize("change", OTHER_COLUMNS.values(), ids=OTHER_COLUMNS)
def test_other_columns_are_refused_in_the_words_of_the_model_in_memory(model, plain, change):
    assert said(model.transform, change(LAZY)) == said(plain.transform, change(FRAME))


def test_another_number_of_columns_is_refused_in_the_same_words():
    ours, in_memory = SHOPCA().fit(ARRAY), shopca_rs.SHOPCA().fit(FRAME.to_numpy())
    assert said(ours.transform, ARRAY[:, :3]) == said(in_memory.transform, FRAME.to_numpy()[:, :3])


def test_names_of_two_kinds_are_refused_in_the_same_words():
    named = pd.DataFrame(FRAME.to_numpy(), columns=["a", 1, 2, "d"])
    lazy = dd.from_pandas(named, npartitions=3)
    assert said(SHOPCA().fit, lazy) == said(shopca_rs.SHOPCA().fit, named)


def test_a_table_without_names_is_worth_a_warning_to_a_model_with_names_and_the_reverse(model):
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.transform(ARRAY)
    with pytest.warns(UserWarning, match="X has feature names"):
        SHOPCA(alpha=1).fit(ARRAY).transform(LAZY)


def test_a_new_fit_forgets_the_names_of_the_last():
    model = SHOPCA(alpha=1).fit(LAZY).fit(ARRAY)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("method", ["transform", "inverse_transform"])
def test_a_number_that_is_none_is_refused_when_its_chunk_is_computed(method, bad):
    X = FRAME.to_numpy().copy()
    X[90, 1] = bad
    lazy = getattr(SHOPCA(4, alpha=1).fit(ARRAY), method)(da.from_array(X, chunks=(40, 4)))
    with pytest.raises(ValueError, match=rf"got {bad} in chunk 2 of X \(from row 80\), row 90, column 1"):
        lazy.compute()


def test_an_embedding_that_does_not_fit_is_refused_when_it_is_computed():
    model = SHOPCA(alpha=1).fit(ARRAY)
    far = np.array([[1.7e308, -1.7e308, 1.7e308, 1.7e308]])
    with pytest.raises(ValueError, match=r"results that fit in float64.*Rescale"):
        model.transform(da.from_array(far)).compute()
    with pytest.raises(ValueError, match=r"results that fit in float64.*Rescale"):
        model.transform(far)


def test_inverse_transform_stays_lazy_and_gives_what_the_plain_model_gives(model):
    embedded = model.transform(LAZY)
    back = model.inverse_transform(embedded)
    assert isinstance(back, da.Array)
    assert back.chunks == (embedded.chunks[0], (4,))
    expected = model.to_plain().inverse_transform(embedded.compute())
    np.testing.assert_allclose(back.compute(), expected, rtol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(embedded.compute()), expected, rtol=1e-12)
    single = model.inverse_transform(embedded.astype(np.float32))
    assert single.dtype == single.compute().dtype == np.float32


def test_an_embedding_with_other_columns_is_refused_in_the_same_words(model, plain):
    assert said(model.inverse_transform, ARRAY[:, :3]) == said(
        plain.inverse_transform, FRAME.to_numpy()[:, :3]
    )


def test_distances_between_all_pairs_are_in_memory_and_those_of_the_plain_model():
    ours, in_memory = SHOPCA(alpha=0).fit(LAZY), shopca_rs.SHOPCA(alpha=0).fit(FRAME)
    np.testing.assert_allclose(ours.mahalanobis(LAZY), in_memory.mahalanobis(FRAME), atol=1e-6)
    np.testing.assert_allclose(
        ours.mahalanobis(LAZY, FRAME[:3]), in_memory.mahalanobis(FRAME, FRAME[:3]), atol=1e-6
    )


def test_pictures_take_a_dask_dataframe(model):
    pytest.importorskip("matplotlib").use("agg")
    for function in (shopca_rs.plot_embedding, shopca_rs.plot_curvature):
        assert len(function(model, LAZY).collections) >= 1


def test_nothing_computes_behind_one_s_back_for_a_container(model):
    assert not hasattr(model, "set_output")


def test_a_table_without_columns_is_refused():
    empty = da.ones((10, 0))
    assert "at least one row and one column, got shape (10, 0)." in said(mean_shape_operator, empty, 3)[1]
    assert "at least one row and one column" in said(SHOPCA().fit, empty)[1]


NO_MODELS = {
    "eigenmaps": shopca_rs.ShapeOperatorEigenmaps().fit(FRAME),
    "a number": 5,
    "None": None,
    "the class": shopca_rs.SHOPCA,
}


@pytest.mark.parametrize("given", NO_MODELS.values(), ids=NO_MODELS)
def test_only_a_shopca_comes_from_memory(given):
    kind, sentence = said(SHOPCA.from_plain, given)
    assert kind is TypeError
    assert sentence.startswith("model must be a fitted shopca_rs.SHOPCA, got ")


def test_a_bad_mode_is_refused_where_it_is_given(plain):
    with pytest.raises(ValueError, match="mode must be one of"):
        SHOPCA.from_plain(plain, mode="both")


@pytest.mark.parametrize("rows", [0, -5, 2.5, "many", True, [3], 10**400])
def test_a_bad_number_of_rows_per_chunk_is_refused(tmp_path, rows):
    np.save(tmp_path / "points.npy", np.ones((9, 2)))
    assert said(from_npy, tmp_path / "points.npy", rows)[1].startswith("rows_per_chunk must be")


@pytest.mark.parametrize("path", [None, 5, b"points.npy", ["points.npy"], "", "a\0b"])
def test_what_is_no_path_is_refused(path):
    assert said(from_npy, path)[1].startswith("path must")


@pytest.mark.parametrize(
    "content", [np.ones((0, 3)), np.ones((3, 0)), np.ones((3, 3), dtype=complex), np.full((3, 2), "a")]
)
def test_a_file_without_real_numbers_is_refused(tmp_path, content):
    np.save(tmp_path / "points.npy", content)
    assert "must hold real numbers, at least one" in said(from_npy, tmp_path / "points.npy")[1]


@pytest.mark.parametrize("mode", MODES)
def test_a_generator_is_drawn_from_once_where_the_graph_is_built(mode):
    X = nasty.continuous(300, 4)
    generator = np.random.RandomState(3)
    lazy = mean_shape_operator(
        da.from_array(X, chunks=(70, 4)), K, mode=mode, sample=40, random_state=generator, return_error=True
    )
    expected = shopca_rs.mean_shape_operator(X, K, sample=40, random_state=3, return_error=True)
    for _ in range(2):
        for ours, in_memory in zip(dask.compute(*lazy), expected, strict=True):
            assert worst(ours, in_memory) < 1e-12
    fitted = SHOPCA(sample=40, n_neighbors=K, mode=mode, random_state=np.random.RandomState(3)).fit(
        da.from_array(X, chunks=(70, 4))
    )
    assert worst(fitted.mean_shape_operator_, expected[0]) < 1e-12


def test_without_a_seed_every_sample_is_another():
    X = da.from_array(nasty.continuous(300, 4), chunks=(70, 4))
    first, second = (mean_shape_operator(X, K, sample=40, random_state=None).compute() for _ in range(2))
    assert worst(first, second) > 1e-3
