//! The search of [`super::panel_tree`]: queries that lie side by side go through the tree together.
//!
//! They begin with a few panels around them that have enough rows. From then on every query has a threshold, and a
//! panel is compared only with those whose threshold reaches into its box.

use std::ops::Range;

use crate::error::Result;
use crate::matrix::{try_filled, try_with_capacity, try_zeros};
use crate::progress::Progress;
use crate::simd::{Level, Vector, Work};

use super::bounding_boxes::larger;
use super::brute::{Scan, patience};
use super::filter::Gauge;
use super::filter_kernel::PANEL_ROWS;
use super::leaves::Node;
use super::panel_kernel::{TOGETHER, differences, gaps, reaching};
use super::panel_tree::PanelTree;
use super::queries::{NeighborIndex, Neighbors, Queries, Query, write_in_order};
use super::shortlist::Shortlist;
use super::spatial_order::queries_nearby;

/// Queries that one thread answers before it takes others.
const QUERIES_PER_TASK: usize = 32 * TOGETHER;

impl NeighborIndex for PanelTree<'_> {
    fn search(&self, queries: Queries, k: usize, progress: &Progress) -> Result<Neighbors> {
        let order = queries_nearby(&self.brute.order, queries, TOGETHER, progress)?;
        let level = Level::current();
        let buffers = || Buffers::new(k);
        write_in_order(&order, k, QUERIES_PER_TASK, buffers, |buffers, _, all, indices, squared| {
            let lines = indices.chunks_mut(TOGETHER * k).zip(squared.chunks_mut(TOGETHER * k));
            for (numbers, (indices, squared)) in all.chunks(TOGETHER).zip(lines) {
                progress.check()?;
                let queries =
                    numbers.iter().map(|number| queries.get(self.brute.points, *number as usize));
                let mut search = Search::new(self, queries, k, buffers)?;
                search.run(level)?;
                self.brute.finish(level, &mut search.scans, indices, squared)?;
            }
            progress.advance(all.len())
        })
    }
}

/// Room for the shortlists of the queries that are answered together.
pub(super) struct Buffers {
    room: usize,
    sums: Vec<f32>,
    places: Vec<u32>,
}

impl Buffers {
    pub(super) fn new(k: usize) -> Result<Self> {
        let room = Shortlist::room(patience(k));
        Ok(Self { room, sums: try_zeros(TOGETHER * room)?, places: try_zeros(TOGETHER * room)? })
    }
}

/// The queries that are answered together, and what each has found.
pub(super) struct Search<'s, 'b, 'q> {
    tree: &'s PanelTree<'s>,
    k: usize,
    pub(super) scans: Vec<Scan<'b, 'q>>,
    /// The rounded queries, column after column and one after the other; zero for missing ones.
    columns: Vec<[f32; TOGETHER]>,
    rows: Vec<f32>,
    /// The low and the high sides of the box around them.
    around: (Vec<f32>, Vec<f32>),
    /// The thresholds of the scans; negative for missing queries.
    thresholds: [f32; TOGETHER],
    /// How many pairs of a query and a panel have been compared.
    pub(super) visits: usize,
    /// Nodes still to be visited, with their squared distance from the box around the queries.
    stack: Vec<(f32, Node)>,
}

impl<'s, 'b, 'q> Search<'s, 'b, 'q> {
    pub(super) fn new(
        tree: &'s PanelTree<'s>,
        queries: impl ExactSizeIterator<Item = Query<'q>>,
        k: usize,
        buffers: &'b mut Buffers,
    ) -> Result<Self> {
        let (brute, dim) = (&tree.brute, tree.brute.points.dim());
        let mut columns = try_filled(dim, [0.0; TOGETHER])?;
        let mut rows = try_zeros(queries.len() * dim)?;
        let mut around = (try_filled(dim, f32::INFINITY)?, try_filled(dim, f32::NEG_INFINITY)?);
        let mut thresholds = [-1.0; TOGETHER];
        let mut scans = try_with_capacity(queries.len())?;
        let rooms = buffers.sums.chunks_exact_mut(buffers.room);
        let rooms = rooms.zip(buffers.places.chunks_exact_mut(buffers.room));
        for (lane, (query, (sums, places))) in queries.zip(rooms).enumerate() {
            let gauge = brute.filter.differences(query.point);
            if gauge != Gauge::Nothing {
                for (column, value) in brute.filter.round(query.point).enumerate() {
                    columns[column][lane] = value;
                    rows[lane * dim + column] = value;
                }
            }
            for (column, value) in rows[lane * dim..(lane + 1) * dim].iter().enumerate() {
                around.0[column] = around.0[column].min(*value);
                around.1[column] = around.1[column].max(*value);
            }
            let scan = brute.scan(query, gauge, k, Shortlist::new(sums, places));
            thresholds[lane] = scan.threshold;
            scans.push(scan);
        }
        let stack = Vec::with_capacity(usize::BITS as usize * 2);
        Ok(Self { tree, k, scans, columns, rows, around, thresholds, visits: 0, stack })
    }

    /// The squared distance between the box of a node and that around the queries.
    #[inline(always)]
    fn gap(&self, node: Node) -> f32 {
        let (low, high) = self.tree.node(node);
        let mut sum = 0.0;
        for column in 0..low.len() {
            let gap =
                larger(low[column] - self.around.1[column], self.around.0[column] - high[column]);
            let gap = larger(gap, 0.0);
            sum += gap * gap;
        }
        sum
    }

    /// Panels around the queries, as few as surely have k neighbours of each.
    #[inline(always)]
    fn nearest_panels(&self) -> Range<usize> {
        let mut node = self.tree.root();
        while node.leaves > 1 {
            let [left, right] = node.children();
            let nearer = if self.gap(left) <= self.gap(right) { left } else { right };
            if self.tree.rows(&self.tree.panels_of(nearer)) <= self.k {
                break;
            }
            node = nearer;
        }
        let panels = self.tree.panels_of(node);
        if node.leaves > 1 {
            return panels;
        }
        let gaps = gaps(self.tree.cluster(node.first), &self.around.0, &self.around.1);
        let gaps = &gaps[..panels.len()];
        let nearest = (0..gaps.len()).min_by(|a, b| gaps[*a].total_cmp(&gaps[*b]));
        let count = (self.k / PANEL_ROWS + 1).next_power_of_two();
        let first = panels.start + nearest.unwrap_or(0) / count * count;
        let few = first..(first + count).min(panels.end);
        if self.tree.rows(&few) > self.k { few } else { panels }
    }

    /// Goes through the tree.
    pub(super) fn run(&mut self, level: Level) -> Result<()> {
        level.vectorized(Descent { search: self, level })
    }

    #[inline(always)]
    fn descend(&mut self, level: Level) -> Result<()> {
        let start = self.nearest_panels();
        for panel in start.clone() {
            self.visit(level, panel, u32::MAX >> (TOGETHER - self.scans.len()))?;
        }
        for lane in 0..self.scans.len() {
            self.thin_out(level, lane)?;
        }
        let mut reach = self.reach();
        self.stack.clear();
        self.stack.push((0.0, self.tree.root()));
        while let Some((gap, node)) = self.stack.pop() {
            if gap > reach {
                continue;
            }
            if node.leaves > 1 {
                let children = node.children();
                let gaps = [self.gap(children[0]), self.gap(children[1])];
                // The nearer one is visited first.
                let last = usize::from(gaps[1] >= gaps[0]);
                for child in [last, 1 - last] {
                    if gaps[child] <= reach {
                        self.stack.push((gaps[child], children[child]));
                    }
                }
                continue;
            }
            let cluster = self.tree.cluster(node.first);
            let gaps = gaps(cluster, &self.around.0, &self.around.1);
            for (panel, gap) in self.tree.panels_of(node).zip(gaps) {
                if gap > reach || start.contains(&panel) {
                    continue;
                }
                let near = reaching(level, &self.columns, cluster, panel, &self.thresholds);
                if near != 0 && self.visit(level, panel, near)? {
                    reach = self.reach();
                }
            }
        }
        Ok(())
    }

    /// The largest threshold, with room for the rounding of [`Search::gap`]: no query looks farther.
    #[inline(always)]
    fn reach(&self) -> f32 {
        self.thresholds.iter().copied().fold(-1.0, larger)
            * (1.0 + self.tree.brute.filter.bound as f32)
    }

    /// Offers the rows of a panel to some queries. Returns whether a threshold has changed.
    #[inline(always)]
    fn visit(&mut self, level: Level, number: usize, queries: u32) -> Result<bool> {
        let panel = self.tree.panel(number);
        let present = self.tree.present(number);
        let dim = panel.len();
        let mut sums = [0.0; PANEL_ROWS];
        self.visits += queries.count_ones() as usize;
        let (mut queries, mut changed) = (queries, false);
        while queries != 0 {
            let lane = queries.trailing_zeros() as usize;
            queries &= queries - 1;
            let query = &self.rows[lane * dim..(lane + 1) * dim];
            let threshold = self.thresholds[lane];
            let passed = differences(level, panel, query, threshold, &mut sums) & present;
            if passed != 0 {
                let scan = &mut self.scans[lane];
                scan.shortlist.append(level, &sums, passed, (number * PANEL_ROWS) as u32);
                if scan.is_full() {
                    self.thin_out(level, lane)?;
                    changed = true;
                }
            }
        }
        Ok(changed)
    }

    /// Drops the candidates that k others beat.
    fn thin_out(&mut self, level: Level, lane: usize) -> Result<()> {
        let scan = &mut self.scans[lane];
        if scan.shortlist.len() >= scan.wanted() {
            self.tree.brute.thin_out(level, scan)?;
            self.thresholds[lane] = scan.threshold;
        }
        Ok(())
    }
}

/// [`Search::descend`], compiled for the instructions of a level.
struct Descent<'d, 's, 'b, 'q> {
    search: &'d mut Search<'s, 'b, 'q>,
    level: Level,
}

impl Work for Descent<'_, '_, '_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<V: Vector>(self) -> Result<()> {
        self.search.descend(self.level)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::super::brute::Brute;
    use super::super::{Algorithm, search};
    use super::*;
    use crate::points::Points;

    fn number(at: usize) -> f64 {
        ((at * 7919 + at * at % 1_000_003 * 31) % 100_003) as f64 / 100_003.0
    }

    /// Rows on a curved sheet, or whole numbers below `levels` with many equal distances.
    fn cloud(rows: usize, columns: usize, levels: Option<usize>) -> Array2<f64> {
        Array2::from_shape_fn((rows, columns), |(i, j)| match levels {
            Some(levels) => (number(i * 37 + j * 104_729) * levels as f64).floor(),
            None => (number(i) * (j + 1) as f64 + number(i + 50_000) * (j * j % 5) as f64).sin(),
        })
    }

    fn check(x: &Array2<f64>, others: &Array2<f64>, bound: f64) {
        let progress = Progress::new();
        let points = Points::new(x.view()).unwrap();
        let asked = points.queries(others.view()).unwrap();
        let bounds = vec![bound; asked.len()];
        let some: Vec<u32> = (0..points.len() as u32).rev().step_by(3).collect();
        let tree = PanelTree::new(Brute::new(&points, &progress).unwrap()).unwrap();
        for queries in [
            Queries::All,
            Queries::Rows(&some),
            Queries::Points(&asked),
            Queries::Within(&asked, &bounds),
        ] {
            for k in [2, 16, 40, 700].map(|k: usize| k.min(points.len() - 1)) {
                let found = tree.search(queries, k, &progress).unwrap();
                let brute = search(&points, queries, k, Algorithm::Brute, &progress).unwrap();
                assert!(found == brute, "{:?}, k = {k}", x.dim());
            }
        }
    }

    #[test]
    fn neighbours_are_those_of_brute_force() {
        for columns in [1, 4, 9, 32] {
            for rows in [3, 33, 512, 513, 1700] {
                for levels in [None, Some(3), Some(1000)] {
                    let others = cloud(70, columns, levels);
                    check(&cloud(rows, columns, levels), &others, 0.05 * columns as f64);
                }
            }
        }
    }

    #[test]
    fn far_queries_tiny_differences_and_offsets_are_answered_like_any_others() {
        let x = cloud(1500, 5, None);
        let mut others = cloud(40, 5, None);
        others.row_mut(3).fill(1e100);
        others.row_mut(4).fill(-1e20);
        check(&x, &others, 0.1);
        for scale in [1e-140, 1e-12, 1e140] {
            check(&(&x * scale), &(cloud(40, 5, None) * scale), 0.1 * scale * scale);
        }
        check(&(&x * 1e-6 + 1.0), &(&others.slice(ndarray::s![..3, ..]) * 1e-6 + 1.0), 1e-13);
        // One row far away: beside it all others are equal in single precision.
        let mut outlier = &x * 1e-9;
        outlier.row_mut(7).fill(1.0);
        check(&outlier, &(cloud(40, 5, None) * 1e-9), 1e-19);
    }

    #[test]
    fn a_cancelled_search_stops() {
        let x = cloud(600, 4, None);
        let points = Points::new(x.view()).unwrap();
        let tree = PanelTree::new(Brute::new(&points, &Progress::new()).unwrap()).unwrap();
        let progress = Progress::new();
        progress.cancel();
        assert!(tree.search(Queries::All, 3, &progress).is_err());
    }
}
