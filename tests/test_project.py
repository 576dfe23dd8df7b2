"""The files around the code: they name the same version, the same addresses, and jobs that exist."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest
import shopca_rs
import yaml

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://github.com/shopca-rs/shopca-rs"
SITE = "https://shopca-rs.github.io/shopca-rs/"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CRATE = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["package"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
TARGETS = set(re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.M)[1].split())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_citation_has_the_version_of_the_crate():
    assert CITATION["version"] == CRATE["version"]


def test_every_file_names_the_same_addresses():
    urls = PYPROJECT["project"]["urls"]
    assert urls["Repository"] == CRATE["repository"] == CITATION["repository-code"] == REPOSITORY
    assert urls["Documentation"] == CRATE["homepage"] == CITATION["url"] == SITE
    assert urls["Changelog"].startswith(f"{REPOSITORY}/blob/main/")
    assert (ROOT / urls["Changelog"].removeprefix(f"{REPOSITORY}/blob/main/")).is_file()


@pytest.mark.parametrize("title", ["Shape Operator PCA", "Efficient Mean Curvature", "Locality preserving"])
def test_the_citation_names_the_works_behind_it(title):
    assert any(work["title"].startswith(title) for work in CITATION["references"])


@pytest.mark.parametrize(
    ("name", "author"),
    [
        ("SHOPCA", "Levada"),
        ("operator_curvatures", "Levada"),
        ("LPP", "Niyogi"),
        ("second_fundamental_form", "Cazals"),
        ("intrinsic_dimension", "Levina"),
        ("trustworthiness", "Venna"),
        ("continuity", "Venna"),
        ("quality", "Verleysen"),
    ],
)
def test_a_docstring_names_the_work_behind_it(name, author):
    documentation = inspect.getdoc(getattr(shopca_rs, name))
    references = documentation.split("\nReferences\n----------\n")[1].split("\n\nExamples")[0]
    assert references.startswith(".. [1] ")
    assert author in references


def made(script):
    """Return the targets that a script gives to make."""
    calls = re.findall(r"^\s*make((?: [\w-]+)+)", script, re.M)
    return {word for call in calls for word in call.split() if not word.startswith("-")}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_waits_for_jobs_that_exist_and_runs_files_that_exist(path):
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"]
    for job in jobs.values():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(jobs)
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            for file in re.findall(r"(?<![\w/])\.ci/[\w-]+(?:\.py)?", step.get("run", "")):
                assert (ROOT / file).is_file()
            assert made(step.get("run", "")) <= TARGETS


def test_ci_runs_every_check_and_the_plug_ins():
    assert made((ROOT / ".ci/run").read_text("utf-8")) == {"test", "wheel-test", "plugin-test"} <= TARGETS


def test_ci_covers_the_oldest_and_the_newest_python():
    python = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))["jobs"]["python"]
    versions = python["strategy"]["matrix"]["python"]
    assert PYPROJECT["project"]["requires-python"] == f">={versions[0]}"
    named = [line.rsplit(" ", 1)[1] for line in PYPROJECT["project"]["classifiers"] if "Python :: 3." in line]
    assert versions == named
