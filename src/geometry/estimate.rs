//! One fit: its sizes and its result.

use crate::error::{Error, Result};
use crate::matrix::check_room;
use crate::simd::LANES;

use super::polynomial::unknowns;

/// Copies of a neighbourhood, of its design or of its normal equations in the workspace of a thread, generously.
const COPIES: usize = 8;

/// The sizes of one fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Neighbours of each point, the point itself not counted.
    pub neighbors: usize,
    /// Columns, d.
    pub dim: usize,
    /// The intrinsic dimension, m.
    pub intrinsic: usize,
    /// The degree of the polynomial: 2, 3 or 4.
    pub order: usize,
}

impl Sizes {
    /// Refuses sizes that have no fit, or no room for the workspaces of all threads.
    pub fn check(self) -> Result<Self> {
        let Self { neighbors, dim, intrinsic, order } = self;
        if intrinsic < 1 || intrinsic >= dim {
            return Err(Error::IntrinsicDimension { given: intrinsic, columns: dim });
        }
        if !(2..=4).contains(&order) {
            return Err(Error::FitOrder { given: order });
        }
        let unknowns = unknowns(intrinsic, order);
        if neighbors + 1 < unknowns {
            return Err(Error::TooFewForFit { k: neighbors, unknowns, intrinsic, order });
        }
        // Neighbourhoods, their designs and normal equations, each in a few copies for eight points side by side.
        let entries = neighbors
            .saturating_mul(dim.saturating_add(unknowns))
            .saturating_add(unknowns.saturating_mul(unknowns));
        let workspace = entries.saturating_mul(COPIES * LANES * size_of::<f64>());
        check_room(workspace.saturating_mul(rayon::current_num_threads()))?;
        Ok(self)
    }
}

/// The fit of one neighbourhood.
#[derive(Debug, Clone, Default)]
pub(crate) struct FormEstimate {
    /// Whether the neighbours determine all of it. Otherwise the numbers mean nothing.
    pub(crate) valid: bool,
    /// The distance of the farthest neighbour.
    pub(crate) radius: f64,
    /// σ² of the points in each normal direction, estimated from the residuals.
    pub(crate) noise_variance: f64,
    /// What the noise is expected to add to |II|² and to |tr II|².
    pub(crate) form_variance: f64,
    pub(crate) trace_variance: f64,
    /// From the point to the surface, d.
    pub(crate) offset: Vec<f64>,
    /// An orthonormal basis of the tangent space, m × d.
    pub(crate) tangent: Vec<f64>,
    /// II of the basis vectors a ≤ b, pairs × d.
    pub(crate) form: Vec<f64>,
}

impl FormEstimate {
    /// Whether everything that comes from divisions is finite.
    pub(crate) fn is_finite(&self) -> bool {
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        finite(&self.offset)
            && finite(&self.tangent)
            && finite(&self.form)
            && !self.form_variance.is_nan()
            && !self.trace_variance.is_nan()
    }

    /// Whether it is valid (1 or 0), radius, σ², what noise adds to |II|² and to |tr II|².
    pub(super) fn write_head(&self, out: &mut [f64]) {
        out[0] = f64::from(u8::from(self.valid));
        out[1] = self.radius;
        out[2] = self.noise_variance;
        out[3] = self.form_variance;
        out[4] = self.trace_variance;
    }
}
