//! kiddo's immutable k-d tree, made exact under ties.
//!
//! kiddo fixes the dimension at compile time, so rows are padded with zero columns, which change no
//! distance, to the next compiled size. It also breaks ties in its own way and may sum a distance in
//! another order; so it only proposes candidates, with enough slack that none is missed, and the
//! tie rule of the parent module decides. Equal rows share one place in the tree: data with many
//! duplicates costs no more than its distinct rows.
//!
//! Building a tree cannot be interrupted, so there is one for each part of space with at most [`ROWS_PER_TREE`] rows.

use std::hash::{DefaultHasher, Hasher};
use std::num::NonZero;
use std::ops::Range;

use kiddo::{ImmutableKdTree, SquaredEuclidean};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::matrix::{check_room, try_copied, try_with_capacity, try_zeros};
use crate::points::Points;
use crate::progress::Progress;

use super::candidate::{Candidate, Nearest, squared_distance};
use super::queries::{NeighborIndex, Neighbors, Queries, Query, fill_blocks, write_line};
use super::spatial_order::arrange;

/// Queries that one thread answers before it takes others.
const QUERIES_PER_BLOCK: usize = 256;

/// Distinct rows in one tree: it is built in about a tenth of a second.
const ROWS_PER_TREE: usize = 1 << 17;

/// Candidates asked of the tree beyond those needed: if the last is strictly farther than the
/// farthest neighbour, nothing outside the answer can tie with it.
const SPARE: usize = 1;

/// Memory that building a tree takes, in copies of its padded rows.
const COPIES_WHILE_BUILDING: usize = 4;

/// K-d trees over the distinct rows of some points.
pub struct KdTree<'a> {
    points: &'a Points<'a>,
    distinct: Distinct,
    parts: Vec<Part>,
}

/// Rows grouped by equality: group g is `members[starts[g]..starts[g + 1]]`, ascending row numbers.
struct Distinct {
    members: Vec<u32>,
    starts: Vec<u32>,
}

/// Consecutive groups, which lie in one part of space.
struct Part {
    groups: Range<usize>,
    /// The smallest and the largest entry of every column.
    sides: Vec<(f64, f64)>,
    tree: Box<dyn Tree>,
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
    ($points:expr, $rows:expr; $($size:literal)+) => {
        match $points.dim() {
            $(dim if dim <= $size => build::<$size>($points, $rows),)+
            columns => Err(Error::TooManyColumnsForTree { columns, most: MOST_COLUMNS }),
        }
    };
}

const MOST_COLUMNS: usize = 32;

impl<'a> KdTree<'a> {
    /// Groups equal rows and builds trees over the groups.
    pub fn new(points: &'a Points<'a>, progress: &Progress) -> Result<Self> {
        Self::with_rows_per_tree(points, ROWS_PER_TREE, progress)
    }

    fn with_rows_per_tree(
        points: &'a Points<'a>,
        rows: usize,
        progress: &Progress,
    ) -> Result<Self> {
        if points.dim() > MOST_COLUMNS {
            let columns = points.dim();
            return Err(Error::TooManyColumnsForTree { columns, most: MOST_COLUMNS });
        }
        let distinct = Distinct::new(points)?.arranged(points, rows, progress)?;
        let build_part = |start: usize| {
            progress.check()?;
            let groups = start..distinct.len().min(start + rows);
            let first_rows = groups.clone().map(|group| distinct.members(group)[0]);
            let first_rows = try_copied(first_rows)?;
            let tree = build_padded!(points, &first_rows; 2 3 4 6 8 12 16 24 32)?;
            Ok(Part { groups, sides: points.bounds_of(&first_rows), tree })
        };
        let starts = (0..distinct.len()).into_par_iter().step_by(rows);
        let parts = starts.map(build_part).collect::<Result<_>>()?;
        Ok(Self { points, distinct, parts })
    }

    /// Offers `nearest` the best rows for one query, the row `own` left out.
    fn offer_nearest(&self, query: &[f64], own: Option<u32>, nearest: &mut Nearest) {
        let wanted = nearest.capacity;
        let offer = |nearest: &mut Nearest, part: &Part, place: usize| {
            let members = self.distinct.members(part.groups.start + place);
            let squared = squared_distance(query, self.points.row(members[0] as usize));
            for &index in members.iter().filter(|&&index| Some(index) != own).take(wanted) {
                nearest.offer(Candidate { squared, index });
            }
        };
        // How far a tree may see what is this near: the roundings of two sums, and of squares that underflow.
        let slack = 1.0 + 8.0 * (query.len() + 8) as f64 * f64::EPSILON;
        let reach = |nearest: &Nearest| nearest.worst() * slack + f64::MIN_POSITIVE;
        // Rows that a tree did not return are at least this far away.
        let mut unseen = f64::INFINITY;
        let own_part = self.nearest_part(query);
        let others = (0..self.parts.len()).filter(|part| *part != own_part);
        for part in std::iter::once(own_part).chain(others).map(|part| &self.parts[part]) {
            if nearest.is_full() {
                let radius = reach(nearest);
                if part.squared_gap(query) <= radius {
                    part.tree.within(query, radius, &mut |place| offer(nearest, part, place));
                }
                continue;
            }
            let groups = part.groups.len();
            let asked = (wanted + usize::from(own.is_some()) + SPARE).min(groups);
            let farthest =
                part.tree.nearest(query, asked, &mut |place| offer(nearest, part, place));
            if asked < groups {
                unseen = unseen.min(farthest);
            }
        }
        let radius = reach(nearest);
        if unseen <= radius {
            nearest.heap.clear();
            for part in self.parts.iter().filter(|part| part.squared_gap(query) <= radius) {
                part.tree.within(query, radius, &mut |place| offer(nearest, part, place));
            }
        }
    }

    /// The part whose box is nearest to the query.
    fn nearest_part(&self, query: &[f64]) -> usize {
        if self.parts.len() == 1 {
            return 0;
        }
        let gaps = self.parts.iter().map(|part| part.squared_gap(query));
        let nearest = gaps.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        nearest.expect("there is a row").0
    }

    /// Answers a list of queries.
    fn fill<'q>(
        &self,
        k: usize,
        queries: impl Iterator<Item = Query<'q>>,
        progress: &Progress,
        indices: &mut [u32],
        squared: &mut [f64],
    ) -> Result<()> {
        let mut nearest = Nearest::new(k);
        nearest.reserve()?;
        let mut sorted = try_with_capacity(k)?;
        let lines = indices.chunks_exact_mut(k).zip(squared.chunks_exact_mut(k));
        for (query, (indices, squared)) in queries.zip(lines) {
            progress.check()?;
            self.offer_nearest(query.point, query.own, &mut nearest);
            nearest.drain_sorted(&mut sorted);
            write_line(&sorted, query.bound, indices, squared);
        }
        Ok(())
    }
}

impl Part {
    /// Σ of the squared gaps between the query and the box.
    fn squared_gap(&self, query: &[f64]) -> f64 {
        let gaps = query.iter().zip(&self.sides);
        gaps.map(|(q, (low, high))| (low - q).max(q - high).max(0.0).powi(2)).sum()
    }
}

impl NeighborIndex for KdTree<'_> {
    fn search(&self, queries: Queries, k: usize, progress: &Progress) -> Result<Neighbors> {
        let count = queries.count(self.points);
        fill_blocks(count, k, QUERIES_PER_BLOCK, progress, |block, indices, squared| {
            let queries = block.map(|number| queries.get(self.points, number));
            self.fill(k, queries, progress, indices, squared)
        })
    }
}

impl Distinct {
    fn new(points: &Points) -> Result<Self> {
        let mut keyed = try_zeros::<(u64, u32)>(points.len())?;
        keyed.par_iter_mut().enumerate().for_each(|(index, key)| {
            let mut hasher = DefaultHasher::new();
            for value in points.row(index) {
                // Adding zero turns −0 into +0.
                hasher.write_u64((value + 0.0).to_bits());
            }
            *key = (hasher.finish(), index as u32);
        });
        let same_row = |a: u32, b: u32| points.row(a as usize) == points.row(b as usize);
        keyed.par_sort_unstable();
        // Rows of one hash are nearly always one group; a collision only splits a group in two.
        let mut starts: Vec<u32> = try_with_capacity(points.len() + 1)?;
        starts.push(0);
        for (at, pair) in keyed.windows(2).enumerate() {
            if pair[0].0 != pair[1].0 || !same_row(pair[0].1, pair[1].1) {
                starts.push(at as u32 + 1);
            }
        }
        starts.push(keyed.len() as u32);
        Ok(Self { members: try_copied(keyed.into_iter().map(|(_, index)| index))?, starts })
    }

    /// The same groups in an order in which every run of `rows` groups lies in one part of space.
    fn arranged(self, points: &Points, rows: usize, progress: &Progress) -> Result<Self> {
        if self.len() <= rows {
            return Ok(self);
        }
        let mut order = try_copied(0..self.len() as u32)?;
        let coordinate = |group: &u32, column: usize| {
            points.row(self.members(*group as usize)[0] as usize)[column]
        };
        arrange(&mut order, points.dim(), &coordinate, rows, progress)?;
        let mut members = try_with_capacity(self.members.len())?;
        let mut starts = try_with_capacity(self.starts.len())?;
        starts.push(0);
        for group in order {
            members.extend_from_slice(self.members(group as usize));
            starts.push(members.len() as u32);
        }
        Ok(Self { members, starts })
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn members(&self, group: usize) -> &[u32] {
        &self.members[self.starts[group] as usize..self.starts[group + 1] as usize]
    }
}

fn build<const K: usize>(points: &Points, rows: &[u32]) -> Result<Box<dyn Tree>> {
    let padded: Vec<[f64; K]> = try_copied(rows.iter().map(|row| pad(points.row(*row as usize))))?;
    // kiddo's own allocations would abort the process.
    check_room(COPIES_WHILE_BUILDING * size_of_val(padded.as_slice()))?;
    let tree = ImmutableKdTree::new_from_slice(&padded);
    Ok(Box::new(Padded::<K>(tree.expect("fewer rows than 2³², checked by Points"))))
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::neighbors::Brute;

    #[test]
    fn the_number_of_trees_changes_no_neighbour() {
        // Distinct points, a lattice full of ties, and copies: what is near may lie in any tree.
        let entries: [fn(usize, usize) -> f64; 3] = [
            |i, j| ((i * 37 + j * 101) as f64 * 0.7).sin(),
            |i, j| (i / 7_usize.pow(j as u32) % 7) as f64,
            |i, j| (i % 5 * (j + 1)) as f64,
        ];
        for entry in entries {
            let x = Array2::from_shape_fn((300, 3), |(i, j)| entry(i, j));
            let (points, progress) = (Points::new(x.view()).unwrap(), Progress::new());
            for k in [2, 9, 120, 299] {
                let brute = Brute::new(&points, &progress).unwrap();
                let expected = brute.search(Queries::All, k, &progress).unwrap();
                for rows in [1000, 150, 64, 11, 1] {
                    let trees = KdTree::with_rows_per_tree(&points, rows, &progress).unwrap();
                    assert_eq!(trees.search(Queries::All, k, &progress).unwrap(), expected);
                }
            }
        }
    }
}
