"""Closed forms: points on known manifolds with their exact second fundamental form.

Every shape is a function (n, rng) → Shape. The form is the ambient tensor A_ijk = T_ia T_jb II_ab,k, which
does not depend on a basis of the tangent space. `SEEN` were at hand while the estimator was written,
`UNSEEN` came afterwards, and nothing was changed for them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Shape(NamedTuple):
    points: np.ndarray  # (n, d)
    form: np.ndarray  # (n, d, d, d)
    dimension: int
    inside: np.ndarray | None = None  # distance to the edge, None without one


def ambient(tangent, form):
    """A_ijk = T_ia T_jb II_ab,k for tangent (n, d, m) and form (n, m, m, d)."""
    return np.einsum("nia,njb,nabk->nijk", tangent, tangent, form, optimize=True)


def from_derivatives(points, first, second, inside=None):
    """The shape of a map with first derivatives (n, m, d) and second derivatives (n, m, m, d)."""
    inverse = np.linalg.inv(np.linalg.cholesky(first @ first.swapaxes(1, 2)))
    tangent = (inverse @ first).swapaxes(1, 2)
    form = np.einsum("nab,nbcd,nec->naed", inverse, second, inverse, optimize=True)
    form = form - np.einsum("nacd,nde,nfe->nacf", form, tangent, tangent, optimize=True)
    return Shape(points, ambient(tangent, form), first.shape[1], inside)


def directions(n, rng, d):
    x = rng.standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1)[:, None]


def sphere(n, rng, m=2, radius=1.0):
    x = directions(n, rng, m + 1)
    projector = np.eye(m + 1) - x[:, :, None] * x[:, None, :]
    return Shape(radius * x, -np.einsum("nij,nk->nijk", projector, x) / radius, m)


def ellipsoid(n, rng, axes=(2.0, 1.5, 1.0)):
    axes = np.array(axes)
    points = directions(n, rng, len(axes)) * axes
    gradient = points / axes**2
    length = np.linalg.norm(gradient, axis=1)
    normal = gradient / length[:, None]
    projector = np.eye(len(axes)) - normal[:, :, None] * normal[:, None, :]
    shape = projector @ np.diag(1 / axes**2) @ projector / length[:, None, None]
    return Shape(points, -np.einsum("nij,nk->nijk", shape, normal), len(axes) - 1)


def torus(n, rng, large=2.0, small=0.7):
    angles = rng.uniform(0, 2 * np.pi, (4 * n, 2))
    angles = angles[rng.uniform(0, large + small, 4 * n) < large + small * np.cos(angles[:, 1])][:n]
    cu, su, cv, sv = (
        *(f(angles[:, 0]) for f in (np.cos, np.sin)),
        *(f(angles[:, 1]) for f in (np.cos, np.sin)),
    )
    radius, zero = large + small * cv, np.zeros(n)
    first = np.stack(
        [np.c_[-radius * su, radius * cu, zero], np.c_[-small * sv * cu, -small * sv * su, small * cv]], 1
    )
    mixed = np.c_[small * sv * su, -small * sv * cu, zero]
    uu, vv = np.c_[-radius * cu, -radius * su, zero], np.c_[-small * cv * cu, -small * cv * su, -small * sv]
    second = np.stack([np.stack([uu, mixed], 1), np.stack([mixed, vv], 1)], 1)
    return from_derivatives(np.c_[radius * cu, radius * su, small * sv], first, second)


def graph(points, height, slopes, hessian, inside=None):
    """The graph of a function over the plane."""
    n = len(points)
    first = np.concatenate([np.broadcast_to(np.eye(2), (n, 2, 2)), slopes[..., None]], 2)
    second = np.concatenate([np.zeros((n, 2, 2, 2)), hessian[..., None]], 3)
    return from_derivatives(np.c_[points, height], first, second, inside)


def saddle(n, rng):
    u = rng.uniform(-1, 1, (n, 2))
    hessian = np.broadcast_to(np.array([[0.0, 1.0], [1.0, 0.0]]), (n, 2, 2))
    return graph(u, u[:, 0] * u[:, 1], u[:, ::-1], hessian, 1 - np.abs(u).max(1))


def bumps(n, rng):
    """An egg box, z = 0.3 sin 2x cos 2y."""
    u = rng.uniform(-2, 2, (n, 2))
    (sx, sy), (cx, cy) = np.sin(2 * u).T, np.cos(2 * u).T
    slopes = 0.6 * np.c_[cx * cy, -sx * sy]
    hessian = -1.2 * np.stack([np.c_[sx * cy, cx * sy], np.c_[cx * sy, sx * cy]], 1)
    return graph(u, 0.3 * sx * cy, slopes, hessian, 2 - np.abs(u).max(1))


def revolution(n, rng, radius, height, half, weight):
    """A surface of revolution from r(t), z(t) with their first two derivatives, for |t| ≤ half."""
    t = rng.uniform(-half, half, 40 * n)
    t = t[rng.uniform(0, weight(half), 40 * n) < weight(t)][:n]
    (r, r1, r2), (z, z1, z2) = radius(t), height(t)
    u, zero = rng.uniform(0, 2 * np.pi, n), np.zeros(n)
    c, s = np.cos(u), np.sin(u)
    first = np.stack([np.c_[-r * s, r * c, zero], np.c_[r1 * c, r1 * s, z1]], 1)
    mixed = np.c_[-r1 * s, r1 * c, zero]
    second = np.stack(
        [
            np.stack([np.c_[-r * c, -r * s, zero], mixed], 1),
            np.stack([mixed, np.c_[r2 * c, r2 * s, z2]], 1),
        ],
        1,
    )
    return from_derivatives(np.c_[r * c, r * s, z], first, second, half - np.abs(t))


def cylinder(n, rng, radius=1.0, length=3.0):
    one, zero = np.ones_like, np.zeros_like
    return revolution(
        n, rng, lambda t: (radius * one(t), zero(t), zero(t)), lambda t: (t, one(t), zero(t)), length / 2, one
    )


def catenoid(n, rng):
    """A minimal surface: no mean curvature, negative Gaussian curvature."""
    return revolution(
        n,
        rng,
        lambda t: (np.cosh(t), np.sinh(t), np.cosh(t)),
        lambda t: (t, np.ones_like(t), np.zeros_like(t)),
        1.0,
        lambda t: np.cosh(t) ** 2,
    )


def swiss_roll(n, rng):
    t, y = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n)), 21 * rng.uniform(size=n)
    c, s, zero = np.cos(t), np.sin(t), np.zeros(n)
    first = np.stack([np.c_[c - t * s, zero, s + t * c], np.c_[zero, np.ones(n), zero]], 1)
    second = np.zeros((n, 2, 2, 3))
    second[:, 0, 0] = np.c_[-2 * s - t * c, zero, 2 * c - t * s]
    inside = np.minimum(np.minimum(y, 21 - y), np.minimum(t - 1.5 * np.pi, 4.5 * np.pi - t) * t)
    return from_derivatives(np.c_[t * c, y, t * s], first, second, inside)


def product(first, second):
    """The product of two shapes, in the product of their spaces."""
    a, b = first.points.shape[1], second.points.shape[1]
    form = np.zeros((len(first.points), a + b, a + b, a + b))
    form[:, :a, :a, :a] = first.form
    form[:, a:, a:, a:] = second.form
    return Shape(np.c_[first.points, second.points], form, first.dimension + second.dimension)


def clifford_torus(n, rng):
    return product(sphere(n, rng, 1, np.sqrt(0.5)), sphere(n, rng, 1, np.sqrt(0.5)))


def sphere_times_circle(n, rng):
    return product(sphere(n, rng, 2, 1.0), sphere(n, rng, 1, 0.8))


def veronese(n, rng):
    """The Veronese surface in R⁵, of constant curvature: quadratic forms on the sphere of radius √3."""
    forms = np.zeros((5, 3, 3))
    for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        forms[k, i, j] = forms[k, j, i] = 0.5 / np.sqrt(3)
    forms[3] = np.diag([1.0, -1.0, 0.0]) / (2 * np.sqrt(3))
    forms[4] = np.diag([1.0, 1.0, -2.0]) / 6
    x = directions(n, rng, 3)
    frame = np.linalg.svd(x[:, None, :])[2][:, 1:]
    value = 3 * np.einsum("kij,ni,nj->nk", forms, x, x)
    # Along x cos|u| + … the sphere bends back by −½|u|² x.
    first = 6 * np.einsum("kij,ni,naj->nak", forms, x, frame)
    second = 6 * np.einsum("kij,nai,nbj->nabk", forms, frame, frame)
    second = second - 2 * np.eye(2)[None, :, :, None] * value[:, None, None, :]
    return from_derivatives(value, first, second)


def plane(n, rng, d=3):
    u = rng.uniform(-1, 1, (n, 2))
    return Shape(isometry(u, rng, d), np.zeros((n, d, d, d)), 2, 1 - np.abs(u).max(1))


def three_sphere(n, rng):
    """The unit S³, turned into R⁶."""
    return embed(sphere(n, rng, 3), rng, 6)


def isometry(points, rng, d):
    """The points turned into R^d."""
    return points @ np.linalg.qr(rng.standard_normal((d, d)))[0][: points.shape[1]]


def embed(shape, rng, d):
    """The shape turned into R^d."""
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0][: shape.points.shape[1]]
    form = np.einsum("nijk,ia,jb,kc->nabc", shape.form, turn, turn, turn, optimize=True)
    return Shape(shape.points @ turn, form, shape.dimension, shape.inside)


def noisy(points, level, rng):
    """Normal noise of the given share of the rms radius of the cloud, in every coordinate."""
    radius = np.sqrt(((points - points.mean(0)) ** 2).sum(1).mean())
    return points + level * radius * rng.standard_normal(points.shape)


def invariants(form):
    """|H|·m, |II|² and scalar curvature of ambient tensors."""
    trace = np.einsum("niik->nk", form)
    square = (form**2).sum((1, 2, 3))
    length = np.linalg.norm(trace, axis=1)
    return length, square, length**2 - square


SEEN = {
    "sphere": sphere,
    "ellipsoid": ellipsoid,
    "torus": torus,
    "Clifford torus": clifford_torus,
    "Veronese": veronese,
    "S3 in R6": three_sphere,
    "cylinder": cylinder,
    "saddle": saddle,
    "swiss roll": swiss_roll,
}
UNSEEN = {"catenoid": catenoid, "egg box": bumps, "S2 x S1": sphere_times_circle}
ALL = SEEN | UNSEEN
