//! How many of a group's sums lie below each of some bands, and which lie in one of them.
//!
//! Bands ascend, the low ends as well as the high ends, and may overlap. So a sum lies in a band exactly if it is at most the high
//! end of the last band whose low end it reaches.

use crate::simd::Level;

use super::brute::ROWS_PER_GROUP;

/// The accumulators of one query in a group of rows; infinity where there are no more rows.
pub(super) type Sums = [f32; ROWS_PER_GROUP];

/// Bands that are looked at together: fields of four bits in a register's lanes, beside one that counts bands.
const MOST_BANDS: usize = 7;

/// Adds the number of sums below each band to `below`; returns the places of the sums that lie in one, as bits.
#[inline]
pub(super) fn tally(level: Level, sums: &Sums, bands: &[[f32; 2]], below: &mut [u32]) -> u128 {
    let (mut places, mut rest) = (0, bands.len());
    while rest > 0 {
        let some = rest.saturating_sub(MOST_BANDS)..rest;
        match tally_few(level, sums, &bands[some.clone()], &mut below[some.clone()]) {
            Some(found) => places |= found,
            // No sum reaches down to the last of these bands, nor to those before.
            None => break,
        }
        rest = some.start;
    }
    places
}

/// The same for at most [`MOST_BANDS`]; none if all sums are beyond all bands.
#[inline]
fn tally_few(level: Level, sums: &Sums, bands: &[[f32; 2]], below: &mut [u32]) -> Option<u128> {
    match level {
        // SAFETY: the level proves that the processor has them.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(_) => unsafe { x86::tally_avx512(sums, bands, below) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(_) => unsafe { x86::tally_avx2(sums, bands, below) },
        Level::Portable => tally_portable(sums, bands, below),
    }
}

#[inline(always)]
fn tally_portable(sums: &Sums, bands: &[[f32; 2]], below: &mut [u32]) -> Option<u128> {
    let mut places = 0;
    for (number, (band, below)) in bands.iter().zip(below).enumerate().rev() {
        let (mut under, mut up_to) = (0, 0);
        for sum in sums {
            under += u32::from(*sum < band[0]);
            up_to += u32::from(*sum <= band[1]);
        }
        *below += under;
        if up_to == 0 {
            return if number + 1 == bands.len() { None } else { Some(places) };
        }
        if under < up_to {
            for (place, sum) in sums.iter().enumerate() {
                places |= u128::from(*sum >= band[0] && *sum <= band[1]) << place;
            }
        }
    }
    Some(places)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{MOST_BANDS, ROWS_PER_GROUP, Sums, tally_portable};

    /// Sums side by side.
    const WIDTH: usize = 16;

    /// Four bits each: the number of bands reached, and one field for each band.
    const FIELD: u32 = 4;

    #[target_feature(enable = "avx2")]
    pub(super) fn tally_avx2(sums: &Sums, bands: &[[f32; 2]], below: &mut [u32]) -> Option<u128> {
        tally_portable(sums, bands, below)
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn tally_avx512(sums: &Sums, bands: &[[f32; 2]], below: &mut [u32]) -> Option<u128> {
        match bands.len() {
            1 => tally_bands::<1>(sums, bands, below),
            2 => tally_bands::<2>(sums, bands, below),
            3 => tally_bands::<3>(sums, bands, below),
            4 => tally_bands::<4>(sums, bands, below),
            5 => tally_bands::<5>(sums, bands, below),
            6 => tally_bands::<6>(sums, bands, below),
            _ => tally_bands::<MOST_BANDS>(sums, bands, below),
        }
    }

    #[target_feature(enable = "avx512f")]
    fn tally_bands<const BANDS: usize>(
        sums: &Sums,
        bands: &[[f32; 2]],
        below: &mut [u32],
    ) -> Option<u128> {
        let bands: &[[f32; 2]; BANDS] = bands.try_into().expect("so many bands");
        let (chunks, _) = sums.as_chunks::<WIDTH>();
        let highest = _mm512_set1_ps(bands[BANDS - 1][1]);
        let mut near = 0;
        for sums in chunks {
            // SAFETY: an array of sixteen floats.
            let sums = unsafe { _mm512_loadu_ps(sums.as_ptr()) };
            near |= _mm512_cmp_ps_mask::<_CMP_LE_OQ>(sums, highest);
        }
        if near == 0 {
            return None;
        }
        let mut lows = [_mm512_setzero_ps(); BANDS];
        let mut steps = [_mm512_setzero_si512(); BANDS];
        // By the number of bands reached, the high end of the last of them; no sum is at most NaN.
        let mut highs = [f32::NAN; WIDTH];
        for band in 0..BANDS {
            lows[band] = _mm512_set1_ps(bands[band][0]);
            steps[band] = _mm512_set1_epi32(1 + (1 << (FIELD * (band as u32 + 1))));
            highs[band + 1] = bands[band][1];
        }
        // SAFETY: an array of sixteen floats.
        let highs = unsafe { _mm512_loadu_ps(highs.as_ptr()) };
        let fields = _mm512_set1_epi32(!0 << FIELD);
        let mut reached = _mm512_setzero_si512();
        let mut places = 0_u128;
        for (number, sums) in chunks.iter().enumerate() {
            // SAFETY: an array of sixteen floats.
            let sums = unsafe { _mm512_loadu_ps(sums.as_ptr()) };
            let mut here = _mm512_setzero_si512();
            for band in 0..BANDS {
                let at_least = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(sums, lows[band]);
                here = _mm512_mask_add_epi32(here, at_least, here, steps[band]);
            }
            // The lowest four bits of each lane choose its high end.
            let high = _mm512_permutexvar_ps(here, highs);
            let inside = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(sums, high);
            if inside != 0 {
                places |= u128::from(inside) << (number * WIDTH);
            }
            reached = _mm512_add_epi32(reached, _mm512_and_si512(here, fields));
        }
        // Fields of eight bits hold the sums over all lanes.
        let bytes = _mm512_set1_epi32(0x0f0f_0f0f);
        let even = added_bytes(_mm512_and_si512(reached, bytes));
        let odd = added_bytes(_mm512_and_si512(_mm512_srli_epi32::<4>(reached), bytes));
        for band in 0..BANDS {
            let field = band + 1;
            let from = if field % 2 == 0 { even } else { odd };
            below[band] += ROWS_PER_GROUP as u32 - (from >> (8 * (field / 2)) & 0xff);
        }
        Some(places)
    }

    /// The sum of the lanes; no byte of it overflows.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn added_bytes(lanes: __m512i) -> u32 {
        _mm512_reduce_add_epi32(lanes) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_counts_the_same() {
        let sums: Sums = std::array::from_fn(|at| (at * 37 % ROWS_PER_GROUP) as f32);
        let place = |sum: usize| sums.iter().position(|other| *other == sum as f32).unwrap();
        for level in Level::available() {
            for count in 1..20 {
                // Bands from 5 on: [5, 6], [10, 11], …, the last of them beyond all sums.
                let bands: Vec<[f32; 2]> =
                    (1..=count).map(|at| [(5 * at) as f32, (5 * at + 1) as f32]).collect();
                let mut below = vec![1; count];
                let places = tally(level, &sums, &bands, &mut below);
                assert!((1..=count as u32).zip(&below).all(|(at, below)| *below == 1 + 5 * at));
                let expected =
                    (1..=count).flat_map(|at| [place(5 * at), place(5 * at + 1)]).map(|at| 1 << at);
                assert_eq!(places, expected.sum::<u128>());
            }
        }
    }

    #[test]
    fn bands_may_overlap_hold_everything_or_nothing() {
        let sums: Sums = std::array::from_fn(|at| (at * 37 % ROWS_PER_GROUP) as f32);
        for level in Level::available() {
            let mut below = [0; 3];
            let bands = [[10.0, 20.0], [10.0, 25.0], [12.0, 25.0]];
            let places = tally(level, &sums, &bands, &mut below);
            assert_eq!((below, places.count_ones()), ([10, 10, 12], 16));
            let mut below = [0];
            let places = tally(level, &sums, &[[f32::NEG_INFINITY, f32::MAX]], &mut below);
            assert_eq!((below, places), ([0], u128::MAX));
            let beyond = [f32::INFINITY; ROWS_PER_GROUP];
            for bands in [[[5.0, f32::MAX]; 9], [[f32::NEG_INFINITY, 3.0]; 9]] {
                let mut below = [0; 9];
                assert_eq!(tally(level, &beyond, &bands, &mut below), 0);
                assert_eq!(below, [0; 9]);
            }
        }
    }
}
