//! Eight neighbourhoods of more points than columns → their shape operators as products of two thin factors.
//!
//! Every step is done for all eight side by side: each lane of a register belongs to one neighbourhood.

mod frame;
mod shape;

use crate::error::Result;
use crate::points::Points;
use crate::simd::{LANES, Vector};

use frame::Frames;
use shape::Shapes;

/// The workspace, and after a solve the result, for neighbourhoods of k points in d columns.
pub(super) struct Tall<V> {
    frames: Frames<V>,
    shapes: Shapes<V>,
}

impl<V: Vector> Tall<V> {
    pub(super) fn new(k: usize, dim: usize) -> Result<Self> {
        Ok(Self { frames: Frames::new(k, dim)?, shapes: Shapes::new() })
    }

    /// Finds Y and W of every lane. Returns false if the eigensolver does not converge.
    #[inline(always)]
    pub(super) fn solve(&mut self, points: &Points, chosen: [&[u32]; LANES]) -> bool {
        if !self.frames.solve(points, chosen) {
            return false;
        }
        self.shapes.fill(&self.frames);
        true
    }

    /// Appends the rows of one lane's Y to `left` and those of its W to `right`.
    #[inline(always)]
    pub(super) fn push_factors(&mut self, lane: usize, left: &mut Vec<f64>, right: &mut Vec<f64>) {
        let used = self.frames.spectra.ranks[lane] * self.frames.dim;
        let entry = |entry: &V| entry.lanes()[lane];
        left.extend(self.shapes.left[..used].iter().map(entry));
        right.extend(self.frames.directions[..used].iter().map(entry));
    }
}
