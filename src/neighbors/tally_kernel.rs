//! [`super::tally`] in AVX-512 registers of thirty-two keys.
//!
//! A key lies in a band exactly if it is at most the high end of the last band whose low end it reaches.

use std::arch::x86_64::*;

use super::bands::{Bands, Lanes, PanelBands, TOP};
use super::filter_kernel::{PANEL_ROWS, halves};

/// Bands that are held in registers together.
const MOST_BANDS: usize = 8;

/// Calls a function with a number of bands that the compiler knows.
macro_rules! with_bands {
    ($count:expr, $function:ident($($argument:expr),*)) => {
        match $count {
            1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            3 => $function::<3>($($argument),*),
            4 => $function::<4>($($argument),*),
            5 => $function::<5>($($argument),*),
            6 => $function::<6>($($argument),*),
            7 => $function::<7>($($argument),*),
            _ => $function::<MOST_BANDS>($($argument),*),
        }
    };
}

#[target_feature(enable = "avx512f,avx512bw,popcnt")]
pub(super) fn tally_queries<const PLACES: usize, const PANELS: usize>(
    sums: &[[f32; PLACES]],
    panels: usize,
    bands: Bands,
    below: &mut [u32],
    close: &mut [[u32; PANELS]],
) -> bool {
    let mut any = false;
    for (query, (sums, close)) in sums.iter().zip(close).enumerate() {
        *close = [0; PANELS];
        let sums = &sums.as_chunks().0[..panels];
        let (start, mut rest) = (query * bands.count, (query + 1) * bands.count);
        while rest > start {
            let some = rest.saturating_sub(MOST_BANDS).max(start)..rest;
            let (lows, highs) = (&bands.lows[some.clone()], &bands.highs[some.clone()]);
            let (below, scale) = (&mut below[some.clone()], bands.scales[query]);
            let (inside, under) =
                with_bands!(some.len(), few_bands(sums, scale, lows, highs, below, close));
            any |= inside;
            // No sum reaches down to the last of these bands, nor to those before.
            if !inside && !under {
                break;
            }
            rest = some.start;
        }
    }
    any
}

/// Whether any sum may lie in a band, and whether any is below the last.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
fn few_bands<const BANDS: usize>(
    sums: &[Lanes<f32>],
    scale: f32,
    lows: &[u16],
    highs: &[u16],
    below: &mut [u32],
    close: &mut [u32],
) -> (bool, bool) {
    let (lows, highs): (&[u16; BANDS], &[u16; BANDS]) = (exactly(lows), exactly(highs));
    let scales = [_mm512_set1_ps(scale); 2];
    let mut ends = [[_mm512_setzero_si512(); 2]; BANDS];
    for band in 0..BANDS {
        ends[band] = [_mm512_set1_epi16(lows[band] as i16), _mm512_set1_epi16(highs[band] as i16)];
    }
    let (mut reached, mut any) = ([0; BANDS], 0);
    for (sums, close) in sums.iter().zip(close) {
        let keys = keys(halves(sums), scales);
        let first = _mm512_cmpge_epu16_mask(keys, ends[0][0]);
        let mut high = ends[0][1];
        reached[0] += first.count_ones();
        for band in 1..BANDS {
            let at_least = _mm512_cmpge_epu16_mask(keys, ends[band][0]);
            high = _mm512_mask_mov_epi16(high, at_least, ends[band][1]);
            reached[band] += at_least.count_ones();
        }
        let inside = _mm512_mask_cmple_epu16_mask(first, keys, high);
        *close |= inside;
        any |= inside;
    }
    let all = (sums.len() * PANEL_ROWS) as u32;
    for (below, reached) in below.iter_mut().zip(reached) {
        *below += all - reached;
    }
    (any != 0, reached[BANDS - 1] < all)
}

#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn tally_panel<const PLACES: usize>(
    sums: &[[f32; PLACES]],
    first: usize,
    panel: &mut PanelBands,
    close: &mut [u32],
) -> bool {
    let PanelBands { scales, lows, highs, below } = panel;
    let scales = halves(scales);
    close.fill(0);
    let mut any = 0;
    let lines = &sums.as_flattened()[first..];
    let ends = lows.chunks(MOST_BANDS).zip(highs.chunks(MOST_BANDS));
    for ((lows, highs), below) in ends.zip(below.chunks_mut(MOST_BANDS)) {
        any |= with_bands!(
            lows.len(),
            few_bands_of_panel(lines, PLACES, scales, lows, highs, below, close)
        );
    }
    any != 0
}

/// The same for the first numbers of each of some `lines`; returns the lanes that are close in any.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn few_bands_of_panel<const BANDS: usize>(
    lines: &[f32],
    length: usize,
    scales: [__m512; 2],
    lows: &[Lanes<u16>],
    highs: &[Lanes<u16>],
    below: &mut [Lanes<u16>],
    close: &mut [u32],
) -> u32 {
    let (lows, highs): (&[_; BANDS], &[_; BANDS]) = (exactly(lows), exactly(highs));
    let below: &mut [_; BANDS] = below.try_into().expect("so many bands");
    let mut ends = [[_mm512_setzero_si512(); 2]; BANDS];
    let mut counts = [_mm512_setzero_si512(); BANDS];
    for band in 0..BANDS {
        ends[band] = [load(&lows[band]), load(&highs[band])];
        counts[band] = load(&below[band]);
    }
    let (one, mut any) = (_mm512_set1_epi16(1), 0);
    for (line, close) in lines.chunks(length).zip(close) {
        let keys = keys(halves(exactly(&line[..PANEL_ROWS])), scales);
        let mut under = _mm512_cmplt_epu16_mask(keys, ends[0][0]);
        let first = !under;
        let mut high = ends[0][1];
        counts[0] = _mm512_mask_add_epi16(counts[0], under, counts[0], one);
        for band in 1..BANDS {
            under = _mm512_cmplt_epu16_mask(keys, ends[band][0]);
            counts[band] = _mm512_mask_add_epi16(counts[band], under, counts[band], one);
            high = _mm512_mask_mov_epi16(ends[band][1], under, high);
        }
        let inside = _mm512_mask_cmple_epu16_mask(first, keys, high);
        *close |= inside;
        any |= inside;
    }
    for band in 0..BANDS {
        // SAFETY: an array of thirty-two numbers.
        unsafe { _mm512_storeu_si512(below[band].as_mut_ptr().cast(), counts[band]) };
    }
    any
}

/// The keys of a panel of sums, as [`super::bands::key`] has them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn keys(sums: [__m512; 2], scales: [__m512; 2]) -> __m512i {
    let whole = |half: usize| {
        let scaled = _mm512_mul_ps(sums[half], scales[half]);
        _mm512_cvtps_epi32(_mm512_min_ps(scaled, _mm512_set1_ps(TOP)))
    };
    // Below zero becomes zero. The instruction takes four numbers from each half in turn.
    let turns = _mm512_packus_epi32(whole(0), whole(1));
    _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), turns)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(values: &Lanes<u16>) -> __m512i {
    // SAFETY: an array of thirty-two numbers.
    unsafe { _mm512_loadu_si512(values.as_ptr().cast()) }
}

/// A slice as the array that it is.
#[inline(always)]
fn exactly<T, const COUNT: usize>(values: &[T]) -> &[T; COUNT] {
    values.try_into().expect("so many")
}
