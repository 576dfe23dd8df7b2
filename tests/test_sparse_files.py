"""`shopca embed` on sparse files: what the estimators give, and notes of what was done."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from shopca_rs import LPP, SHOPCA
from shopca_rs.cli import main
from sklearn.preprocessing import StandardScaler
from test_sparse import counts

X = np.c_[counts(90, 150), np.zeros(90)]
X = X[:, np.r_[True, np.ptp(X, axis=0)[1:] > 0]]
X[:, 3] = 0
TABLE = scipy.sparse.csr_matrix(X)
VARIES = np.ptp(X, axis=0) > 0


def write_npz(path):
    scipy.sparse.save_npz(path.with_suffix(".npz"), TABLE)
    return path.with_suffix(".npz")


def write_mtx(path):
    scipy.io.mmwrite(path.with_suffix(".mtx"), TABLE, precision=17)
    return path.with_suffix(".mtx")


@pytest.mark.parametrize("write", [write_npz, write_mtx])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize(("method", "make"), [("shopca", SHOPCA), ("lpp", LPP)])
def test_a_sparse_file_is_embedded_as_its_dense_copy_is(write, scaled, method, make, tmp_path, capsys):
    file = write(tmp_path / "words")
    switch = "--standardize" if scaled else "--no-standardize"
    outputs = ["-o", tmp_path / "z.npz", "--model", tmp_path / "map.json", "--plot", tmp_path / "z.png"]
    assert main([str(part) for part in ("embed", file, "--method", method, switch, *outputs)]) == 0
    dense = X[:, VARIES]
    expected = make().fit_transform(StandardScaler().fit_transform(dense) if scaled else dense)
    assert np.allclose(np.load(tmp_path / "z.npz")["X"], expected, atol=1e-7 * np.abs(expected).max())
    stored = json.loads((tmp_path / "map.json").read_text())
    mapped = (dense - stored["center"]) @ np.transpose(stored["weights"])
    assert np.allclose(mapped, expected, atol=1e-7 * np.abs(expected).max())
    assert "Dropped 1 column of one value only: column3" in capsys.readouterr().err


def test_a_label_and_dropped_columns_are_left_out(tmp_path):
    file, to = write_npz(tmp_path / "words"), tmp_path / "z.npz"
    arguments = ["embed", file, "-o", to, "--no-standardize", "--label", "column0", "--drop", "column1"]
    assert main([str(part) for part in arguments]) == 0
    kept = VARIES & ~np.isin(np.arange(X.shape[1]), (0, 1))
    expected = SHOPCA().fit_transform(X[:, kept])
    found = np.load(to)
    assert np.allclose(found["X"], expected, atol=1e-7)
    assert np.array_equal(found["y"], X[:, 0])


def test_commands_that_need_dense_tables_fill_in_few_columns_and_refuse_many(tmp_path, capsys):
    scipy.sparse.save_npz(tmp_path / "few.npz", TABLE[:, :12])
    command = ["curvature", str(tmp_path / "few.npz"), "-o", str(tmp_path / "c.csv"), "--intrinsic-dim", "2"]
    assert main([*command, "--neighbors", "20"]) == 0
    assert "Converted a sparse table to a dense one." in capsys.readouterr().err
    wide = scipy.sparse.random(50, 1500, density=0.1, format="csr", random_state=0)
    scipy.sparse.save_npz(tmp_path / "many.npz", wide)
    assert main(["curvature", str(tmp_path / "many.npz")]) != 0
    said = capsys.readouterr().err
    assert "must have at most 1000 columns here" in said
    assert "Use shopca embed" in said


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.mtx", "no matrix\n1 2 3\n", "broken or not what its extension says"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3.0\n", "at least 3 rows"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n4 2 1\n1 1 nan\n", "finite numbers"),
        ("a.mtx", "%%MatrixMarket matrix coordinate complex general\n4 2 1\n1 1 3 4\n", "real numbers"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n4 2 0\n", "not all the same"),
    ],
)
def test_broken_sparse_files_are_refused_in_a_sentence(name, text, words, tmp_path, capsys):
    (tmp_path / name).write_text(text)
    assert main(["embed", str(tmp_path / name)]) != 0
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


def test_a_sparse_file_that_is_not_there_is_told_by_name(tmp_path, capsys):
    write_mtx(tmp_path / "words")
    assert main(["embed", str(tmp_path / "word.mtx")]) != 0
    assert "Did you mean" in capsys.readouterr().err
