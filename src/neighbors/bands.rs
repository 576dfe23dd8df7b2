//! Bands of sums, as the sixteen bits with which sums are compared.
//!
//! Twice as many sums as in single precision are compared side by side if each is rounded to a key:
//!
//! ```text
//! key(s) = s · scale, rounded to a whole number from 0 to 65535
//! ```
//!
//! A key never falls where the sum rises. So a sum is below a band if its key is below the key of the band's low end,
//! above it if its key is above that of the high end, and close otherwise.

use crate::error::Result;
use crate::matrix::try_zeros;

use super::filter_kernel::PANEL_ROWS;

/// The largest key.
pub(super) const TOP: f32 = u16::MAX as f32;

/// The key of the last band's high end. Keys are finest if it is large; sums beyond it need no key of their own.
const LAST_KEY: f32 = 60_000.0;

/// One number for each row of a panel.
pub(super) type Lanes<T> = [T; PANEL_ROWS];

/// The scale for bands that end at `high`.
pub(super) fn scale_for(high: f32) -> f32 {
    LAST_KEY / high.max(f32::MIN_POSITIVE * LAST_KEY)
}

/// The key of a sum.
#[inline(always)]
pub(super) fn key(sum: f32, scale: f32) -> u16 {
    let scaled = sum * scale;
    let scaled = if scaled < TOP { scaled } else { TOP };
    let scaled = if scaled > 0.0 { scaled } else { 0.0 };
    // Adding 2²³ rounds to a whole number, which the lowest bits hold.
    (scaled + 8_388_608.0).to_bits() as u16
}

/// The bands of some queries, as many for each: ascending, the low ends as well as the high ends; they may overlap.
pub(super) struct Bands<'b> {
    pub(super) count: usize,
    /// One for each query.
    pub(super) scales: &'b [f32],
    /// The keys of the ends, query after query.
    pub(super) lows: &'b [u16],
    pub(super) highs: &'b [u16],
}

/// The bands of a panel of queries, side by side, and how many sums have been below each.
pub(super) struct PanelBands {
    pub(super) scales: Lanes<f32>,
    pub(super) lows: Vec<Lanes<u16>>,
    pub(super) highs: Vec<Lanes<u16>>,
    pub(super) below: Vec<Lanes<u16>>,
}

impl PanelBands {
    pub(super) fn new(bands: Bands) -> Result<Self> {
        let count = bands.count;
        let mut panel = Self {
            scales: [0.0; PANEL_ROWS],
            lows: try_zeros(count)?,
            highs: try_zeros(count)?,
            below: try_zeros(count)?,
        };
        panel.scales[..bands.scales.len()].copy_from_slice(bands.scales);
        for lane in 0..bands.scales.len() {
            for band in 0..count {
                panel.lows[band][lane] = bands.lows[lane * count + band];
                panel.highs[band][lane] = bands.highs[lane * count + band];
            }
        }
        Ok(panel)
    }

    /// Moves the counts to those of the queries, query after query.
    pub(super) fn drain_to(&mut self, counts: &mut [u32]) {
        for (lane, counts) in counts.chunks_exact_mut(self.below.len()).enumerate() {
            for (count, below) in counts.iter_mut().zip(&mut self.below) {
                *count += u32::from(std::mem::take(&mut below[lane]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_rise_with_the_sums_and_end_where_sixteen_bits_do() {
        for high in [1e-38, 1e-30, 0.3, 7e20] {
            let scale = scale_for(high);
            let sums = [f32::NEG_INFINITY, -1.0, 0.0, 0.5 * high, high, f32::MAX, f32::INFINITY];
            let keys = sums.map(|sum| key(sum, scale));
            assert!(keys.is_sorted(), "{keys:?}");
            assert!(keys[2] == 0 && keys[4] <= 60_000 && keys[6] == u16::MAX, "{keys:?}");
        }
    }
}
