//! V in stripes of columns.

use crate::batched::stripe_at;
use crate::error::Result;
use crate::matrix::try_zeros;
use crate::simd::CacheLine;

/// Some columns of V.
pub(super) struct Stripe {
    /// Where its shares begin in those of eight neighbourhoods.
    pub(super) offset: usize,
    /// Lines in a row.
    pub(super) width: usize,
    pub(super) values: Vec<CacheLine>,
}

impl Stripe {
    pub(super) fn new(index: usize, k: usize, width: usize, rows: usize) -> Result<Self> {
        let (offset, width) = stripe_at(index, k, width);
        Ok(Self { offset, width, values: try_zeros(rows.saturating_mul(width))? })
    }
}
