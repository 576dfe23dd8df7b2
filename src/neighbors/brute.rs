//! Brute force over all pairs: a single precision matrix product rules pairs out, the few that are
//! left get their exact distance.
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

use crate::error::Result;
use crate::points::Points;
use crate::simd::Level;
use crate::task::Task;

use super::product::{self, Found, LANES, MOST_ROWS, rows_per_tile};
use super::{
    Candidate, Nearest, NeighborIndex, Neighbors, Queries, fill_blocks, squared_distance,
    write_line,
};

/// Queries in one block, and bytes of panels swept at a time: both halves of the product stay in cache.
const QUERIES_PER_BLOCK: usize = 192;
const BYTES_PER_SWEEP: usize = 256 * 1024;

/// Squared norms of queries up to this one leave room for every sum in single precision.
const LARGEST_NORM: f64 = 1e30;

/// All rows in the layout the kernel reads, beside the rows themselves.
#[derive(Debug)]
pub struct Brute<'a> {
    points: &'a Points<'a>,
    filter: Filter,
    /// LANES rows at a time, column after column.
    panels: Vec<f32>,
    /// |c|² of every row, lowered by the error bound.
    norms: Vec<f32>,
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

    /// 2ε for norms that have been lowered by ε already; the last factor is for the rounding of the few
    /// steps it is used in.
    #[inline]
    fn doubled(&self) -> f64 {
        2.0 * self.bound / (1.0 - self.bound) * 1.01
    }

    /// |q|² (1 − ε) for a query; −∞ if it is so far away that single precision overflows.
    fn lowered_query(&self, row: &[f64]) -> f64 {
        let norm = self.lowered(self.round(row));
        if norm < LARGEST_NORM { norm } else { f64::NEG_INFINITY }
    }

    /// The largest accumulator a pair may have that could be at `worst` or nearer.
    fn threshold(&self, worst: f64, lowered_norm: f64) -> f32 {
        if worst.is_infinite() {
            return f32::INFINITY;
        }
        // The distance itself was rounded in double precision; entries that underflow in single
        // precision are below 1e-38 of the largest.
        let slack = 1.0 + 4.0 * (self.centre.len() + 8) as f64 * f64::EPSILON;
        let scaled = worst * self.scale * self.scale * slack + 1e-30;
        ((scaled - lowered_norm) as f32).next_up()
    }
}

impl<'a> Brute<'a> {
    /// Lays the rows of `points` out for the kernel.
    pub fn new(points: &'a Points<'a>) -> Self {
        let dim = points.dim();
        let filter = Filter::new(points);
        let padded = points.len().next_multiple_of(LANES);
        let mut panels = vec![0.0_f32; padded * dim];
        let mut norms = vec![f32::INFINITY; padded];
        for (index, row) in points.as_slice().chunks_exact(dim).enumerate() {
            let start = index / LANES * LANES * dim + index % LANES;
            for (column, value) in filter.round(row).enumerate() {
                panels[start + column * LANES] = value;
            }
            norms[index] = (filter.lowered(filter.round(row)) as f32).next_down();
        }
        Self { points, filter, panels, norms }
    }

    /// Answers a list of queries, each with the row that is the query itself if there is one.
    fn fill<'q>(
        &self,
        k: usize,
        queries: impl Iterator<Item = (&'q [f64], Option<u32>)>,
        task: &Task,
        indices: &mut [u32],
        squared: &mut [f64],
    ) -> Result<()> {
        let level = Level::detect();
        let mut lines: Vec<Line> = queries
            .map(|(row, own)| Line::new(row, own, self.filter.lowered_query(row), k))
            .collect();
        let mut tiles: Vec<Tile> = lines
            .chunks_mut(rows_per_tile(level))
            .map(|lines| Tile::new(level, lines, &self.filter))
            .collect();
        let panel_len = self.points.dim() * LANES;
        let panels_per_sweep = (BYTES_PER_SWEEP / (panel_len * size_of::<f32>())).max(1);
        for (sweep, panels) in self.panels.chunks(panels_per_sweep * panel_len).enumerate() {
            task.check()?;
            for tile in &mut tiles {
                for (number, panel) in panels.chunks_exact(panel_len).enumerate() {
                    let first = (sweep * panels_per_sweep + number) * LANES;
                    self.offer_panel(level, tile, panel, first);
                }
            }
        }
        drop(tiles);
        let mut sorted = Vec::with_capacity(k);
        let places = indices.chunks_exact_mut(k).zip(squared.chunks_exact_mut(k));
        for (line, (indices, squared)) in lines.iter_mut().zip(places) {
            self.measure(line);
            line.nearest.drain_sorted(&mut sorted);
            write_line(&sorted, indices, squared);
        }
        Ok(())
    }

    /// Offers the rows first … first + LANES − 1 to each query of the tile.
    #[inline]
    fn offer_panel(&self, level: Level, tile: &mut Tile, panel: &[f32], first: usize) {
        let norms: &[f32; LANES] =
            self.norms[first..first + LANES].try_into().expect("norms are padded to whole panels");
        let Tile { lines, packed, thresholds, found } = tile;
        let mut rows = product::filter(level, packed, panel, norms, thresholds, found);
        while rows != 0 {
            let q = rows.trailing_zeros() as usize;
            rows &= rows - 1;
            let line = &mut lines[q];
            let mut lanes = found.passed[q];
            while lanes != 0 {
                let lane = lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                let index = (first + lane) as u32;
                if (index as usize) < self.points.len() && line.own != Some(index) {
                    let sum = found.sums[q][lane];
                    let most = f64::from(sum) + self.filter.doubled() * f64::from(norms[lane]);
                    line.waiting.push(Waiting { most: (most as f32).next_up(), sum, index });
                }
            }
            if line.waiting.len() >= line.patience {
                thresholds[q] = self.thin_out(line);
            }
        }
    }

    /// Drops the candidates that k others are sure to beat; returns the new threshold.
    ///
    /// A true value is at most 2ε|c|² above its accumulator, up to ε|q|² either way; so the k-th smallest of
    /// accumulator + 2ε|c|², plus 2ε|q|², bounds the accumulator of every true neighbour.
    fn thin_out(&self, line: &mut Line) -> f32 {
        if line.lowered_norm == f64::NEG_INFINITY {
            self.measure(line);
            return f32::INFINITY;
        }
        let k = line.nearest.capacity;
        let (_, kth, _) =
            line.waiting.select_nth_unstable_by(k - 1, |a, b| a.most.total_cmp(&b.most));
        let bound = f64::from(kth.most) + self.filter.doubled() * line.lowered_norm + 1e-30;
        let mut threshold = (bound as f32).next_up().min(line.threshold);
        line.waiting.retain(|waiting| waiting.sum <= threshold);
        if 2 * line.waiting.len() > line.patience + k {
            // The filter cannot tell these apart: their distances can.
            self.measure(line);
            threshold =
                threshold.min(self.filter.threshold(line.nearest.worst(), line.lowered_norm));
        }
        line.threshold = threshold;
        threshold
    }

    /// Moves the waiting candidates to the nearest by their exact distances.
    fn measure(&self, line: &mut Line) {
        for Waiting { index, .. } in line.waiting.drain(..) {
            let squared = squared_distance(line.row, self.points.row(index as usize));
            line.nearest.offer(Candidate { squared, index });
        }
    }
}

impl NeighborIndex for Brute<'_> {
    fn search(&self, queries: Queries, k: usize, task: &Task) -> Result<Neighbors> {
        let count = queries.count(self.points);
        fill_blocks(count, k, queries_per_block(count), task, |block, indices, squared| {
            let queries = block.map(|number| queries.get(self.points, number));
            self.fill(k, queries, task, indices, squared)
        })
    }
}

/// Large blocks for the cache, yet several for each thread. The answer does not depend on it.
fn queries_per_block(rows: usize) -> usize {
    (rows / (4 * rayon::current_num_threads())).clamp(MOST_ROWS, QUERIES_PER_BLOCK)
}

/// A candidate known by its accumulator only.
struct Waiting {
    /// sum + 2ε|c|².
    most: f32,
    sum: f32,
    index: u32,
}

/// One query on its way through the panels.
struct Line<'q> {
    row: &'q [f64],
    /// The row that is the query itself.
    own: Option<u32>,
    /// |q|² (1 − ε), or −∞ if the filter says nothing of this query.
    lowered_norm: f64,
    /// Candidates that passed the filter.
    waiting: Vec<Waiting>,
    /// How many may wait.
    patience: usize,
    threshold: f32,
    nearest: Nearest,
}

impl<'q> Line<'q> {
    fn new(row: &'q [f64], own: Option<u32>, lowered_norm: f64, k: usize) -> Self {
        let patience = 2 * k + 16;
        Self {
            row,
            own,
            lowered_norm,
            waiting: Vec::with_capacity(patience + LANES),
            patience,
            threshold: f32::INFINITY,
            nearest: Nearest::new(k),
        }
    }
}

/// Queries that go through the kernel together.
struct Tile<'a, 'q> {
    lines: &'a mut [Line<'q>],
    /// −2 q, column after column; zero for missing queries and those the filter says nothing of.
    packed: Vec<f32>,
    /// Missing queries take nothing.
    thresholds: [f32; MOST_ROWS],
    found: Found,
}

impl<'a, 'q> Tile<'a, 'q> {
    fn new(level: Level, lines: &'a mut [Line<'q>], filter: &Filter) -> Self {
        let rows = rows_per_tile(level);
        let mut packed = vec![0.0; filter.centre.len() * rows];
        let mut thresholds = [f32::NEG_INFINITY; MOST_ROWS];
        for (q, line) in lines.iter().enumerate() {
            thresholds[q] = f32::INFINITY;
            if line.lowered_norm > f64::NEG_INFINITY {
                for (column, value) in filter.round(line.row).enumerate() {
                    packed[column * rows + q] = -2.0 * value;
                }
            }
        }
        Self { lines, packed, thresholds, found: Found::default() }
    }
}
