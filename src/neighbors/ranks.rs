//! Ranks: how many rows are at least as near to a query as some other row.
//!
//! ```text
//! rank(i, j) = |{l ≠ i : (D(i, l), l) ≤ (D(i, j), j)}|
//! ```
//!
//! by the (squared distance, index) that makes neighbours: the nearest neighbour has rank 1. Rows are only counted. The
//! filter's accumulators decide most of them, and those too close to call get their exact distance. Where bounding
//! boxes rule out many rows, each query goes its own way ([`super::rank_groups`]), elsewhere one product serves both
//! rows of a pair ([`super::rank_pairs`]).

use std::sync::Mutex;

use ndarray::{Array2, ArrayView1, ArrayView2};
use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::{try_copied, try_zeros};
use crate::points::Points;
use crate::progress::Progress;
use crate::simd::Level;

use super::brute::{Brute, queries_per_block};
use super::candidate::{Candidate, squared_distance};
use super::filter_kernel::{MOST_ROWS, rows_per_tile};
use super::given::check_targets;
use super::queries::{Queries, Query};
use super::rank_groups::{FEW_TARGETS, Groups};
use super::rank_pairs;
use super::rankings::{Line, Rankings};
use super::spatial_order::queries_nearby;

/// Tiles of queries that are sent through all groups to see how many of them boxes rule out.
const SAMPLED_TILES: usize = 6;

/// What it takes to compare a sum with the band of one target, in columns of the product.
const COMPARISON: f64 = 2.0;

/// How much longer that takes from both rows of a pair.
const BOTH_ROWS: f64 = 1.2;

/// The share of targets that boxes leave open where there are more than [`FEW_TARGETS`].
const OPEN_TARGETS: f64 = 0.5;

/// The rank of each of `targets` from its query, one line for each query; queries are rows of `points`.
///
/// ```
/// use ndarray::array;
/// use shopca_rs::neighbors::{self, Queries};
/// use shopca_rs::{Points, Progress};
///
/// let x = array![[0.0], [1.0], [3.0], [7.0]];
/// let points = Points::new(x.view())?;
/// let targets = array![[3, 1], [0, 2]];
/// let found = neighbors::ranks(&points, Queries::Rows(&[0, 3]), targets.view(), &Progress::new())?;
/// assert_eq!(found, array![[3, 1], [3, 1]]);
/// # Ok::<(), shopca_rs::Error>(())
/// ```
pub fn ranks(
    points: &Points,
    queries: Queries,
    targets: ArrayView2<u32>,
    progress: &Progress,
) -> Result<Array2<u32>> {
    check_targets(points, queries, targets)?;
    counted(points, queries, targets.ncols(), progress, |number| {
        let query = queries.get(points, number);
        let to = |index: &u32| squared_distance(query.point, points.row(*index as usize));
        let targets = targets.row(number);
        let sorted = try_copied(
            targets.iter().map(|index| Candidate { squared: to(index), index: *index }),
        )?;
        Ok((query, sorted))
    })
}

/// What some queries add to their ranks among rows of which these are only a part.
///
/// `points` are the rows from number `first` of a table on, and the targets of each query are rows of that table at
/// known squared distances: ranks over all rows are the sums over its parts. `own` are the row numbers of the queries.
pub fn rank_parts(
    points: &Points,
    first: i64,
    queries: &Points,
    own: ArrayView1<i64>,
    squared: ArrayView2<f64>,
    targets: ArrayView2<i64>,
    progress: &Progress,
) -> Result<Array2<u32>> {
    let (count, k) = targets.dim();
    assert!(queries.len() == count && own.len() == count && squared.dim() == (count, k));
    let here =
        |row: i64| u32::try_from(row - first).ok().filter(|at| (*at as usize) < points.len());
    counted(points, Queries::Points(queries), k, progress, |number| {
        let targets =
            squared.row(number).into_iter().zip(targets.row(number)).map(|(squared, row)| {
                match here(*row) {
                    Some(index) => Candidate { squared: *squared, index },
                    // All rows at this distance come before a target after them, none before one in front of them.
                    None if *row > first => Candidate { squared: *squared, index: u32::MAX },
                    None => Candidate { squared: squared.next_down(), index: u32::MAX },
                }
            });
        let query =
            Query { own: here(own[number]), ..Queries::Points(queries).get(points, number) };
        Ok((query, try_copied(targets)?))
    })
}

/// How many rows, the query itself left out, come up to each of the k targets of every query.
fn counted<'q>(
    points: &'q Points,
    queries: Queries<'q>,
    k: usize,
    progress: &Progress,
    line: impl Fn(usize) -> Result<Line<'q>> + Sync,
) -> Result<Array2<u32>> {
    let brute = Brute::new(points, progress)?;
    let groups = Groups::new(&brute)?;
    let order = queries_nearby(&brute.order, queries, MOST_ROWS, progress)?;
    let all = Mutex::new(try_zeros::<u32>(order.len().saturating_mul(k))?);
    let write = |numbers: &[u32], rankings: &Rankings| {
        let mut all = all.lock().expect("no thread panics while it copies");
        for (at, number) in numbers.iter().enumerate() {
            rankings.write(at, &mut all[*number as usize * k..(*number as usize + 1) * k]);
        }
    };
    if matches!(queries, Queries::All) && pairs_pay(&brute, &groups, k, progress, &line)? {
        rank_pairs::count(&brute, Level::current(), k, progress, line, write)?;
    } else {
        order.par_chunks(queries_per_block(order.len())).try_for_each(|numbers| {
            let lines = numbers.iter().map(|number| line(*number as usize));
            let mut rankings = Rankings::new(&brute, k, lines)?;
            groups.count(&mut rankings, progress)?;
            write(numbers, &rankings);
            progress.advance(numbers.len())
        })?;
    }
    let all = all.into_inner().expect("no thread panics while it copies");
    Ok(Array2::from_shape_vec((order.len(), k), all).expect("one line of k per query"))
}

/// Whether all rows are ranked sooner with one product for both rows of a pair: some tiles are sent through all groups.
fn pairs_pay<'q>(
    brute: &Brute,
    groups: &Groups,
    k: usize,
    progress: &Progress,
    line: impl Fn(usize) -> Result<Line<'q>>,
) -> Result<bool> {
    let (rows, columns) = (brute.order.len(), brute.points.dim() as f64);
    if !rank_pairs::enough(rows) || !brute.filter.bound.is_finite() {
        return Ok(false);
    }
    let (tile, mut visited) = (rows_per_tile(Level::current()), 0);
    for sample in 0..SAMPLED_TILES {
        let numbers = &brute.order[rows / SAMPLED_TILES * sample..][..tile];
        let lines = numbers.iter().map(|number| line(*number as usize));
        visited += groups.count(&mut Rankings::new(brute, k, lines)?, progress)?;
    }
    let visited = visited as f64 / (SAMPLED_TILES * groups.len()) as f64;
    let comparisons = COMPARISON * k as f64;
    let open = if k <= FEW_TARGETS { comparisons } else { OPEN_TARGETS * comparisons };
    Ok(visited * (columns + open) > 0.5 * columns + BOTH_ROWS * comparisons)
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, s};

    use super::*;

    /// The definition.
    fn plain(points: &Points, own: u32, index: u32) -> u32 {
        let candidate = |index: u32| Candidate {
            squared: squared_distance(points.row(own as usize), points.row(index as usize)),
            index,
        };
        let rows = (0..points.len() as u32).filter(|row| *row != own);
        rows.filter(|row| candidate(*row) <= candidate(index)).count() as u32
    }

    /// Numbers in [0, 1), the same every time.
    fn noise(at: usize) -> f64 {
        let mixed = (at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[test]
    fn ranks_are_those_of_the_definition_with_and_without_ties() {
        let (rows, k) = (700, 9);
        type Entry = fn(usize) -> f64;
        let clouds: [(usize, Entry); 6] = [
            (1, noise),
            (2, |at| (noise(at) * 7.0).floor()),
            (5, |at| noise(at) + 1e9),
            (3, |at| if at < 3 { 1e6 } else { noise(at) }),
            (40, |at| noise(at).powi(3)),
            (4, |_| 2.5),
        ];
        for (dim, value) in clouds {
            let x = Array2::from_shape_fn((rows, dim), |(i, j)| value(i * dim + j));
            let points = Points::new(x.view()).unwrap();
            let chosen: Vec<u32> = (0..90).map(|at| (at * 331 % rows) as u32).collect();
            let targets = Array2::from_shape_fn((90, k), |(i, j)| {
                let own = chosen[i] as usize;
                ((own + 1 + (noise(i * k + j) * (rows - 1) as f64) as usize) % rows) as u32
            });
            let found =
                ranks(&points, Queries::Rows(&chosen), targets.view(), &Progress::new()).unwrap();
            for ((i, j), rank) in found.indexed_iter() {
                assert_eq!(*rank, plain(&points, chosen[i], targets[[i, j]]), "{dim} columns");
            }
        }
    }

    #[test]
    fn ranks_are_the_sums_of_what_parts_of_the_rows_add() {
        let (rows, dim, k) = (300, 2, 4);
        for lattice in [1.0, 5.0, 1e6] {
            let x = Array2::from_shape_fn((rows, dim), |(i, j)| {
                (noise(i * dim + j) * lattice).floor() + if i < 3 { 1e20 } else { 0.0 }
            });
            let points = Points::new(x.view()).unwrap();
            let targets = Array2::from_shape_fn((rows, k), |(i, j)| {
                ((i + 1 + (noise(i * k + j) * (rows - 1) as f64) as usize) % rows) as u32
            });
            let expected = ranks(&points, Queries::All, targets.view(), &Progress::new()).unwrap();
            let squared = Array2::from_shape_fn((rows, k), |(i, j)| {
                squared_distance(points.row(i), points.row(targets[[i, j]] as usize))
            });
            let (own, targets) = (Array1::from_iter(0..rows as i64), targets.mapv(i64::from));
            let mut sums = Array2::zeros((rows, k));
            for (first, end) in [(0, 1), (1, 120), (120, 300)] {
                let part = Points::part(x.slice(s![first..end, ..])).unwrap();
                let queries = part.queries(x.view()).unwrap();
                let (own, squared, targets) = (own.view(), squared.view(), targets.view());
                sums += &rank_parts(
                    &part,
                    first as i64,
                    &queries,
                    own,
                    squared,
                    targets,
                    &Progress::new(),
                )
                .unwrap();
            }
            assert_eq!(sums, expected, "{lattice}");
        }
    }
}
