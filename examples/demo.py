"""The main job on scikit-learn's iris and digits: facts about S̄, the time against NumPy, and a picture.

Run it with ``make demo``, or ``python examples/demo.py picture.png``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from shopca_rs import SHOPCA, k_neighbors, mean_shape_operator
from shopca_rs.plotting import plot_embedding
from sklearn.datasets import load_digits, load_iris
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference import algorithm_2


def describe(name: str, X: np.ndarray) -> np.ndarray:
    """Print what S̄ of a data set looks like and how long it took, and return it."""
    n, d = X.shape
    k = round(np.log2(n))
    times = []
    for _ in range(5):
        start = perf_counter()
        S = mean_shape_operator(X, k)
        times.append(perf_counter() - start)
    ours = min(times)
    symmetric, skew = (S + S.T) / 2, (S - S.T) / 2
    spectrum = np.linalg.eigvals(S)
    spectrum = spectrum[np.argsort(-np.abs(spectrum))]
    print(f"\n{name}: {n} × {d}, k = {k}")
    print(f"  trace of S̄           {np.trace(S):.4f}")
    print(f"  skew ratio           {np.linalg.norm(skew, 2) / np.linalg.norm(symmetric, 2):.4f}")
    print(f"  largest eigenvalues  {', '.join(f'{value.real:.4f}' for value in spectrum[:4])}")
    print(f"  largest imaginary    {np.abs(spectrum.imag).max():.2e}")
    # NumPy's cost is linear in n: with many columns a part of the points is enough.
    part = X if d <= 25 else X[:100]
    start = perf_counter()
    theirs = algorithm_2(part, k, 128 if d <= 25 else 4, k_neighbors(part, k)[0])
    seconds = (perf_counter() - start) * n / len(part)
    print(f"  time                 {ours * 1e3:.1f} ms")
    extrapolated = f", from its first {len(part)} points" if len(part) < n else ""
    print(f"  NumPy's Algorithm 2  {seconds * 1e3:.1f} ms ({seconds / ours:.0f}×{extrapolated})")
    if k > d:
        print(f"  difference to it     {np.linalg.norm(S - theirs) / np.linalg.norm(S):.0e}")
    return S


def main(path: Path) -> None:
    """Describe both data sets and draw the picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    iris, digits = load_iris(), load_digits()
    X_iris = StandardScaler().fit_transform(iris.data)
    X_digits = StandardScaler().fit_transform(digits.data)
    S_iris = describe("iris", X_iris)
    describe("digits", X_digits)

    print(f"\n{SHOPCA(n_components=2).fit(X_digits).summary()}")

    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.7), layout="constrained", width_ratios=[1.1, 1.2, 1.2])
    image = axes[0].imshow(S_iris, cmap="RdBu", vmin=-abs(S_iris).max(), vmax=abs(S_iris).max())
    names = [name.removesuffix(" (cm)") for name in iris.feature_names]
    axes[0].set_xticks(range(4), names, rotation=30, ha="right", rotation_mode="anchor")
    axes[0].set_yticks(range(4), names)
    axes[0].set_title("mean shape operator S̄ of iris")
    figure.colorbar(image, ax=axes[0], shrink=0.7)
    for ax, alpha, title in zip(axes[1:], (0.0, 1.0), ("PCA", "SHOPCA at α = 1"), strict=True):
        fitted = SHOPCA(n_components=2, alpha=alpha).fit(X_digits)
        plot_embedding(fitted, X_digits, digits.target, ax=ax)
        ax.set_title(f"digits: {title}")
    axes[1].get_legend().remove()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    print(f"\npicture: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo.png"))
