"""The command line: what all commands say and write, and how they end."""

from __future__ import annotations

import os
import re
import select
import shlex
import signal
import subprocess
import sys
import termios
from importlib.metadata import distribution, version
from pathlib import Path

import nasty
import numpy as np
import pandas as pd
import pytest
from command_line import PAPER, X, call, data, done, refused, shopca  # noqa: F401
from shopca_rs.cli import main
from shopca_rs.cli.command import COMMANDS
from shopca_rs.spectrum import CRITERIA

# What is said


def test_notes_of_the_table_and_warnings_of_the_library_are_one_line_each(done, tmp_path):
    frame = pd.DataFrame(nasty.many_copies()).assign(name="x", hole=np.where(np.arange(90) % 30, 1.0, np.nan))
    frame.to_csv(tmp_path / "data.csv", index=False, header=list("abcde"))
    err = done("embed", tmp_path / "data.csv", "-o", tmp_path / "z.csv")
    assert "note: Dropped 1 column of text: d (1 value)" in err
    assert "note: Filled 3 missing values with the median of their column: e (3)." in err
    assert "note: The mean shape operator is zero" in err
    assert all(re.match(r"shopca embed: (note|done): .*\S$", line) for line in err.splitlines())


def test_names_from_a_file_cannot_command_the_terminal(done, tmp_path):
    (tmp_path / "data.csv").write_text("x,y,\x1b[2Jname\n1,2,a\n3,1,b\n5,5,c\n6,0,d\n")
    err = done("embed", tmp_path / "data.csv", "-o", tmp_path / "z.csv")
    assert "\x1b" not in err
    assert r"\x1b[2Jname (4 values)" in err


def test_quiet_is_silent_but_for_errors(data, call, tmp_path):
    np.save(tmp_path / "same.npy", nasty.many_copies())
    assert call("embed", data, "-o", tmp_path / "z.csv", "--quiet") == (0, "", "")
    assert call("embed", tmp_path / "same.npy", "-o", tmp_path / "z.csv", "--quiet") == (0, "", "")
    code, out, err = call("embed", tmp_path / "no.csv", "--quiet")
    assert (code, out) == (2, "")
    assert "error" in err


def test_errors_are_one_line_that_says_what_to_do(data, refused, tmp_path):
    assert "There is no file" in refused("embed", tmp_path / "dat.csv")
    assert "Did you mean kind?" in refused("embed", data, "--label", "kin")
    assert "n_neighbors must be at most n_samples - 1 = 59" in refused("embed", data, "--neighbors", 60)
    assert "at most n_samples - 1 = 59" in refused(*PAPER, data, "--neighbors", 60)
    assert "at most min(n_samples, n_features) = 4" in refused("embed", data, "--components", 5)
    np.save(tmp_path / "huge.npy", X * 1e200)
    assert "squares that fit in float64" in refused("embed", tmp_path / "huge.npy")
    assert "squares that fit in float64" in refused("embed", tmp_path / "huge.npy", "--no-standardize")
    assert "column0" in refused(*PAPER, tmp_path / "huge.npy")


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--alpha", "-1", "auto, inf or a number from 0, got -1"),
        ("--alpha", "nan", "auto, inf or a number from 0"),
        ("--alpha", "big", "auto, inf or a number from 0, got 'big'"),
        ("--components", "0", "all, a whole number from 1, or a fraction"),
        ("--components", "1.5", "a whole number from 1, or a fraction"),
        ("--components", "inf", "a whole number from 1, or a fraction"),
        ("--neighbors", "1", "log2, log or a whole number from 2, got 1"),
        ("--neighbors", "7.5", "log2, log or a whole number from 2"),
        ("--max-features", "0", "none or a whole number from 1"),
        ("--jobs", "0", "a whole number other than 0"),
        ("--separator", "ab", "must be one character"),
        ("--missing", "guess", "'median', 'mean', 'zero', 'drop-rows', 'error'"),
        ("--criterion", "size", "mass"),
        ("--lab", "kind", "unrecognized arguments: --lab"),
    ],
)
def test_a_bad_option_is_refused_with_what_was_expected(option, value, expected, data, call):
    code, out, err = call("embed", data, option, value)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert re.match(r"shopca( embed)?: error: ", err)
    assert expected.replace("'", "") in err.replace("'", "")


def test_an_unexpected_error_is_not_hidden(data, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr("shopca_rs.estimators.shopca.SHOPCA.fit", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        main(["embed", str(data)])


def test_too_little_memory_is_one_line(data, refused, monkeypatch):
    def broken(*_, **__):
        raise MemoryError

    monkeypatch.setattr("shopca_rs.estimators.shopca.SHOPCA.fit", broken)
    assert "not enough memory" in refused("embed", data)


# What is written, and what is not


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["-o", "nowhere/z.csv"], "there is no folder"),
        (["-o", "z.xlsx"], "must end in .csv, .tsv, .parquet, .npy or .npz"),
        (["-o", "z"], "must end in .csv, .tsv, .parquet, .npy or .npz"),
        (["-o", "."], "must end in .csv, .tsv, .parquet, .npy or .npz"),
        (["-o", "folder.csv"], "it is a folder"),
        (["-o", "loop.csv"], "a symbolic link leads back to itself"),
        (["-o", "z.csv", "--plot", "loop.png"], "a symbolic link leads back to itself"),
        (["-o", "data.csv"], "is the file to be read"),
        (["-o", "z.csv", "--plot", "z.doc"], "must end in .png, .svg, .pdf"),
        (["-o", "z.csv", "--plot", "nowhere/z.png"], "there is no folder"),
        (["--plot", "z.svg", "--explore", "z.svg"], "must end in .html"),
        (["-o", "z.csv", "--explore", "nowhere/z.html"], "there is no folder"),
        (["-o", "z.csv", "--model", "z.csv"], "must end in .json"),
    ],
    ids=str,
)
def test_an_output_that_cannot_be_written_is_refused_before_the_work(
    options, text, data, refused, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    for name in ("loop.csv", "loop.png"):
        (tmp_path / name).symlink_to(name)
    before = data.read_bytes()
    monkeypatch.setattr("shopca_rs.cli.tables.read_table", lambda *_, **__: pytest.fail("the work has begun"))
    assert text in refused("embed", "data.csv", *options)
    assert data.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "folder.csv", "loop.csv", "loop.png"]


def test_two_outputs_need_two_names(data, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.html").symlink_to(tmp_path / "z.html")
    monkeypatch.setattr("shopca_rs.cli.commands.outputs._check_picture", lambda _: None)
    assert "z.html would be written twice" in refused(
        "embed", data, "--plot", "link.html", "--explore", "z.html"
    )


@pytest.mark.parametrize(
    ("absent", "option", "file", "extra"),
    [
        ("matplotlib.pyplot", "--plot", "z.png", "plot"),
        ("plotly.offline", "--explore", "z.html", "explore"),
        ("pyarrow.parquet", "-o", "z.parquet", "cli"),
    ],
)
def test_a_missing_library_is_found_before_the_work(
    absent, option, file, extra, data, refused, monkeypatch, tmp_path
):
    monkeypatch.setitem(sys.modules, absent, None)
    monkeypatch.setattr("shopca_rs.cli.tables.read_table", lambda *_, **__: pytest.fail("the work has begun"))
    assert f'pip install "shopca-rs[{extra}]"' in refused("embed", data, option, tmp_path / file)


@pytest.mark.parametrize(
    ("error", "code"),
    [(OSError(28, "No space left on device"), 2), (KeyboardInterrupt(), 130)],
    ids=["full", "ctrl_c"],
)
def test_if_one_output_fails_all_old_files_stay(error, code, data, call, tmp_path, monkeypatch):
    old = [tmp_path / name for name in ("z.csv", "z.png", "z.json")]
    for path in old:
        path.write_text("old")

    def broken(*_, **__):
        raise error

    monkeypatch.setattr("shopca_rs.cli.commands.embed._as_json", broken)
    ended, _, err = call(
        "embed", data, "-o", old[0], "--plot", old[1], "--model", old[2], "--drop", "kind", "--quiet"
    )
    assert ended == code
    assert [path.read_text() for path in old] == ["old"] * 3
    assert sorted(tmp_path.iterdir()) == sorted([data, *old])
    if code == 2:
        assert err == f"shopca embed: error: {old[2]} cannot be written: No space left on device.\n"
    else:
        assert err == ""


# Real processes


def test_an_error_has_exit_code_2_one_line_and_leaves_the_old_output(tmp_path):
    (tmp_path / "bad.csv").write_text("x,y\n1,2\n3,4,5\n")
    (tmp_path / "z.csv").write_text("old")
    process = shopca("embed", "bad.csv", "-o", "z.csv", cwd=tmp_path)
    assert (process.returncode, process.stdout) == (2, b"")
    assert process.stderr.decode().splitlines() == [
        "shopca embed: error: bad.csv must have rows of one length and closed quotes: "
        "expected 2 fields in line 3, saw 3. Check that line and the separator."
    ]
    assert (tmp_path / "z.csv").read_text() == "old"


def test_standard_input_to_standard_output_in_a_locale_without_these_letters(data):
    environment = os.environ | {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    process = shopca("embed", "-", "--label", "kind", input=data.read_bytes(), env=environment)
    assert process.returncode == 0, process.stderr
    lines = process.stdout.decode("utf-8").splitlines()
    assert len(lines) == 61
    assert lines[3].endswith(',"über, Ω"')
    help_text = shopca("embed", "--help", env=environment)
    assert (help_text.returncode, help_text.stderr) == (0, b"")


@pytest.mark.parametrize("arguments", [["embed", "data.csv", "--quiet"], ["embed", "--help"]], ids=str)
def test_a_reader_who_leaves_is_no_reason_to_complain(arguments, data):
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [sys.executable, "-m", "shopca_rs", *arguments],
        stdout=write,
        stderr=subprocess.PIPE,
        cwd=data.parent,
        # With a buffer there is something left to flush when the interpreter ends.
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        timeout=120,
    )
    os.close(write)
    assert (process.returncode, process.stderr) == (141, b"")


@pytest.fixture
def terminal():
    """A terminal as a process sees it, and what appears on it."""
    seen, shown = os.openpty()
    termios.tcsetwinsize(shown, (24, 100))
    yield seen, shown
    os.close(seen)
    os.close(shown)


def test_ctrl_c_in_the_middle_of_long_work_leaves_the_old_output_and_no_trace(terminal, tmp_path):
    np.save(tmp_path / "long.npy", np.random.default_rng(0).normal(size=(100_000, 60)).astype("f4"))
    (tmp_path / "z.csv").write_text("old")
    seen, shown = terminal
    command = [
        sys.executable,
        "-m",
        "shopca_rs",
        "embed",
        "long.npy",
        "-o",
        "z.csv",
        "--max-features",
        "none",
    ]
    text = b""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=shown, cwd=tmp_path) as process:
        try:
            # A terminal gets a progress bar. Once it counts points the work has begun.
            while not re.search(rb"(neighbours|shape operators): +[1-9]", text) and process.poll() is None:
                if select.select([seen], [], [], 0.1)[0]:
                    text += os.read(seen, 10_000)
            process.send_signal(signal.SIGINT)
            out = process.communicate(timeout=60)[0]
        finally:
            process.kill()
    while select.select([seen], [], [], 0.1)[0]:
        text += os.read(seen, 10_000)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in text
    assert b"done:" not in text
    assert (tmp_path / "z.csv").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["long.npy", "z.csv"]


def test_short_work_or_no_terminal_has_no_progress_bar(data, monkeypatch, done, tmp_path):
    assert "shape operators" not in done("embed", data, "-o", tmp_path / "z.csv")
    monkeypatch.setattr("shopca_rs.cli.commands.options._LONG", 0)
    assert "shape operators" not in done("embed", data, "-o", tmp_path / "z.csv")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "choice of α: 100%" in done("embed", data, "-o", tmp_path / "z.csv")
    assert "curvatures" in done(*PAPER, data, "-o", tmp_path / "z.csv")
    assert "curvature: 100%" in done("curvature", data, "-o", tmp_path / "z.csv")
    assert done("embed", data, "-o", tmp_path / "z.csv", "--quiet") == ""


# The page about it


def test_the_page_s_commands_print_what_the_page_says(call, tmp_path, monkeypatch):
    page = (Path(__file__).parents[1] / "docs" / "command-line.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    (recipe,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(recipe, {})
    for name, content in re.findall(r"`(\w+\.csv)` is\n\n```text\n(.*?)```", page, re.DOTALL):
        (tmp_path / name).write_text(content, "utf-8")
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    commands = [part for block in blocks for part in re.split(r"^\$ shopca ", block, flags=re.MULTILINE)[1:]]
    assert len(commands) >= 5
    for part in commands:
        line, expected = part.split("\n", 1)
        code, out, err = call(*shlex.split(line))
        assert out + err == expected, line
        assert code == (2 if ": error: " in expected else 0)
    assert {"embedding.csv", "curvatures.csv", "iris.png", "iris.html"} < set(os.listdir(tmp_path))


# Help and packaging


def test_no_arguments_print_the_help_and_are_an_error(call):
    code, out, err = call()
    assert (code, out) == (2, "")
    assert err.startswith("usage: shopca")
    assert all(name in err for name in COMMANDS)


def test_the_version_is_that_of_the_package(call):
    assert call("--version") == (0, f"shopca-rs {version('shopca-rs')}\n", "")


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=str)
def test_help_is_on_standard_output_and_has_examples(command, call):
    code, out, err = call(*command, "--help")
    assert (code, err) == (0, "")
    assert f"shopca {' '.join(command)}".strip() in out
    assert "  shopca " in out.split("examples:" if command else "start with:")[1]


def test_the_help_of_embed_explains_its_letters_and_shows_every_default(call):
    _, out, _ = call("embed", "--help")
    options, letters = out.split("positional arguments:")[1].split("what the letters mean:")
    assert all(f" {letter} " in letters for letter in "kαλ")
    for option, default in {
        "--components": "2",
        "--alpha": "auto",
        "--neighbors": "log2",
        "--criterion": "mass",
        "--max-features": "25",
        "--degenerate": "average",
        "--missing": "median",
        "--text": "drop",
    }.items():
        described = " ".join(options.split(f" {option} ", 1)[1].split())
        assert described.split("(default: ")[1].split(")")[0] == default


def test_the_choices_are_those_of_the_library(call):
    _, out, _ = call("embed", "--help")
    assert f"--criterion {{{','.join(CRITERIA)}}}" in out


def test_the_command_line_imports_nothing_heavy(run_python):
    code = """
import sys
from shopca_rs.cli import main
main(["--version"])
main(["embed", "--help"])
heavy = {"pandas", "pyarrow", "sklearn", "scipy", "matplotlib", "plotly", "tqdm"}
print(sorted(heavy & set(sys.modules)))
"""
    assert run_python(code).splitlines()[-1] == "[]"


def test_the_package_installs_the_command():
    (script,) = distribution("shopca-rs").entry_points.select(group="console_scripts")
    assert (script.name, script.load()) == ("shopca", main)


def test_the_installed_command_runs():
    script = Path(sys.executable).parent / "shopca"
    process = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=120)
    assert (process.returncode, process.stdout) == (0, f"shopca-rs {version('shopca-rs')}\n")


def test_the_extra_brings_what_the_formats_need():
    needed = distribution("shopca-rs").requires
    assert any(line.startswith("pandas") and "extra == 'cli'" in line for line in needed)
    assert any(line.startswith("pyarrow") and "extra == 'cli'" in line for line in needed)
