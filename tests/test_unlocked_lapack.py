"""LAPACK without Python's lock: the numbers of SciPy's wrappers, while other threads run."""

import sys
import threading

import numpy as np
import pytest
import scipy.linalg
from shopca_rs.unlocked_lapack import (
    cholesky_factor,
    tridiagonal_eigenvalues,
    tridiagonal_form,
)


def symmetric(n, seed=0):
    G = np.random.default_rng(seed).normal(size=(n, n))
    return (G + G.T) / 2


@pytest.mark.parametrize("n", [1, 2, 3, 50, 200])
def test_the_tridiagonal_form_has_the_eigenvalues_of_the_matrix(n):
    H = symmetric(n)
    kept = H.copy()
    form = tridiagonal_form(H)
    assert np.array_equal(H, kept)
    values = tridiagonal_eigenvalues(form.diagonal, form.beside)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(H), atol=1e-12 * n)


def test_the_tridiagonal_form_is_that_of_scipy():
    H = symmetric(120)
    form = tridiagonal_form(H)
    reflectors, diagonal, beside, scales, _ = scipy.linalg.lapack.dsytrd(H, lower=1)
    lower = np.tril_indices(120)
    np.testing.assert_allclose(form.diagonal, diagonal, rtol=1e-9)
    np.testing.assert_allclose(form.beside, beside, rtol=1e-9)
    np.testing.assert_allclose(form.scales, scales, rtol=1e-9)
    np.testing.assert_allclose(form.reflectors[lower], reflectors[lower], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 90])
def test_a_positive_definite_matrix_is_decomposed_in_place(n):
    G = symmetric(n)
    form = G @ G.T + np.eye(n)
    factor = cholesky_factor(form.copy())
    L = np.tril(factor)
    np.testing.assert_allclose(L @ L.T, form, atol=1e-10)


def test_a_matrix_that_is_not_positive_definite_has_no_factor():
    assert cholesky_factor(np.diag([1.0, -1.0, 2.0])) is None


def test_another_thread_runs_during_a_call():
    form = np.eye(900)  # its own factor
    began, ran = threading.Event(), []

    def other():
        began.wait()
        ran.append(True)

    thread = threading.Thread(target=other)
    thread.start()
    interval = sys.getswitchinterval()
    try:
        # Threads change only where one gives up the lock; a busy machine may need some calls for it.
        sys.setswitchinterval(1000)
        began.set()
        calls = 0
        while not ran and calls < 500:
            cholesky_factor(form)
            calls += 1
        seen = bool(ran)
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert seen
