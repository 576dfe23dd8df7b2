//! A number with its standard error, and the checks that all measures share.

use crate::error::{Error, Result};
use crate::points::Points;

/// A number over all rows, or its estimate from a sample of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Its standard error; zero over all rows.
    pub standard_error: f64,
}

/// X and Z must have the same rows, more than twice as many as neighbours.
pub(super) fn check(x: &Points, z: &Points, k: usize, rows: Option<&[u32]>) -> Result<()> {
    let n = x.len();
    if z.len() != n {
        return Err(Error::EmbeddingRows { expected: n, given: z.len() });
    }
    if k == 0 || k >= n.div_ceil(2) {
        return Err(Error::HalfNeighbors { k, rows: n });
    }
    if let Some(rows) = rows
        && !(2..=n).contains(&rows.len())
    {
        return Err(Error::SampleSize { given: rows.len(), most: n });
    }
    Ok(())
}

/// The standard error of a mean over some of n rows, from one number for each of them; zero for all rows.
pub(super) fn standard_error(values: impl ExactSizeIterator<Item = f64> + Clone, n: usize) -> f64 {
    let count = values.len() as f64;
    if values.len() >= n {
        return 0.0;
    }
    let mean = values.clone().sum::<f64>() / count;
    let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
    ((1.0 - count / n as f64) * squares / (count - 1.0) / count).sqrt()
}
