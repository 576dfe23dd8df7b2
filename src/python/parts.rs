//! Curvature from given neighbourhoods in part of a table, for callers that never hold the whole table.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3,
};
use pyo3::prelude::*;

use super::geometry::{as_table, output};
use super::{chosen_rows, run};
use crate::error::Result;
use crate::geometry::{self, Sizes, TwoStage};
use crate::points::Points;
use crate::{dimension, neighbors};

/// Rows of part of a table and the neighbours of each, as row numbers.
fn given(
    points: &Points,
    centres: ArrayView1<i64>,
    lists: ArrayView2<i64>,
) -> Result<(Vec<u32>, Array2<u32>)> {
    let centres = chosen_rows(points, centres.insert_axis(Axis(1)))?;
    Ok((centres, neighbors::row_numbers("neighbors", lists, points.len())?))
}

/// Records as those of `second_forms` at some rows of x, with a row of `neighbors` for each.
#[pyfunction]
#[pyo3(signature = (x, points, neighbors, intrinsic_dim, order, scalars, n_jobs))]
#[expect(clippy::too_many_arguments, reason = "the Python signature is the contract")]
pub(super) fn part_forms<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    points: PyReadonlyArray1<'py, i64>,
    neighbors: PyReadonlyArray2<'py, i64>,
    intrinsic_dim: usize,
    order: usize,
    scalars: bool,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (x, chosen, lists) = (x.as_array(), points.as_array(), neighbors.as_array());
    let records = run(py, n_jobs, None, |progress| {
        let points = Points::part(x)?;
        let (centres, lists) = given(&points, chosen, lists)?;
        let (neighbors, dim) = (lists.ncols(), points.dim());
        let sizes = Sizes { neighbors, dim, intrinsic: intrinsic_dim, order };
        geometry::second_forms(&points, &centres, lists.view(), sizes, output(scalars), progress)
    })?;
    Ok(records.into_pyarray(py))
}

/// Records as those of `two_stage_forms` at some rows of `feet`, with a row of `neighbors` and of
/// `errors` for each: σ², what noise adds to |II|² and |tr II|², and the offset, of the first stage.
/// `tangents` has m × d for each of the feet.
#[pyfunction]
#[pyo3(signature = (
    feet, tangents, errors, points, neighbors, intrinsic_dim, variance_ratio, scalars, n_jobs
))]
#[expect(clippy::too_many_arguments, reason = "the Python signature is the contract")]
pub(super) fn part_second_stage<'py>(
    py: Python<'py>,
    feet: PyReadonlyArray2<'py, f64>,
    tangents: PyReadonlyArray2<'py, f64>,
    errors: PyReadonlyArray2<'py, f64>,
    points: PyReadonlyArray1<'py, i64>,
    neighbors: PyReadonlyArray2<'py, i64>,
    intrinsic_dim: usize,
    variance_ratio: f64,
    scalars: bool,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (feet, tangents, errors) = (feet.as_array(), tangents.as_array(), errors.as_array());
    let (chosen, lists) = (points.as_array(), neighbors.as_array());
    let records = run(py, n_jobs, None, |progress| {
        let feet = Points::part(feet)?;
        let (centres, lists) = given(&feet, chosen, lists)?;
        let second = lists.ncols();
        let first =
            Sizes { neighbors: second, dim: feet.dim(), intrinsic: intrinsic_dim, order: 3 };
        let plan = TwoStage { first, second, variance_ratio, columns: feet.dim() };
        let (lists, output) = (lists.view(), output(scalars));
        geometry::second_stage(&feet, tangents, errors, &centres, lists, plan, output, progress)
    })?;
    Ok(records.into_pyarray(py))
}

/// How many of the nearest of n points have foot points that a second stage may need.
#[pyfunction]
#[pyo3(signature = (n, second))]
pub(super) fn foot_points(n: usize, second: usize) -> usize {
    geometry::foot_points(n, second)
}

/// The numbers of neighbours that `fit_scales` tries among n points.
#[pyfunction]
#[pyo3(signature = (n, intrinsic_dim, order))]
pub(super) fn scale_candidates(n: usize, intrinsic_dim: usize, order: usize) -> Vec<usize> {
    geometry::candidates(n, intrinsic_dim, order)
}

/// The fits at some rows of x for each of the numbers `sizes` of neighbours, with a list of `neighbors` for each row.
#[pyfunction]
#[pyo3(signature = (x, points, neighbors, sizes, intrinsic_dim, order, n_jobs))]
#[expect(clippy::too_many_arguments, reason = "the Python signature is the contract")]
pub(super) fn part_scale_fits<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    points: PyReadonlyArray1<'py, i64>,
    neighbors: PyReadonlyArray2<'py, i64>,
    sizes: Vec<usize>,
    intrinsic_dim: usize,
    order: usize,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let (x, chosen, lists) = (x.as_array(), points.as_array(), neighbors.as_array());
    let fits = run(py, n_jobs, None, |progress| {
        let points = Points::part(x)?;
        let (centres, lists) = given(&points, chosen, lists)?;
        let lists = lists.view();
        geometry::scale_fits(&points, &centres, lists, &sizes, intrinsic_dim, order, progress)
    })?;
    Ok(fits.into_pyarray(py))
}

/// The table of `fit_scales` from the fits of `part_scale_fits` at all rows of a sample.
#[pyfunction]
#[pyo3(signature = (fits, sizes, dim, intrinsic_dim, order))]
pub(super) fn scales_of_fits<'py>(
    py: Python<'py>,
    fits: PyReadonlyArray3<'py, f64>,
    sizes: Vec<usize>,
    dim: usize,
    intrinsic_dim: usize,
    order: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let fits = fits.as_array();
    let table = run(py, 1, None, |_| {
        let scales = geometry::scales_of_fits(fits, &sizes, dim, intrinsic_dim, order)?;
        Ok(as_table(&scales))
    })?;
    Ok(table.into_pyarray(py))
}

/// The dimension of the covariance of each of the neighbourhoods in the rows of `neighbors`.
#[pyfunction]
#[pyo3(signature = (x, neighbors, n_jobs))]
pub(super) fn part_dimensions<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    neighbors: PyReadonlyArray2<'py, i64>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (x, lists) = (x.as_array(), neighbors.as_array());
    let dimensions = run(py, n_jobs, None, |progress| {
        let points = Points::part(x)?;
        let lists = neighbors::row_numbers("neighbors", lists, points.len())?;
        dimension::local_dimensions(&points, lists.view(), progress)
    })?;
    Ok(dimensions.into_pyarray(py))
}
