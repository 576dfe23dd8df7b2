//! Brute force: boxes rule out groups of rows, a single precision matrix product rules out pairs, the few that
//! are left get their exact distance.
//!
//! [`super::filter`] has the bounds. The k-th smallest accumulator says how far to look, before any exact distance is
//! known. Few pairs pass if it is small early: rows lie in an order in which near ones are near each other,
//! queries are taken in the same order, and each block of them begins with the rows around it. Groups of rows
//! whose boxes are too far away are left out.

use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::{try_filled, try_reserve, try_with_capacity, try_zeros};
use crate::points::Points;
use crate::progress::Progress;
use crate::simd::Level;

use super::bounding_boxes::{BoundingBoxes, Probe};
use super::candidate::{Candidate, Nearest, squared_distance};
use super::filter::{EVERY_ROW, Filter, Gauge, pack, single};
use super::filter_kernel::{self, Found, MOST_ROWS, PANEL_ROWS, ones, rows_per_tile};
use super::panel_kernel::CLUSTER;
use super::queries::{Query, write_line};
use super::shortlist::Shortlist;
use super::spatial_order;

/// Queries in one block, and rows and bytes of a group that all of them visit while it is in cache.
const QUERIES_PER_BLOCK: usize = 192;
pub(super) const ROWS_PER_GROUP: usize = 4 * PANEL_ROWS;
pub(super) const BYTES_PER_GROUP: usize = 256 * 1024;

/// Rows in a cluster: the order of the rows halves all of them into clusters, then each cluster into panels.
pub(super) const CLUSTER_ROWS: usize = CLUSTER * PANEL_ROWS;

/// All rows in the layout the kernel reads, beside the rows themselves.
#[derive(Debug)]
pub struct Brute<'a> {
    pub(super) points: &'a Points<'a>,
    pub(super) filter: Filter,
    /// The row at each place of the panels.
    pub(super) order: Vec<u32>,
    /// PANEL_ROWS rows at a time, column after column.
    pub(super) panels: Vec<f32>,
    /// |c|² of every row, lowered by the error bound.
    pub(super) norms: Vec<f32>,
    /// Places in one group, and the boxes around the groups.
    pub(super) group: usize,
    pub(super) boxes: BoundingBoxes,
}

impl<'a> Brute<'a> {
    /// Lays the rows of `points` out for the kernel.
    pub fn new(points: &'a Points<'a>, progress: &Progress) -> Result<Self> {
        let dim = points.dim();
        let filter = Filter::new(points);
        let order = spatial_order::nearby(points, &[CLUSTER_ROWS, PANEL_ROWS], progress)?;
        let padded = points.len().next_multiple_of(PANEL_ROWS);
        let mut panels = try_zeros::<f32>(padded.saturating_mul(dim))?;
        let mut norms = try_filled(padded, f32::INFINITY)?;
        let layout = panels
            .par_chunks_exact_mut(PANEL_ROWS * dim)
            .zip(norms.par_chunks_exact_mut(PANEL_ROWS));
        layout.zip(order.par_chunks(PANEL_ROWS)).for_each(|((panel, norms), rows)| {
            for lane in 0..PANEL_ROWS {
                // The last row again where there are no more: the padding widens no box.
                let row = points.row(rows[lane.min(rows.len() - 1)] as usize);
                for (column, value) in filter.round(row).enumerate() {
                    panel[column * PANEL_ROWS + lane] = value;
                }
                if lane < rows.len() {
                    norms[lane] = single(filter.lowered(filter.round(row)));
                }
            }
        });
        let affordable = (BYTES_PER_GROUP / (dim * size_of::<f32>())).next_multiple_of(PANEL_ROWS);
        let group = affordable.clamp(PANEL_ROWS, ROWS_PER_GROUP);
        let boxes = BoundingBoxes::new(&panels, dim, group)?;
        Ok(Self { points, filter, order, panels, norms, group, boxes })
    }

    /// Answers a list of queries; returns how many groups of rows their tiles have visited.
    pub(super) fn fill<'q>(
        &self,
        k: usize,
        queries: impl ExactSizeIterator<Item = Query<'q>>,
        progress: &Progress,
        indices: &mut [u32],
        squared: &mut [f64],
    ) -> Result<usize> {
        let level = Level::current();
        let room = Shortlist::room(patience(k));
        let mut sums = try_zeros(queries.len() * room)?;
        let mut places = try_zeros(queries.len() * room)?;
        let buffers = sums.chunks_exact_mut(room).zip(places.chunks_exact_mut(room));
        let mut scans: Vec<Scan> = queries
            .zip(buffers)
            .map(|(query, (sums, places))| {
                let gauge = self.filter.product(query.point);
                self.scan(query, gauge, k, Shortlist::new(sums, places))
            })
            .collect();
        let mut tiles: Vec<Tile> = Vec::new();
        let mut probes: Vec<Probe> = Vec::new();
        for scans in scans.chunks_mut(rows_per_tile(level)) {
            let mut rounded = try_with_capacity(scans.len() * self.points.dim())?;
            for scan in scans.iter() {
                rounded.extend(self.filter.round(scan.query.point));
            }
            let mut probe = self.boxes.probe(rounded.chunks_exact(self.points.dim()));
            for (reach, scan) in probe.reach.iter_mut().zip(scans.iter()) {
                *reach = scan.reach;
            }
            probes.push(probe);
            tiles.push(Tile::new(level, scans, &rounded)?);
        }
        let mut found = Found::default();
        let mut visited = 0;
        for (_, group) in self.boxes.nearest_first(&probes)? {
            progress.check()?;
            let group = group as usize;
            for (tile, probe) in tiles.iter_mut().zip(&mut probes) {
                if self.boxes.meets(level, group, probe) {
                    self.visit(level, tile, probe, group, &mut found)?;
                    visited += 1;
                }
            }
        }
        drop(tiles);
        self.finish(level, &mut scans, indices, squared)?;
        Ok(visited)
    }

    /// Offers the rows of one group to each query of the tile.
    fn visit(
        &self,
        level: Level,
        tile: &mut Tile,
        probe: &mut Probe,
        group: usize,
        found: &mut Found,
    ) -> Result<()> {
        let dim = self.points.dim();
        let mut first = group * self.group;
        let end = (first + self.group).min(self.norms.len());
        while let Some(panel) = filter_kernel::first_passing(
            level,
            &tile.packed,
            &self.panels[first * dim..end * dim],
            &self.norms[first..end],
            &tile.thresholds,
            found,
        ) {
            first += panel * PANEL_ROWS;
            for q in ones(found.rows.into()) {
                let scan = &mut tile.scans[q];
                scan.shortlist.append(level, &found.sums[q], found.passed[q], first as u32);
                if scan.is_full() {
                    self.thin_out(level, scan)?;
                    tile.thresholds[q] = scan.threshold;
                    probe.reach[q] = scan.reach;
                }
            }
            first += PANEL_ROWS;
        }
        Ok(())
    }

    /// A query that has met no row yet.
    pub(super) fn scan<'s, 'q>(
        &self,
        query: Query<'q>,
        gauge: Gauge,
        k: usize,
        shortlist: Shortlist<'s>,
    ) -> Scan<'s, 'q> {
        let mut scan = Scan {
            gauge,
            query,
            shortlist,
            patience: patience(k),
            threshold: EVERY_ROW,
            reach: f32::INFINITY,
            nearest: Nearest::new(k),
            measured: 0,
        };
        if gauge != Gauge::Nothing {
            let bound = self.filter.scaled(scan.query.bound);
            self.look_no_farther(&mut scan, bound);
        }
        scan
    }

    /// Writes the line of each query that has met all rows.
    pub(super) fn finish(
        &self,
        level: Level,
        scans: &mut [Scan],
        indices: &mut [u32],
        squared: &mut [f64],
    ) -> Result<()> {
        let Some(k) = scans.first().map(|scan| scan.nearest.capacity) else { return Ok(()) };
        let lines = indices.chunks_exact_mut(k).zip(squared.chunks_exact_mut(k));
        let mut sorted = Vec::new();
        for (scan, (indices, squared)) in scans.iter_mut().zip(lines) {
            if scan.shortlist.len() >= scan.wanted() {
                self.thin_out(level, scan)?;
            }
            sorted.clear();
            try_reserve(&mut sorted, scan.nearest.heap.len() + scan.shortlist.len())?;
            sorted.extend(scan.nearest.heap.drain());
            sorted.extend(self.measured(&scan.query, &scan.shortlist));
            sorted.sort_unstable();
            write_line(&sorted, scan.query.bound, indices, squared);
        }
        Ok(())
    }

    /// Drops the candidates that enough others are sure to beat.
    pub(super) fn thin_out(&self, level: Level, scan: &mut Scan) -> Result<()> {
        if scan.gauge == Gauge::Nothing {
            return self.measure(scan);
        }
        let bound = scan.shortlist.bound(level, scan.wanted());
        self.look_no_farther(scan, self.filter.farthest(bound, scan.gauge));
        scan.shortlist.keep(level, scan.threshold);
        if 2 * scan.shortlist.len() > scan.patience + scan.wanted() {
            // The filter cannot tell these apart: their distances can.
            self.measure(scan)?;
            self.look_no_farther(scan, self.filter.scaled(scan.nearest.worst()));
        }
        Ok(())
    }

    /// Has the query look for rows at most this scaled squared distance away.
    fn look_no_farther(&self, scan: &mut Scan, squared: f64) {
        let squared = squared + self.filter.underflow;
        scan.threshold = scan.threshold.min(self.filter.threshold(squared, scan.gauge));
        scan.reach = scan.reach.min(self.boxes.reach(squared));
    }

    /// Moves the shortlist candidates to the nearest by their exact distances.
    fn measure(&self, scan: &mut Scan) -> Result<()> {
        let Scan { query, shortlist, nearest, measured, .. } = scan;
        nearest.reserve()?;
        *measured += shortlist.len();
        self.measured(query, shortlist).for_each(|candidate| nearest.offer(candidate));
        shortlist.clear();
        Ok(())
    }

    /// The shortlist candidates with their exact distances, the query itself left out.
    fn measured(&self, query: &Query, shortlist: &Shortlist) -> impl Iterator<Item = Candidate> {
        let indices = shortlist.places().iter().map(|place| self.order[*place as usize]);
        indices.filter(|index| Some(*index) != query.own).map(|index| Candidate {
            squared: squared_distance(query.point, self.points.row(index as usize)),
            index,
        })
    }
}

/// Large blocks for the cache, yet several for each thread. The answer does not depend on it.
pub(super) fn queries_per_block(rows: usize) -> usize {
    (rows / (4 * rayon::current_num_threads())).clamp(MOST_ROWS, QUERIES_PER_BLOCK)
}

/// How many candidates of a query may wait for their exact distance.
pub(super) fn patience(k: usize) -> usize {
    2 * k + 16
}

/// One query on its way through the panels.
pub(super) struct Scan<'a, 'q> {
    pub(super) query: Query<'q>,
    /// What its accumulators say.
    pub(super) gauge: Gauge,
    /// Candidates that passed the filter, perhaps the query itself among them.
    pub(super) shortlist: Shortlist<'a>,
    /// How many may wait.
    patience: usize,
    /// Upper bounds of a neighbour: of its accumulator, and of its squared distance for [`BoundingBoxes::meets`].
    pub(super) threshold: f32,
    pub(super) reach: f32,
    /// The best of those whose distance had to be known before the end, and how many those were.
    nearest: Nearest,
    pub(super) measured: usize,
}

impl Scan<'_, '_> {
    pub(super) fn is_full(&self) -> bool {
        self.shortlist.len() >= self.patience
    }

    /// The neighbours, and the query itself if it is a row.
    pub(super) fn wanted(&self) -> usize {
        self.nearest.capacity + usize::from(self.query.own.is_some())
    }
}

/// Queries that go through the kernel together.
struct Tile<'t, 'a, 'q> {
    scans: &'t mut [Scan<'a, 'q>],
    /// What [`pack`] returns.
    packed: Vec<f32>,
    /// Missing queries take nothing.
    thresholds: [f32; MOST_ROWS],
}

impl<'t, 'a, 'q> Tile<'t, 'a, 'q> {
    fn new(level: Level, scans: &'t mut [Scan<'a, 'q>], rounded: &[f32]) -> Result<Self> {
        let mut thresholds = [f32::NEG_INFINITY; MOST_ROWS];
        for (threshold, scan) in thresholds.iter_mut().zip(scans.iter()) {
            *threshold = scan.threshold;
        }
        let packed = pack(level, rounded, scans.iter().map(|scan| scan.gauge.lowered_norm()))?;
        Ok(Self { scans, packed, thresholds })
    }
}
