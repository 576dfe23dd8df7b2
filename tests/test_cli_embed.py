"""shopca embed: what it writes and what it says."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from command_line import EVERY_FORMAT, KINDS, SCALED, X, call, data, done, read_back, shopca  # noqa: F401
from shopca_rs import SHOPCA
from sklearn.preprocessing import StandardScaler


@pytest.mark.parametrize("suffix", EVERY_FORMAT)
def test_the_embedding_is_that_of_shopca_on_the_standardised_table(suffix, data, done, tmp_path):
    output = tmp_path / f"embedding{suffix}"
    err = done("embed", data, "-o", output, "--label", "kind")
    frame = read_back(output)
    assert np.array_equal(frame[["shopca0", "shopca1"]], SHOPCA().fit_transform(SCALED))
    if suffix == ".npy":
        assert "cannot hold the labels" in err
    else:
        assert list(frame.columns) == ["shopca0", "shopca1", "kind"]
        assert frame["kind"].tolist() == KINDS.tolist()


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["--components", 3], {"n_components": 3}),
        (["--components", 0.8], {"n_components": 0.8}),
        (["--components", "all"], {"n_components": None}),
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


def test_the_summary_tells_that_alpha_sits_at_the_end_of_its_grid(done, tmp_path):
    from sklearn.datasets import load_wine

    np.save(tmp_path / "wine.npy", load_wine().data)
    call = ("embed", tmp_path / "wine.npy", "-o", tmp_path / "z.csv", "--components")
    assert "α = 0.1 (the end of its grid), λ = " in done(*call, 3)
    assert "the end" not in done(*call, 2)
    assert "the end" not in done(*call, 3, "--alpha", 0.1)


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
    assert "cannot hold the row numbers" in err


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


def test_the_signs_of_numbers_can_be_given(done, tmp_path):
    whole = np.round(1e4 * X).astype(int)
    pd.DataFrame(whole).to_csv(tmp_path / "plain.csv", index=False)
    rows = [";".join(f"{cell:,}".replace(",", ".") for cell in row) for row in whole]
    (tmp_path / "signs.csv").write_text("\n".join(["0;1;2;3", *rows]))
    done("embed", tmp_path / "plain.csv", "-o", tmp_path / "a.csv", "--header")
    signs = ("--decimal", "comma", "--thousands", "point")
    done("embed", tmp_path / "signs.csv", "-o", tmp_path / "b.csv", "--header", *signs)
    assert read_back(tmp_path / "a.csv").equals(read_back(tmp_path / "b.csv"))


@pytest.mark.parametrize(("option", "names"), [("--decimal", "comma"), ("--thousands", "apostrophe")])
def test_an_unknown_sign_is_refused_with_the_names_of_those_there_are(option, names, data, call):
    code, out, err = call("embed", data, option, "dot")
    assert (code, out) == (2, "")
    assert option in err
    assert names in err
    assert "got dot" in err or "got 'dot'" in err
