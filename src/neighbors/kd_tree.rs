//! kiddo's immutable k-d tree, made exact under ties.
//!
//! kiddo fixes the dimension at compile time, so rows are padded with zero columns, which change no
//! distance, to the next compiled size. It also breaks ties in its own way and may sum a distance in
//! another order; so it only proposes candidates, with enough slack that none is missed, and the
//! tie rule of the parent module decides. Equal rows share one place in the tree: data with many
//! duplicates costs no more than its distinct rows.

use std::hash::{DefaultHasher, Hasher};
use std::num::NonZero;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use kiddo::{ImmutableKdTree, SquaredEuclidean};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::points::Points;
use crate::task::Task;

use super::{
    Candidate, Nearest, NeighborIndex, Neighbors, Queries, Query, fill_blocks, squared_distance,
    write_line,
};

/// Distinct rows answered between two looks at the task.
const QUERIES_PER_BLOCK: usize = 256;

/// Candidates asked of the tree beyond those needed: if the last is strictly farther than the
/// farthest neighbour, nothing outside the answer can tie with it.
const SPARE: usize = 1;

/// A k-d tree over the distinct rows of some points.
pub struct KdTree<'a> {
    points: &'a Points<'a>,
    distinct: Distinct,
    tree: Box<dyn Tree>,
}

/// Rows grouped by equality: group g is `members[starts[g]..starts[g + 1]]`, ascending row numbers.
struct Distinct {
    members: Vec<u32>,
    starts: Vec<u32>,
}

/// A kiddo tree with its dimension hidden.
trait Tree: Send + Sync {
    /// Calls `visit` with the `count` nearest groups; returns the largest squared distance among them.
    fn nearest(&self, query: &[f64], count: usize, visit: &mut dyn FnMut(usize)) -> f64;

    /// Calls `visit` with every group at most `squared` away.
    fn within(&self, query: &[f64], squared: f64, visit: &mut dyn FnMut(usize));
}

struct Padded<const K: usize>(ImmutableKdTree<f64, K>);

fn pad<const K: usize>(row: &[f64]) -> [f64; K] {
    let mut padded = [0.0; K];
    padded[..row.len()].copy_from_slice(row);
    padded
}

impl<const K: usize> Tree for Padded<K> {
    fn nearest(&self, query: &[f64], count: usize, visit: &mut dyn FnMut(usize)) -> f64 {
        let count = NonZero::new(count).expect("at least one candidate is asked for");
        let found = self.0.query(&pad(query)).nearest_n::<SquaredEuclidean<f64>>(count).execute();
        found.iter().fold(0.0, |farthest, result| {
            visit(result.item as usize);
            farthest.max(result.distance)
        })
    }

    fn within(&self, query: &[f64], squared: f64, visit: &mut dyn FnMut(usize)) {
        let found =
            self.0.query(&pad(query)).within::<SquaredEuclidean<f64>>(squared).unsorted().execute();
        for result in found {
            visit(result.item as usize);
        }
    }
}

/// Builds the tree of the smallest compiled size that holds `dim` columns.
macro_rules! build_padded {
    ($points:expr, $distinct:expr, $task:expr; $($size:literal)+) => {
        match $points.dim() {
            $(dim if dim <= $size => build::<$size>($points, $distinct, $task),)+
            columns => Err(Error::TooManyColumnsForTree { columns, most: MOST_COLUMNS }),
        }
    };
}

const MOST_COLUMNS: usize = 32;

impl<'a> KdTree<'a> {
    /// Groups equal rows and builds the tree over the groups.
    pub fn new(points: &'a Points<'a>, task: &Task) -> Result<Self> {
        let distinct = Distinct::new(points);
        let tree = build_padded!(points, &distinct, task; 2 3 4 6 8 12 16 24 32)?;
        Ok(Self { points, distinct, tree })
    }

    /// Offers `nearest` the best rows for one query, the row `own` left out.
    fn offer_nearest(&self, query: &[f64], own: Option<u32>, nearest: &mut Nearest) {
        let groups = self.distinct.len();
        let wanted = nearest.capacity;
        let offer = |nearest: &mut Nearest, group: usize| {
            let members = self.distinct.members(group);
            let squared = squared_distance(query, self.points.row(members[0] as usize));
            for &index in members.iter().filter(|&&index| Some(index) != own).take(wanted) {
                nearest.offer(Candidate { squared, index });
            }
        };
        let asked = (wanted + usize::from(own.is_some()) + SPARE).min(groups);
        let farthest = self.tree.nearest(query, asked, &mut |group| offer(nearest, group));
        // Groups that were not returned are at least `farthest` away, up to the rounding of two sums.
        let slack = 1.0 + 8.0 * (query.len() + 8) as f64 * f64::EPSILON;
        let reach = nearest.worst() * slack;
        if asked < groups && reach >= farthest {
            nearest.heap.clear();
            let radius = reach + f64::MIN_POSITIVE;
            self.tree.within(query, radius, &mut |group| offer(nearest, group));
        }
    }

    /// Answers a list of queries.
    fn fill<'q>(
        &self,
        k: usize,
        queries: impl Iterator<Item = Query<'q>>,
        indices: &mut [u32],
        squared: &mut [f64],
    ) {
        let mut nearest = Nearest::new(k);
        let mut sorted = Vec::with_capacity(k);
        let lines = indices.chunks_exact_mut(k).zip(squared.chunks_exact_mut(k));
        for (query, (indices, squared)) in queries.zip(lines) {
            self.offer_nearest(query.point, query.own, &mut nearest);
            nearest.drain_sorted(&mut sorted);
            write_line(&sorted, query.bound, indices, squared);
        }
    }
}

impl NeighborIndex for KdTree<'_> {
    fn search(&self, queries: Queries, k: usize, task: &Task) -> Result<Neighbors> {
        let count = queries.count(self.points);
        fill_blocks(count, k, QUERIES_PER_BLOCK, task, |block, indices, squared| {
            let queries = block.map(|number| queries.get(self.points, number));
            self.fill(k, queries, indices, squared);
            Ok(())
        })
    }
}

impl Distinct {
    fn new(points: &Points) -> Self {
        // Rows are equal where their distance is zero; adding zero turns −0 into +0.
        let mut keyed: Vec<(u64, u32)> = (0..points.len() as u32)
            .into_par_iter()
            .map(|index| {
                let mut hasher = DefaultHasher::new();
                for value in points.row(index as usize) {
                    hasher.write_u64((value + 0.0).to_bits());
                }
                (hasher.finish(), index)
            })
            .collect();
        let same_row = |a: u32, b: u32| points.row(a as usize) == points.row(b as usize);
        keyed.par_sort_unstable();
        // Rows of one hash are nearly always one group; a collision only splits a group in two.
        let mut starts: Vec<u32> = vec![0];
        for (at, pair) in keyed.windows(2).enumerate() {
            if pair[0].0 != pair[1].0 || !same_row(pair[0].1, pair[1].1) {
                starts.push(at as u32 + 1);
            }
        }
        starts.push(keyed.len() as u32);
        Self { members: keyed.into_iter().map(|(_, index)| index).collect(), starts }
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn members(&self, group: usize) -> &[u32] {
        &self.members[self.starts[group] as usize..self.starts[group + 1] as usize]
    }
}

/// Builds the tree on a thread of its own, which a cancelled task does not wait for: kiddo's
/// construction cannot be interrupted, and the copy it works on is its own.
fn build<const K: usize>(
    points: &Points,
    distinct: &Distinct,
    task: &Task,
) -> Result<Box<dyn Tree>> {
    let rows: Vec<[f64; K]> = (0..distinct.len())
        .map(|group| pad(points.row(distinct.members(group)[0] as usize)))
        .collect();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // The receiver is gone if the task was cancelled; then nobody wants the tree.
        let _ = sender.send(ImmutableKdTree::new_from_slice(&rows));
    });
    loop {
        match receiver.recv_timeout(Duration::from_millis(20)) {
            Ok(tree) => {
                let tree = tree.expect("fewer rows than 2³², checked by Points");
                return Ok(Box::new(Padded::<K>(tree)));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => task.check()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("building the k-d tree panicked"),
        }
    }
}
