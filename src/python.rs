//! `shopca_rs._core`: conversions between NumPy and this crate, and nothing else.
//!
//! Every long call goes through [`run`], which releases the GIL, gives the work a thread pool of its
//! own, watches for signals, reports progress and turns errors into exceptions.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use ndarray::{Array2, ArrayView2, Axis};
use numpy::{IntoPyArray, PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::error::{Error, Result};
use crate::frame::Degenerate;
use crate::matrix::check_room;
use crate::neighbors::{self, Algorithm, Queries};
use crate::points::Points;
use crate::progress::Progress;
use crate::{local, mean};

mod dimension;
mod geometry;
mod parts;
mod quality;
mod quality_parts;
mod sample;
mod search;
mod simd;

/// How often a running computation looks for Ctrl-C and reports progress.
const HEARTBEAT: Duration = Duration::from_millis(50);

/// The address space that a thread takes before it does any work: its stack, and with glibc a heap of its own.
const BYTES_PER_THREAD: usize =
    if cfg!(all(target_os = "linux", target_env = "gnu")) { 68 << 20 } else { 4 << 20 };

/// More threads than are useful on any machine; a larger n_jobs means this many.
const MOST_THREADS: usize = 1024;

/// The native half of shopca_rs; its Python half checks arguments and documents the functions.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::dimension::local_dimensions;
    #[pymodule_export]
    use super::geometry::{fit_scales, rows_near, second_forms, two_stage_forms};
    #[pymodule_export]
    use super::parts::{
        foot_points, part_dimensions, part_forms, part_scale_fits, part_second_stage,
        scale_candidates, scales_of_fits,
    };
    #[pymodule_export]
    use super::quality::{continuity, quality, trustworthiness};
    #[pymodule_export]
    use super::quality_parts::{
        part_penalties, part_quality, part_ranks, penalty_estimate, quality_of_counts,
        quality_of_distances, squared_distances,
    };
    #[pymodule_export]
    use super::sample::{group_cuts, mean_of_groups, sampled_shape_operator};
    #[pymodule_export]
    use super::search::{NeighborIndex, k_neighbors};
    #[pymodule_export]
    use super::simd::{force_simd_level, simd_level, simd_levels};
    #[pymodule_export]
    use super::{local_shape_operators, mean_shape_operator, principal_curvatures, shape_sum};
}

/// The sum of the shape operators of given neighbourhoods, any number of them, in a table or in part of one,
/// with a weight for each or without.
#[pyfunction]
#[pyo3(signature = (x, neighbors, degenerate, n_jobs, progress, weights = None))]
fn shape_sum<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    neighbors: PyReadonlyArray2<'py, i64>,
    degenerate: &str,
    n_jobs: usize,
    progress: Option<Py<PyAny>>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let degenerate = parse_degenerate(degenerate)?;
    let (x, given) = (x.as_array(), neighbors.as_array());
    let weights = weights.map(|weights| weights.as_array().to_vec());
    let sum = run(py, n_jobs, progress, |progress| {
        let points = Points::part(x)?;
        let indices = neighbors::row_numbers("neighbors", given, points.len())?;
        progress.expect(indices.nrows());
        let weights = weights.as_deref();
        Ok(mean::weighted_sum(&points, indices.view(), weights, degenerate, progress)?.sum)
    })?;
    Ok(sum.into_pyarray(py))
}

/// The mean shape operator of x, with a weight for each row or without.
#[pyfunction]
#[pyo3(signature = (
    x, k, degenerate, algorithm, neighbors, n_jobs, progress, include_self = false, weights = None
))]
#[expect(clippy::too_many_arguments, reason = "the Python signature is the contract")]
fn mean_shape_operator<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    k: usize,
    degenerate: &str,
    algorithm: &str,
    neighbors: Option<PyReadonlyArray2<'py, i64>>,
    n_jobs: usize,
    progress: Option<Py<PyAny>>,
    include_self: bool,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (degenerate, algorithm) = (parse_degenerate(degenerate)?, parse_algorithm(algorithm)?);
    let (x, given) = (x.as_array(), neighbors.as_ref().map(|given| given.as_array()));
    let weights = weights.map(|weights| weights.as_array().to_vec());
    let mean = run(py, n_jobs, progress, |progress| {
        let points = Points::new(x)?;
        let indices = patches(&points, Queries::All, k, algorithm, given, include_self, progress)?;
        mean::weighted_mean(&points, indices.view(), weights.as_deref(), degenerate, progress)
    })?;
    Ok(mean.into_pyarray(py))
}

/// The shape operators of some rows of x.
#[pyfunction]
#[pyo3(signature = (x, k, points, degenerate, algorithm, neighbors, n_jobs, progress, include_self = false))]
#[expect(clippy::too_many_arguments, reason = "the Python signature is the contract")]
fn local_shape_operators<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    k: usize,
    points: Option<PyReadonlyArray1<'py, i64>>,
    degenerate: &str,
    algorithm: &str,
    neighbors: Option<PyReadonlyArray2<'py, i64>>,
    n_jobs: usize,
    progress: Option<Py<PyAny>>,
    include_self: bool,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let (degenerate, algorithm) = (parse_degenerate(degenerate)?, parse_algorithm(algorithm)?);
    let (x, given) = (x.as_array(), neighbors.as_ref().map(|given| given.as_array()));
    let chosen = points.as_ref().map(|points| points.as_array().insert_axis(Axis(1)));
    let operators = run(py, n_jobs, progress, |progress| {
        let points = Points::new(x)?;
        let rows = chosen.map(|chosen| chosen_rows(&points, chosen)).transpose()?;
        let queries = rows.as_ref().map_or(Queries::All, |rows| Queries::Rows(rows));
        let indices = patches(&points, queries, k, algorithm, given, include_self, progress)?;
        local::shape_operators(&points, indices.view(), degenerate, progress)
    })?;
    Ok(operators.into_pyarray(py))
}

/// The principal curvatures of every row of x.
#[pyfunction]
#[pyo3(signature = (x, k, degenerate, algorithm, neighbors, n_jobs, progress, include_self = false))]
#[expect(clippy::too_many_arguments, reason = "the Python signature is the contract")]
fn principal_curvatures<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    k: usize,
    degenerate: &str,
    algorithm: &str,
    neighbors: Option<PyReadonlyArray2<'py, i64>>,
    n_jobs: usize,
    progress: Option<Py<PyAny>>,
    include_self: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (degenerate, algorithm) = (parse_degenerate(degenerate)?, parse_algorithm(algorithm)?);
    let (x, given) = (x.as_array(), neighbors.as_ref().map(|given| given.as_array()));
    let principal = run(py, n_jobs, progress, |progress| {
        let points = Points::new(x)?;
        let indices = patches(&points, Queries::All, k, algorithm, given, include_self, progress)?;
        local::principal_curvatures(&points, indices.view(), degenerate, progress)
    })?;
    Ok(principal.into_pyarray(py))
}

/// Row numbers that Python gave as one column.
fn chosen_rows(points: &Points, chosen: ArrayView2<i64>) -> Result<Vec<u32>> {
    Ok(neighbors::row_numbers("points", chosen, points.len())?.into_raw_vec_and_offset().0)
}

/// The neighbours of the queries, each list with the query itself in front if it is to be included.
fn patches(
    points: &Points,
    queries: Queries,
    k: usize,
    algorithm: Algorithm,
    given: Option<ArrayView2<i64>>,
    include_self: bool,
    progress: &Progress,
) -> Result<Array2<u32>> {
    let lists = neighborhoods(points, queries, k, algorithm, given, progress)?;
    if include_self { neighbors::with_own_rows(lists.view(), queries) } else { Ok(lists) }
}

/// The neighbours of the queries, as given or searched for. Announces both stages of the work.
fn neighborhoods(
    points: &Points,
    queries: Queries,
    k: usize,
    algorithm: Algorithm,
    given: Option<ArrayView2<i64>>,
    progress: &Progress,
) -> Result<Array2<u32>> {
    let count = queries.count(points);
    progress.expect(count);
    match (given, queries) {
        (Some(given), Queries::Rows(rows)) => neighbors::as_given_rows(points, rows, k, given),
        (Some(given), _) => neighbors::as_given(points, k, given),
        (None, _) => {
            progress.expect(count);
            Ok(neighbors::search(points, queries, k, algorithm, progress)?.indices)
        }
    }
}

/// Runs `work` on its own pool of `n_jobs` threads without the GIL.
///
/// The calling thread waits, wakes every [`HEARTBEAT`] to let Python handle signals and to call
/// `callback(done, total)`, and cancels the work if either raises. All its threads have ended when this
/// returns, so nothing is left behind for a later `os.fork()`.
fn run<T: Send>(
    py: Python<'_>,
    n_jobs: usize,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&Progress) -> Result<T> + Send,
) -> PyResult<T> {
    let progress = Progress::new();
    let n_jobs = affordable_threads(n_jobs).map_err(to_exception)?;
    py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let progress = &progress;
            let worker = move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| install(n_jobs, || work(progress))));
                // The receiver outlives this scope.
                let _ = sender.send(outcome);
            };
            thread::Builder::new()
                .spawn_scoped(scope, worker)
                .map_err(|error| no_threads(n_jobs, &error))?;
            loop {
                let outcome = receiver.recv_timeout(HEARTBEAT);
                if (outcome.is_err() || callback.is_some())
                    && let Err(raised) =
                        Python::attach(|py| heartbeat(py, progress, callback.as_ref()))
                {
                    progress.cancel();
                    return Err(raised);
                }
                match outcome {
                    Ok(Ok(outcome)) => return outcome?.map_err(to_exception),
                    Ok(Err(panic)) => return Err(panic_to_exception(panic.as_ref())),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(PyRuntimeError::new_err(
                            "the computation ended without a result.",
                        ));
                    }
                }
            }
        })
    })
}

/// As many threads as asked for, or as memory allows: the C library aborts a process that has no room for a new thread.
fn affordable_threads(n_jobs: usize) -> Result<usize> {
    let mut threads = n_jobs.min(MOST_THREADS);
    loop {
        match check_room((threads - 1) * BYTES_PER_THREAD) {
            Err(_) if threads > 1 => threads /= 2,
            outcome => return outcome.map(|()| threads),
        }
    }
}

/// Calls `work` on a pool of its own, all of whose threads have ended when this returns.
fn install<T: Send>(n_jobs: usize, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    ThreadPoolBuilder::new()
        .num_threads(n_jobs)
        .thread_name(|index| format!("shopca-{index}"))
        .build_scoped(|thread| thread.run(), |pool| pool.install(work))
        .map_err(|error| no_threads(n_jobs, &error))
}

fn no_threads(n_jobs: usize, error: &dyn std::error::Error) -> PyErr {
    let s = if n_jobs == 1 { "" } else { "s" };
    PyRuntimeError::new_err(format!(
        "could not start {n_jobs} thread{s}: {error}. \
         Use a smaller n_jobs, or allow this process more threads or memory."
    ))
}

fn heartbeat(py: Python<'_>, progress: &Progress, callback: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    if let Some(callback) = callback {
        callback.call1(py, progress.counts())?;
    }
    Ok(())
}

fn to_exception(error: Error) -> PyErr {
    match error {
        Error::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        Error::NoFrame { .. } | Error::Cancelled => PyRuntimeError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

fn panic_to_exception(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    PyRuntimeError::new_err(format!("internal error in shopca_rs, please report it: {text}"))
}

fn parse_algorithm(name: &str) -> PyResult<Algorithm> {
    match name {
        "auto" => Ok(Algorithm::Auto),
        "kd_tree" => Ok(Algorithm::KdTree),
        "brute" => Ok(Algorithm::Brute),
        _ => Err(PyValueError::new_err(format!(
            "algorithm must be \"auto\", \"kd_tree\" or \"brute\", got {name:?}."
        ))),
    }
}

fn parse_degenerate(name: &str) -> PyResult<Degenerate> {
    match name {
        "average" => Ok(Degenerate::Average),
        "lapack" => Ok(Degenerate::Lapack),
        _ => Err(PyValueError::new_err(format!(
            "degenerate must be \"average\" or \"lapack\", got {name:?}."
        ))),
    }
}
