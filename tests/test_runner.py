"""The runner: an experiment can be stopped at any time and goes on where it was, with the same numbers."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from shopca_rs.experiments import runner
from shopca_rs.experiments.catalogue import CATALOGUE
from shopca_rs.experiments.protocols import PROTOCOLS
from shopca_rs.experiments.results import Result, Results, Run
from shopca_rs.experiments.runner import Available, perform, plan, run_all, survey

GIB = 2**30


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two data sets for Isomap: one that is too small and one that is large enough for random numbers."""
    folder = tmp_path_factory.mktemp("data")
    # Isomap has five neighbours, and from 200 points on a solver that starts from random numbers.
    save_points(folder / "usp05.npz", 5)
    save_points(folder / "Engine1.npz", 300)
    return folder


@pytest.fixture(scope="module")
def found(folder):
    return list(survey(["iris", "wine", "Engine1", "usp05"], folder, openml=False))


@pytest.fixture(scope="module")
def runs(found):
    """All there is in the first two tables: the third has UMAP, which takes ten seconds to import."""
    return plan(["published"], [1, 2], found, seeds=1)


@pytest.fixture(scope="module")
def run(found, folder):
    """Run into a folder and return what was reported."""

    def call(runs, results, **options):
        reports = []
        run_all(
            runs,
            found,
            Results(results),
            folder=folder,
            openml=False,
            report=lambda run, result: reports.append((run, result)),
            **options,
        )
        return reports

    return call


@pytest.fixture(scope="module")
def finished(run, runs, tmp_path_factory):
    """The results of a complete experiment, and what was reported; only to be read."""
    results = tmp_path_factory.mktemp("finished") / "results"
    return results, run(runs, results, jobs=1)


@pytest.fixture(scope="module")
def resumed(run, runs, finished, tmp_path_factory):
    """A copy of that experiment with three of its results spoilt, and what happened when it was run again."""
    results = tmp_path_factory.mktemp("resumed") / "results"
    shutil.copytree(finished[0], results)
    damaged = file_of(results, Run("published", "iris", "pca"))
    damaged.write_text(damaged.read_text(encoding="utf-8")[:100], encoding="utf-8")
    foreign = file_of(results, Run("published", "iris", "shopca-lapack"))
    content = json.loads(foreign.read_text(encoding="utf-8"))
    foreign.write_text(json.dumps(content | {"scores": {"complete_ari": 2.0}, "key": content["key"] + "x"}))
    file_of(results, Run("published", "wine", "pca")).unlink()
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*.*")}
    reports = run(runs, results, jobs=1)
    return results, reports, before


def save_points(path, n):
    np.savez(path, X=np.random.default_rng(0).normal(size=(n, 4)), y=np.arange(n) % 2)


def file_of(results, run, suffix=".json"):
    return results / run.protocol / run.data_set / f"{run.method}.{run.seed}{suffix}"


def numbers(results):
    """All results by run, without the times, and the bytes of all embeddings."""
    plain = {result.run: replace(result, seconds=0.0) for result in Results(results)}
    return plain, {path.relative_to(results): path.read_bytes() for path in results.rglob("*.npy")}


def available(name, rows):
    entry = next(entry for entry in CATALOGUE if entry.name == name)
    return Available(entry, (rows, 4, 3), fingerprint="f")


def test_an_experiment_has_every_run_reported_once_and_saved(finished, runs):
    results, reports = finished
    assert [reported for reported, _ in reports] == runs
    assert {result.run: result for result in Results(results)} == dict(reports)
    assert len(runs) == 5 + 4 + 4 + 4


def test_the_results_are_the_published_ones(finished):
    result = dict(finished[1])[Run("published", "iris", "shopca-numpy")]
    rounded = [round(result.scores[f"complete_{index}"], 4) for index in ("ari", "fm", "v_measure")]
    assert rounded == [0.7312, 0.8222, 0.7701]
    assert result.details["lambda"] == pytest.approx(55.19, abs=0.005)
    assert result.seconds > 0
    assert Results(finished[0]).embedding(result.run).shape == (150, 2)


def test_a_method_that_fails_is_a_result_with_a_reason_and_does_not_stop_the_others(finished):
    results, reports = finished
    failed = Run("published", "usp05", "isomap")
    assert [run for run, result in reports if result.failure] == [failed]
    result = dict(reports)[failed]
    assert result.failure.startswith("ValueError: Expected n_neighbors")
    assert "\n" not in result.failure
    assert result.scores == {}
    assert not file_of(results, failed, ".npy").exists()


def test_what_is_done_is_neither_done_again_nor_touched(resumed, runs):
    results, reports, before = resumed
    again = {run for run, result in reports if result is not None}
    done = [run for run in runs if run not in again]
    assert len(done) == len(runs) - 4
    for run in done:
        for suffix in (".json", ".npy"):
            path = file_of(results, run, suffix)
            assert path.stat().st_mtime_ns == before[path]


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param(Run("published", "iris", "pca"), id="of_a_damaged_file"),
        pytest.param(Run("published", "iris", "shopca-lapack"), id="computed_from_something_else"),
        pytest.param(Run("published", "wine", "pca"), id="of_a_missing_file"),
    ],
)
def test_a_result_is_done_again(spoilt, resumed, finished):
    results, reports, _ = resumed
    first, second = (dict(those)[spoilt] for those in (finished[1], reports))
    assert replace(second, seconds=0) == replace(first, seconds=0)
    assert Results(results).find(spoilt, first.key) == second


def test_a_failure_is_tried_again(resumed):
    assert dict(resumed[1])[Run("published", "usp05", "isomap")].failure


def test_a_resumed_experiment_has_the_numbers_of_one_that_never_stopped(resumed, finished):
    assert numbers(resumed[0]) == numbers(finished[0])


def test_numbers_do_not_depend_on_the_number_of_processes(run, runs, finished, tmp_path):
    run(runs[::-1], tmp_path / "results", jobs=2)
    assert numbers(tmp_path / "results") == numbers(finished[0])


def test_numbers_do_not_depend_on_the_process_or_what_it_did_before(folder, finished, tmp_path):
    # This process has drawn other random numbers, and may use more threads.
    isomap = Run("published", "Engine1", "isomap")
    np.random.seed(5)  # noqa: NPY002 - the generator that Isomap's solver starts from
    result = perform(isomap, dict(finished[1])[isomap].key, tmp_path, folder, False)
    assert replace(result, seconds=0) == replace(dict(finished[1])[isomap], seconds=0)
    np.testing.assert_array_equal(Results(tmp_path).embedding(isomap), Results(finished[0]).embedding(isomap))


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", '{"run": {}}', '{"key": "k"}', "\udc80", '{"run": 1, "key": 2}'],
    ids=["empty", "cut", "list", "null", "no_run", "no_names", "not_text", "numbers"],
)
def test_a_file_that_is_no_result_counts_as_none(content, tmp_path):
    results, run = Results(tmp_path), Run("fair", "iris", "pca")
    results.save(Result(run, "k"), None)
    assert results.find(run, "k") is not None
    file_of(tmp_path, run).write_bytes(content.encode(errors="surrogateescape"))
    assert results.find(run, "k") is None
    assert list(results) == []


def test_the_file_of_a_process_that_was_killed_while_it_wrote_is_no_result(tmp_path):
    result = Result(Run("fair", "iris", "pca"), "k", {"ward_ari": 0.5})
    Results(tmp_path).save(result, None)
    file = file_of(tmp_path, result.run)
    shutil.copy(file, file.with_name(".0123456789abcdef.0.json"))
    assert list(Results(tmp_path)) == [result]


def test_a_result_comes_back_from_its_file_as_it_was(tmp_path):
    result = Result(
        Run("fair", "wap.wc", "umap", 3),
        "k",
        {"ward_ari": 1 / 3},
        {"k": 5, "lambda": float("inf")},
        0.1,
        "",
        ["n ≥ 2"],
    )
    Z = np.random.default_rng(0).normal(size=(7, 2))
    Results(tmp_path).save(result, Z)
    assert Results(tmp_path).find(result.run, "k") == result
    np.testing.assert_array_equal(Results(tmp_path).embedding(result.run), Z)


def test_warnings_of_a_method_become_notes_and_its_errors_the_first_line_of_a_reason(monkeypatch, tmp_path):
    def warn(X, seed, components):
        warnings.warn("first\nsecond", UserWarning, stacklevel=1)
        warnings.warn("", UserWarning, stacklevel=1)
        raise np.linalg.LinAlgError("no\nconvergence")

    protocol = PROTOCOLS["published"]
    method = replace(protocol.method("pca"), embed=warn)
    monkeypatch.setitem(runner.PROTOCOLS, "published", replace(protocol, methods=(method,)))
    result = perform(Run("published", "iris", "pca"), "k", tmp_path, None, False)
    assert result.failure == "LinAlgError: no"
    assert "first" in result.notes
    assert not any("second" in note for note in result.notes)


def test_data_that_cannot_be_prepared_or_are_gone_are_a_failure_as_well(tmp_path):
    np.savez(tmp_path / "sonar.npz", X=np.random.default_rng(0).normal(size=(20, 60)), y=np.arange(20) % 2)
    few = perform(Run("published", "sonar", "umap"), "k", tmp_path / "results", tmp_path, False)
    assert few.failure.startswith("ValueError: n_components=25 must be between")
    gone = perform(Run("published", "glass", "umap"), "k", tmp_path / "results", tmp_path, False)
    assert gone.failure.startswith("Missing: glass.npz is not in")
    assert {result.run.data_set for result in Results(tmp_path / "results")} == {"sonar", "glass"}


def test_without_umap_its_runs_fail_and_say_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "umap", None)
    result = perform(Run("published", "iris", "umap"), "k", tmp_path, None, False)
    assert result.failure.startswith("ModuleNotFoundError")
    assert "umap" in result.failure


def test_a_key_names_the_data_and_the_versions_and_umap_s_only_for_umap():
    pca, umap = (
        runner.key(Run("fair", "iris", method), available("iris", 150)) for method in ("pca", "umap")
    )
    assert pca.split()[0] == "f"
    assert f"numpy={np.__version__}" in pca.split()
    assert umap.replace(f" umap-learn={runner.versions()['umap-learn']}", "") == pca
    # Another limit on the rows is another comparison.
    assert "rows=2000" in pca.split()


def test_data_sets_meet_the_rivals_of_their_tables_and_under_the_fair_rules_pca_and_all(found):
    def rivals(protocol, tables, data_set):
        planned = plan([protocol], tables, found, seeds=2)
        return {
            (run.method, run.seed)
            for run in planned
            if run.data_set == data_set and run.method in ("pca", "isomap", "umap")
        }

    assert rivals("published", [1, 2, 3], "wine") == {("pca", 0)}
    assert rivals("published", [1, 2, 3], "usp05") == {("isomap", 0), ("umap", 0), ("umap", 1)}
    assert rivals("published", [2], "iris") == {("isomap", 0)}
    assert rivals("published", [3], "wine") == set()
    assert rivals("fair", [3], "iris") == {("pca", 0), ("umap", 0), ("umap", 1)}
    assert rivals("fair", [1, 2, 3], "wine") == {("pca", 0), ("isomap", 0), ("umap", 0), ("umap", 1)}


def test_the_largest_data_sets_are_first_and_missing_ones_have_no_runs(found):
    (missing,) = survey(["zoo"], None, openml=False)
    assert missing.missing == "No folder of .npz files was given, and downloads from OpenML are off."
    planned = plan(["published", "fair"], [1, 2, 3], [missing, *found], seeds=1)
    assert list(dict.fromkeys(run.data_set for run in planned)) == ["Engine1", "wine", "iris", "usp05"]


def test_a_survey_says_what_there_is_in_the_order_of_the_catalogue(found):
    assert [entry.data_set.name for entry in found] == ["iris", "wine", "Engine1", "usp05"]
    assert [entry.shape for entry in found] == [(150, 4, 3), (178, 13, 3), (300, 4, 2), (5, 4, 2)]
    assert [entry.matches_paper for entry in found] == [True, True, False, False]
    assert found[3].notes == ("5 × 4 with 2 classes; the paper has 203 × 16 with 11 classes.",)
    assert len({entry.fingerprint for entry in found}) == 4


def test_nothing_to_do_starts_no_process(run, runs, finished, monkeypatch):
    done = [run for run in runs if run != Run("published", "usp05", "isomap")]
    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", None)
    assert run(done, finished[0], jobs=2) == [(run, None) for run in done]


def test_a_run_that_needs_more_memory_than_allowed_is_a_failure_that_says_so(run, tmp_path):
    isomap = Run("published", "Engine1", "isomap")
    ((reported, result),) = run([isomap], tmp_path, memory=GIB // 2)
    assert reported == isomap
    assert result.failure == "needs about 1.0 GiB, 0.5 GiB are allowed"
    assert list(Results(tmp_path)) == [result]
    assert Results(tmp_path).find(isomap, result.key) is None


def test_runs_wait_until_there_is_memory_for_them_and_small_ones_pass_by(monkeypatch, tmp_path):
    # Ten GiB: runs on 30000 rows take 7.7 of them, on 20000 rows 4 and on 100 rows 1.
    together, at_each_start = [], []

    class Pool:
        def submit(self, _, run, key, *__):
            together.append(run.data_set)
            at_each_start.append(sorted(together))
            future = Future()
            future.set_result(Result(run, key))
            return future

    def first_to_finish(running, **_):
        future = next(iter(running))
        together.remove(future.result().run.data_set)
        return SimpleNamespace(done=[future])

    monkeypatch.setattr(runner, "workers", lambda count: nullcontext(Pool()))
    monkeypatch.setattr(runner, "wait", first_to_finish)
    sizes = {"letter": 30000, "satimage": 20000, "optdigits": 20000, "iris": 100}
    found = [available(name, rows) for name, rows in sizes.items()]
    runs = [Run("published", name, "pca") for name in sizes]
    run_all(runs, found, Results(tmp_path), folder=None, jobs=4, memory=10 * GIB)
    assert at_each_start == [
        ["letter"],
        ["iris", "letter"],
        ["iris", "satimage"],
        ["iris", "optdigits", "satimage"],
    ]


def test_the_memory_a_run_needs_grows_with_the_squares_it_holds():
    pca, isomap = (runner._need(Run("published", "iris", method), 10_000) for method in ("pca", "isomap"))
    assert pca == GIB + 8 * 10_000**2
    assert isomap == GIB + 4 * 8 * 10_000**2
    assert runner._need(Run("fair", "iris", "isomap"), 10_000) == GIB + 4 * 8 * 2000**2


def test_the_memory_of_a_container_is_what_runs_may_take(run, monkeypatch, tmp_path):
    monkeypatch.setattr("shopca_rs.machine.memory", lambda: GIB)
    ((_, result),) = run([Run("published", "iris", "pca")], tmp_path)
    assert result.failure == "needs about 1.0 GiB, 0.8 GiB are allowed"
