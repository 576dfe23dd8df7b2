//! The search of [`super::leaves`]: queries that lie side by side go through the tree together.
//!
//! They begin with the smallest node around them that has enough rows. From then on every query has a threshold, the
//! k-th smallest squared distance so far, and a leaf is visited only by those that it may have a neighbour for.

use ndarray::Array2;

use crate::error::Result;
use crate::points::Points;
use crate::progress::Progress;
use crate::simd::{LANES, Level, Vector, Work};

use super::leaf_candidates::Candidates;
use super::leaves::{LEAF, Leaves, Node, Sides, larger, sum};
use super::queries::{
    MISSING, NeighborIndex, Neighbors, Queries, write_in_order, write_rows_in_order,
};
use super::row_order::Marks;
use super::spatial_order::queries_nearby;

/// Queries that one thread answers before it takes others.
const QUERIES_PER_TASK: usize = 32 * LEAF;

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
        let scratch = || Search::new(self, k);
        write_in_order(&order, k, QUERIES_PER_TASK, scratch, |search, _, all, indices, squared| {
            let lines = indices.chunks_mut(LEAF * k).zip(squared.chunks_mut(LEAF * k));
            for (numbers, (indices, squared)) in all.chunks(LEAF).zip(lines) {
                search.begin(queries, numbers, progress)?;
                Level::current().vectorized(Lines { search, indices, squared });
            }
            progress.advance(all.len())
        })
    }

    fn lists(&self, centres: &[u32], k: usize, progress: &Progress) -> Result<Array2<u32>> {
        let queries = Queries::Rows(centres);
        let order = queries_nearby(&self.order, queries, LEAF, progress)?;
        let scratch = || Ok((Search::new(self, k)?, Marks::new(self.points.len())?));
        write_rows_in_order(&order, k, QUERIES_PER_TASK, scratch, |(search, marks), all, rows| {
            for (numbers, rows) in all.chunks(LEAF).zip(rows.chunks_mut(LEAF * k)) {
                search.begin(queries, numbers, progress)?;
                Level::current().vectorized(Rows { search, rows });
                rows.chunks_exact_mut(k).for_each(|rows| marks.sort(rows));
            }
            progress.advance(all.len())
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
    own: [f64; LEAF],
    /// Upper bounds of the squared distance of a neighbour; negative for missing queries.
    thresholds: [f64; LEAF],
    candidates: Candidates,
    /// Nodes still to be visited, with their squared distance from the box around the queries.
    stack: Vec<(f64, Node)>,
}

impl<'s, const D: usize> Search<'s, D> {
    pub(super) fn new(tree: &'s Leaves<'s, D>, k: usize) -> Result<Self> {
        Ok(Self {
            tree,
            k,
            count: 0,
            coordinates: [[0.0; LEAF]; D],
            around: Sides::EMPTY,
            own: [0.0; LEAF],
            thresholds: [0.0; LEAF],
            candidates: Candidates::new(k)?,
            stack: Vec::with_capacity(usize::BITS as usize * 2),
        })
    }

    /// Takes up the queries numbered `numbers`.
    fn begin(&mut self, queries: Queries, numbers: &[u32], progress: &Progress) -> Result<()> {
        progress.check()?;
        self.count = numbers.len();
        self.candidates.clear();
        self.thresholds = [-1.0; LEAF];
        for (lane, number) in numbers.iter().enumerate() {
            let query = queries.get(self.tree.points, *number as usize);
            for column in 0..D {
                self.coordinates[column][lane] = query.point[column];
            }
            self.own[lane] = f64::from(query.own.unwrap_or(MISSING));
            self.thresholds[lane] = query.bound.min(f64::MAX);
        }
        self.around = Sides::around(&self.coordinates, self.count);
        Ok(())
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
    fn descend<V: Vector>(&mut self) {
        let start = self.nearest_node();
        for leaf in start.first..start.first + start.leaves {
            self.visit::<V>(leaf, u32::MAX);
        }
        for lane in 0..self.count {
            self.thin_out::<V>(lane);
        }
        let mut reach = self.reach();
        self.stack.clear();
        self.stack.push((0.0, self.tree.root()));
        while let Some((gap, node)) = self.stack.pop() {
            if gap > reach || node.number == start.number {
                continue;
            }
            if node.leaves == 1 {
                let near = self.near::<V>(&self.tree.boxes[node.number]);
                if near != 0 {
                    self.visit::<V>(node.first, near);
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

    /// The largest threshold: no query looks farther.
    #[inline(always)]
    fn reach(&self) -> f64 {
        self.thresholds.iter().copied().fold(-1.0, larger)
    }

    /// Bit q: query q reaches into the box.
    #[inline(always)]
    fn near<V: Vector>(&self, sides: &Sides<D>) -> u32 {
        let mut near = 0;
        for block in 0..LEAF / LANES {
            let mut squares = [V::ZERO; D];
            for column in 0..D {
                let query = lanes::<V>(&self.coordinates[column], block);
                let below = V::splat(sides.low[column]) - query;
                let gap = below.max(query - V::splat(sides.high[column])).max(V::ZERO);
                squares[column] = gap * gap;
            }
            near |= sum(squares).at_most(lanes(&self.thresholds, block)) << (block * LANES);
        }
        near
    }

    /// Offers the rows of a leaf to some queries.
    #[inline(always)]
    fn visit<V: Vector>(&mut self, leaf: usize, queries: u32) {
        let leaf = &self.tree.leaves[leaf];
        let missing = LEAF - self.count;
        let mut queries = queries & u32::MAX >> missing;
        while queries != 0 {
            let lane = queries.trailing_zeros() as usize;
            queries &= queries - 1;
            let mut query = [V::ZERO; D];
            for column in 0..D {
                query[column] = V::splat(self.coordinates[column][lane]);
            }
            let (threshold, own) = (V::splat(self.thresholds[lane]), V::splat(self.own[lane]));
            for block in 0..LEAF / LANES {
                let mut squares = [V::ZERO; D];
                for column in 0..D {
                    let difference = lanes::<V>(&leaf.columns[column], block) - query[column];
                    squares[column] = difference * difference;
                }
                let squared = sum(squares);
                let passed = squared.at_most(threshold);
                if passed != 0 {
                    let rows = lanes::<V>(&leaf.rows, block);
                    let passed = passed & (rows.below(own) | own.below(rows));
                    self.candidates.append(lane, squared, rows, passed);
                }
            }
            if self.candidates.is_full(lane) {
                self.thin_out::<V>(lane);
            }
        }
    }

    /// Drops candidates that k others beat.
    #[inline(always)]
    fn thin_out<V: Vector>(&mut self, lane: usize) {
        if let Some(farthest) = self.candidates.thin_out::<V>(lane) {
            self.thresholds[lane] = farthest;
        }
    }
}

/// Eight of the numbers of a leaf.
#[inline(always)]
fn lanes<V: Vector>(numbers: &[f64; LEAF], block: usize) -> V {
    V::load(&numbers.as_chunks().0[block])
}

/// Finds the best k of each query and writes a line for it, nearest first.
struct Lines<'w, 't, const D: usize> {
    search: &'w mut Search<'t, D>,
    indices: &'w mut [u32],
    squared: &'w mut [f64],
}

impl<const D: usize> Work for Lines<'_, '_, D> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Search { k, .. } = *self.search;
        self.search.descend::<V>();
        let lines = self.indices.chunks_exact_mut(k).zip(self.squared.chunks_exact_mut(k));
        for (lane, (indices, squared)) in lines.enumerate() {
            self.search.candidates.write::<V>(lane, indices, squared);
        }
    }
}

/// Finds the best k of each query, which has so many, and writes their rows in any order.
struct Rows<'w, 't, const D: usize> {
    search: &'w mut Search<'t, D>,
    rows: &'w mut [u32],
}

impl<const D: usize> Work for Rows<'_, '_, D> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        self.search.descend::<V>();
        for (lane, rows) in self.rows.chunks_exact_mut(self.search.k).enumerate() {
            self.search.candidates.write_rows::<V>(lane, rows);
        }
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
