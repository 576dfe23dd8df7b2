//! The intrinsic dimension for Python.

use ndarray::Axis;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{chosen_rows, neighborhoods, parse_algorithm, run};
use crate::dimension;
use crate::neighbors::Queries;
use crate::points::Points;

/// The dimension of the covariance of the k nearest neighbours of some rows of x.
#[pyfunction]
#[pyo3(signature = (x, k, points, algorithm, n_jobs, progress))]
pub(super) fn local_dimensions<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    k: usize,
    points: Option<PyReadonlyArray1<'py, i64>>,
    algorithm: &str,
    n_jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let algorithm = parse_algorithm(algorithm)?;
    let x = x.as_array();
    let chosen = points.as_ref().map(|points| points.as_array().insert_axis(Axis(1)));
    let dimensions = run(py, n_jobs, progress, |progress| {
        let points = Points::new(x)?;
        let rows = chosen.map(|chosen| chosen_rows(&points, chosen)).transpose()?;
        let queries = rows.as_ref().map_or(Queries::All, |rows| Queries::Rows(rows));
        let indices = neighborhoods(&points, queries, k, algorithm, None, progress)?;
        dimension::local_dimensions(&points, indices.view(), progress)
    })?;
    Ok(dimensions.into_pyarray(py))
}
