"""Mean curvature of surfaces in R³ beside pymeshlab's APSS, libigl and trimesh, where they are installed.

APSS gets the points; libigl and trimesh get the true triangulation, which a cloud does not have. All three
get the scale at which they are best, judged by the exact values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import numpy as np
from curvature_cases import Cloud, Sizes, cloud, mean_error, number
from curvature_report import Page
from scipy.spatial import ConvexHull, Delaunay

# Neighbours from which APSS's normals come; its default scale is that of the filter.
NORMAL_NEIGHBORS = (10, 30, 100)
DEFAULT_NORMALS = 10
APSS_SCALE = 2.0
IGL_RADIUS = 5

# The radius of the core of the torus of tests/shapes.py.
CORE = 2.0
# Triangles longer than this, in angles or lengths, are no part of a surface with hundreds of points.
LONGEST = 1.0


def comparison(page: Page, sizes: Sizes) -> None:
    """Print the median relative errors of |H| of everyone on the same rows."""
    tools = {name: module for name in ("pymeshlab", "igl", "trimesh") if (module := available(name))}

    def lines() -> Iterable[str]:
        for name in sizes.surfaces:
            for level in sizes.noise:
                yield " | ".join([name, f"{level:.1%}", *row(cloud(name, sizes.points, level), tools, sizes)])

    page.block(
        "comparison",
        f"Median relative error of the length of H, n = {sizes.points}",
        "surface | noise | here, automatic | APSS, best scale | APSS, default | libigl, best radius | "
        "libigl, default | trimesh, best radius",
        lines(),
    )
    if missing := {"pymeshlab", "igl", "trimesh"} - set(tools):
        page.text(f"Not installed here and left out: {', '.join(sorted(missing))}.")


def available(name: str) -> Any:
    """Return a module, or None where it cannot be imported."""
    try:
        return import_module(name)
    except (ImportError, OSError):
        return None


def row(case: Cloud, tools: dict[str, Any], sizes: Sizes) -> list[str]:
    """Return the errors of everyone on one cloud, with the scale of whoever has one."""
    rows = case.some(sizes.rows)
    found = case.estimate(rows)
    here = mean_error(np.linalg.norm(found.mean_curvature_vector, axis=1), case.shape, rows)
    cells = [number(here)]

    def least(tried: dict[Any, np.ndarray]) -> str:
        errors = {scale: mean_error(np.abs(values), case.shape, rows) for scale, values in tried.items()}
        scale = min(errors, key=errors.__getitem__)
        return f"{number(errors[scale])} ({scale:g})"

    if "pymeshlab" in tools:
        cloud_of_points = point_cloud(tools["pymeshlab"], case.X, rows)
        tried = {}
        for scale in sizes.scales:
            best = {k: cloud_of_points(k, scale) for k in NORMAL_NEIGHBORS}
            k = min(best, key=lambda k: mean_error(np.abs(best[k]), case.shape, rows))
            tried[scale] = best[k]
        cells += [least(tried), least({APSS_SCALE: cloud_of_points(DEFAULT_NORMALS, APSS_SCALE)})]
    else:
        cells += ["–", "–"]
    faces = triangulation(case) if {"igl", "trimesh"} & set(tools) else np.empty((0, 3), int)
    if "igl" in tools:
        radii = [int(scale) for scale in sizes.scales if 2 <= scale <= 16]
        tried = {r: igl_mean(tools["igl"], case.X, faces, r)[rows] for r in {*radii, IGL_RADIUS}}
        cells += [least(tried), least({IGL_RADIUS: tried[IGL_RADIUS]})]
    else:
        cells += ["–", "–"]
    if "trimesh" in tools:
        measure = trimesh_mean(tools["trimesh"], case.X, faces)
        cells.append(least({scale: measure(rows, scale) for scale in sizes.scales if scale <= 16}))
    else:
        cells.append("–")
    return cells


def point_cloud(pymeshlab: Any, X: np.ndarray, rows: np.ndarray) -> Callable[[int, float], np.ndarray]:
    """Return a function of neighbours and scale → H at the rows, by fitting algebraic spheres."""
    # The rows come first, and only they are selected.
    order = np.concatenate([rows, np.setdiff1d(np.arange(len(X)), rows)])

    def mean(k: int, scale: float) -> np.ndarray:
        meshes = pymeshlab.MeshSet()
        meshes.add_mesh(pymeshlab.Mesh(X[order]))
        meshes.compute_normal_for_point_clouds(k=k)
        meshes.compute_selection_by_condition_per_vertex(condselect=f"(vi < {len(rows)})")
        meshes.compute_curvature_and_color_apss_per_vertex(filterscale=scale, selectiononly=True)
        # Its mean curvature is the sum of the principal ones.
        return meshes.current_mesh().vertex_scalar_array()[: len(rows)] / 2

    return mean


def igl_mean(igl: Any, X: np.ndarray, faces: np.ndarray, radius: int) -> np.ndarray:
    """Return H by quadrics fitted to the rings around each vertex of a mesh."""
    _, _, first, second, _ = igl.principal_curvature(X, faces, radius, True)
    return (np.ravel(first) + np.ravel(second)) / 2


def trimesh_mean(trimesh: Any, X: np.ndarray, faces: np.ndarray) -> Callable[..., np.ndarray]:
    """Return a function of rows and radius → H from the angles of the edges inside a ball."""
    mesh = trimesh.Trimesh(X, faces, process=False)
    edge = float(mesh.edges_unique_length.mean())

    def mean(rows: np.ndarray, scale: float) -> np.ndarray:
        radius = scale * edge
        measure = trimesh.curvature.discrete_mean_curvature_measure(mesh, X[rows], radius)
        # The integral of H over the ball, whose part of the surface has about the area of a disk.
        return measure / (np.pi * radius**2)

    return mean


def triangulation(case: Cloud) -> np.ndarray:
    """Return the faces of the true surface through the points without noise."""
    x, y, z = case.shape.points.T
    if case.name in ("sphere", "ellipsoid"):
        # Convex, so the hull of the points, its faces turned outwards.
        faces = ConvexHull(case.shape.points).simplices
        corners = case.shape.points[faces]
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        inward = (normal * corners.mean(1)).sum(1) < 0
        faces[inward] = faces[inward][:, ::-1]
        return faces.astype(np.int64)
    angle = np.arctan2(y, x)
    if case.name == "torus":
        around = np.arctan2(z, np.hypot(x, y) - CORE)
        return wrapped(np.c_[angle, around], (True, True))
    if case.name == "cylinder":
        return wrapped(np.c_[angle, z], (True, False))
    return Delaunay(np.c_[x, y]).simplices.astype(np.int64)


def wrapped(parameters: np.ndarray, periodic: tuple[bool, bool]) -> np.ndarray:
    """Return the Delaunay triangles of parameters, of which some have the period 2π."""
    n = len(parameters)
    shifts = [
        (a, b) for a in (0, -1, 1) for b in (0, -1, 1) if (periodic[0] or not a) and (periodic[1] or not b)
    ]
    copies = np.concatenate([parameters + 2 * np.pi * np.array(shift) for shift in shifts])
    triangles = Delaunay(copies).simplices
    corners = copies[triangles]
    # Of the copies of a triangle, that whose centre lies in the first period.
    inside = np.all((np.abs(corners.mean(1)) < np.pi) | ~np.array(periodic), axis=1)
    # At an edge the hull of the copies adds slivers.
    short = np.ptp(corners, axis=1).max(1) < LONGEST
    return (triangles[inside & short] % n).astype(np.int64)
