//! Second fundamental forms and curvatures for Python: one record of numbers for each point.

use ndarray::{Array2, Axis};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{chosen_rows, neighborhoods, parse_algorithm, run};
use crate::geometry::{self, Output, Scale, Sizes, TwoStage};
use crate::neighbors::{self, Queries};
use crate::points::Points;

/// Tangent, second fundamental form and errors at some rows of x, or the curvatures alone, by one fit.
#[pyfunction]
#[pyo3(signature = (x, k, intrinsic_dim, order, scalars, points, algorithm, neighbors, n_jobs, progress))]
#[expect(clippy::too_many_arguments, reason = "the Python signature is the contract")]
pub(super) fn second_forms<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    k: usize,
    intrinsic_dim: usize,
    order: usize,
    scalars: bool,
    points: Option<PyReadonlyArray1<'py, i64>>,
    algorithm: &str,
    neighbors: Option<PyReadonlyArray2<'py, i64>>,
    n_jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let algorithm = parse_algorithm(algorithm)?;
    let (x, given) = (x.as_array(), neighbors.as_ref().map(|given| given.as_array()));
    let chosen = points.as_ref().map(|points| points.as_array().insert_axis(Axis(1)));
    let records = run(py, n_jobs, progress, |progress| {
        let points = Points::new(x)?;
        let sizes = Sizes { neighbors: k, dim: points.dim(), intrinsic: intrinsic_dim, order };
        let sizes = sizes.check()?;
        let rows = chosen.map(|chosen| chosen_rows(&points, chosen)).transpose()?;
        let queries = rows.as_ref().map_or(Queries::All, |rows| Queries::Rows(rows));
        let indices = neighborhoods(&points, queries, k, algorithm, given, progress)?;
        let centres = rows.unwrap_or_else(|| all_rows(&points));
        geometry::second_forms(&points, &centres, indices.view(), sizes, output(scalars), progress)
    })?;
    Ok(records.into_pyarray(py))
}

/// The same by two stages, of k and of `second` neighbours, which are found in the first `columns`.
#[pyfunction]
#[pyo3(signature = (
    x, k, second, intrinsic_dim, order, variance_ratio, scalars, points, algorithm, n_jobs, progress,
    columns = None
))]
#[expect(clippy::too_many_arguments, reason = "the Python signature is the contract")]
pub(super) fn two_stage_forms<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    k: usize,
    second: usize,
    intrinsic_dim: usize,
    order: usize,
    variance_ratio: f64,
    scalars: bool,
    points: Option<PyReadonlyArray1<'py, i64>>,
    algorithm: &str,
    n_jobs: usize,
    progress: Option<Py<PyAny>>,
    columns: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let algorithm = parse_algorithm(algorithm)?;
    let x = x.as_array();
    let chosen = points.as_ref().map(|points| points.as_array().insert_axis(Axis(1)));
    let records = run(py, n_jobs, progress, |progress| {
        let points = Points::new(x)?;
        let first = Sizes { neighbors: k, dim: points.dim(), intrinsic: intrinsic_dim, order };
        let rows = chosen.map(|chosen| chosen_rows(&points, chosen)).transpose()?;
        let centres = rows.unwrap_or_else(|| all_rows(&points));
        let columns = columns.unwrap_or(points.dim());
        let plan = TwoStage { first, second, variance_ratio, columns };
        geometry::two_stage_forms(&points, &centres, plan, algorithm, output(scalars), progress)
    })?;
    Ok(records.into_pyarray(py))
}

/// The rows `points` of x and the k nearest of each of them, ascending.
#[pyfunction]
#[pyo3(signature = (x, points, k, algorithm, n_jobs))]
pub(super) fn rows_near<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    points: PyReadonlyArray1<'py, i64>,
    k: usize,
    algorithm: &str,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let algorithm = parse_algorithm(algorithm)?;
    let (x, chosen) = (x.as_array(), points.as_array().insert_axis(Axis(1)));
    let rows = run(py, n_jobs, None, |progress| {
        let points = Points::new(x)?;
        let centres = chosen_rows(&points, chosen)?;
        let index = neighbors::index(&points, algorithm, progress)?;
        geometry::rows_near(&points, index.as_ref(), &centres, k, progress)
    })?;
    Ok(PyArray1::from_iter(py, rows.into_iter().map(i64::from)))
}

/// For growing k at a sample of rows: k, estimated squared error of the form, what noise adds to it, radius and the
/// share of points that the fit determines.
#[pyfunction]
#[pyo3(signature = (x, intrinsic_dim, order, points, algorithm, n_jobs, progress))]
#[expect(clippy::too_many_arguments, reason = "the Python signature is the contract")]
pub(super) fn fit_scales<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    intrinsic_dim: usize,
    order: usize,
    points: PyReadonlyArray1<'py, i64>,
    algorithm: &str,
    n_jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let algorithm = parse_algorithm(algorithm)?;
    let x = x.as_array();
    let chosen = points.as_array().insert_axis(Axis(1));
    let table = run(py, n_jobs, progress, |progress| {
        let points = Points::new(x)?;
        let rows = chosen_rows(&points, chosen)?;
        let scales = geometry::scales(&points, &rows, intrinsic_dim, order, algorithm, progress)?;
        Ok(as_table(&scales))
    })?;
    Ok(table.into_pyarray(py))
}

/// A row for each scale, as [`fit_scales`] returns them.
pub(super) fn as_table(scales: &[Scale]) -> Array2<f64> {
    Array2::from_shape_fn((scales.len(), 5), |(row, column)| {
        let scale = &scales[row];
        let numbers =
            [scale.neighbors as f64, scale.error, scale.variance, scale.radius, scale.valid];
        numbers[column]
    })
}

pub(super) fn output(scalars: bool) -> Output {
    if scalars { Output::Curvatures } else { Output::Form }
}

fn all_rows(points: &Points) -> Vec<u32> {
    (0..points.len() as u32).collect()
}
