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
//! may not. No library fuses the comparison into the product, hence the small kernel here.

use crate::error::Result;
use crate::points::Points;
use crate::simd::Level;
use crate::task::Task;

use super::{
    Candidate, Nearest, NeighborIndex, Neighbors, Queries, fill_blocks, squared_distance,
    write_line,
};

/// Points side by side in one panel: one AVX-512 register, two AVX2 or four SSE2/NEON ones.
const LANES: usize = 16;

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

/// A query as the kernel wants it: −2 q, and what turns a distance into a threshold.
#[derive(Debug, Default)]
struct Query {
    row: Vec<f32>,
    lowered_norm: f64,
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
        let bound = if steps < 0.5 { 2.0 * steps / (1.0 - steps) } else { f64::INFINITY };
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

    fn query(&self, row: &[f64], query: &mut Query) {
        query.lowered_norm = self.lowered(self.round(row));
        query.row.clear();
        if query.lowered_norm < LARGEST_NORM {
            query.row.extend(self.round(row).map(|value| -2.0 * value));
        } else {
            // So far away that single precision overflows: every row is looked at.
            query.lowered_norm = f64::NEG_INFINITY;
            query.row.resize(row.len(), 0.0);
        }
    }

    /// The largest accumulator a pair may have that could be at `worst` or nearer.
    fn threshold(&self, worst: f64, query: &Query) -> f32 {
        if worst.is_infinite() {
            return f32::INFINITY;
        }
        // The distance itself was rounded in double precision; entries that underflow in single
        // precision are below 1e-38 of the largest.
        let slack = 1.0 + 4.0 * (self.centre.len() + 8) as f64 * f64::EPSILON;
        let scaled = worst * self.scale * self.scale * slack + 1e-30;
        ((scaled - query.lowered_norm) as f32).next_up()
    }
}

impl<'a> Brute<'a> {
    /// Lays the rows of `points` out for the kernel.
    pub fn new(points: &'a Points<'a>) -> Self {
        let dim = points.dim();
        let filter = Filter::new(points);
        let mut panels = vec![0.0_f32; points.len().div_ceil(LANES) * LANES * dim];
        let mut norms = Vec::with_capacity(points.len().div_ceil(LANES) * LANES);
        for (index, row) in points.as_slice().chunks_exact(dim).enumerate() {
            let start = index / LANES * LANES * dim + index % LANES;
            for (column, value) in filter.round(row).enumerate() {
                panels[start + column * LANES] = value;
            }
            norms.push((filter.lowered(filter.round(row)) as f32).next_down());
        }
        norms.resize(norms.capacity(), f32::INFINITY);
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
        let mut block: Vec<Line> = queries
            .map(|(row, own)| {
                let mut query = Query::default();
                self.filter.query(row, &mut query);
                Line { row, own, query, threshold: f32::INFINITY, nearest: Nearest::new(k) }
            })
            .collect();
        let panel_len = self.points.dim() * LANES;
        let panels_per_sweep = (BYTES_PER_SWEEP / (panel_len * size_of::<f32>())).max(1);
        for (sweep, panels) in self.panels.chunks(panels_per_sweep * panel_len).enumerate() {
            task.check()?;
            for lines in block.chunks_mut(rows_per_tile(level)) {
                for (number, panel) in panels.chunks_exact(panel_len).enumerate() {
                    let first = (sweep * panels_per_sweep + number) * LANES;
                    self.offer_panel(level, lines, panel, first);
                }
            }
        }
        let mut sorted = Vec::with_capacity(k);
        for ((line, indices), squared) in
            block.iter_mut().zip(indices.chunks_exact_mut(k)).zip(squared.chunks_exact_mut(k))
        {
            line.nearest.drain_sorted(&mut sorted);
            write_line(&sorted, indices, squared);
        }
        Ok(())
    }

    /// Offers the rows first … first + LANES − 1 to each query in `lines`.
    #[inline]
    fn offer_panel(&self, level: Level, lines: &mut [Line], panel: &[f32], first: usize) {
        let norms: &[f32; LANES] =
            self.norms[first..first + LANES].try_into().expect("norms are padded to whole panels");
        let mut passed = [0_u16; MOST_ROWS];
        filter_panel(level, lines, panel, norms, &mut passed);
        for (line, &passed) in lines.iter_mut().zip(&passed) {
            let mut lanes = passed;
            while lanes != 0 {
                let index = first + lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                if index < self.points.len() && line.own != Some(index as u32) {
                    let squared = squared_distance(line.row, self.points.row(index));
                    line.nearest.offer(Candidate { squared, index: index as u32 });
                    line.threshold = self.filter.threshold(line.nearest.worst(), &line.query);
                }
            }
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

/// One query on its way through the panels.
struct Line<'q> {
    row: &'q [f64],
    /// The row that is the query itself.
    own: Option<u32>,
    query: Query,
    threshold: f32,
    nearest: Nearest,
}

/// Queries the widest kernel takes at once.
const MOST_ROWS: usize = 12;

/// Queries taken at once: as many as keep their accumulators in registers.
fn rows_per_tile(level: Level) -> usize {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => MOST_ROWS,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => 6,
        Level::Baseline => 3,
    }
}

/// Sets bit l of `passed[q]` where lane l of the panel may be a neighbour of query q.
#[inline]
fn filter_panel(
    level: Level,
    lines: &[Line],
    panel: &[f32],
    norms: &[f32; LANES],
    passed: &mut [u16; MOST_ROWS],
) {
    match level {
        // SAFETY: `Level::detect` has found the features.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { filter_avx512(lines, panel, norms, passed) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { filter_avx2(lines, panel, norms, passed) },
        Level::Baseline => filter_tile::<3, false>(lines, panel, norms, passed),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn filter_avx512(
    lines: &[Line],
    panel: &[f32],
    norms: &[f32; LANES],
    passed: &mut [u16; MOST_ROWS],
) {
    filter_tile::<MOST_ROWS, true>(lines, panel, norms, passed);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn filter_avx2(lines: &[Line], panel: &[f32], norms: &[f32; LANES], passed: &mut [u16; MOST_ROWS]) {
    filter_tile::<6, true>(lines, panel, norms, passed);
}

/// acc[q][l] = norms[l] + Σⱼ query[q][j] · panel[j][l], compared with the query's threshold.
#[inline(always)]
fn filter_tile<const ROWS: usize, const FUSED: bool>(
    lines: &[Line],
    panel: &[f32],
    norms: &[f32; LANES],
    passed: &mut [u16; MOST_ROWS],
) {
    let dim = panel.len() / LANES;
    // A last, shorter tile repeats its first query; the surplus is not looked at.
    let queries: [&[f32]; ROWS] =
        std::array::from_fn(|q| &lines.get(q).unwrap_or(&lines[0]).query.row[..dim]);
    let mut sums = [*norms; ROWS];
    let (columns, _) = panel.as_chunks::<LANES>();
    for (j, column) in columns.iter().enumerate() {
        for q in 0..ROWS {
            let factor = queries[q][j];
            for lane in 0..LANES {
                sums[q][lane] = if FUSED {
                    column[lane].mul_add(factor, sums[q][lane])
                } else {
                    sums[q][lane] + column[lane] * factor
                };
            }
        }
    }
    for (q, line) in lines.iter().enumerate() {
        let mut bits = 0;
        for (lane, sum) in sums[q].iter().enumerate() {
            bits |= u16::from(*sum <= line.threshold) << lane;
        }
        passed[q] = bits;
    }
}
