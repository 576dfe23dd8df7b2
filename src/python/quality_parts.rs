//! The quality of embeddings from parts of a table, for callers that never hold the whole table.

use ndarray::{Array1, Array2, ArrayView1, Axis, Zip};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::quality::{Numbers, numbers};
use super::{chosen_rows, run};
use crate::error::Result;
use crate::matrix::{try_copied, try_zeros};
use crate::neighbors;
use crate::points::Points;
use crate::quality::{self as measures, Counts, RowCounts};

/// Pairs by their larger rank; Σ c², below 2³² and in units of it; penalties and areas of each row.
type PyCounts<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray2<u64>>,
    Bound<'py, PyArray2<u64>>,
    Bound<'py, PyArray1<f64>>,
);

/// The squared distance between each row of `a` and the same row of `b`.
#[pyfunction]
#[pyo3(signature = (a, b))]
pub(super) fn squared_distances<'py>(
    py: Python<'py>,
    a: PyReadonlyArray2<'py, f64>,
    b: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (a, b) = (a.as_array(), b.as_array());
    let squared = run(py, 1, None, |_| {
        let mut squared = Array1::from_vec(try_zeros(a.nrows())?);
        Zip::from(&mut squared).and(a.rows()).and(b.rows()).for_each(|out, a, b| {
            let row_major = "rows without gaps";
            *out = neighbors::squared_distance(
                a.to_slice().expect(row_major),
                b.to_slice().expect(row_major),
            );
        });
        Ok(squared)
    })?;
    Ok(squared.into_pyarray(py))
}

/// What rows of a table, from number `first` on, add to the ranks of `targets` from
/// some queries, rows of the table `own`.
#[pyfunction]
#[pyo3(signature = (x, first, queries, own, squared, targets, n_jobs))]
#[expect(clippy::too_many_arguments, reason = "the Python signature is the contract")]
pub(super) fn part_ranks<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    first: i64,
    queries: PyReadonlyArray2<'py, f64>,
    own: PyReadonlyArray1<'py, i64>,
    squared: PyReadonlyArray2<'py, f64>,
    targets: PyReadonlyArray2<'py, i64>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray2<u32>>> {
    let (x, queries, own) = (x.as_array(), queries.as_array(), own.as_array());
    let (squared, targets) = (squared.as_array(), targets.as_array());
    let ranks = run(py, n_jobs, None, |progress| {
        let points = Points::part(x)?;
        let queries = points.queries(queries)?;
        neighbors::rank_parts(&points, first, &queries, own, squared, targets, progress)
    })?;
    Ok(ranks.into_pyarray(py))
}

/// For each of some rows the penalty of its neighbours in z by their ranks in x, or the reverse.
#[pyfunction]
#[pyo3(signature = (x, z, k, points, reverse, n_jobs))]
pub(super) fn part_penalties<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    z: PyReadonlyArray2<'py, f64>,
    k: usize,
    points: PyReadonlyArray1<'py, i64>,
    reverse: bool,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let (x, z, chosen) = (x.as_array(), z.as_array(), points.as_array());
    let penalties = run(py, n_jobs, None, |progress| {
        let (x, z) = (Points::new(x)?, Points::embedding(z)?);
        let rows = chosen_rows(&x, chosen.insert_axis(Axis(1)))?;
        let (ranked, near) = if reverse { (&z, &x) } else { (&x, &z) };
        measures::penalties(ranked, near, k, Some(&rows), progress)
    })?;
    Ok(penalties.into_pyarray(py))
}

/// Trustworthiness or continuity and its standard error, from the penalties of some of n rows.
#[pyfunction]
#[pyo3(signature = (penalties, k, n))]
pub(super) fn penalty_estimate(
    py: Python<'_>,
    penalties: PyReadonlyArray1<'_, u64>,
    k: usize,
    n: usize,
) -> PyResult<(f64, f64)> {
    let penalties = penalties.as_array();
    let found = run(py, 1, None, |_| {
        Ok(measures::estimate(&try_copied(penalties.iter().copied())?, k, n))
    })?;
    Ok((found.value, found.standard_error))
}

/// What `quality` counts around some rows of x and z, part of a sample or of all rows.
#[pyfunction]
#[pyo3(signature = (x, z, k, points, sampled, n_jobs))]
pub(super) fn part_quality<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    z: PyReadonlyArray2<'py, f64>,
    k: usize,
    points: PyReadonlyArray1<'py, i64>,
    sampled: bool,
    n_jobs: usize,
) -> PyResult<PyCounts<'py>> {
    let (x, z, chosen) = (x.as_array(), z.as_array(), points.as_array());
    let counts = run(py, n_jobs, None, |progress| {
        let (x, z) = (Points::new(x)?, Points::embedding(z)?);
        let rows = chosen_rows(&x, chosen.insert_axis(Axis(1)))?;
        measures::count_rows(&x, &z, k, &rows, sampled, progress)
    })?;
    to_python(py, counts)
}

/// The same for rows whose squared distances from all rows are known, in X and in Z.
#[pyfunction]
#[pyo3(signature = (in_x, in_z, k, points, sampled))]
pub(super) fn quality_of_distances<'py>(
    py: Python<'py>,
    in_x: PyReadonlyArray2<'py, f64>,
    in_z: PyReadonlyArray2<'py, f64>,
    k: usize,
    points: PyReadonlyArray1<'py, i64>,
    sampled: bool,
) -> PyResult<PyCounts<'py>> {
    let (in_x, in_z, chosen) = (in_x.as_array(), in_z.as_array(), points.as_array());
    let counts = run(py, 1, None, |_| {
        let rows = try_copied(chosen.iter().map(|row| *row as u32))?;
        measures::count_distances(in_x, in_z, k, &rows, sampled)
    })?;
    to_python(py, counts)
}

/// What `quality` returns, from the counts of all rows together.
#[pyfunction]
#[pyo3(signature = (pairs, squares, penalties, areas, k, n))]
pub(super) fn quality_of_counts<'py>(
    py: Python<'py>,
    pairs: PyReadonlyArray1<'py, u64>,
    squares: PyReadonlyArray2<'py, u64>,
    penalties: PyReadonlyArray2<'py, u64>,
    areas: PyReadonlyArray1<'py, f64>,
    k: usize,
    n: usize,
) -> PyResult<Numbers<'py>> {
    let (pairs, squares) = (pairs.as_array(), squares.as_array());
    let (penalties, areas) = (penalties.as_array(), areas.as_array());
    let found = run(py, 1, None, |_| {
        let square =
            |column: ArrayView1<u64>| u128::from(column[0]) + (u128::from(column[1]) << 32);
        let row = |(number, (line, area)): (usize, (ArrayView1<u64>, &f64))| RowCounts {
            number,
            penalties: [line[0], line[1]],
            area: *area,
        };
        let counts = Counts {
            pairs: try_copied(pairs.iter().copied())?,
            squares: try_copied(squares.columns().into_iter().map(square))?,
            rows: try_copied(penalties.rows().into_iter().zip(areas).enumerate().map(row))?,
        };
        counts.finish(k, n)
    })?;
    Ok(numbers(py, found))
}

fn to_python(py: Python<'_>, counts: Counts) -> PyResult<PyCounts<'_>> {
    let split = |counts: &Counts| -> Result<_> {
        let low = counts.squares.iter().map(|square| *square as u32 as u64);
        let high = counts.squares.iter().map(|square| (square >> 32) as u64);
        let mut squares = try_copied(low)?;
        squares.extend(high);
        let squares = Array2::from_shape_vec((2, counts.squares.len()), squares);
        let penalties = try_copied(counts.rows.iter().map(|row| row.penalties))?.into_flattened();
        let penalties = Array2::from_shape_vec((counts.rows.len(), 2), penalties);
        let areas = try_copied(counts.rows.iter().map(|row| row.area))?;
        Ok((squares.expect("two lines"), penalties.expect("two for each row"), areas))
    };
    let (squares, penalties, areas) = run(py, 1, None, |_| split(&counts))?;
    Ok((
        counts.pairs.into_pyarray(py),
        squares.into_pyarray(py),
        penalties.into_pyarray(py),
        areas.into_pyarray(py),
    ))
}
