//! Brute force: boxes rule out groups of rows, a single precision matrix product rules out pairs, the few that
//! are left get their exact distance.
//!
//! With centred and scaled rows q and c rounded to single precision, the filter is
//!
//! ```text
//! |c|² − 2 q·c  ≤  worst − |q|²
//! ```
//!
//! Its left side is the product's own accumulator, started at |c|². Rounding the entries and the d + 1
//! fused or unfused steps of the accumulation moves it by at most ε (|q|² + |c|²) with
//! ε = 2 (d + 8) u / (1 − (d + 8) u), u = 2⁻²⁴, so lowering both norms by that much keeps every true
//! neighbour. Nothing else depends on the product: its speed may vary with the processor, the result
//! may not.
//!
//! An accumulator also bounds the squared distance D of its pair from above, D ≤ accumulator + |q|² (1 + ε) + 2ε |c|².
//! With |c|² ≤ 2 |q|² + 2 D that is
//!
//! ```text
//! D (1 − 4ε)  ≤  accumulator + |q|² (1 + 5ε)
//! ```
//!
//! so the k-th smallest accumulator says how far to look, before any exact distance is known. Few pairs pass if it is
//! small early: rows lie in an order in which near ones are near each other, queries are taken in the same order, and each
//! block of them begins with the rows around it. Groups of rows whose boxes are too far away are left out.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::error::Result;
use crate::points::Points;
use crate::simd::Level;
use crate::task::Task;

use super::boxes::{Boxes, Probe};
use super::order;
use super::product::{self, Found, LANES, MOST_ROWS, rows_per_tile};
use super::waiting::Waiting;
use super::{
    Candidate, Nearest, NeighborIndex, Neighbors, Queries, Query, fill_in_order, squared_distance,
    write_line,
};

/// Queries in one block, and rows and bytes of a group that all of them visit while it is in cache.
const QUERIES_PER_BLOCK: usize = 192;
const ROWS_PER_GROUP: usize = 4 * LANES;
const BYTES_PER_GROUP: usize = 256 * 1024;

/// Squared norms of queries up to this one leave room for every sum in single precision.
const LARGEST_NORM: f64 = 1e30;

/// The threshold of queries that rule no row out. The padding of the last panel, with infinite norms, does not pass it.
const EVERY_ROW: f32 = f32::MAX;

/// All rows in the layout the kernel reads, beside the rows themselves.
#[derive(Debug)]
pub struct Brute<'a> {
    points: &'a Points<'a>,
    filter: Filter,
    /// The row at each place of the panels.
    order: Vec<u32>,
    /// LANES rows at a time, column after column.
    panels: Vec<f32>,
    /// |c|² of every row, lowered by the error bound.
    norms: Vec<f32>,
    /// Places in one group, and the boxes around the groups.
    group: usize,
    boxes: Boxes,
}

/// The map from rows to the filter's single precision, and its error bound.
#[derive(Debug)]
struct Filter {
    centre: Vec<f64>,
    scale: f64,
    /// ε of the module's comment.
    bound: f64,
}

impl Filter {
    fn new(points: &Points) -> Self {
        let dim = points.dim();
        let centre = points.column_means();
        let largest = points
            .as_slice()
            .chunks_exact(dim)
            .flat_map(|row| row.iter().zip(&centre).map(|(value, centre)| (value - centre).abs()))
            .fold(0.0, f64::max);
        // A power of two, so that scaling rounds nothing.
        let scale = if largest > 0.0 { (-largest.log2().round()).exp2() } else { 1.0 };
        let steps = (dim + 8) as f64 * f64::from(f32::EPSILON) / 2.0;
        let bound = if steps < 0.04 { 2.0 * steps / (1.0 - steps) } else { f64::INFINITY };
        Self { centre, scale, bound }
    }

    fn round(&self, row: &[f64]) -> impl Iterator<Item = f32> {
        row.iter().zip(&self.centre).map(|(value, centre)| ((value - centre) * self.scale) as f32)
    }

    /// |c|² (1 − ε), or −∞ where the bound says nothing: then every pair is looked at.
    fn lowered(&self, rounded: impl Iterator<Item = f32>) -> f64 {
        let norm: f64 = rounded.map(|value| f64::from(value) * f64::from(value)).sum();
        if self.bound.is_finite() { norm * (1.0 - self.bound) } else { f64::NEG_INFINITY }
    }

    /// |q|² (1 − ε) for a query; −∞ if it is so far away that single precision overflows.
    fn lowered_query(&self, row: &[f64]) -> f64 {
        let norm = self.lowered(self.round(row));
        if norm < LARGEST_NORM { norm } else { f64::NEG_INFINITY }
    }

    /// The largest scaled squared distance that a pair with this accumulator can have.
    fn farthest(&self, accumulator: f32, lowered_norm: f64) -> f64 {
        // Factors 1.01 are for rounding, of the norms and here.
        let norm = lowered_norm / (1.0 - self.bound) * (1.0 + 5.0 * 1.01 * self.bound);
        (f64::from(accumulator) + norm) / (1.0 - 4.0 * 1.01 * self.bound) + 1e-30
    }

    /// The largest scaled squared distance of a pair whose squared distance was computed as this.
    fn scaled(&self, squared: f64) -> f64 {
        // It was rounded in double precision; entries that underflow in single precision are below
        // 1e-38 of the largest.
        let slack = 1.0 + 4.0 * (self.centre.len() + 8) as f64 * f64::EPSILON;
        squared * self.scale * self.scale * slack + 1e-30
    }
}

impl<'a> Brute<'a> {
    /// Lays the rows of `points` out for the kernel.
    pub fn new(points: &'a Points<'a>, task: &Task) -> Result<Self> {
        let dim = points.dim();
        let filter = Filter::new(points);
        let order = order::nearby(points, LANES, task)?;
        let padded = points.len().next_multiple_of(LANES);
        let mut panels = vec![0.0_f32; padded * dim];
        let mut norms = vec![f32::INFINITY; padded];
        let layout =
            panels.par_chunks_exact_mut(LANES * dim).zip(norms.par_chunks_exact_mut(LANES));
        layout.zip(order.par_chunks(LANES)).for_each(|((panel, norms), rows)| {
            for lane in 0..LANES {
                // The last row again where there are no more: the padding widens no box.
                let row = points.row(rows[lane.min(rows.len() - 1)] as usize);
                for (column, value) in filter.round(row).enumerate() {
                    panel[column * LANES + lane] = value;
                }
                if lane < rows.len() {
                    norms[lane] = (filter.lowered(filter.round(row)) as f32).next_down();
                }
            }
        });
        let affordable = (BYTES_PER_GROUP / (dim * size_of::<f32>())).next_multiple_of(LANES);
        let group = affordable.clamp(LANES, ROWS_PER_GROUP);
        let boxes = Boxes::new(&panels, dim, group);
        Ok(Self { points, filter, order, panels, norms, group, boxes })
    }

    /// Answers a list of queries.
    fn fill<'q>(
        &self,
        k: usize,
        queries: impl ExactSizeIterator<Item = Query<'q>>,
        task: &Task,
        indices: &mut [u32],
        squared: &mut [f64],
    ) -> Result<()> {
        let level = Level::detect();
        let patience = 2 * k + 16;
        let room = Waiting::room(patience);
        let mut sums = vec![0.0; queries.len() * room];
        let mut places = vec![0; queries.len() * room];
        let buffers = sums.chunks_exact_mut(room).zip(places.chunks_exact_mut(room));
        let mut lines: Vec<Line> = queries
            .zip(buffers)
            .map(|(query, (sums, places))| {
                let mut line = Line {
                    lowered_norm: self.filter.lowered_query(query.point),
                    query,
                    waiting: Waiting::new(sums, places),
                    patience,
                    threshold: EVERY_ROW,
                    reach: f32::INFINITY,
                    nearest: Nearest::new(k),
                };
                if line.lowered_norm > f64::NEG_INFINITY {
                    let bound = self.filter.scaled(line.query.bound);
                    self.look_no_farther(&mut line, bound);
                }
                line
            })
            .collect();
        let mut tiles: Vec<Tile> = Vec::new();
        let mut probes: Vec<Probe> = Vec::new();
        for lines in lines.chunks_mut(rows_per_tile(level)) {
            let rounded: Vec<f32> =
                lines.iter().flat_map(|line| self.filter.round(line.query.point)).collect();
            let mut probe = self.boxes.probe(rounded.chunks_exact(self.points.dim()));
            for (reach, line) in probe.reach.iter_mut().zip(lines.iter()) {
                *reach = line.reach;
            }
            probes.push(probe);
            tiles.push(Tile::new(level, lines, &rounded));
        }
        let mut found = Found::default();
        for group in self.boxes.nearest_first(&probes) {
            task.check()?;
            for (tile, probe) in tiles.iter_mut().zip(&mut probes) {
                if self.boxes.meets(level, group, probe) {
                    self.visit(level, tile, probe, group, &mut found);
                }
            }
        }
        drop(tiles);
        let mut sorted = Vec::with_capacity(patience + k);
        let places = indices.chunks_exact_mut(k).zip(squared.chunks_exact_mut(k));
        for (line, (indices, squared)) in lines.iter_mut().zip(places) {
            if line.waiting.len() >= line.wanted() {
                self.thin_out(level, line);
            }
            sorted.clear();
            sorted.extend(line.nearest.heap.drain());
            sorted.extend(self.measured(&line.query, &line.waiting));
            sorted.sort_unstable();
            write_line(&sorted, line.query.bound, indices, squared);
        }
        Ok(())
    }

    /// Offers the rows of one group to each query of the tile.
    fn visit(
        &self,
        level: Level,
        tile: &mut Tile,
        probe: &mut Probe,
        group: usize,
        found: &mut Found,
    ) {
        let dim = self.points.dim();
        let mut first = group * self.group;
        let end = (first + self.group).min(self.norms.len());
        while let Some(panel) = product::first_passing(
            level,
            &tile.packed,
            &self.panels[first * dim..end * dim],
            &self.norms[first..end],
            &tile.thresholds,
            found,
        ) {
            first += panel * LANES;
            let mut rows = found.rows;
            while rows != 0 {
                let q = rows.trailing_zeros() as usize;
                rows &= rows - 1;
                let line = &mut tile.lines[q];
                line.waiting.append(level, &found.sums[q], found.passed[q], first as u32);
                if line.waiting.len() >= line.patience {
                    self.thin_out(level, line);
                    tile.thresholds[q] = line.threshold;
                    probe.reach[q] = line.reach;
                }
            }
            first += LANES;
        }
    }

    /// Drops the candidates that enough others are sure to beat.
    fn thin_out(&self, level: Level, line: &mut Line) {
        if line.lowered_norm == f64::NEG_INFINITY {
            self.measure(line);
            return;
        }
        let bound = line.waiting.bound(level, line.wanted());
        self.look_no_farther(line, self.filter.farthest(bound, line.lowered_norm));
        line.waiting.keep(level, line.threshold);
        if 2 * line.waiting.len() > line.patience + line.wanted() {
            // The filter cannot tell these apart: their distances can.
            self.measure(line);
            self.look_no_farther(line, self.filter.scaled(line.nearest.worst()));
        }
    }

    /// Has the query look for rows at most this scaled squared distance away.
    fn look_no_farther(&self, line: &mut Line, squared: f64) {
        line.threshold = line.threshold.min(((squared - line.lowered_norm) as f32).next_up());
        line.reach = line.reach.min(self.boxes.reach(squared));
    }

    /// Moves the waiting candidates to the nearest by their exact distances.
    fn measure(&self, line: &mut Line) {
        let Line { query, waiting, nearest, .. } = line;
        self.measured(query, waiting).for_each(|candidate| nearest.offer(candidate));
        waiting.clear();
    }

    /// The waiting candidates with their exact distances, the query itself left out.
    fn measured(&self, query: &Query, waiting: &Waiting) -> impl Iterator<Item = Candidate> {
        let indices = waiting.places().iter().map(|place| self.order[*place as usize]);
        indices.filter(|index| Some(*index) != query.own).map(|index| Candidate {
            squared: squared_distance(query.point, self.points.row(index as usize)),
            index,
        })
    }
}

impl NeighborIndex for Brute<'_> {
    fn search(&self, queries: Queries, k: usize, task: &Task) -> Result<Neighbors> {
        let order = match queries {
            Queries::All => Cow::Borrowed(&self.order),
            Queries::Rows(rows) => {
                let mut places = vec![0; self.points.len()];
                for (place, row) in self.order.iter().enumerate() {
                    places[*row as usize] = place;
                }
                let mut numbers: Vec<u32> = (0..rows.len() as u32).collect();
                numbers.sort_by_key(|number| places[rows[*number as usize] as usize]);
                Cow::Owned(numbers)
            }
            Queries::Points(queries) | Queries::Within(queries, _) => {
                Cow::Owned(order::nearby(queries, MOST_ROWS, task)?)
            }
        };
        let block = queries_per_block(order.len());
        fill_in_order(&order, k, block, task, |numbers, indices, squared| {
            let queries = numbers.iter().map(|number| queries.get(self.points, *number as usize));
            self.fill(k, queries, task, indices, squared)
        })
    }
}

/// Large blocks for the cache, yet several for each thread. The answer does not depend on it.
fn queries_per_block(rows: usize) -> usize {
    (rows / (4 * rayon::current_num_threads())).clamp(MOST_ROWS, QUERIES_PER_BLOCK)
}

/// One query on its way through the panels.
struct Line<'a, 'q> {
    query: Query<'q>,
    /// |q|² (1 − ε), or −∞ if the filter says nothing of this query.
    lowered_norm: f64,
    /// Candidates that passed the filter, perhaps the query itself among them.
    waiting: Waiting<'a>,
    /// How many may wait.
    patience: usize,
    /// The largest accumulator of a neighbour, at most, and its reach as the boxes see it.
    threshold: f32,
    reach: f32,
    /// The best of those whose distance had to be known before the end.
    nearest: Nearest,
}

impl Line<'_, '_> {
    /// The neighbours, and the query itself if it is a row.
    fn wanted(&self) -> usize {
        self.nearest.capacity + usize::from(self.query.own.is_some())
    }
}

/// Queries that go through the kernel together.
struct Tile<'t, 'a, 'q> {
    lines: &'t mut [Line<'a, 'q>],
    /// −2 q, column after column; zero for missing queries and those the filter says nothing of.
    packed: Vec<f32>,
    /// Missing queries take nothing.
    thresholds: [f32; MOST_ROWS],
}

impl<'t, 'a, 'q> Tile<'t, 'a, 'q> {
    fn new(level: Level, lines: &'t mut [Line<'a, 'q>], rounded: &[f32]) -> Self {
        let (rows, dim) = (rows_per_tile(level), rounded.len() / lines.len());
        let mut packed = vec![0.0; dim * rows];
        let mut thresholds = [f32::NEG_INFINITY; MOST_ROWS];
        for (q, (line, rounded)) in lines.iter().zip(rounded.chunks_exact(dim)).enumerate() {
            thresholds[q] = line.threshold;
            if line.lowered_norm > f64::NEG_INFINITY {
                for (column, value) in rounded.iter().enumerate() {
                    packed[column * rows + q] = -2.0 * value;
                }
            }
        }
        Self { lines, packed, thresholds }
    }
}
