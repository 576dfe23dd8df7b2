"""What we rely on in the private parts of dask. Run it against every version that is to be allowed."""

from __future__ import annotations

import pickle

import dask
import dask.array as da
import numpy as np
import pytest
from dask.delayed import delayed
from shopca_rs.dask.internals import DataNode, List, Task, TaskRef, as_graph, is_shuffle, on_top


def add(*numbers):
    return sum(numbers)


def total(numbers):
    return sum(numbers)


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def test_a_task_calls_its_function_with_values_and_with_the_results_of_others():
    graph = {
        "one": DataNode("one", 1),
        "two": Task("two", add, TaskRef("one"), 1),
        ("three", 0): Task(("three", 0), total, List(TaskRef("one"), TaskRef("two"))),
    }
    assert dask.get(graph, ("three", 0)) == 3


def test_nodes_know_what_they_depend_on():
    assert set(Task("a", add, TaskRef("b"), 5).dependencies) == {"b"}
    assert set(Task("a", total, List(TaskRef("b"), TaskRef(("c", 1)))).dependencies) == {"b", ("c", 1)}
    assert set(DataNode("a", "b").dependencies) == set()


def test_a_value_is_handed_on_as_it_is_even_if_it_looks_like_a_key_or_a_task():
    values = ["one", ("one", 0), (add, 1, 2), [("one", 0)], {"one": "one"}]
    for value in values:
        graph = {"one": DataNode("one", 1), "seen": Task("seen", repr, value)}
        assert dask.get(graph, "seen") == repr(value)


def test_a_value_can_be_read_from_its_node():
    assert DataNode("a", 7).value == 7
    assert DataNode("a", 7).key == "a"


def test_one_list_of_references_serves_several_tasks():
    both = List(TaskRef("one"), TaskRef("two"))
    graph = {name: DataNode(name, number) for name, number in [("one", 1), ("two", 2)]}
    graph |= {name: Task(name, total, both) for name in ("a", "b")}
    assert dask.get(graph, ["a", "b"]) == (3, 3)


def test_a_task_survives_pickling():
    graph = {"one": DataNode("one", 1), "two": Task("two", add, TaskRef("one"), 1)}
    assert dask.get(pickle.loads(pickle.dumps(graph)), "two") == 2


@pytest.mark.parametrize(
    "collection",
    [
        da.from_array(np.arange(6.0), chunks=3) + 1,
        da.ones(6, chunks=3),
        delayed(add)(1, delayed(add)(2, 3)),
        {"one": 1, "two": (add, "one", 1)},
    ],
    ids=["an array", "made by tasks", "delayed", "tuples"],
)
def test_any_graph_becomes_one_dictionary_of_nodes(collection):
    graph = as_graph(collection if isinstance(collection, dict) else collection.__dask_graph__())
    assert {need for node in graph.values() for need in node.dependencies} <= graph.keys()
    keys = ["two"] if isinstance(collection, dict) else collection.__dask_keys__()
    expected = (
        [2] if isinstance(collection, dict) else np.array_split(np.ravel(collection.compute()), len(keys))
    )
    for key, value in zip(keys, expected, strict=True):
        assert np.array_equal(np.ravel(dask.get(graph, key)), np.ravel(value))


def test_a_layer_on_top_of_others_is_computed_with_them():
    one, two = delayed(add, pure=True)(1), delayed(add, pure=True)(2)
    graph = {
        ("sum", place): Task(("sum", place), add, TaskRef(one.key), TaskRef(two.key)) for place in (0, 1)
    }
    outputs = on_top("sum", graph, [one, two, one], list(graph))
    assert dask.compute(*outputs) == (3, 3)
    assert delayed(add)(*outputs).compute() == 6


def test_building_a_layer_does_not_walk_through_those_below(monkeypatch):
    below = delayed(add, pure=True)(1)
    monkeypatch.setattr("dask.highlevelgraph.HighLevelGraph.cull", None)
    on_top("above", {"above": Task("above", add, TaskRef(below.key))}, [below], ["above"])


def test_the_tasks_of_a_shuffle_are_those_that_distributed_defines():
    shuffle = pytest.importorskip("distributed.shuffle._core")
    assert issubclass(shuffle.P2PBarrierTask, Task)
    assert is_shuffle(object.__new__(shuffle.P2PBarrierTask))
    assert not is_shuffle(Task("a", add))
