//! The quality of embeddings for Python.

use ndarray::{ArrayView1, ArrayView2, Axis};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{chosen_rows, run};
use crate::error::Result;
use crate::points::Points;
use crate::progress::Progress;
use crate::quality::{self as measures, Estimate, Quality};

/// Trustworthiness of the embedding z of x and its standard error, over all rows or some.
#[pyfunction]
#[pyo3(signature = (x, z, k, points, n_jobs, progress))]
pub(super) fn trustworthiness<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    z: PyReadonlyArray2<'py, f64>,
    k: usize,
    points: Option<PyReadonlyArray1<'py, i64>>,
    n_jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(f64, f64)> {
    let (x, z) = (x.as_array(), z.as_array());
    let chosen = points.as_ref().map(|points| points.as_array());
    let found = run(py, n_jobs, progress, |progress| {
        measured(x, z, chosen, progress, |x, z, rows, progress| {
            measures::trustworthiness(x, z, k, rows, progress)
        })
    })?;
    Ok(pair(found))
}

/// Continuity of the embedding z of x and its standard error, over all rows or some.
#[pyfunction]
#[pyo3(signature = (x, z, k, points, n_jobs, progress))]
pub(super) fn continuity<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    z: PyReadonlyArray2<'py, f64>,
    k: usize,
    points: Option<PyReadonlyArray1<'py, i64>>,
    n_jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(f64, f64)> {
    let (x, z) = (x.as_array(), z.as_array());
    let chosen = points.as_ref().map(|points| points.as_array());
    let found = run(py, n_jobs, progress, |progress| {
        measured(x, z, chosen, progress, |x, z, rows, progress| {
            measures::continuity(x, z, k, rows, progress)
        })
    })?;
    Ok(pair(found))
}

/// All of the [`Numbers`] of the embedding z of x, over all rows or some.
#[pyfunction]
#[pyo3(signature = (x, z, k, points, n_jobs, progress))]
pub(super) fn quality<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    z: PyReadonlyArray2<'py, f64>,
    k: usize,
    points: Option<PyReadonlyArray1<'py, i64>>,
    n_jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Numbers<'py>> {
    let (x, z) = (x.as_array(), z.as_array());
    let chosen = points.as_ref().map(|points| points.as_array());
    let found = run(py, n_jobs, progress, |progress| {
        measured(x, z, chosen, progress, |x, z, rows, progress| {
            measures::quality(x, z, k, rows, progress)
        })
    })?;
    Ok(numbers(py, found))
}

/// Trustworthiness, continuity and AUC with their standard errors; Q_NX and R_NX, and the standard errors of both.
pub(super) type Numbers<'py> = ([(f64, f64); 3], [Bound<'py, PyArray1<f64>>; 4]);

pub(super) fn numbers(py: Python<'_>, found: Quality) -> Numbers<'_> {
    let numbers = [found.trustworthiness, found.continuity, found.auc].map(pair);
    let curves = [found.q_nx, found.r_nx, found.q_nx_error, found.r_nx_error];
    (numbers, curves.map(|curve| curve.into_pyarray(py)))
}

/// Calls a measure of two tables.
fn measured<T>(
    x: ArrayView2<f64>,
    z: ArrayView2<f64>,
    chosen: Option<ArrayView1<i64>>,
    progress: &Progress,
    measure: impl FnOnce(&Points, &Points, Option<&[u32]>, &Progress) -> Result<T>,
) -> Result<T> {
    let (x, z) = (Points::new(x)?, Points::embedding(z)?);
    let chosen = chosen.map(|chosen| chosen.insert_axis(Axis(1)));
    let rows = chosen.map(|chosen| chosen_rows(&x, chosen)).transpose()?;
    measure(&x, &z, rows.as_deref(), progress)
}

fn pair(estimate: Estimate) -> (f64, f64) {
    (estimate.value, estimate.standard_error)
}
