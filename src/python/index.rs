//! An index over rows for Python, built once for any number of neighbour searches.

use ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{parse_algorithm, row_numbers_or_missing, run};
use crate::neighbors::{OwnedIndex, Queries};
use crate::points::Points;

/// An index over the rows of x. Pickled as its rows and rebuilt from them.
#[pyclass(frozen, module = "shopca_rs._core")]
pub(super) struct NeighborIndex {
    index: OwnedIndex,
    algorithm: String,
    n_jobs: usize,
}

#[pymethods]
impl NeighborIndex {
    #[new]
    #[pyo3(signature = (x, algorithm, n_jobs))]
    fn new(
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        algorithm: &str,
        n_jobs: usize,
    ) -> PyResult<Self> {
        let (parsed, x) = (parse_algorithm(algorithm)?, x.as_array());
        let index =
            run(py, n_jobs, None, |progress| OwnedIndex::new(Points::new(x)?, parsed, progress))?;
        Ok(Self { index, algorithm: algorithm.to_owned(), n_jobs })
    }

    /// The k nearest rows and their squared distances, to each of `queries` or to the rows themselves, of
    /// which none is its own neighbour.
    #[pyo3(signature = (queries, k, n_jobs))]
    #[expect(clippy::type_complexity, reason = "a pair of arrays is what Python gets")]
    fn k_neighbors<'py>(
        &self,
        py: Python<'py>,
        queries: Option<PyReadonlyArray2<'py, f64>>,
        k: usize,
        n_jobs: usize,
    ) -> PyResult<(Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>)> {
        let queries = queries.as_ref().map(|queries| queries.as_array());
        let (indices, squared) = run(py, n_jobs, None, |progress| {
            let queries = queries.map(|table| self.index.points().queries(table)).transpose()?;
            let wanted = queries.as_ref().map_or(Queries::All, Queries::Points);
            let found = self.index.search(wanted, k, progress)?;
            Ok((row_numbers_or_missing(found.indices.view())?, found.squared_distances))
        })?;
        Ok((indices.into_pyarray(py), squared.into_pyarray(py)))
    }

    /// A copy of the rows.
    fn rows<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let points = self.index.points();
        let shape = (points.len(), points.dim());
        let rows = ArrayView2::from_shape(shape, points.as_slice()).expect("row after row");
        PyArray2::from_array(py, &rows)
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray2<f64>>, &str, usize) {
        (self.rows(py), &self.algorithm, self.n_jobs)
    }
}
