//! The search of [`super::leaves`]: queries that lie side by side go through the tree together.
//!
//! They begin with the smallest node around them that has enough rows. From then on every query has a threshold, the k-th
//! smallest squared distance so far, and a leaf is visited only by those that it may have a neighbour for.

use ndarray::Array2;

use crate::error::Result;
use crate::matrix::try_zeros;
use crate::points::Points;
use crate::progress::Progress;
use crate::simd::{Level, Vector, Work};

use super::leaves::{LEAF, Leaves, Node, Sides, larger, sum};
use super::queries::{
    MISSING, NeighborIndex, Neighbors, Queries, Query, fill_in_order, fill_rows_in_order,
};
use super::row_order::Marks;
use super::spatial_order::queries_nearby;

/// Queries that one thread answers before it takes others.
const QUERIES_PER_TASK: usize = 32 * LEAF;

/// A row number below its squared distance, so that the order of keys is the order of neighbours.
type Key = u128;

fn key(squared: f64, row: u32) -> Key {
    // Bits of positive numbers are ordered like the numbers.
    Key::from(squared.to_bits()) << u32::BITS | Key::from(row)
}

fn squared_of(key: Key) -> f64 {
    f64::from_bits((key >> u32::BITS) as u64)
}

/// The index for points of one to three columns; none for wider ones and where many rows coincide.
pub(super) fn index<'a>(
    points: &'a Points<'a>,
    progress: &Progress,
) -> Result<Option<Box<dyn NeighborIndex + Send + 'a>>> {
    match points.dim() {
        1 => boxed(Leaves::<1>::new(points, progress)?),
        2 => boxed(Leaves::<2>::new(points, progress)?),
        3 => boxed(Leaves::<3>::new(points, progress)?),
        _ => Ok(None),
    }
}

fn boxed<'a, const D: usize>(
    leaves: Leaves<'a, D>,
) -> Result<Option<Box<dyn NeighborIndex + Send + 'a>>> {
    Ok(if leaves.coincides() { None } else { Some(Box::new(leaves)) })
}

impl<const D: usize> NeighborIndex for Leaves<'_, D> {
    fn search(&self, queries: Queries, k: usize, progress: &Progress) -> Result<Neighbors> {
        let order = queries_nearby(&self.order, queries, LEAF, progress)?;
        fill_in_order(&order, k, QUERIES_PER_TASK, progress, |numbers, indices, squared| {
            let mut search = Search::new(self, k)?;
            let lines = indices.chunks_mut(LEAF * k).zip(squared.chunks_mut(LEAF * k));
            for (numbers, (indices, squared)) in numbers.chunks(LEAF).zip(lines) {
                search.answer(queries, numbers, progress)?;
                search.write(indices, squared);
            }
            Ok(())
        })
    }

    fn lists(&self, centres: &[u32], k: usize, progress: &Progress) -> Result<Array2<u32>> {
        let queries = Queries::Rows(centres);
        let order = queries_nearby(&self.order, queries, LEAF, progress)?;
        fill_rows_in_order(&order, k, QUERIES_PER_TASK, progress, |numbers, rows| {
            let mut search = Search::new(self, k)?;
            let mut marks = Marks::new(self.points.len())?;
            for (numbers, rows) in numbers.chunks(LEAF).zip(rows.chunks_mut(LEAF * k)) {
                search.answer(queries, numbers, progress)?;
                search.write_rows(rows, &mut marks);
            }
            Ok(())
        })
    }
}

/// The queries that are answered together, and what each has found.
pub(super) struct Search<'s, const D: usize> {
    tree: &'s Leaves<'s, D>,
    k: usize,
    count: usize,
    coordinates: [[f64; LEAF]; D],
    around: Sides<D>,
    /// The row that is the query itself, or [`MISSING`].
    own: [u32; LEAF],
    /// The largest squared distance of a neighbour, at most; negative for missing queries.
    thresholds: [f64; LEAF],
    /// Room for the candidates of each query, and how many it has.
    keys: Vec<Key>,
    room: usize,
    found: [usize; LEAF],
    /// Nodes still to be visited, with their squared distance from the box around the queries.
    stack: Vec<(f64, Node)>,
}

impl<'s, const D: usize> Search<'s, D> {
    pub(super) fn new(tree: &'s Leaves<'s, D>, k: usize) -> Result<Self> {
        // A leaf may be added to a list that is almost full.
        let room = 2 * k + 2 * LEAF;
        Ok(Self {
            tree,
            k,
            count: 0,
            coordinates: [[0.0; LEAF]; D],
            around: Sides::EMPTY,
            own: [MISSING; LEAF],
            thresholds: [0.0; LEAF],
            keys: try_zeros(room * LEAF)?,
            room,
            found: [0; LEAF],
            stack: Vec::with_capacity(usize::BITS as usize * 2),
        })
    }

    /// Finds the neighbours of the queries numbered `numbers`.
    fn answer(&mut self, queries: Queries, numbers: &[u32], progress: &Progress) -> Result<()> {
        progress.check()?;
        let points = self.tree.points;
        self.begin(numbers.iter().map(|number| queries.get(points, *number as usize)));
        Level::current().vectorized(Descent(self));
        Ok(())
    }

    /// Takes up the next queries.
    fn begin<'q>(&mut self, queries: impl ExactSizeIterator<Item = Query<'q>>) {
        self.count = queries.len();
        self.found = [0; LEAF];
        self.thresholds = [-1.0; LEAF];
        for (lane, query) in queries.enumerate() {
            for column in 0..D {
                self.coordinates[column][lane] = query.point[column];
            }
            self.own[lane] = query.own.unwrap_or(MISSING);
            self.thresholds[lane] = query.bound.min(f64::MAX);
        }
        self.around = Sides::around(&self.coordinates, self.count);
    }

    /// The smallest node around the queries that surely has k neighbours of each.
    #[inline(always)]
    fn nearest_node(&self) -> Node {
        let mut node = self.tree.root();
        while node.leaves > 1 {
            let [left, right] = node.children();
            let gap = |node: &Node| self.tree.boxes[node.number].squared_gap(&self.around);
            let nearer = if gap(&left) <= gap(&right) { left } else { right };
            if self.tree.rows(nearer) <= self.k {
                break;
            }
            node = nearer;
        }
        node
    }

    #[inline(always)]
    fn descend(&mut self) {
        let start = self.nearest_node();
        for leaf in start.first..start.first + start.leaves {
            self.visit(leaf, u32::MAX);
        }
        for lane in 0..self.count {
            self.thin_out(lane);
        }
        let mut reach = self.reach();
        self.stack.clear();
        self.stack.push((0.0, self.tree.root()));
        while let Some((gap, node)) = self.stack.pop() {
            if gap > reach || node.number == start.number {
                continue;
            }
            if node.leaves == 1 {
                let near = self.near(&self.tree.boxes[node.number]);
                if near != 0 {
                    self.visit(node.first, near);
                    reach = self.reach();
                }
                continue;
            }
            let children = node.children();
            let gaps =
                children.map(|child| self.tree.boxes[child.number].squared_gap(&self.around));
            // The nearer one is visited first.
            let last = usize::from(gaps[1] >= gaps[0]);
            for child in [last, 1 - last] {
                if gaps[child] <= reach {
                    self.stack.push((gaps[child], children[child]));
                }
            }
        }
    }

    /// How far the query looks that looks farthest.
    #[inline(always)]
    fn reach(&self) -> f64 {
        self.thresholds.iter().copied().fold(-1.0, larger)
    }

    /// Bit q: query q reaches into the box.
    #[inline(always)]
    fn near(&self, sides: &Sides<D>) -> u32 {
        let mut gaps = [0.0; LEAF];
        for lane in 0..LEAF {
            gaps[lane] = sum::<D>(std::array::from_fn(|column| {
                let query = self.coordinates[column][lane];
                let gap =
                    larger(larger(sides.low[column] - query, query - sides.high[column]), 0.0);
                gap * gap
            }));
        }
        bits(|lane| gaps[lane] <= self.thresholds[lane])
    }

    /// Offers the rows of a leaf to some queries.
    #[inline(always)]
    fn visit(&mut self, leaf: usize, queries: u32) {
        let columns = &self.tree.leaves[leaf];
        let rows = &self.tree.order[leaf * LEAF..];
        let missing = LEAF - self.count;
        let mut queries = queries & u32::MAX >> missing;
        while queries != 0 {
            let lane = queries.trailing_zeros() as usize;
            queries &= queries - 1;
            let query: [f64; D] = std::array::from_fn(|column| self.coordinates[column][lane]);
            let mut squared = [0.0; LEAF];
            for at in 0..LEAF {
                squared[at] = sum::<D>(std::array::from_fn(|column| {
                    let difference = columns[column][at] - query[column];
                    difference * difference
                }));
            }
            let threshold = self.thresholds[lane];
            let mut passed = bits(|at| squared[at] <= threshold);
            let keys = &mut self.keys[lane * self.room..(lane + 1) * self.room];
            let mut found = self.found[lane];
            while passed != 0 {
                let at = passed.trailing_zeros() as usize;
                passed &= passed - 1;
                keys[found] = key(squared[at], rows[at]);
                found += usize::from(rows[at] != self.own[lane]);
            }
            self.found[lane] = found;
            if found + LEAF >= self.room {
                self.thin_out(lane);
            }
        }
    }

    /// Drops the candidates that k others beat.
    #[inline(always)]
    fn thin_out(&mut self, lane: usize) {
        let keys = &mut self.keys[lane * self.room..][..self.found[lane]];
        if keys.len() >= self.k {
            let worst = *keys.select_nth_unstable(self.k - 1).1;
            self.found[lane] = self.k;
            self.thresholds[lane] = squared_of(worst);
        }
    }

    /// Writes a line for each query, in ascending order of the rows. Every query has k neighbours.
    fn write_rows(&mut self, rows: &mut [u32], marks: &mut Marks) {
        for (lane, rows) in rows.chunks_exact_mut(self.k).enumerate() {
            self.thin_out(lane);
            let keys = &self.keys[lane * self.room..][..self.k];
            for (key, row) in keys.iter().zip(&mut *rows) {
                *row = *key as u32;
            }
            marks.sort(rows);
        }
    }

    /// Writes a line for each query, nearest first.
    pub(super) fn write(&mut self, indices: &mut [u32], squared: &mut [f64]) {
        let lines = indices.chunks_exact_mut(self.k).zip(squared.chunks_exact_mut(self.k));
        for (lane, (indices, squared)) in lines.enumerate() {
            self.thin_out(lane);
            let keys = &mut self.keys[lane * self.room..][..self.found[lane]];
            keys.sort_unstable();
            for ((key, index), squared) in keys.iter().zip(&mut *indices).zip(&mut *squared) {
                *index = *key as u32;
                *squared = squared_of(*key);
            }
            indices[keys.len()..].fill(MISSING);
            squared[keys.len()..].fill(f64::INFINITY);
        }
    }
}

/// The lanes in which something holds.
#[inline(always)]
fn bits(holds: impl Fn(usize) -> bool) -> u32 {
    let mut bits = 0;
    for lane in 0..LEAF {
        bits |= u32::from(holds(lane)) << lane;
    }
    bits
}

/// [`Search::descend`], compiled for the instructions of a level.
struct Descent<'s, 't, const D: usize>(&'s mut Search<'t, D>);

impl<const D: usize> Work for Descent<'_, '_, D> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        self.0.descend();
    }
}

#[cfg(test)]
mod tests {
    use super::super::leaves::MOST_COLUMNS;
    use super::super::{Algorithm, index as index_of, search};
    use super::*;

    fn cloud(rows: usize, columns: usize, levels: usize) -> Array2<f64> {
        // Whole numbers below `levels`: many distances are equal.
        Array2::from_shape_fn((rows, columns), |(i, j)| {
            let mixed = (i * 7919 + j * 104_729 + i * i * 31) % 100_003;
            (mixed * levels / 100_003) as f64
        })
    }

    #[test]
    fn neighbours_are_those_of_brute_force() {
        let progress = Progress::new();
        for columns in 1..=MOST_COLUMNS {
            for (rows, levels) in [(3, 50), (32, 9), (33, 1000), (2000, 30), (2000, 100_000)] {
                let x = cloud(rows, columns, levels);
                let others = cloud(150, columns, 2 * levels);
                let points = Points::new(x.view()).unwrap();
                let asked = points.queries(others.view()).unwrap();
                let bounds = vec![(levels * levels) as f64 / 400.0; asked.len()];
                let some: Vec<u32> = (0..rows as u32).rev().step_by(3).collect();
                let all = [
                    Queries::All,
                    Queries::Rows(&some),
                    Queries::Points(&asked),
                    Queries::Within(&asked, &bounds),
                ];
                let leaves = index(&points, &progress).unwrap();
                // One column of few levels has too many rows that coincide.
                let Some(leaves) = leaves else { continue };
                for k in [1, 31, 300].map(|k: usize| k.min(rows - 1)) {
                    let brute = index_of(&points, Algorithm::Brute, &progress).unwrap();
                    let expected = brute.lists(&some, k, &progress).unwrap();
                    let found = leaves.lists(&some, k, &progress).unwrap();
                    assert_eq!(found, expected, "{rows} × {columns}, {levels}, k = {k}");
                    assert!(found.rows().into_iter().all(|row| row.iter().is_sorted()));
                }
                for queries in all {
                    for k in [2, 31, 300].map(|k: usize| k.min(rows - 1)) {
                        let found = leaves.search(queries, k, &progress).unwrap();
                        let brute = search(&points, queries, k, Algorithm::Brute, &progress);
                        assert_eq!(found, brute.unwrap(), "{rows} × {columns}, {levels}, k = {k}");
                    }
                }
            }
        }
    }

    #[test]
    fn sums_have_the_bits_of_the_one_definition_of_distance() {
        for at in 0..1000 {
            let a: [f64; 3] = std::array::from_fn(|j| ((at * 37 + j * 101) as f64).sin());
            let expected = super::super::squared_distance(&a, &[0.0; 3]);
            assert_eq!(sum(a.map(|value| value * value)).to_bits(), expected.to_bits());
        }
    }

    #[test]
    fn many_rows_that_coincide_are_left_to_another_tree() {
        let progress = Progress::new();
        for (copies, expected) in [(1, true), (2, true), (100, false), (1000, false)] {
            let x = Array2::from_shape_fn((4000, 2), |(i, j)| ((i / copies * 37 + j) as f64).sin());
            let points = Points::new(x.view()).unwrap();
            assert_eq!(index(&points, &progress).unwrap().is_some(), expected, "{copies}");
        }
    }

    #[test]
    fn a_cancelled_search_stops() {
        let x = cloud(500, 2, 1000);
        let points = Points::new(x.view()).unwrap();
        let index = index(&points, &Progress::new()).unwrap().unwrap();
        let progress = Progress::new();
        progress.cancel();
        assert!(index.search(Queries::All, 3, &progress).is_err());
    }
}
