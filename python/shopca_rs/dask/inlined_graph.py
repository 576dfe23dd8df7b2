"""A block of rows as a recipe: the tasks that only this block needs, run inside the task that uses it.

A block that is a result of its own stays in a worker's memory until the last task that needs it has run. A
recipe of some hundred bytes does not: the rows are made inside a task and freed when it ends. What the graphs
of several blocks share, a mean over all rows for example, stays a dependency that dask computes once.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import dask
from dask.base import tokenize
from dask.core import toposort
from dask.delayed import Delayed
from dask.sizeof import sizeof
from dask.utils import funcname
from numpy.typing import NDArray

from .internals import DataNode, Graph, GraphNode, List, Task, TaskRef, as_graph, is_shuffle, on_top

# A recipe goes along with every task that uses it: it must be small, and small against the rows it makes.
_MOST_BYTES, _SHARE_OF_ROWS = 1 << 16, 8

# The owner of a key that more than one block needs.
_SHARED = -1


class Recipe:
    """Tasks that make one block of rows. To dask it is opaque.

    Parameters
    ----------
    tasks : dict
        A graph.
    key : hashable
        The block's key. It names the rows, as keys of dask do.
    given : sequence of hashable
        Keys that the tasks need and that are not among them.
    """

    def __init__(self, tasks: Graph, key: Any, given: Sequence[Any]) -> None:
        self.tasks = tasks
        self.key = key
        self.given = tuple(given)

    def __dask_tokenize__(self) -> tuple[str, Any]:
        return type(self).__name__, self.key

    def rows(self, values: Sequence[Any]) -> NDArray[Any]:
        """Make the rows.

        Parameters
        ----------
        values : sequence
            The values of the given keys.

        Returns
        -------
        ndarray
            The block.
        """
        given = {key: DataNode(key, value) for key, value in zip(self.given, values, strict=True)}
        rows: NDArray[Any] = dask.get(self.tasks | given, self.key)
        return rows


@dataclass(frozen=True, eq=False)
class Part:
    """A block of rows that is not computed yet.

    Attributes
    ----------
    recipe : Recipe
        How a task makes it.
    inputs : tuple of Delayed
        What the recipe is given.
    """

    recipe: Recipe
    inputs: tuple[Delayed, ...]

    @cached_property
    def values(self) -> List:
        """References to the inputs, as a task takes them."""
        return List(*(TaskRef(each.key) for each in self.inputs))

    def then(self, function: Callable[..., NDArray[Any]], *inputs: Delayed) -> Part:
        """Return a function of the rows, as a part.

        Parameters
        ----------
        function : callable
            Takes the rows and the inputs.
        *inputs : Delayed
            Further arguments, computed once for all parts.

        Returns
        -------
        Part
            The rows that the function returns.
        """
        before, more = self.recipe, tuple(each.key for each in inputs)
        key = f"{funcname(function)}-{tokenize(before, function, more)}"
        last = Task(key, function, TaskRef(before.key), *map(TaskRef, more))
        recipe = Recipe(before.tasks | {key: last}, key, before.given + more)
        return Part(recipe, self.inputs + inputs)

    def beside(self, other: Part, function: Callable[..., NDArray[Any]]) -> Part:
        """Return a function of the rows of this part and of another, as a part.

        Parameters
        ----------
        other : Part
            Other rows.
        function : callable
            Takes both.

        Returns
        -------
        Part
            The rows that the function returns.
        """
        ours, theirs = self.recipe, other.recipe
        key = f"{funcname(function)}-{tokenize(ours, theirs, function)}"
        last = Task(key, function, TaskRef(ours.key), TaskRef(theirs.key))
        inputs = {each.key: each for each in self.inputs + other.inputs}
        recipe = Recipe(ours.tasks | theirs.tasks | {key: last}, key, list(inputs))
        return Part(recipe, tuple(inputs.values()))

    def apply(self, function: Callable[..., Any], *arguments: Any) -> Delayed:
        """Return a task that makes the rows and gives them to a function.

        Parameters
        ----------
        function : callable
            Takes the rows and the arguments.
        *arguments
            Further arguments.

        Returns
        -------
        Delayed
            The function's result.
        """
        name = f"{funcname(function)}-{tokenize(self.recipe, function, arguments)}"
        task = Task(name, _applied, function, self.recipe, self.values, *arguments)
        return on_top(name, {name: task}, self.inputs, [name])[0]


def parts(blocks: Sequence[Delayed], bytes_each: Sequence[int]) -> list[Part]:
    """Find the recipe of each block of a collection.

    A block is its own recipe's only input, and so an ordinary dependency, where a recipe would carry the rows
    themselves, needs futures of a cluster, or cannot be pickled.

    Parameters
    ----------
    blocks : sequence of Delayed
        With one graph for all of them.
    bytes_each : sequence of int
        Bytes of the rows of each.

    Returns
    -------
    list of Part
        One for each block.
    """
    held = [Part(Recipe({}, block.key, [block.key]), (block,)) for block in blocks]
    collection = blocks[0].dask
    graph = as_graph(collection)
    owners = _owners(graph, [block.key for block in blocks])
    private: list[Graph] = [{} for _ in blocks]
    for key, owner in owners.items():
        if owner != _SHARED and key in graph:
            private[owner][key] = graph[key]
    found = []
    for block, tasks, size, part in zip(blocks, private, bytes_each, held, strict=True):
        given = sorted({key for task in tasks.values() for key in task.dependencies} - tasks.keys(), key=str)
        if _can_be_carried(tasks, [graph.get(key) for key in given], size):
            layer = block.__dask_layers__()[0]
            inputs = tuple(Delayed(key, collection, layer=layer) for key in given)
            found.append(Part(Recipe(tasks, block.key, given), inputs))
        else:
            found.append(part)
    return found


def _owners(graph: Graph, outputs: Sequence[Any]) -> dict[Any, int]:
    """Return the one output that needs a key, by its number, or _SHARED, whose ancestors are left out."""
    owners: dict[Any, int] = {}
    for number, key in enumerate(outputs):
        owners[key] = _SHARED if key in owners else number
    needs = {key: [need for need in node.dependencies if need in graph] for key, node in graph.items()}
    for key in reversed(toposort(graph, dependencies=needs)):
        owner = owners.get(key, _SHARED)
        if owner != _SHARED:
            for need in needs[key]:
                owners[need] = owner if owners.get(need, owner) == owner else _SHARED
    return owners


def _can_be_carried(tasks: Graph, given: Sequence[GraphNode | None], bytes_of_rows: int) -> bool:
    """Say whether the tasks are much smaller than their rows and can run anywhere, any number of times."""
    # Keys that are not in the graph are futures: the cluster holds these rows already.
    if not tasks or any(node is None for node in given):
        return False
    if any(is_shuffle(node) for node in (*tasks.values(), *given)):
        return False
    most = min(bytes_of_rows // _SHARE_OF_ROWS, _MOST_BYTES)
    if (
        any(_bytes_held(node) > bytes_of_rows for node in given)
        or sum(map(_bytes_held, tasks.values())) > most
    ):
        return False
    buffers: list[pickle.PickleBuffer] = []
    try:
        pickled = cloudpickle.dumps(tasks, protocol=5, buffer_callback=buffers.append)
    except Exception:
        # An object that cannot be pickled may raise anything.
        return False
    return len(pickled) + sum(buffer.raw().nbytes for buffer in buffers) <= most


def _bytes_held(node: GraphNode | None) -> int:
    return int(sizeof(node.value)) if isinstance(node, DataNode) else 0


def _applied(function: Callable[..., Any], recipe: Recipe, values: Sequence[Any], *arguments: Any) -> Any:
    return function(recipe.rows(values), *arguments)
