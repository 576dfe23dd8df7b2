"""The command line: what it writes, what it says, and how it ends."""

from __future__ import annotations

import csv
import io
import json
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
from shopca_rs import SHOPCA, curvatures
from shopca_rs.cli import COMMANDS, main
from shopca_rs.spectrum import CRITERIA
from sklearn.preprocessing import StandardScaler

X = nasty.continuous(60, 4)
KINDS = np.array(["left", "right", "über, Ω"])[np.arange(len(X)) % 3]
SCALED = StandardScaler().fit_transform(X)
EVERY_FORMAT = [".csv", ".tsv", ".parquet", ".npy", ".npz"]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    pd.DataFrame(X, columns=list("abcd")).assign(kind=KINDS).to_csv(path, index=False)
    return path


@pytest.fixture
def call(capsys):
    """Call the command line in this process; return its exit code, output and errors."""

    def call(*arguments):
        code = main(list(map(str, arguments)))
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def done(call):
    """Call the command line, which must succeed, and return its notes by kind."""

    def done(*arguments):
        code, _, err = call(*arguments)
        assert code == 0, err
        return err

    return done


@pytest.fixture
def refused(call):
    """Call the command line, which must fail, and return the one line that says why."""

    def refused(*arguments):
        code, out, err = call(*arguments)
        assert (code, out) == (2, ""), err
        lines = err.splitlines()
        assert len([line for line in lines if ": note: " not in line]) == 1, err
        assert lines[-1].startswith(f"shopca {arguments[0]}: error: ")
        return lines[-1]

    return refused


def shopca(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "shopca_rs", *map(str, arguments)], capture_output=True, timeout=120, **options
    )


def read_back(path):
    if path.suffix == ".npy":
        return pd.DataFrame(np.load(path), columns=["shopca0", "shopca1"])
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            frame = pd.DataFrame(arrays["X"], columns=arrays["names"])
            return frame.assign(kind=arrays["y"]) if "y" in arrays else frame
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    return pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",")


# embed: the numbers


@pytest.mark.parametrize("suffix", EVERY_FORMAT)
def test_the_embedding_is_that_of_shopca_on_the_standardised_table(suffix, data, done, tmp_path):
    output = tmp_path / f"embedding{suffix}"
    err = done("embed", data, "-o", output, "--label", "kind")
    frame = read_back(output)
    assert np.array_equal(frame[["shopca0", "shopca1"]], SHOPCA().fit_transform(SCALED))
    if suffix == ".npy":
        assert "has no place for the labels" in err
    else:
        assert list(frame.columns) == ["shopca0", "shopca1", "kind"]
        assert frame["kind"].tolist() == KINDS.tolist()


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["--components", 3], {"n_components": 3}),
        (["--components", 0.8], {"n_components": 0.8}),
        (["--neighbors", "log"], {"n_neighbors": "log"}),
        (["--neighbors", 9], {"n_neighbors": 9}),
        (["--alpha", 0], {"alpha": 0.0}),
        (["--alpha", 1.5], {"alpha": 1.5}),
        (["--alpha", "inf"], {"alpha": np.inf}),
        (["--criterion", "eigenvalue"], {"criterion": "eigenvalue"}),
        (["--symmetric"], {"symmetric": True}),
        (["--max-features", 3], {"max_features": 3}),
        (["--max-features", "none"], {"max_features": None}),
        (["--neighbors", 3, "--degenerate", "lapack"], {"n_neighbors": 3, "degenerate": "lapack"}),
    ],
    ids=str,
)
def test_every_option_is_a_parameter_of_shopca(options, settings, data, done, tmp_path):
    done("embed", data, "-o", tmp_path / "z.npy", "--drop", "kind", *options)
    assert np.array_equal(np.load(tmp_path / "z.npy"), SHOPCA(**settings).fit_transform(SCALED))


def test_with_no_standardize_the_columns_are_taken_as_they_are(data, done, tmp_path):
    err = done("embed", data, "-o", tmp_path / "z.npy", "--no-standardize", "--drop", "kind", "--alpha", 1)
    assert np.array_equal(np.load(tmp_path / "z.npy"), SHOPCA(alpha=1.0).fit_transform(X))
    assert "(as they are)" in err


def test_the_number_of_threads_does_not_change_a_bit(data, done, tmp_path):
    for jobs in (1, 2, -1):
        done("embed", data, "-o", tmp_path / f"{jobs}.csv", "--jobs", jobs)
    assert len({(tmp_path / f"{jobs}.csv").read_bytes() for jobs in (1, 2, -1)}) == 1


def test_without_an_output_the_embedding_is_csv_on_standard_output(data, call, done, tmp_path):
    code, out, err = call("embed", data, "--label", "kind")
    done("embed", data, "--label", "kind", "-o", tmp_path / "z.csv")
    assert code == 0
    assert out == (tmp_path / "z.csv").read_text("utf-8")
    rows = list(csv.reader(io.StringIO(out)))
    assert rows[0] == ["shopca0", "shopca1", "kind"]
    assert [row[2] for row in rows[1:]] == KINDS.tolist()
    assert "embed: done: 60 rows × 4 columns (standardised) to 2 components: k = 6, α = " in err


def test_a_picture_alone_leaves_standard_output_alone(data, call, tmp_path):
    code, out, _ = call("embed", data, "--plot", tmp_path / "z.png")
    assert (code, out) == (0, "")


def test_the_summary_tells_the_fit(data, done, tmp_path):
    fitted = SHOPCA(n_neighbors=8).fit(SCALED)
    err = done("embed", data, "-o", tmp_path / "z.csv", "--neighbors", 8)
    assert f"k = 8, α = {fitted.alpha_:.4g}, λ = {fitted.lambda_:.4g}, " in err
    assert f"eigengap {fitted.eigengaps_.max():.4g}" in err


def test_rows_stay_in_order_and_dropped_ones_show_in_a_column_of_row_numbers(done, tmp_path):
    holes = X.copy()
    holes[[3, 40], [1, 2]] = np.nan
    pd.DataFrame(holes).to_csv(tmp_path / "data.csv", index=False, header=False)
    kept = np.delete(np.arange(60), [3, 40])
    for suffix in (".csv", ".parquet"):
        done("embed", tmp_path / "data.csv", "-o", tmp_path / f"z{suffix}", "--missing", "drop-rows")
        frame = read_back(tmp_path / f"z{suffix}")
        assert list(frame.columns) == ["row", "shopca0", "shopca1"]
        assert frame["row"].tolist() == kept.tolist()
    expected = SHOPCA().fit_transform(StandardScaler().fit_transform(X[kept]))
    np.testing.assert_allclose(frame[["shopca0", "shopca1"]], expected)
    done("embed", tmp_path / "data.csv", "-o", tmp_path / "z.npz", "--missing", "drop-rows")
    assert np.load(tmp_path / "z.npz")["rows"].tolist() == kept.tolist()
    err = done("embed", tmp_path / "data.csv", "-o", tmp_path / "z.npy", "--missing", "drop-rows")
    assert "no place for the row numbers" in err


def test_a_label_named_like_a_result_is_kept_beside_it(done, tmp_path):
    pd.DataFrame(X, columns=["a", "b", "c", "shopca0"]).to_csv(tmp_path / "data.csv", index=False)
    done("embed", tmp_path / "data.csv", "--label", "shopca0", "-o", tmp_path / "z.csv")
    frame = read_back(tmp_path / "z.csv")
    assert list(frame.columns) == ["shopca0", "shopca1", "shopca0.1"]
    np.testing.assert_array_equal(frame["shopca0.1"], X[:, 3])


def test_its_own_npz_output_can_be_read_again(data, done, tmp_path):
    done("embed", data, "--label", "kind", "-o", tmp_path / "z.npz", "--components", 3)
    done("embed", tmp_path / "z.npz", "-o", tmp_path / "again.csv")
    assert read_back(tmp_path / "again.csv")["y"].tolist() == KINDS.tolist()


@pytest.mark.parametrize(
    "options", [[], ["--no-standardize", "--alpha", "inf"], ["--max-features", 3]], ids=str
)
def test_the_model_file_maps_new_rows_by_one_matrix(options, data, done, tmp_path):
    done("embed", data, "-o", tmp_path / "z.npy", "--model", tmp_path / "m.json", "--drop", "kind", *options)
    model = json.loads((tmp_path / "m.json").read_text())
    assert model["columns"] == list("abcd")
    Z = (X - model["center"]) @ np.transpose(model["weights"])
    np.testing.assert_allclose(Z, np.load(tmp_path / "z.npy"), atol=1e-9)
    assert float(model["alpha"]) == (np.inf if "inf" in options else pytest.approx(model["alpha"]))


def test_picture_and_explorer_are_written_beside_the_embedding(data, done, tmp_path):
    done(
        *("embed", data, "--label", "kind", "-o", tmp_path / "z.csv"),
        *("--plot", tmp_path / "z.svg", "--explore", tmp_path / "z.html"),
    )
    picture = (tmp_path / "z.svg").read_text("utf-8")
    page = (tmp_path / "z.html").read_text("utf-8")
    assert "<svg" in picture
    assert "SHOPCA of data.csv" in page
    assert "\\u00fcber, \\u03a9" in page
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data.csv", "z.csv", "z.html", "z.svg"]


# curvature


def test_curvatures_are_those_of_the_standardised_table(data, done, tmp_path):
    done("curvature", data, "-o", tmp_path / "c.csv", "--label", "kind", "--neighbors", 7)
    frame = pd.read_csv(tmp_path / "c.csv")
    bent = curvatures(SCALED, 7)
    principal = [f"principal_{j}" for j in (1, 2, 3, 4)]
    assert list(frame.columns) == ["mean", "gaussian", *principal, "kind"]
    assert np.array_equal(frame["mean"], bent.mean)
    assert np.array_equal(frame["gaussian"], bent.gaussian)
    assert np.array_equal(frame[principal], bent.principal)
    assert frame["kind"].tolist() == KINDS.tolist()


@pytest.mark.parametrize(("rule", "k"), [("log2", 6), ("log", 4)])
def test_curvature_knows_the_rules_for_k(rule, k, data, call):
    code, out, err = call("curvature", data, "--neighbors", rule, "--no-principal")
    rows = np.array(list(csv.reader(io.StringIO(out)))[1:], dtype=float)
    assert code == 0
    assert np.array_equal(rows[:, 0], curvatures(SCALED, k).mean)
    assert rows.shape == (60, 2)
    assert f"k = {k}: mean curvature from {rows[:, 0].min():.4g} to" in err


def test_curvature_says_where_the_gaussian_one_means_nothing(data, done, tmp_path):
    few = done("curvature", data, "-o", tmp_path / "c.csv", "--neighbors", 4)
    assert "k = 4 neighbours span fewer directions than the 4 columns. Give --neighbors 5 or more" in few
    assert not pd.read_csv(tmp_path / "c.csv")["gaussian"].any()
    assert "Gaussian" not in done("curvature", data, "-o", tmp_path / "c.csv", "--neighbors", 5)
    assert pd.read_csv(tmp_path / "c.csv")["gaussian"].all()


def test_curvature_of_many_columns_mentions_that_they_are_many(done, tmp_path):
    np.save(tmp_path / "x.npy", nasty.wide(40, 30))
    many = ("curvature", tmp_path / "x.npy", "-o", tmp_path / "c.npy")
    assert "30 principal curvatures for each row; --no-principal" in done(*many)
    assert np.load(tmp_path / "c.npy").shape == (40, 32)
    assert "--no-principal" not in done(*many, "--no-principal")


@pytest.mark.parametrize("columns", [1, 4])
def test_curvature_can_be_drawn(columns, done, tmp_path):
    np.save(tmp_path / "x.npy", X[:, :columns])
    done("curvature", tmp_path / "x.npy", "--plot", tmp_path / "c.svg")
    assert "<svg" in (tmp_path / "c.svg").read_text("utf-8")


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
    assert "at most n_samples - 1 = 59" in refused("curvature", data, "--neighbors", 60)
    assert "at most min(n_samples, n_features) = 4" in refused("embed", data, "--components", 5)
    np.save(tmp_path / "huge.npy", X * 1e200)
    assert "squares that fit in float64" in refused("embed", tmp_path / "huge.npy")
    assert "squares that fit in float64" in refused("embed", tmp_path / "huge.npy", "--no-standardize")
    assert "column0" in refused("curvature", tmp_path / "huge.npy")


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--alpha", "-1", "auto, inf or a number from 0, got -1"),
        ("--alpha", "nan", "auto, inf or a number from 0"),
        ("--alpha", "big", "auto, inf or a number from 0, got 'big'"),
        ("--components", "0", "a whole number from 1, or a share"),
        ("--components", "1.5", "a whole number from 1, or a share"),
        ("--components", "inf", "a whole number from 1, or a share"),
        ("--neighbors", "1", "log2, log or a whole number from 2, got 1"),
        ("--neighbors", "7.5", "log2, log or a whole number from 2"),
        ("--max-features", "0", "none or a whole number from 1"),
        ("--jobs", "0", "a whole number other than 0"),
        ("--separator", "ab", "must be one sign"),
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

    monkeypatch.setattr("shopca_rs.estimator.SHOPCA.fit", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        main(["embed", str(data)])


def test_too_little_memory_is_one_line(data, refused, monkeypatch):
    def broken(*_, **__):
        raise MemoryError

    monkeypatch.setattr("shopca_rs.estimator.SHOPCA.fit", broken)
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
    before = data.read_bytes()
    monkeypatch.setattr("shopca_rs.tables.read_table", lambda *_, **__: pytest.fail("the work has begun"))
    assert text in refused("embed", "data.csv", *options)
    assert data.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "folder.csv"]


def test_two_outputs_need_two_names(data, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.html").symlink_to(tmp_path / "z.html")
    monkeypatch.setattr("shopca_rs.commands.outputs._check_picture", lambda _: None)
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
    monkeypatch.setattr("shopca_rs.tables.read_table", lambda *_, **__: pytest.fail("the work has begun"))
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

    monkeypatch.setattr("shopca_rs.commands.embed._as_json", broken)
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
            while not re.search(rb"mean shape operator: +[1-9]", text) and process.poll() is None:
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
    assert "mean shape operator" not in done("embed", data, "-o", tmp_path / "z.csv")
    monkeypatch.setattr("shopca_rs.commands.options._LONG", 0)
    assert "mean shape operator" not in done("embed", data, "-o", tmp_path / "z.csv")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "mean shape operator" in done("embed", data, "-o", tmp_path / "z.csv")
    assert "curvatures" in done("curvature", data, "-o", tmp_path / "z.csv")
    assert done("embed", data, "-o", tmp_path / "z.csv", "--quiet") == ""


# The page about it


def test_the_page_s_commands_print_what_the_page_says(call, tmp_path, monkeypatch):
    page = (Path(__file__).parents[1] / "docs" / "command-line.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    (recipe,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(recipe, {})
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    commands = [part for block in blocks for part in re.split(r"^\$ shopca ", block, flags=re.MULTILINE)[1:]]
    assert len(commands) >= 5
    for part in commands:
        line, expected = part.split("\n", 1)
        code, out, err = call(*shlex.split(line))
        assert out + err == expected, line
        assert code == (2 if "error" in expected else 0)
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
