//! Exact k nearest neighbours, with one rule for ties.
//!
//! The neighbours of a point are the k rows with the smallest (squared distance, index), the point
//! itself left out. The squared distance is [`squared_distance`] on the rows as given, in double
//! precision and in one fixed order of summation, so every [`Algorithm`] returns the same bits.

mod boxes;
mod brute;
mod kd_tree;
mod order;
mod product;
mod waiting;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Mutex;

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::matrix::try_zeros;
use crate::points::Points;
use crate::task::Task;

pub use brute::Brute;
pub use kd_tree::KdTree;

/// How the neighbours are searched. The answer does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// One of the two by the number of columns, see [`Algorithm::choose`].
    #[default]
    Auto,
    /// kiddo's immutable k-d tree, for few columns.
    KdTree,
    /// A blocked matrix product as a filter, then exact distances.
    Brute,
}

impl Algorithm {
    /// What [`Algorithm::Auto`] becomes for points in `dim` columns.
    ///
    /// On continuous data brute force, which leaves out what is far, is the faster one (`benches/crossover.py` with
    /// AVX-512: the tree takes 1.2 to 1.7 times its time in 2 and 3 columns, 1.7 to 5 times in more). In few columns
    /// points often coincide, and there the tree, which groups them, is up to 30 times faster.
    pub fn choose(self, dim: usize) -> Algorithm {
        match self {
            Algorithm::Auto if dim <= MOST_COLUMNS_FOR_TREE => Algorithm::KdTree,
            Algorithm::Auto => Algorithm::Brute,
            chosen => chosen,
        }
    }
}

/// Columns up to which [`Algorithm::Auto`] is the tree.
const MOST_COLUMNS_FOR_TREE: usize = 3;

/// In the place of a row number where there is no neighbour; its squared distance is infinite.
pub const MISSING: u32 = u32::MAX;

/// The k nearest rows of each query, nearest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbors {
    /// Row numbers, one line of k per query.
    pub indices: Array2<u32>,
    /// Squared distances, in the same places.
    pub squared_distances: Array2<f64>,
}

impl Neighbors {
    fn from_lines(k: usize, indices: Vec<u32>, squared: Vec<f64>) -> Self {
        let (shape, shaped) = ((indices.len() / k, k), "one line of k per query");
        Self {
            indices: Array2::from_shape_vec(shape, indices).expect(shaped),
            squared_distances: Array2::from_shape_vec(shape, squared).expect(shaped),
        }
    }
}

/// Whose neighbours are wanted.
#[derive(Debug, Clone, Copy)]
pub enum Queries<'a> {
    /// Every row's, the row itself left out.
    All,
    /// Those of some rows, the row itself left out.
    Rows(&'a [u32]),
    /// Those of other points, checked by [`Points::queries`]; one equal to a row has that row as a neighbour.
    Points(&'a Points<'a>),
    /// The same among the rows at most a squared distance away, one for each query. There may be fewer than k.
    Within(&'a Points<'a>, &'a [f64]),
}

/// One query.
struct Query<'q> {
    point: &'q [f64],
    /// The row that is the query itself.
    own: Option<u32>,
    /// The largest squared distance of a neighbour.
    bound: f64,
}

impl<'a> Queries<'a> {
    /// How many there are over `points`.
    pub fn count(&self, points: &Points) -> usize {
        match self {
            Queries::All => points.len(),
            Queries::Rows(rows) => rows.len(),
            Queries::Points(queries) | Queries::Within(queries, _) => queries.len(),
        }
    }

    /// One query over `points`.
    fn get<'q>(&self, points: &'q Points, number: usize) -> Query<'q>
    where
        'a: 'q,
    {
        let row = |row: u32| Query {
            point: points.row(row as usize),
            own: Some(row),
            bound: f64::INFINITY,
        };
        match self {
            Queries::All => row(number as u32),
            Queries::Rows(rows) => row(rows[number]),
            Queries::Points(queries) => {
                Query { point: queries.row(number), own: None, bound: f64::INFINITY }
            }
            Queries::Within(queries, bounds) => {
                Query { point: queries.row(number), own: None, bound: bounds[number] }
            }
        }
    }
}

/// A structure that answers neighbour queries over one set of points.
pub trait NeighborIndex: Sync {
    /// The k nearest rows of every query.
    fn search(&self, queries: Queries, k: usize, task: &Task) -> Result<Neighbors>;
}

/// The k nearest rows of `points` to each of `queries`, on the current rayon pool.
///
/// ```
/// use ndarray::array;
/// use shopca_rs::neighbors::{self, Algorithm, Queries};
/// use shopca_rs::{Points, Task};
///
/// let x = array![[0.0], [1.0], [3.0], [7.0]];
/// let points = Points::new(x.view())?;
/// let found = neighbors::search(&points, Queries::All, 2, Algorithm::Auto, &Task::new())?;
/// assert_eq!(found.indices, array![[1, 2], [0, 2], [1, 0], [2, 1]]);
/// # Ok::<(), shopca_rs::Error>(())
/// ```
pub fn search(
    points: &Points,
    queries: Queries,
    k: usize,
    algorithm: Algorithm,
    task: &Task,
) -> Result<Neighbors> {
    match queries {
        Queries::All | Queries::Rows(_) => check_k(k, points.len())?,
        Queries::Points(queries) | Queries::Within(queries, _) => {
            let (expected, given) = (points.dim(), queries.dim());
            if expected != given {
                return Err(Error::QueryColumns { expected, given });
            }
            if k == 0 || k > points.len() {
                return Err(Error::BadQueryNeighbors { k, most: points.len() });
            }
        }
    }
    if let Queries::Within(queries, bounds) = queries
        && bounds.len() != queries.len()
    {
        return Err(Error::QueryBounds { expected: queries.len(), given: bounds.len() });
    }
    match algorithm.choose(points.dim()) {
        Algorithm::KdTree => KdTree::new(points, task)?.search(queries, k, task),
        _ => Brute::new(points, task)?.search(queries, k, task),
    }
}

/// Neighbours somebody else found, used as they are once every one is a row of `points`.
pub fn as_given(points: &Points, k: usize, given: ArrayView2<i64>) -> Result<Array2<u32>> {
    check_shape(points, k, given)?;
    row_numbers("neighbors", given, points.len())
}

/// The same for some rows only; all of `given` is checked, only those rows are copied.
pub fn as_given_rows(
    points: &Points,
    rows: &[u32],
    k: usize,
    given: ArrayView2<i64>,
) -> Result<Array2<u32>> {
    check_shape(points, k, given)?;
    check_rows("neighbors", given, points.len())?;
    Ok(Array2::from_shape_fn((rows.len(), k), |(line, place)| {
        given[[rows[line] as usize, place]] as u32
    }))
}

/// There must be a line of k for each point.
fn check_shape(points: &Points, k: usize, given: ArrayView2<i64>) -> Result<()> {
    check_k(k, points.len())?;
    let (given_rows, given_columns) = given.dim();
    if (given_rows, given_columns) != (points.len(), k) {
        return Err(Error::NeighborShape { rows: points.len(), k, given_rows, given_columns });
    }
    Ok(())
}

/// The entries of the argument `what`, once every one numbers one of `rows` rows.
pub(crate) fn row_numbers(
    what: &'static str,
    given: ArrayView2<i64>,
    rows: usize,
) -> Result<Array2<u32>> {
    check_rows(what, given, rows)?;
    Ok(given.mapv(|index| index as u32))
}

fn check_rows(what: &'static str, given: ArrayView2<i64>, rows: usize) -> Result<()> {
    let most = rows - 1;
    match given.indexed_iter().find(|(_, index)| !(0..rows as i64).contains(index)) {
        Some(((row, _), &index)) => Err(Error::IndexOutOfRange { what, index, row, most }),
        None => Ok(()),
    }
}

/// k must leave a covariance, and there must be that many other points.
fn check_k(k: usize, rows: usize) -> Result<()> {
    if k < 2 {
        return Err(Error::TooFewNeighbors { k });
    }
    if k > rows - 1 {
        return Err(Error::TooManyNeighbors { k, most: rows - 1 });
    }
    Ok(())
}

/// Σ (aⱼ − bⱼ)² in eight interleaved partial sums: the one definition of distance here.
///
/// No fused multiply-add, so the bits are the same on every processor.
#[inline]
pub fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            let difference = a[lane] - b[lane];
            sums[lane] += difference * difference;
        }
    }
    for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        let difference = a - b;
        sums[lane] += difference * difference;
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

/// A possible neighbour, ordered by (squared distance, index).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    squared: f64,
    index: u32,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.squared.total_cmp(&other.squared).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best `capacity` candidates seen so far. The order in which they come does not matter.
#[derive(Debug)]
struct Nearest {
    capacity: usize,
    heap: BinaryHeap<Candidate>,
}

impl Nearest {
    fn new(capacity: usize) -> Self {
        Self { capacity, heap: BinaryHeap::new() }
    }

    /// The squared distance a candidate must not exceed to be of interest.
    #[inline]
    fn worst(&self) -> f64 {
        match self.heap.peek() {
            Some(last) if self.heap.len() == self.capacity => last.squared,
            _ => f64::INFINITY,
        }
    }

    #[inline]
    fn offer(&mut self, candidate: Candidate) {
        if self.heap.len() < self.capacity {
            self.heap.push(candidate);
        } else if let Some(mut last) = self.heap.peek_mut()
            && candidate < *last
        {
            *last = candidate;
        }
    }

    /// Nearest first; leaves the collection empty for the next query.
    fn drain_sorted(&mut self, sorted: &mut Vec<Candidate>) {
        sorted.clear();
        sorted.extend(self.heap.drain());
        sorted.sort_unstable();
    }
}

/// Fills one line per query, in parallel blocks of at most `block` queries.
///
/// `fill` gets the numbers of its queries and the lines to write.
fn fill_blocks<F>(queries: usize, k: usize, block: usize, task: &Task, fill: F) -> Result<Neighbors>
where
    F: Fn(Range<usize>, &mut [u32], &mut [f64]) -> Result<()> + Sync,
{
    let mut indices = try_zeros::<u32>(queries * k)?;
    let mut squared = try_zeros::<f64>(queries * k)?;
    indices
        .par_chunks_mut(block * k)
        .zip(squared.par_chunks_mut(block * k))
        .enumerate()
        .try_for_each(|(number, (indices, squared))| {
            let (first, count) = (number * block, indices.len() / k);
            fill(first..first + count, indices, squared)?;
            task.advance(count)
        })?;
    Ok(Neighbors::from_lines(k, indices, squared))
}

/// Fills the line of every query, in parallel blocks of at most `block` queries that follow each other in `order`.
///
/// `fill` gets the numbers of its queries and the lines to write.
fn fill_in_order<F>(
    order: &[u32],
    k: usize,
    block: usize,
    task: &Task,
    fill: F,
) -> Result<Neighbors>
where
    F: Fn(&[u32], &mut [u32], &mut [f64]) -> Result<()> + Sync,
{
    let all = order.len() * k;
    let lines = Mutex::new((try_zeros::<u32>(all)?, try_zeros::<f64>(all)?));
    order.par_chunks(block).try_for_each(|numbers| {
        let mut indices = vec![0; numbers.len() * k];
        let mut squared = vec![0.0; numbers.len() * k];
        fill(numbers, &mut indices, &mut squared)?;
        let (all_indices, all_squared) =
            &mut *lines.lock().expect("no thread panics while it copies");
        let found = indices.chunks_exact(k).zip(squared.chunks_exact(k));
        for (number, (indices, squared)) in numbers.iter().zip(found) {
            let line = *number as usize * k..(*number as usize + 1) * k;
            all_indices[line.clone()].copy_from_slice(indices);
            all_squared[line].copy_from_slice(squared);
        }
        task.advance(numbers.len())
    })?;
    let (indices, squared) = lines.into_inner().expect("no thread panics while it copies");
    Ok(Neighbors::from_lines(k, indices, squared))
}

/// Writes sorted candidates, those within the bound, to one line of the result.
fn write_line(sorted: &[Candidate], bound: f64, indices: &mut [u32], squared: &mut [f64]) {
    let missing = Candidate { squared: f64::INFINITY, index: MISSING };
    let near = sorted.iter().take_while(|candidate| candidate.squared <= bound);
    let line = near.chain(std::iter::repeat(&missing));
    for ((candidate, index), squared) in line.zip(indices).zip(squared) {
        *index = candidate.index;
        *squared = candidate.squared;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_candidates_do_not_depend_on_the_order_they_come_in() {
        let offered: Vec<_> = [(2.0, 4), (1.0, 9), (2.0, 1), (0.0, 7), (2.0, 3)]
            .map(|(squared, index)| Candidate { squared, index })
            .into();
        let mut sorted = Vec::new();
        for shift in 0..offered.len() {
            let mut nearest = Nearest::new(3);
            for at in 0..offered.len() {
                nearest.offer(offered[(at + shift) % offered.len()]);
            }
            nearest.drain_sorted(&mut sorted);
            assert_eq!(sorted.iter().map(|c| c.index).collect::<Vec<_>>(), [7, 9, 1]);
        }
    }

    #[test]
    fn auto_takes_the_tree_only_in_few_columns() {
        assert_eq!(Algorithm::Auto.choose(3), Algorithm::KdTree);
        assert_eq!(Algorithm::Auto.choose(4), Algorithm::Brute);
        assert_eq!(Algorithm::KdTree.choose(30), Algorithm::KdTree);
    }
}
