"""The direction of imports: from the rooms where data arrive to those where results leave, and never back."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
import shopca_rs

PACKAGE = Path(shopca_rs.__file__).parent

# The rooms that each room may use, beside the modules at the top of the package and itself.
ROOMS = {
    "estimators": set(),
    "geometry": set(),
    "evaluation": {"estimators"},
    "plotting": {"estimators", "geometry", "evaluation"},
    "explorer": {"estimators", "geometry", "evaluation", "plotting"},
    "report": {"estimators", "geometry", "evaluation", "plotting"},
    "dask": {"estimators", "geometry", "evaluation"},
    "integrations": {"estimators", "geometry", "evaluation"},
    "experiments": {"estimators", "evaluation", "plotting"},
    "cli": {"estimators", "geometry", "evaluation", "plotting", "explorer", "report", "experiments"},
}
# Only the command that reruns the paper uses the reruns.
RERUNS = "cli.commands.reproduce"


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in PACKAGE.rglob("*.py")}


def imported(name: str) -> set[str]:
    """The modules of the package that a module imports anywhere, in functions and for types too."""
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or node.level == 0:
            continue
        start = [part for part in package if part][: len(package) + 1 - node.level]
        target = ".".join([*start, *(node.module or "").split(".")]).strip(".")
        for alias in node.names:
            submodule = f"{target}.{alias.name}".strip(".")
            found.add(submodule if submodule in MODULES else target)
    return found - {name}


def room(name: str) -> str:
    head = name.partition(".")[0]
    return head if head in ROOMS else ""


def test_every_room_is_on_the_plan():
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages <= set(ROOMS)


@pytest.mark.parametrize("name", sorted(MODULES.keys() - {"", "__main__"}))
def test_a_module_uses_its_own_room_and_those_before_it(name):
    here = room(name)
    allowed = {"", here} | (ROOMS[here] if here else set())
    if here == "cli" and name != RERUNS:
        allowed.discard("experiments")
    astray = {target for target in imported(name) if room(target) not in allowed}
    assert not astray, f"{name} must not import {astray}"


def test_no_two_modules_import_each_other():
    # The package itself lists what every room has to offer.
    graph = {name: imported(name) - {""} for name in MODULES if name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' → '.join(error.args[1])}")
