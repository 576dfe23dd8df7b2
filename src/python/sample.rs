//! Samples of points and their standard error for Python.

use ndarray::Axis;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{chosen_rows, parse_algorithm, parse_degenerate, patches, run};
use crate::mean::ShapeSum;
use crate::neighbors::Queries;
use crate::points::Points;
use crate::sample;

/// S̄ and its standard error.
type Pair<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);

/// The mean shape operator of x over a random sample of its rows, in random order, and its standard error. `weights`
/// has a number for each of these rows.
#[pyfunction]
#[pyo3(signature = (
    x, k, points, degenerate, algorithm, neighbors, n_jobs, progress, include_self = false, weights = None
))]
#[expect(clippy::too_many_arguments, reason = "the Python signature is the contract")]
pub(super) fn sampled_shape_operator<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    k: usize,
    points: PyReadonlyArray1<'py, i64>,
    degenerate: &str,
    algorithm: &str,
    neighbors: Option<PyReadonlyArray2<'py, i64>>,
    n_jobs: usize,
    progress: Option<Py<PyAny>>,
    include_self: bool,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Pair<'py>> {
    let (degenerate, algorithm) = (parse_degenerate(degenerate)?, parse_algorithm(algorithm)?);
    let (x, given) = (x.as_array(), neighbors.as_ref().map(|given| given.as_array()));
    let chosen = points.as_array().insert_axis(Axis(1));
    let weights = weights.map(|weights| weights.as_array().to_vec());
    let sampled = run(py, n_jobs, progress, |progress| {
        let points = Points::new(x)?;
        let rows = chosen_rows(&points, chosen)?;
        let queries = Queries::Rows(&rows);
        let indices = patches(&points, queries, k, algorithm, given, include_self, progress)?;
        let weights = weights.as_deref();
        sample::mean_shape_operator(&points, indices.view(), weights, degenerate, progress)
    })?;
    Ok((sampled.mean.into_pyarray(py), sampled.standard_error.into_pyarray(py)))
}

/// Where each group of a sample of `count` points begins, and where the last one ends.
#[pyfunction]
#[pyo3(signature = (count))]
pub(super) fn group_cuts(count: usize) -> Vec<usize> {
    sample::group_cuts(count)
}

/// The mean over a sample from `rows` points and its standard error, from the sum, the size and the
/// total weight of each of its groups.
#[pyfunction]
#[pyo3(signature = (sums, sizes, weights, rows))]
pub(super) fn mean_of_groups<'py>(
    py: Python<'py>,
    sums: Vec<PyReadonlyArray2<'py, f64>>,
    sizes: Vec<usize>,
    weights: Vec<f64>,
    rows: usize,
) -> PyResult<Pair<'py>> {
    let sums: Vec<_> = sums.iter().map(|sum| sum.as_array()).collect();
    let groups = sums.into_iter().zip(sizes).zip(weights);
    let groups =
        groups.map(|((sum, count), weight)| ShapeSum { count, weight, sum: sum.to_owned() });
    let sampled = run(py, 1, None, |_| sample::mean_of_groups(groups, rows))?;
    Ok((sampled.mean.into_pyarray(py), sampled.standard_error.into_pyarray(py)))
}
