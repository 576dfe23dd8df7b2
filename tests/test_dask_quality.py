"""Trustworthiness, continuity and quality on dask: the bits of the numbers in memory, whatever the chunks."""

from __future__ import annotations

import dask
import dask.array as da
import dask.dataframe as dd
import nasty
import numpy as np
import pandas as pd
import pytest
import shopca_rs
from shopca_rs.dask import continuity, embedding_quality, from_npy, quality, trustworthiness
from shopca_rs.dask.ranks import AllRanks
from shopca_rs.dask.workers import Workers

MODES = ("replicated", "sharded")
X = nasty.continuous(211, 7)
Z = X[:, :2] + 0.1 * np.sin(3 * X[:, 2:4])
TIED = np.random.default_rng(2).integers(0, 3, (211, 3)).astype(float)
PAIRS = {"X and Z": (X, Z), "ties in X": (TIED, Z), "ties in both": (TIED, TIED[:, :1])}
CHUNKS = {"one": (211,), "uneven": (100, 104, 7), "of single rows": (1,) * 3 + (208,)}


@pytest.fixture(autouse=True, scope="module")
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def lazy(table, sizes):
    return da.from_array(table, chunks=(sizes, table.shape[1]))


def same(ours, expected):
    """All numbers have the same bits."""
    for name in expected._fields:
        found, wanted = getattr(ours, name), getattr(expected, name)
        if name == "standard_error":
            same(found, wanted)
        else:
            assert np.array_equal(found, wanted), name


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("sample", [None, 50])
def test_all_numbers_have_the_bits_of_those_in_memory(mode, sizes, pair, sample):
    x, z = pair
    options = {"sample": sample, "random_state": 3}
    for ours, theirs in (
        (trustworthiness, shopca_rs.trustworthiness),
        (continuity, shopca_rs.continuity),
    ):
        found = ours(lazy(x, sizes), lazy(z, sizes), 4, mode=mode, return_error=True, **options)
        assert found == theirs(x, z, 4, return_error=True, **options)
    found = quality(lazy(x, sizes), lazy(z, sizes), 4, mode=mode, **options)
    same(found, shopca_rs.quality(x, z, 4, **options))


@pytest.mark.parametrize("mode", MODES)
def test_a_single_neighbour_is_enough(mode):
    assert trustworthiness(lazy(X, (100, 111)), Z, 1, mode=mode) == shopca_rs.trustworthiness(X, Z, 1)


@pytest.mark.parametrize("mode", MODES)
def test_the_embedding_may_have_other_chunks_or_be_in_memory(mode, tmp_path):
    expected = shopca_rs.trustworthiness(X, Z)
    np.save(tmp_path / "x.npy", X)
    file = from_npy(tmp_path / "x.npy", rows_per_chunk=70)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    for x in (lazy(X, (100, 111)), file, frame):
        for z in (lazy(Z, (30, 181)), Z, Z.tolist(), pd.DataFrame(Z)):
            assert trustworthiness(x, z, mode=mode) == expected
    # An embedding that is computed from the same file.
    assert trustworthiness(file, file[:, :2], mode=mode) == shopca_rs.trustworthiness(X, X[:, :2])


def test_far_and_near_chunks_are_counted_alike():
    """Rows so far from a chunk that single precision has no bound, and chunks of equal rows."""
    x = np.concatenate([X * 1e-9, X * 1e9 + 1e12, np.ones((40, 7))])
    z = np.concatenate([Z, Z[::-1], np.zeros((40, 2))])
    sizes = (211, 200, 11, 40)
    found = trustworthiness(lazy(x, sizes), lazy(z, sizes), mode="sharded")
    assert found == shopca_rs.trustworthiness(x, z)


def test_a_round_holds_as_many_queries_as_fit_and_the_rounds_add_up(monkeypatch):
    """With 17 kilobytes for a thread a round has the distances of five queries from 211 rows."""
    crew = Workers(threads=2, memory=16 * 17 * 1024 * 2, threads_each=2)
    monkeypatch.setattr(embedding_quality, "workers", lambda: crew)
    rounds = []
    seen = AllRanks.seen

    def spy(self, walk, chunk, first):
        rounds.append((self.at_once, chunk.shape))
        return seen(self, walk, chunk, first)

    monkeypatch.setattr(AllRanks, "seen", spy)
    sizes = (100, 111)
    same(
        quality(lazy(X, sizes), lazy(Z, sizes), 4, sample=30, mode="sharded"),
        shopca_rs.quality(X, Z, 4, sample=30),
    )
    assert {at_once for at_once, _ in rounds} == {5}
    # Two blocks of 15 queries: three rounds each, through both chunks.
    assert len(rounds) == 2 * 3 * 2
    assert {shape for _, shape in rounds} == {(100, 9), (111, 9)}


WITH_NAN = Z.copy()
WITH_NAN[5, 1] = np.nan
WHOLE = lazy(X, (211,))
REFUSED = {
    "other rows": (lambda: trustworthiness(WHOLE, Z[:-1]), r"Z must have as many rows as X \(211\), got 210"),
    "half of the rows": (lambda: quality(WHOLE, Z, 106), r"less than n / 2 = 105.5 for n = 211 rows"),
    "not on dask": (lambda: continuity(X, Z), "X must be a dask array or a dask dataframe, got ndarray"),
    "an unknown mode": (lambda: continuity(WHOLE, Z, mode="fast"), "mode must be"),
    "NaN in Z": (
        lambda: continuity(WHOLE, lazy(WITH_NAN, (200, 11))),
        "Z must hold finite numbers only, got nan in chunk 0 of Z",
    ),
}


@pytest.mark.parametrize(("call", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_judged_is_refused(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("measure", [trustworthiness, continuity, quality])
def test_numbers_whose_squares_do_not_fit_are_refused_by_the_name_of_their_table(mode, measure):
    for name in ("X", "Z"):
        tables = {"X": X, "Z": Z}
        tables[name] = tables[name] * 1e200
        arguments = (lazy(table, (100, 111)) for table in tables.values())
        with pytest.raises(ValueError, match=f"^{name} "):
            measure(*arguments, mode=mode)
