"""Import time of the package and fit time of SHOPCA on scikit-learn's digits, against PCA.

Run it with ``python benches/fit.py``: everything in one process, the imports first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

REPEATS = 15


def timed(call: Callable[[], Any]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def import_package() -> None:
    import shopca_rs  # noqa: F401


def import_estimator() -> None:
    from shopca_rs import SHOPCA  # noqa: F401


def main() -> None:
    assert "numpy" not in sys.modules
    print(f"import shopca_rs                      {timed(import_package):7.3f} s (NumPy included)")
    print(f"then from shopca_rs import SHOPCA     {timed(import_estimator):7.3f} s (scikit-learn and SciPy)")

    from shopca_rs import SHOPCA
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA

    X = load_digits().data
    print(f"\ndigits, {X.shape[0]} x {X.shape[1]}: first fit, then the median of {REPEATS}")
    cases = {
        "sklearn PCA(2)": PCA(2),
        "SHOPCA(2)": SHOPCA(2),
        "SHOPCA(2, alpha=1)": SHOPCA(2, alpha=1),
        "SHOPCA(2, max_features=None)": SHOPCA(2, max_features=None),
        "SHOPCA(2, n_jobs=1)": SHOPCA(2, n_jobs=1),
    }
    reference = None
    for name, estimator in cases.items():
        first, *others = [timed(lambda estimator=estimator: estimator.fit(X)) for _ in range(REPEATS + 1)]
        usual = median(others)
        reference = reference or usual
        print(f"{name:30} {first:9.4f} s {usual:9.4f} s   {usual / reference:7.1f} x PCA")


if __name__ == "__main__":
    main()
