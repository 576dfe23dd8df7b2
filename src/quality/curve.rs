//! All of the numbers at once: every rank in both spaces, row by row.
//!
//! A thread holds what it needs for a few rows: their distances to all others, the order of those and counts by rank.
//! The counts are integers, so it does not matter which thread counts which row.

use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::ArrayView2;
use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::{try_copied, try_with_capacity, try_zeros};
use crate::points::Points;
use crate::progress::Progress;

use super::distances::{Distances, Panels};
use super::estimate::{Estimate, check, standard_error};
use super::penalty;
use super::sorting::Sorting;

/// Rows whose distances are computed together.
const ROWS_PER_TILE: usize = 4;

/// What [`quality`] returns; the curves are for K = 1 … n − 2.
#[derive(Debug, Clone, PartialEq)]
pub struct Quality {
    /// T(k).
    pub trustworthiness: Estimate,
    /// C(k).
    pub continuity: Estimate,
    /// The mean of R_NX with weights 1/K.
    pub auc: Estimate,
    /// Q_NX(K).
    pub q_nx: Vec<f64>,
    /// R_NX(K).
    pub r_nx: Vec<f64>,
    /// The standard errors of Q_NX(K); zero for all rows.
    pub q_nx_error: Vec<f64>,
    /// The standard errors of R_NX(K); zero for all rows.
    pub r_nx_error: Vec<f64>,
}

/// All of the numbers of [`crate::quality`], over all rows or over a sample of them.
///
/// O(m n (d + log n)) time for m rows of a sample, and O(n) memory for each thread.
///
/// ```
/// use ndarray::{Array2, s};
/// use shopca_rs::{Points, Progress, quality};
///
/// let x = Array2::from_shape_fn((50, 3), |(i, j)| ((i * 37 + j * 101) % 53) as f64);
/// let z = x.slice(s![.., ..2]).to_owned();
/// let (x, z) = (Points::new(x.view())?, Points::new(z.view())?);
/// let found = quality::quality(&x, &z, 5, None, &Progress::new())?;
/// assert_eq!(found.trustworthiness, quality::trustworthiness(&x, &z, 5, None, &Progress::new())?);
/// assert!(0.0 < found.auc.value && found.auc.value < 1.0);
/// # Ok::<(), shopca_rs::Error>(())
/// ```
pub fn quality(
    x: &Points,
    z: &Points,
    k: usize,
    rows: Option<&[u32]>,
    progress: &Progress,
) -> Result<Quality> {
    check(x, z, k, rows)?;
    let n = x.len();
    let all;
    let rows = match rows {
        Some(rows) => rows,
        None => {
            all = try_copied(0..n as u32)?;
            &all
        }
    };
    count_rows(x, z, k, rows, rows.len() < n, progress)?.finish(k, n)
}

/// What [`quality`] counts around some rows, all of them or part of a `sampled` set; counts of other rows may be added.
pub fn count_rows(
    x: &Points,
    z: &Points,
    k: usize,
    rows: &[u32],
    sampled: bool,
    progress: &Progress,
) -> Result<Counts> {
    let n = x.len();
    progress.expect(rows.len());
    let weights = sampled.then(|| Weights::new(n)).transpose()?;
    let tiles = rows.len().div_ceil(ROWS_PER_TILE);
    let panels = [Panels::new(x)?, Panels::new(z)?];
    let (next, threads) = (AtomicUsize::new(0), rayon::current_num_threads().min(tiles));
    let workers = (0..threads).into_par_iter().with_max_len(1).map(|_| {
        let mut worker = Worker::new(n, rows.len(), weights.as_ref())?;
        let mut distances = [Distances::new(n, ROWS_PER_TILE)?, Distances::new(n, ROWS_PER_TILE)?];
        loop {
            let tile = next.fetch_add(1, Ordering::Relaxed);
            let Some(rows) = rows.chunks(ROWS_PER_TILE).nth(tile) else {
                return Ok(worker.counts);
            };
            for (panels, distances) in panels.iter().zip(&mut distances) {
                distances.compute(panels, rows);
            }
            for (at, row) in rows.iter().enumerate() {
                let lines = [0, 1].map(|space| distances[space].line(at));
                worker.add(tile * ROWS_PER_TILE + at, lines, *row as usize, k);
                progress.advance(1)?;
            }
        }
    });
    let counts = workers.collect::<Result<Vec<Counts>>>()?;
    let mut counts = counts.into_iter().reduce(Counts::merge).expect("a thread");
    counts.rows.sort_unstable_by_key(|row| row.number);
    Ok(counts)
}

/// The same for rows whose squared distances in X and in Z from all n rows are known.
pub fn count_distances(
    in_x: ArrayView2<f64>,
    in_z: ArrayView2<f64>,
    k: usize,
    rows: &[u32],
    sampled: bool,
) -> Result<Counts> {
    let n = in_x.ncols();
    let weights = sampled.then(|| Weights::new(n)).transpose()?;
    let mut worker = Worker::new(n, rows.len(), weights.as_ref())?;
    for (number, row) in rows.iter().enumerate() {
        let lines =
            [&in_x, &in_z].map(|lines| &lines.as_slice().expect("row-major")[number * n..][..n]);
        worker.add(number, lines, *row as usize, k);
    }
    Ok(worker.counts)
}

/// The weights of c(K), the common neighbours of one row, in its AUC: (n − 1) / (K² (n − 1 − K)).
struct Weights(Vec<f64>);

impl Weights {
    fn new(n: usize) -> Result<Self> {
        let most = (n - 1) as f64;
        let weight = |at: usize| {
            let size = (at + 1) as f64;
            most / (size * size * (most - size))
        };
        Ok(Self(try_copied((0..n - 2).map(weight))?))
    }
}

/// What has been counted around some rows.
pub struct Counts {
    /// Pairs of rows by the larger of their two ranks, from 1 on.
    pub pairs: Vec<u64>,
    /// For a sample, Σ c(K)² for K = 1 … n − 2; empty for all rows.
    pub squares: Vec<u128>,
    /// One for each of the rows, in their order.
    pub rows: Vec<RowCounts>,
}

/// What is known of one row.
pub struct RowCounts {
    /// Its place among the rows.
    pub number: usize,
    /// Penalties of T and C.
    pub penalties: [u64; 2],
    /// For a sample, Σ weight · c(K).
    pub area: f64,
}

/// One thread's share of the work.
struct Worker<'a> {
    weights: Option<&'a Weights>,
    counts: Counts,
    sorting: Sorting,
    /// The rank of every row in X.
    ranks: Vec<u32>,
    /// For a sample, rows by the larger of their two ranks.
    larger: Vec<u32>,
}

impl<'a> Worker<'a> {
    fn new(n: usize, rows: usize, weights: Option<&'a Weights>) -> Result<Self> {
        let sampled = if weights.is_some() { n } else { 0 };
        Ok(Self {
            weights,
            counts: Counts {
                pairs: try_zeros(n)?,
                squares: try_zeros(sampled)?,
                rows: try_with_capacity(rows)?,
            },
            sorting: Sorting::new(n)?,
            ranks: try_zeros(n)?,
            larger: try_zeros(sampled)?,
        })
    }

    /// Counts around the row `own`, whose squared distances in X and in Z are given.
    fn add(&mut self, number: usize, distances: [&[f64]; 2], own: usize, k: usize) {
        let [in_x, in_z] = distances;
        for (rank, row) in (1..).zip(self.sorting.order(in_x, own)) {
            self.ranks[row as usize] = rank;
        }
        let (k, mut penalties) = (k as u32, [0, 0]);
        self.larger.fill(0);
        for (in_z, row) in (1..).zip(self.sorting.order(in_z, own)) {
            let in_x = self.ranks[row as usize];
            let larger = in_x.max(in_z);
            self.counts.pairs[larger as usize] += 1;
            if in_x.min(in_z) <= k && larger > k {
                penalties[usize::from(in_x <= k)] += u64::from(larger - k);
            }
            if let Some(count) = self.larger.get_mut(larger as usize) {
                *count += 1;
            }
        }
        let (mut common, mut area) = (0_u64, 0.0);
        if let Some(Weights(weights)) = self.weights {
            let sizes = self.larger[1..].iter().zip(weights).zip(&mut self.counts.squares);
            for ((count, weight), square) in sizes {
                common += u64::from(*count);
                *square += u128::from(common) * u128::from(common);
                area += weight * common as f64;
            }
        }
        self.counts.rows.push(RowCounts { number, penalties, area });
    }
}

impl Counts {
    fn merge(mut self, other: Self) -> Self {
        self.pairs.iter_mut().zip(other.pairs).for_each(|(own, other)| *own += other);
        self.squares.iter_mut().zip(other.squares).for_each(|(own, other)| *own += other);
        self.rows.extend(other.rows);
        self
    }

    /// The numbers over the rows counted, of `n`.
    pub fn finish(self, k: usize, n: usize) -> Result<Quality> {
        let penalties = |which: usize| try_copied(self.rows.iter().map(|row| row.penalties[which]));
        let trustworthiness = penalty::estimate(&penalties(0)?, k, n);
        let continuity = penalty::estimate(&penalties(1)?, k, n);
        let (rows, most) = (self.rows.len() as f64, (n - 1) as f64);
        let missing = (1.0 - rows / n as f64).max(0.0);
        let (mut q_nx, mut r_nx) = (try_zeros(n - 2)?, try_zeros(n - 2)?);
        let (mut q_nx_error, mut r_nx_error) = (try_zeros(n - 2)?, try_zeros(n - 2)?);
        let (mut common, mut area, mut harmonic) = (0_u64, 0.0, 0.0);
        for at in 0..n - 2 {
            let size = (at + 1) as f64;
            common += self.pairs[at + 1];
            let mean = common as f64 / rows;
            q_nx[at] = mean / size;
            r_nx[at] = (most * q_nx[at] - size) / (most - size);
            area += r_nx[at] / size;
            harmonic += 1.0 / size;
            if let Some(square) = self.squares.get(at) {
                let variance = (*square as f64 - common as f64 * mean).max(0.0) / (rows - 1.0);
                q_nx_error[at] = (missing * variance / rows).sqrt() / size;
                r_nx_error[at] = q_nx_error[at] * most / (most - size);
            }
        }
        let error = standard_error(self.rows.iter().map(|row| row.area), n) / harmonic;
        let auc = Estimate { value: area / harmonic, standard_error: error };
        Ok(Quality { trustworthiness, continuity, auc, q_nx, r_nx, q_nx_error, r_nx_error })
    }
}
