//! The neighbour search for Python, and an index that is built once for any number of searches.

use ndarray::{Array2, ArrayView2, Axis};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;

use super::{chosen_rows, parse_algorithm, run};
use crate::error::Result;
use crate::matrix::{try_copied, try_with_capacity};
use crate::neighbors::{self, MISSING, Neighbors, OwnedIndex, Queries};
use crate::points::Points;

/// The k nearest rows of x and their squared distances, or the roots of these, to each of the rows `points` of x (itself left out), to all of
/// its rows, or to other points. With `bounds` only rows at most that squared distance away from the other points are
/// wanted; where there are fewer than k the rest are row −1 at an infinite distance. A `part` of a larger table may
/// have an arbitrarily small range.
#[pyfunction]
#[pyo3(signature = (
    x, k, queries, points, algorithm, n_jobs, progress, bounds = None, part = false, roots = false
))]
#[expect(clippy::too_many_arguments, reason = "the Python signature is the contract")]
#[expect(clippy::type_complexity, reason = "a pair of arrays is what Python gets")]
pub(super) fn k_neighbors<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    k: usize,
    queries: Option<PyReadonlyArray2<'py, f64>>,
    points: Option<PyReadonlyArray1<'py, i64>>,
    algorithm: &str,
    n_jobs: usize,
    progress: Option<Py<PyAny>>,
    bounds: Option<PyReadonlyArray1<'py, f64>>,
    part: bool,
    roots: bool,
) -> PyResult<(Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>)> {
    let algorithm = parse_algorithm(algorithm)?;
    let (x, queries) = (x.as_array(), queries.as_ref().map(|queries| queries.as_array()));
    let chosen = points.as_ref().map(|points| points.as_array().insert_axis(Axis(1)));
    let bounds = bounds.as_ref().map(|bounds| bounds.as_array());
    let (indices, squared) = run(py, n_jobs, progress, |progress| {
        let bounds = bounds.map(|bounds| try_copied(bounds.iter().copied())).transpose()?;
        let points = if part { Points::part(x)? } else { Points::new(x)? };
        let queries = queries.map(|queries| points.queries(queries)).transpose()?;
        let rows = chosen.map(|chosen| chosen_rows(&points, chosen)).transpose()?;
        let wanted = match (&queries, &rows, &bounds) {
            (Some(queries), _, Some(bounds)) => Queries::Within(queries, bounds),
            (Some(queries), _, None) => Queries::Points(queries),
            (None, Some(rows), _) => Queries::Rows(rows),
            (None, None, _) => Queries::All,
        };
        progress.expect(wanted.count(&points));
        lines(neighbors::search(&points, wanted, k, algorithm, progress)?, roots)
    })?;
    Ok((indices.into_pyarray(py), squared.into_pyarray(py)))
}

/// Row numbers for Python, −1 where there is none, and the squared distances or their roots.
fn lines(found: Neighbors, roots: bool) -> Result<(Array2<i64>, Array2<f64>)> {
    let Neighbors { indices, mut squared_distances } = found;
    let mut rows = try_with_capacity(indices.len())?;
    let number = |row: &u32| if *row == MISSING { -1 } else { i64::from(*row) };
    indices.as_slice().expect("row-major").par_iter().map(number).collect_into_vec(&mut rows);
    let rows = Array2::from_shape_vec(indices.raw_dim(), rows).expect("as many as found");
    if roots {
        let squared = squared_distances.as_slice_mut().expect("row-major");
        squared.par_iter_mut().for_each(|value| *value = value.sqrt());
    }
    Ok((rows, squared_distances))
}

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
            lines(self.index.search(wanted, k, progress)?, false)
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
