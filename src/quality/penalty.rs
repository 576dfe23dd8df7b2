//! T and C: the ranks that neighbours in one space have in the other.

use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::try_zeros;
use crate::neighbors::{self, Algorithm, Queries};
use crate::points::Points;
use crate::progress::Progress;

use super::estimate::{Estimate, check, standard_error};

/// T(k) of the embedding `z` of `x`, over all rows or over a sample of them.
///
/// ```
/// use ndarray::{Array2, s};
/// use shopca_rs::{Points, Progress, quality};
///
/// let x = Array2::from_shape_fn((50, 3), |(i, j)| ((i * 37 + j * 101) % 53) as f64);
/// let z = x.slice(s![.., ..2]).to_owned();
/// let (x, z) = (Points::new(x.view())?, Points::new(z.view())?);
/// assert!(quality::trustworthiness(&x, &z, 5, None, &Progress::new())?.value < 1.0);
/// assert_eq!(quality::trustworthiness(&x, &x, 5, None, &Progress::new())?.value, 1.0);
/// # Ok::<(), shopca_rs::Error>(())
/// ```
pub fn trustworthiness(
    x: &Points,
    z: &Points,
    k: usize,
    rows: Option<&[u32]>,
    progress: &Progress,
) -> Result<Estimate> {
    check(x, z, k, rows)?;
    mean_penalty(x, z, k, rows, progress)
}

/// C(k) of the embedding `z` of `x`, over all rows or over a sample of them.
pub fn continuity(
    x: &Points,
    z: &Points,
    k: usize,
    rows: Option<&[u32]>,
    progress: &Progress,
) -> Result<Estimate> {
    check(x, z, k, rows)?;
    mean_penalty(z, x, k, rows, progress)
}

/// One minus the mean penalty of neighbours in `near` by their ranks in `ranked`.
fn mean_penalty(
    ranked: &Points,
    near: &Points,
    k: usize,
    rows: Option<&[u32]>,
    progress: &Progress,
) -> Result<Estimate> {
    Ok(estimate(&penalties(ranked, near, k, rows, progress)?, k, ranked.len()))
}

/// For every row, or for each of some, Σ max(r − k, 0) over the ranks r in `ranked` of its k neighbours in `near`.
pub fn penalties(
    ranked: &Points,
    near: &Points,
    k: usize,
    rows: Option<&[u32]>,
    progress: &Progress,
) -> Result<Vec<u64>> {
    let queries = rows.map_or(Queries::All, Queries::Rows);
    let count = queries.count(ranked);
    progress.expect(2 * count);
    // A search takes k of at least 2.
    let found = neighbors::search(near, queries, k.max(2), Algorithm::Auto, progress)?.indices;
    let ranks = neighbors::ranks(ranked, queries, found.slice(ndarray::s![.., ..k]), progress)?;
    let mut penalties = try_zeros::<u64>(count)?;
    let lines = ranks.as_slice().expect("row-major").par_chunks_exact(k);
    penalties.par_iter_mut().zip(lines).for_each(|(penalty, ranks)| {
        *penalty = ranks.iter().map(|rank| u64::from(rank.saturating_sub(k as u32))).sum();
    });
    Ok(penalties)
}

/// One minus the penalties of rows, in units in which the mean of the worst embedding is about one.
pub fn estimate(penalties: &[u64], k: usize, n: usize) -> Estimate {
    let (n_rows, k) = (n as f64, k as f64);
    let unit = 2.0 / (k * (2.0 * n_rows - 3.0 * k - 1.0));
    let total: u128 = penalties.iter().map(|penalty| u128::from(*penalty)).sum();
    let error = standard_error(penalties.iter().map(|penalty| *penalty as f64), n);
    Estimate {
        value: 1.0 - unit * (total as f64 / penalties.len() as f64),
        standard_error: unit * error,
    }
}
