"""LAPACK routines that run beside other Python threads.

SciPy's own wrappers of these routines hold the global interpreter lock: calls from several threads wait for
each other. Here the same routines are called by the addresses that SciPy exports for Cython, and `ctypes`
releases the lock.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg.cython_lapack  # type: ignore[import-untyped]
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


class Tridiagonal(NamedTuple):
    """Result of `tridiagonal_form`.

    Attributes
    ----------
    diagonal, beside : ndarray of shape (n,) and (n - 1,)
        The tridiagonal matrix.
    reflectors, scales : ndarray of shape (n, n) and (n - 1,)
        The orthogonal matrix: Householder vectors below the subdiagonal, and their factors.
    """

    diagonal: Matrix
    beside: Matrix
    reflectors: Matrix
    scales: Matrix


def tridiagonal_form(matrix: Matrix) -> Tridiagonal:
    """Reduce a symmetric matrix to a similar tridiagonal one (dsytrd, lower)."""
    n = len(matrix)
    reflectors = matrix.T.copy(order="F")
    diagonal, beside, scales, size = (np.empty(count) for count in (n, n - 1, n - 1, 1))
    # Called with −1 it only returns the best size of its workspace.
    _call("dsytrd", b"L", n, reflectors, n, diagonal, beside, scales, size, -1)
    work = np.empty(int(size[0]))
    _call("dsytrd", b"L", n, reflectors, n, diagonal, beside, scales, work, len(work))
    return Tridiagonal(diagonal, beside, reflectors, scales)


def tridiagonal_eigenvalues(diagonal: Matrix, beside: Matrix) -> Matrix | None:
    """Return the eigenvalues of a symmetric tridiagonal matrix, ascending (dsterf), None if it fails."""
    values = diagonal.copy()
    failed = _call("dsterf", len(values), values, beside.copy())
    return None if failed else values


def cholesky_factor(matrix: Matrix) -> Matrix | None:
    """Decompose a symmetric matrix in place (dpotrf), None unless it is positive definite.

    `matrix` is C-contiguous and is overwritten. The factor is lower triangular; what is above its diagonal is
    undefined.
    """
    factor = matrix.T
    return None if _call("dpotrf", b"L", len(factor), factor, len(factor)) else factor


def _call(name: str, *arguments: bytes | int | Matrix) -> int:
    """Call a routine, whose arguments are all passed by address, and return its error code."""
    code = ctypes.c_int(0)
    # The list keeps the values alive during the call.
    values: list[Any] = [_referable(argument) for argument in arguments]
    pointers = [
        value.ctypes.data if isinstance(value, np.ndarray) else ctypes.addressof(value)
        for value in [*values, code]
    ]
    _routine(name, len(pointers))(*pointers)
    return code.value


def _referable(argument: bytes | int | Matrix) -> Any:
    if isinstance(argument, bytes):
        return ctypes.c_char(argument)
    return ctypes.c_int(argument) if isinstance(argument, int) else argument


@cache
def _routine(name: str, count: int) -> Callable[..., None]:
    capsule = scipy.linalg.cython_lapack.__pyx_capi__[name]
    api = ctypes.pythonapi
    signature = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))(capsule)
    address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )(capsule, signature)
    result: Callable[..., None] = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(address)
    return result
