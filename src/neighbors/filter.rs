//! What a single precision product says about squared distances, and how far it may be wrong.
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
//! Where few rows are left to compare with, |c − q|² is taken by differences, which cost more and say more: rounding
//! the entries moves q and c by at most u |q| + u |c| ≤ 2 u |q| + u √D, so that
//!
//! ```text
//! |√accumulator − √D|  ≤  2 u |q| + ε √D
//! ```
//!
//! with the ε above, which has room for the steps of the sum. It matters where neighbours are much nearer than the
//! centre: the product's error is ε |q|², whatever D is.

use crate::error::Result;
use crate::matrix::try_zeros;
use crate::points::Points;
use crate::simd::Level;

use super::filter_kernel::rows_per_tile;

/// Squared norms of queries up to this one leave room for every sum in single precision.
const LARGEST_NORM: f64 = 1e30;

/// The threshold of queries that rule no row out. The padding of the last panel, with infinite norms, does not pass it.
pub(super) const EVERY_ROW: f32 = f32::MAX;

/// The largest power of two by which rows are multiplied.
const MOST_DOUBLINGS: f64 = 1000.0;

/// The distance between two neighbouring doubles near zero.
const SMALLEST_STEP: f64 = f64::from_bits(1);

/// What the accumulators of a query say about squared distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Gauge {
    /// |c|² − 2 q·c: a squared distance once |q|² is added, which stands here as |q|² (1 − ε).
    Product { lowered_norm: f64 },
    /// |c − q|² itself. Rounding the entries moves q and a c beside it by so much together.
    Differences { moved: f64 },
    /// The query is too far away for single precision.
    Nothing,
}

impl Gauge {
    /// |q|² (1 − ε), or −∞ where there are no products with q.
    pub(super) fn lowered_norm(self) -> f64 {
        match self {
            Gauge::Product { lowered_norm } => lowered_norm,
            Gauge::Differences { .. } | Gauge::Nothing => f64::NEG_INFINITY,
        }
    }
}

/// The map from rows to the filter's single precision, and its error bound.
#[derive(Debug)]
pub(super) struct Filter {
    centre: Vec<f64>,
    scale: f64,
    /// ε of the module's comment.
    pub(super) bound: f64,
    /// By how much two scaled squared distances may differ that are equal once their
    /// terms have lost digits to underflow.
    pub(super) underflow: f64,
}

impl Filter {
    pub(super) fn new(points: &Points) -> Self {
        let dim = points.dim();
        let centre = points.column_means();
        let largest = points
            .as_slice()
            .chunks_exact(dim)
            .flat_map(|row| row.iter().zip(&centre).map(|(value, centre)| (value - centre).abs()))
            .fold(0.0, f64::max);
        // A power of two, so that scaling rounds nothing. The bound matters where the mean
        // of equal tiny numbers misses them.
        let scale =
            if largest > 0.0 { (-largest.log2().round()).min(MOST_DOUBLINGS).exp2() } else { 1.0 };
        let underflow = (2 * dim + 16) as f64 * SMALLEST_STEP * scale * scale;
        let steps = (dim + 8) as f64 * f64::from(f32::EPSILON) / 2.0;
        let bound = if steps < 0.04 { 2.0 * steps / (1.0 - steps) } else { f64::INFINITY };
        Self { centre, scale, bound, underflow }
    }

    pub(super) fn round(&self, row: &[f64]) -> impl Iterator<Item = f32> {
        row.iter().zip(&self.centre).map(|(value, centre)| ((value - centre) * self.scale) as f32)
    }

    /// |c|² (1 − ε), or −∞ where the bound says nothing: then every pair is looked at.
    pub(super) fn lowered(&self, rounded: impl Iterator<Item = f32>) -> f64 {
        let norm: f64 = rounded.map(|value| f64::from(value) * f64::from(value)).sum();
        if self.bound.is_finite() { norm * (1.0 - self.bound) } else { f64::NEG_INFINITY }
    }

    /// |q|² (1 − ε) for a query; −∞ if it is so far away that single precision overflows.
    pub(super) fn lowered_query(&self, row: &[f64]) -> f64 {
        let norm = self.lowered(self.round(row));
        if norm < LARGEST_NORM { norm } else { f64::NEG_INFINITY }
    }

    /// What products with this query say.
    pub(super) fn product(&self, query: &[f64]) -> Gauge {
        match self.lowered_query(query) {
            f64::NEG_INFINITY => Gauge::Nothing,
            lowered_norm => Gauge::Product { lowered_norm },
        }
    }

    /// What differences from this query say.
    pub(super) fn differences(&self, query: &[f64]) -> Gauge {
        match self.product(query) {
            Gauge::Product { lowered_norm } => {
                let norm = (lowered_norm / (1.0 - self.bound)).sqrt();
                Gauge::Differences { moved: 1.01 * f64::from(f32::EPSILON) * norm }
            }
            other => other,
        }
    }

    /// The largest scaled squared distance that a pair with this accumulator can have.
    pub(super) fn farthest(&self, accumulator: f32, gauge: Gauge) -> f64 {
        let accumulator = f64::from(accumulator);
        // Factors 1.01 are for rounding, of the norms and here.
        let farthest = match gauge {
            Gauge::Product { lowered_norm } => {
                (accumulator + self.raised(lowered_norm)) / (1.0 - 4.0 * 1.01 * self.bound)
            }
            Gauge::Differences { moved } => {
                (accumulator.sqrt() * (1.0 + self.bound) + moved).powi(2) * (1.0 + self.bound)
            }
            Gauge::Nothing => f64::INFINITY,
        };
        farthest + 1e-30
    }

    /// The largest accumulator of a pair with this scaled squared distance.
    pub(super) fn threshold(&self, squared: f64, gauge: Gauge) -> f32 {
        let threshold = match gauge {
            Gauge::Product { lowered_norm } => squared - lowered_norm,
            Gauge::Differences { moved } => {
                (squared.sqrt() * (1.0 + self.bound) + moved).powi(2) * (1.0 + self.bound) + 1e-30
            }
            Gauge::Nothing => f64::INFINITY,
        };
        (threshold as f32).next_up()
    }

    /// |q|² (1 + 5ε).
    fn raised(&self, lowered_norm: f64) -> f64 {
        lowered_norm / (1.0 - self.bound) * (1.0 + 5.0 * 1.01 * self.bound)
    }

    /// The largest scaled squared distance of a pair whose squared distance was computed as this.
    pub(super) fn scaled(&self, squared: f64) -> f64 {
        // It was rounded in double precision; entries that underflow in single precision are below
        // 1e-38 of the largest.
        squared * self.scale * self.scale * (1.0 + self.rounding()) + 1e-30
    }

    /// The largest relative error of a squared distance in double precision, and of another compared with it.
    fn rounding(&self) -> f64 {
        4.0 * (self.centre.len() + 8) as f64 * f64::EPSILON
    }

    /// Scaled squared distances below the first are computed as less than `squared`, above the second as more.
    pub(super) fn about(&self, squared: f64) -> [f64; 2] {
        let least = squared * self.scale * self.scale * (1.0 - self.rounding()) - 1e-30;
        [least - self.underflow, self.scaled(squared) + self.underflow]
    }

    /// Accumulators with the query's norm added, accumulator + |q|² (1 − ε): those below the first belong to scaled
    /// squared distances below the first of `about`, above the second to some above the second. [`Filter::farthest`]
    /// solved for the accumulator, and the filter itself.
    pub(super) fn band(&self, about: [f64; 2], lowered_norm: f64) -> [f32; 2] {
        let added = f64::from(single(lowered_norm));
        let least =
            (about[0] - 1e-30) * (1.0 - 4.0 * 1.01 * self.bound) - self.raised(lowered_norm);
        let most = about[1] - lowered_norm;
        [((least + added) as f32).next_down(), ((most + added) as f32).next_up()]
    }
}

/// A lowered norm in single precision.
pub(super) fn single(lowered_norm: f64) -> f32 {
    (lowered_norm as f32).next_down()
}

/// −2 q of some rounded queries, column after column; zero for missing ones and those the filter says nothing of.
pub(super) fn pack(
    level: Level,
    rounded: &[f32],
    lowered_norms: impl ExactSizeIterator<Item = f64>,
) -> Result<Vec<f32>> {
    let (rows, dim) = (rows_per_tile(level), rounded.len() / lowered_norms.len());
    let mut packed = try_zeros(dim * rows)?;
    for (q, (norm, rounded)) in lowered_norms.zip(rounded.chunks_exact(dim)).enumerate() {
        if norm > f64::NEG_INFINITY {
            for (column, value) in rounded.iter().enumerate() {
                packed[column * rows + q] = -2.0 * value;
            }
        }
    }
    Ok(packed)
}
