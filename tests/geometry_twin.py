"""The oracle of curvature: the estimators of the second fundamental form in plain, batched NumPy.

Nothing here is shared with the package. It is also what the package is timed against, so it is written for
speed as far as stacked matrices go.
"""

from __future__ import annotations

from itertools import combinations_with_replacement as multisets
from math import comb

import numpy as np
from scipy.spatial import cKDTree

VALUES_AT_ONCE = 4e6


def unknowns(m, order):
    return comb(m + order, order)


def neighbors(X, k, rows=None):
    """Row numbers of the k nearest other rows."""
    rows = np.arange(len(X)) if rows is None else rows
    found = cKDTree(X).query(X[rows], k=k + 1)[1]
    # A point is its own nearest neighbour, except among duplicates.
    own = found == rows[:, None]
    own[~own.any(1), -1] = True
    return found[~own].reshape(len(rows), k)


def design(u, order):
    """1, u_a, then ½u_a² and u_a u_b, whose coefficients are second derivatives, then plain monomials."""
    m = u.shape[-1]
    pairs = list(multisets(range(m), 2))
    columns = [np.ones(u.shape[:-1])] + [u[..., a] for a in range(m)]
    columns += [u[..., a] * u[..., b] * (0.5 if a == b else 1.0) for a, b in pairs]
    for degree in range(3, order + 1):
        columns += [np.prod(u[..., list(t)], -1) for t in multisets(range(m), degree)]
    return np.stack(columns, -1), pairs


def symmetric(pairs, m):
    """The place of (a, b) among the pairs."""
    place = np.zeros((m, m), int)
    for j, (a, b) in enumerate(pairs):
        place[a, b] = place[b, a] = j
    return place


def patch(X, neighbors, rows):
    """Differences at unit scale, weights and radius."""
    Y = X[np.concatenate([rows[:, None], neighbors], 1)] - X[rows][:, None]
    squares = (Y**2).sum(-1)
    h = np.sqrt(squares.max(1))
    t = np.sqrt(squares) / h[:, None] / 1.05
    return Y / h[:, None, None], (1 - t**3) ** 3, h


def tangent(Y, w, m):
    mean = (w[..., None] * Y).sum(1, keepdims=True) / w.sum(1)[:, None, None]
    Z = (Y - mean) * np.sqrt(w)[..., None]
    if Z.shape[2] <= Z.shape[1]:
        return np.linalg.eigh(Z.swapaxes(1, 2) @ Z)[1][..., ::-1][..., :m]
    U = np.linalg.eigh(Z @ Z.swapaxes(1, 2))[1][..., ::-1][..., :m]
    return np.linalg.qr(Z.swapaxes(1, 2) @ U)[0]


def osculating(B, u):
    """½B(v, v) − ½B(u, u) with v = u + ¼A_y u + (3/32)A_y² u, A_y = ⟨y, B⟩, y = ½B(v, v)."""
    b, m, _, d = B.shape
    flat = B.reshape(b, m, m * d)

    def apply(v):
        return (v @ flat).reshape(b, v.shape[1], m, d)

    Bu = apply(u)
    start = y = 0.5 * (Bu * u[..., None]).sum(2)
    norm = np.sqrt((B**2).sum((1, 2, 3)))[:, None]
    for _ in range(2):
        clip = 1 / np.maximum(norm * np.sqrt((y**2).sum(-1)), 1.0)
        ys = (y * clip[..., None])[:, :, None, :]
        once = (Bu * ys).sum(-1)
        v = u + 0.25 * once + (3 / 32) * (apply(once) * ys).sum(-1)
        y = 0.5 * (apply(v) * v[..., None]).sum(2)
    return y - start


def second_form(X, neighbors, m, rows=None, order=2, corrections=3):
    """One stage: dict of tangent (p, d, m), form (p, m, m, d), offset (p, d), radius and variances."""
    rows = np.arange(len(neighbors)) if rows is None else rows
    chunk = max(20, int(VALUES_AT_ONCE / (neighbors.shape[1] * unknowns(m, order) * max(1, X.shape[1] / 4))))
    parts = [
        _second_form(X, neighbors[s : s + chunk], m, rows[s : s + chunk], order, corrections)
        for s in range(0, len(rows), chunk)
    ]
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def _solve(Phi, w, R):
    """S with β = S R, and β after one step of refinement."""
    WP = (Phi * w[..., None]).swapaxes(1, 2)
    G = WP @ Phi
    scale = 1 / np.sqrt(np.einsum("bii->bi", G))
    inverse = np.linalg.inv(G * scale[:, :, None] * scale[:, None]) * scale[:, :, None] * scale[:, None]
    S = inverse @ WP
    beta = S @ R
    return S, beta + S @ (R - Phi @ beta)


def _second_form(X, neighbors, m, rows, order, corrections):
    Y, w, h = patch(X, neighbors, rows)
    d = Y.shape[2]
    T = tangent(Y, w, m)
    u = Y @ T
    R = Y - u @ T.swapaxes(1, 2)
    _, beta = _solve(design(u, 2)[0], w, R)
    T = np.linalg.qr(T + beta[:, 1 : 1 + m].swapaxes(1, 2))[0]
    u = Y @ T
    R = Y - u @ T.swapaxes(1, 2)
    Phi, pairs = design(u, order)
    place, quadratic = symmetric(pairs, m), slice(1 + m, 1 + m + len(pairs))
    S, first = _solve(Phi, w, R)
    beta, corrected = first, R
    for _ in range(corrections):
        corrected = R - osculating(beta[:, quadratic][:, place], u)
        beta = S @ corrected
        beta = beta + S @ (corrected - Phi @ beta)
    # The corrections may change B by at most half.
    size = np.sqrt((first[:, quadratic][:, place] ** 2).sum((1, 2, 3)))
    moved = np.sqrt(((beta - first)[:, quadratic][:, place] ** 2).sum((1, 2, 3)))
    cut = moved >= 0.5 * size
    share = np.where(cut, 0.5 * size / np.maximum(moved, 1e-300), 1.0)[:, None, None]
    beta = np.where(cut[:, None, None], first + share * (beta - first), beta)
    corrected = np.where(cut[:, None, None], R, corrected)
    residual = corrected - Phi @ beta
    freedom = w.sum(1) - np.einsum("bqk,bk,bkq->b", S, w, Phi, optimize=True)
    noise = (w[..., None] * residual**2).sum((1, 2)) / freedom / (d - m)
    multiplicity = np.array([1.0 if a == b else 2.0 for a, b in pairs])
    squares = (S[:, quadratic] ** 2).sum(2) @ multiplicity
    trace = (S[:, quadratic][:, [a == b for a, b in pairs]].sum(1) ** 2).sum(1)
    T, B = tilt(T, beta[:, 1 : 1 + m].swapaxes(1, 2), beta[:, quadratic][:, place])
    return {
        "tangent": T,
        "form": B / h[:, None, None, None],
        "offset": beta[:, 0] * h[:, None],
        "radius": h,
        "noise_variance": noise * h**2,
        "form_variance": noise * (d - m) * squares / h**2,
        "trace_variance": noise * (d - m) * trace / h**2,
    }


def tilt(T, J, B):
    """T' = (T + J) L⁻ᵀ and the part of L⁻¹BL⁻ᵀ normal to it."""
    E = T + J
    inverse = np.linalg.inv(np.linalg.cholesky(E.swapaxes(1, 2) @ E))
    T = E @ inverse.swapaxes(1, 2)
    B = np.einsum("bij,bjkd,blk->bild", inverse, B, inverse, optimize=True)
    return T, B - (B @ T[:, None]) @ T.swapaxes(1, 2)[:, None]


def gradients(u):
    """Gradients of the columns of a cubic design, (b, k, m, q); that of the constant is left out."""
    b, k, m = u.shape
    columns = []
    for degree in (1, 2, 3):
        for t in multisets(range(m), degree):
            column = np.zeros((b, k, m))
            for place, a in enumerate(t):
                others = [u[..., c] for i, c in enumerate(t) if i != place]
                column[..., a] += np.prod(others, axis=0) if others else 1.0
            # ½u_a², so that its coefficient is a second derivative.
            columns.append(column * (0.5 if degree == 2 and t[0] == t[1] else 1.0))
    return np.stack(columns, -1)


def tilted_form(feet, tangents, neighbors, rows):
    """The second stage: tangent and form from the tilts of the neighbours' tangents."""
    Y, w, h = patch(feet, neighbors, rows)
    own, others = tangents[rows], tangents[np.concatenate([rows[:, None], neighbors], 1)]
    m = own.shape[2]
    U, cosines, V = np.linalg.svd(np.einsum("bda,bkdc->bkac", own, others, optimize=True))
    J = others @ (V.swapaxes(-1, -2) @ U.swapaxes(-1, -2))
    J = J - np.einsum(
        "bda,bkac->bkdc", own, np.einsum("bda,bkdc->bkac", own, J, optimize=True), optimize=True
    )
    w = w * (cosines[..., -1] > 0.2)
    D = gradients(Y @ own)
    G = np.einsum("bk,bkaq,bkar->bqr", w, D, D, optimize=True)
    scale = 1 / np.sqrt(np.einsum("bii->bi", G))
    right = np.einsum("bk,bkaq,bkda->bqd", w, D, J, optimize=True) * scale[..., None]
    beta = np.linalg.solve(G * scale[:, :, None] * scale[:, None], right) * scale[..., None]
    pairs = list(multisets(range(m), 2))
    B = beta[:, m : m + len(pairs)][:, symmetric(pairs, m)]
    T, B = tilt(own, beta[:, :m].swapaxes(1, 2), B)
    return T, B / h[:, None, None, None]


def two_stage(X, m, k1, k2, rows=None, order=3):
    """Foot points and tangents of all points, then the tilts at the rows."""
    rows = np.arange(len(X)) if rows is None else rows
    first = second_form(X, neighbors(X, k1), m, order=order)
    feet = X + first["offset"]
    near = neighbors(feet, k2, rows)
    chunk = max(20, int(VALUES_AT_ONCE / (k2 * unknowns(m, 3) * m * max(1, X.shape[1] / 4))))
    parts = [
        tilted_form(feet, first["tangent"], near[s : s + chunk], rows[s : s + chunk])
        for s in range(0, len(rows), chunk)
    ]
    return {"tangent": np.concatenate([p[0] for p in parts]), "form": np.concatenate([p[1] for p in parts])}


def trimmed_mean(values):
    return np.sort(values)[: max(1, int(0.9 * len(values)))].mean()


def scales(X, m, order, rows):
    """Rows of k, estimated squared error of the form, its part from noise, radius: the two scales."""
    ks = np.floor(1.5 * unknowns(m, order) * 2 ** (np.arange(40) / 2) + 0.5).astype(int)
    ks = np.unique(ks[ks <= min(len(X) // 3, 1300)])
    near = neighbors(X, ks[-1], rows)
    power = 4 if order == 4 else 2
    tensors, table = [], []
    for j, k in enumerate(ks):
        fit = second_form(X, near[:, :k], m, rows, order)
        tensors.append(
            np.einsum("nia,njb,nabk->nijk", fit["tangent"], fit["tangent"], fit["form"], optimize=True)
        )
        variance, radius, error = trimmed_mean(fit["form_variance"]), np.median(fit["radius"]), np.inf
        if j:
            other = max(0, j - 2)
            apart = trimmed_mean(((tensors[j] - tensors[other]) ** 2).sum((1, 2, 3)))
            growth = (table[other][3] / radius) ** power
            bias = max(apart - max(table[other][2] - variance, 0), 0) / (1 - growth) ** 2
            error = variance + bias
            if j == 1:
                table[0] = (ks[0], table[0][2] + bias * growth**2, *table[0][2:])
        table.append((k, error, variance, radius))
        if j > 6 and min(row[1] for row in table) < error / 30:
            break
    return np.array(table)


def automatic(X, m, sample):
    """The default, chosen from the points alone: tangent, form and the choice."""
    table = scales(X, m, 3, sample)
    best = table[np.argmin(table[:, 1])]
    if best[2] < 0.5 * best[1]:
        order, k = 3, int(best[0])
        quartic = scales(X, m, 4, sample)
        if quartic[:, 1].min() < best[1]:
            order, k = 4, int(quartic[np.argmin(quartic[:, 1]), 0])
        fit = second_form(X, neighbors(X, k), m, order=order)
        return fit["tangent"], fit["form"], {"stages": 1, "order": order, "k": k}
    k1 = int(min(1.4 * best[0], len(X) // 3))
    k2 = int(max(unknowns(m, 3), 0.5 * k1))
    fit = two_stage(X, m, k1, k2)
    return fit["tangent"], fit["form"], {"stages": 2, "k": k1, "second": k2}
