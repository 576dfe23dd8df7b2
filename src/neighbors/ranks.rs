//! Ranks: how many rows are at least as near to a query as some other row.
//!
//! ```text
//! rank(i, j) = |{l ≠ i : (D(i, l), l) ≤ (D(i, j), j)}|
//! ```
//!
//! by the (squared distance, index) that makes neighbours: the nearest neighbour has rank 1. Rows are only counted. Bounding boxes
//! decide groups of rows that are nearer or farther than a target as a whole, the filter's accumulators decide most of
//! the other rows, and those too close to call get their exact distance.

use std::ops::Range;
use std::sync::Mutex;

use ndarray::{Array2, ArrayView1, ArrayView2};
use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::{try_copied, try_with_capacity, try_zeros};
use crate::points::Points;
use crate::progress::Progress;
use crate::simd::Level;

use super::bounding_boxes::Probe;
use super::brute::{Brute, ROWS_PER_GROUP, queries_per_block};
use super::candidate::{Candidate, squared_distance};
use super::filter::pack;
use super::filter_kernel::{self, MOST_ROWS, rows_per_tile};
use super::given::check_targets;
use super::queries::{Queries, Query};
use super::spatial_order::queries_nearby;
use super::tally::{Sums, tally};

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
/// `points` are the rows from number `first` of a table on, and the targets of each query are rows of that table at known squared
/// distances: ranks over all rows are the sums over its parts. `own` are the row numbers of the queries.
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
    line: impl Fn(usize) -> Result<(Query<'q>, Vec<Candidate>)> + Sync,
) -> Result<Array2<u32>> {
    let brute = Brute::new(points, progress)?;
    let order = queries_nearby(&brute.order, queries, MOST_ROWS, progress)?;
    let count = order.len();
    let all = Mutex::new(try_zeros::<u32>(count.saturating_mul(k))?);
    order.par_chunks(queries_per_block(count)).try_for_each(|numbers| {
        let mut rankings = try_with_capacity(numbers.len())?;
        for number in numbers {
            let (query, targets) = line(*number as usize)?;
            rankings.push(Ranking::new(&brute, query, &targets)?);
        }
        brute.count_nearer(&mut rankings, progress)?;
        let mut all = all.lock().expect("no thread panics while it copies");
        for (number, ranking) in numbers.iter().zip(&rankings) {
            ranking.write(&mut all[*number as usize * k..(*number as usize + 1) * k]);
        }
        progress.advance(numbers.len())
    })?;
    let all = all.into_inner().expect("no thread panics while it copies");
    Ok(Array2::from_shape_vec((count, k), all).expect("one line of k per query"))
}

/// One query and its targets, nearest first.
struct Ranking<'q> {
    query: Query<'q>,
    lowered_norm: f64,
    targets: Vec<Candidate>,
    /// The place of each target in the line as it was given.
    slots: Vec<u32>,
    marks: Marks,
    /// Rows that single accumulators or distances found at least as near as a target.
    counts: Vec<u32>,
    /// Rows of groups that are nearer than a target and those after it, but not than the one before it.
    whole: Vec<u32>,
    /// Targets for which the group at hand is not decided as a whole.
    open: Range<usize>,
}

/// What boxes and accumulators are compared with, for each target in ascending order.
struct Marks {
    /// BoundingBoxes whose nearest point is farther away than this have no row that counts.
    reach: Vec<f32>,
    /// BoundingBoxes whose farthest point is nearer than this have only rows that count.
    within: Vec<f32>,
    /// Below the first an accumulator counts, above the second it does not.
    bands: Vec<[f32; 2]>,
}

impl<'q> Ranking<'q> {
    fn new(brute: &Brute, query: Query<'q>, targets: &[Candidate]) -> Result<Self> {
        let filter = &brute.filter;
        let lowered_norm = filter.lowered_query(query.point);
        let mut sorted =
            try_copied(targets.iter().enumerate().map(|(slot, target)| (*target, slot as u32)))?;
        sorted.sort_unstable_by_key(|(target, _)| *target);
        let k = sorted.len();
        let mut marks = Marks {
            reach: try_with_capacity(k)?,
            within: try_with_capacity(k)?,
            bands: try_with_capacity(k)?,
        };
        for (target, _) in &sorted {
            let about = filter.about(target.squared);
            // Boxes in single precision do not see a query for which the filter has no bound.
            let seen = lowered_norm > f64::NEG_INFINITY;
            marks.reach.push(if seen { brute.boxes.reach(about[1]) } else { f32::INFINITY });
            marks.within.push(if seen { brute.boxes.within(about[0]) } else { f32::NEG_INFINITY });
            marks.bands.push(filter.band(about, lowered_norm));
        }
        Ok(Self {
            query,
            lowered_norm,
            targets: try_copied(sorted.iter().map(|(target, _)| *target))?,
            slots: try_copied(sorted.iter().map(|(_, slot)| *slot))?,
            marks,
            counts: try_zeros(k)?,
            whole: try_zeros(k)?,
            open: 0..0,
        })
    }

    /// Decides a group of rows for as many targets as its box allows; says whether any are left.
    fn decide(&mut self, nearest: f32, farthest: f32, rows: usize) -> bool {
        let Marks { reach, within, .. } = &self.marks;
        self.open = 0..reach.len();
        if nearest > reach[0] {
            self.open.start = reach.partition_point(|reach| *reach < nearest);
        }
        if farthest < within[within.len() - 1] {
            let end = within.partition_point(|within| *within <= farthest);
            self.whole[end] += rows as u32;
            self.open.end = end;
        }
        !self.open.is_empty()
    }

    /// Counts the rows of a group, the first of which has the given place, for the targets that are open.
    fn count(&mut self, level: Level, sums: &Sums, first: usize, brute: &Brute) {
        let open = self.open.clone();
        let bands = &self.marks.bands[open.clone()];
        let mut close = tally(level, sums, bands, &mut self.counts[open.clone()]);
        while close != 0 {
            let at = close.trailing_zeros() as usize;
            close &= close - 1;
            let (sum, index) = (sums[at], brute.order[first + at]);
            let squared = squared_distance(self.query.point, brute.points.row(index as usize));
            let row = Candidate { squared, index };
            for target in open.clone() {
                let [low, high] = self.marks.bands[target];
                // The query itself is counted always, and taken off in the end.
                let counts = Some(index) == self.query.own || row <= self.targets[target];
                self.counts[target] += u32::from(sum >= low && sum <= high && counts);
            }
        }
    }

    /// Writes the ranks in the order in which the targets were given.
    fn write(&self, ranks: &mut [u32]) {
        let (mut whole, itself) = (0, u32::from(self.query.own.is_some()));
        for (target, slot) in self.slots.iter().enumerate() {
            whole += self.whole[target];
            ranks[*slot as usize] = self.counts[target] + whole - itself;
        }
    }
}

impl Brute<'_> {
    /// Goes through all rows for a block of queries.
    fn count_nearer(&self, rankings: &mut [Ranking], progress: &Progress) -> Result<()> {
        let level = Level::current();
        let dim = self.points.dim();
        let mut tiles: Vec<(&mut [Ranking], Vec<f32>, Probe)> = Vec::new();
        for rankings in rankings.chunks_mut(rows_per_tile(level)) {
            let mut rounded = try_with_capacity(rankings.len() * dim)?;
            for ranking in rankings.iter() {
                rounded.extend(self.filter.round(ranking.query.point));
            }
            let packed =
                pack(level, &rounded, rankings.iter().map(|ranking| ranking.lowered_norm))?;
            let probe = self.boxes.probe(rounded.chunks_exact(dim));
            tiles.push((rankings, packed, probe));
        }
        let mut sums = [[f32::INFINITY; ROWS_PER_GROUP]; MOST_ROWS];
        for group in 0..self.norms.len().div_ceil(self.group) {
            progress.check()?;
            let first = group * self.group;
            let end = (first + self.group).min(self.norms.len());
            let rows = end.min(self.points.len()) - first;
            sums.iter_mut().for_each(|sums| sums[end - first..].fill(f32::INFINITY));
            for (rankings, packed, probe) in &mut tiles {
                let spans = self.boxes.spans(level, group, probe);
                let mut open = false;
                for (q, ranking) in rankings.iter_mut().enumerate() {
                    open |= ranking.decide(spans.nearest[q], spans.farthest[q], rows);
                }
                if !open {
                    continue;
                }
                let (panels, norms) =
                    (&self.panels[first * dim..end * dim], &self.norms[first..end]);
                filter_kernel::all_sums(level, packed, panels, norms, &mut sums);
                for (ranking, sums) in rankings.iter_mut().zip(&sums) {
                    ranking.count(level, sums, first, self);
                }
            }
        }
        Ok(())
    }
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
