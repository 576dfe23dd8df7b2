//! How the shares of eight neighbourhoods lie in memory.

use crate::simd::LANES;

/// Lines of eight columns in a stripe of shares.
pub(crate) const STRIPE: usize = 4;

/// Where a stripe of the shares of eight neighbourhoods of k points begins, and how many lines it has for each
/// neighbour, if all `width` lines of columns are cut into stripes. The neighbours follow each other, lane by lane.
pub(crate) fn stripe_at(stripe: usize, k: usize, width: usize) -> (usize, usize) {
    (LANES * k * stripe * STRIPE, STRIPE.min(width - stripe * STRIPE))
}
