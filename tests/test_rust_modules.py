"""The Rust sources: imports go one way, and files stay short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"
MOST_LINES = 400

pytestmark = pytest.mark.skipif(not SRC.is_dir(), reason="the sources are not here")


def modules():
    """Return each module's file by its path, as a tuple of names."""
    found = {}
    for file in SRC.rglob("*.rs"):
        names = file.relative_to(SRC).with_suffix("").parts
        found[names[:-1] if names[-1] in ("mod", "lib") else names] = file
    return found


def expanded(tree):
    """Return the paths of a use declaration."""
    before, brace, inside = tree.partition("{")
    if not brace:
        return [tree]
    parts, depth = [""], 0
    for letter in inside.rpartition("}")[0]:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [path for part in parts if part.strip() for path in expanded(before + part.strip())]


def imports(own, text, known):
    """Return the modules that a file names, its tests and inner modules left out."""
    code = re.sub(r"//.*", "", text.partition("#[cfg(test)]\nmod tests")[0])
    declared = re.findall(r"^(?:pub(?:\([^)]*\))? )?use ([^;]+);", code, re.MULTILINE)
    paths = [path for tree in declared for path in expanded(tree)]
    found = set()
    for path in paths + re.findall(r"\bcrate(?:::\w+)+", code):
        names = tuple(path.split("::"))
        if names[0] == "crate":
            names = names[1:]
        elif names[0] == "super":
            above = sum(name == "super" for name in names)
            names = own[: len(own) - above] + names[above:]
        else:
            names = own + names
        while names and names not in known:
            names = names[:-1]
        found.add(names)
    # A path that names nothing of ours is shortened to the file's own module or to an outer crate.
    return found - {own, ()}


def test_no_two_modules_import_each_other_directly_or_by_others():
    files = modules()
    edges = {own: imports(own, file.read_text("utf-8"), files) for own, file in files.items()}
    done = set()
    while True:
        ready = {own for own in edges.keys() - done if edges[own] <= done}
        if not ready:
            break
        done |= ready
    assert {"::".join(own): edges[own] - done for own in edges.keys() - done} == {}


def test_no_file_is_long():
    lengths = {str(file): len(file.read_text("utf-8").splitlines()) for file in SRC.rglob("*.rs")}
    assert {file: length for file, length in lengths.items() if length > MOST_LINES} == {}


def test_the_check_sees_what_a_file_imports():
    known = {(): None, ("a",): None, ("a", "b"): None, ("c",): None}
    text = "use crate::c::{self, D};\nuse super::Thing;\nfn f() { std::mem::take(); }\n"
    assert imports(("a", "b"), text, known) == {("c",), ("a",)}
    assert imports(("a",), "mod b;\npub use b::{C, d::{E, F}};\n", known) == {("a", "b")}
