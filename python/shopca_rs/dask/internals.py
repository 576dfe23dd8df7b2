"""Everything that is used of dask's private API: tests/test_dask_internals.py says what for.

A `Task` calls a function with its arguments, a `TaskRef` stands for the result of another task, a `List` is
a list of such references, a `DataNode` holds a value. A `GraphNode` is any of them that has a key.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from dask._task_spec import DataNode, GraphNode, List, Task, TaskRef, convert_legacy_graph
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.utils import ensure_dict

__all__ = ["DataNode", "Graph", "GraphNode", "List", "Task", "TaskRef", "as_graph", "is_shuffle", "on_top"]

Graph = dict[Any, GraphNode]


def as_graph(collection: Mapping[Any, Any]) -> Graph:
    """Return any graph of dask, in layers or of the older tuples, as one dictionary of nodes.

    Parameters
    ----------
    collection : mapping
        What `__dask_graph__` returns.

    Returns
    -------
    dict
        Key → node.
    """
    graph: Graph = convert_legacy_graph(ensure_dict(collection))
    return graph


def is_shuffle(node: GraphNode) -> bool:
    """Say whether a task belongs to a shuffle between workers, whose rows wait on one of them for one task.

    Parameters
    ----------
    node : GraphNode
        A node of a graph.

    Returns
    -------
    bool
        True for the tasks that `distributed` itself defines.
    """
    return type(node).__module__.startswith("distributed.")


def on_top(name: str, graph: Graph, inputs: Sequence[Delayed], outputs: Sequence[Hashable]) -> list[Delayed]:
    """Return some keys of a graph that needs the results of other collections.

    A call of ``delayed(function)`` with a list of collections walks through their whole graph; this does not.

    Parameters
    ----------
    name : str
        Of the new layer, a function of what it computes.
    graph : dict
        Its tasks.
    inputs : sequence of Delayed
        What they need.
    outputs : sequence of hashable
        Keys of the graph.

    Returns
    -------
    list of Delayed
        One for each of `outputs`.
    """
    distinct = list({each.key: each for each in inputs}.values())
    layers = HighLevelGraph.from_collections(name, graph, dependencies=distinct)
    return [Delayed(key, layers, layer=name) for key in outputs]
