//! The single precision product of [`super::brute`], with the comparison fused into it.
//!
//! No library does the comparison while the sums are still in registers; writing them out and reading them again
//! would cost more than the product itself in few columns.

use crate::simd::Level;

/// Points side by side in one panel: two AVX-512 registers; narrower kernels take it half by half.
pub(super) const PANEL_ROWS: usize = 32;
pub(super) const HALF: usize = PANEL_ROWS / 2;

/// Queries the widest kernel takes at once.
pub(super) const MOST_ROWS: usize = 12;

/// Queries taken at once: as many as keep their accumulators in registers.
pub(super) fn rows_per_tile(level: Level) -> usize {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(_) => 12,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(_) => 6,
        Level::Portable => 3,
    }
}

/// What one panel has for a tile of queries.
pub(super) struct Found {
    /// sums[q][l] = norms[l] + Σⱼ packed[j][q] · panel[j][l].
    pub(super) sums: [[f32; PANEL_ROWS]; MOST_ROWS],
    /// Bit l of `passed[q]`: that sum is at most `thresholds[q]`.
    pub(super) passed: [u32; MOST_ROWS],
    /// Bit q: any bit of `passed[q]` is set.
    pub(super) rows: u16,
}

impl Default for Found {
    fn default() -> Self {
        Self { sums: [[0.0; PANEL_ROWS]; MOST_ROWS], passed: [0; MOST_ROWS], rows: 0 }
    }
}

/// The number of the first panel of which any sum passes, with what it has in `found`.
///
/// `packed` holds a factor for each column and query, `panels` whole panels of as many columns, `norms` a number for
/// each of their points.
#[inline]
pub(super) fn first_passing(
    level: Level,
    packed: &[f32],
    panels: &[f32],
    norms: &[f32],
    thresholds: &[f32; MOST_ROWS],
    found: &mut Found,
) -> Option<usize> {
    match level {
        // SAFETY: the level proves that the processor has them.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(_) => unsafe {
            x86::first_passing_avx512(packed, panels, norms, thresholds, found)
        },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(_) => unsafe { first_passing_avx2(packed, panels, norms, thresholds, found) },
        Level::Portable => {
            first_passing_portable::<3, false>(packed, panels, norms, thresholds, found)
        }
    }
}

/// All sums of a few panels: `sums[q]` gets those of query q, each with `added[q]` added to it, place after place.
///
/// The other arguments are those of [`first_passing`].
#[inline]
pub(super) fn all_sums<const PLACES: usize>(
    level: Level,
    packed: &[f32],
    panels: &[f32],
    norms: &[f32],
    added: &[f32; MOST_ROWS],
    sums: &mut [[f32; PLACES]; MOST_ROWS],
) {
    assert!(norms.len() <= PLACES);
    match level {
        // SAFETY: the level proves that the processor has them.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(_) => unsafe { x86::all_sums_avx512(packed, panels, norms, added, sums) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(_) => unsafe { all_sums_avx2(packed, panels, norms, added, sums) },
        Level::Portable => {
            all_sums_portable::<3, false, PLACES>(packed, panels, norms, added, sums)
        }
    }
}

/// The sums of a tile of queries and half a panel, from place `half` on.
#[inline(always)]
pub(super) fn half_sums<const ROWS: usize, const FUSED: bool>(
    norms: &[f32; PANEL_ROWS],
    panel: &[[f32; PANEL_ROWS]],
    half: usize,
    factors: &[[f32; ROWS]],
) -> [[f32; HALF]; ROWS] {
    let mut sums = [[0.0; HALF]; ROWS];
    for q in 0..ROWS {
        sums[q].copy_from_slice(&norms[half..half + HALF]);
    }
    for (column, factors) in panel.iter().zip(factors) {
        let column = &column[half..half + HALF];
        for q in 0..ROWS {
            for lane in 0..HALF {
                let (sum, factor) = (&mut sums[q][lane], factors[q]);
                // Where there is no such instruction, a fused step is a slow call.
                *sum = if FUSED {
                    column[lane].mul_add(factor, *sum)
                } else {
                    column[lane] * factor + *sum
                };
            }
        }
    }
    sums
}

#[inline(always)]
fn all_sums_portable<const ROWS: usize, const FUSED: bool, const PLACES: usize>(
    packed: &[f32],
    panels: &[f32],
    norms: &[f32],
    added: &[f32; MOST_ROWS],
    sums: &mut [[f32; PLACES]; MOST_ROWS],
) {
    let (factors, _) = packed.as_chunks::<ROWS>();
    let (columns, _) = panels.as_chunks::<PANEL_ROWS>();
    let (norms, _) = norms.as_chunks::<PANEL_ROWS>();
    for (number, (panel, norms)) in columns.chunks_exact(factors.len()).zip(norms).enumerate() {
        for half in [0, HALF] {
            let found = half_sums::<ROWS, FUSED>(norms, panel, half, factors);
            for q in 0..ROWS {
                let all = found[q].map(|sum| sum + added[q]);
                sums[q][number * PANEL_ROWS + half..][..HALF].copy_from_slice(&all);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn all_sums_avx2<const PLACES: usize>(
    packed: &[f32],
    panels: &[f32],
    norms: &[f32],
    added: &[f32; MOST_ROWS],
    sums: &mut [[f32; PLACES]; MOST_ROWS],
) {
    all_sums_portable::<6, true, PLACES>(packed, panels, norms, added, sums);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn first_passing_avx2(
    packed: &[f32],
    panels: &[f32],
    norms: &[f32],
    thresholds: &[f32; MOST_ROWS],
    found: &mut Found,
) -> Option<usize> {
    first_passing_portable::<6, true>(packed, panels, norms, thresholds, found)
}

#[inline(always)]
fn first_passing_portable<const ROWS: usize, const FUSED: bool>(
    packed: &[f32],
    panels: &[f32],
    norms: &[f32],
    thresholds: &[f32; MOST_ROWS],
    found: &mut Found,
) -> Option<usize> {
    let (factors, _) = packed.as_chunks::<ROWS>();
    let (columns, _) = panels.as_chunks::<PANEL_ROWS>();
    let (norms, _) = norms.as_chunks::<PANEL_ROWS>();
    columns.chunks_exact(factors.len()).zip(norms).position(|(panel, norms)| {
        let mut any = false;
        for half in [0, HALF] {
            let sums = half_sums::<ROWS, FUSED>(norms, panel, half, factors);
            for q in 0..ROWS {
                for sum in sums[q] {
                    any |= sum <= thresholds[q];
                }
                found.sums[q][half..half + HALF].copy_from_slice(&sums[q]);
            }
        }
        if any {
            found.rows = 0;
            for q in 0..ROWS {
                found.passed[q] = bits(|lane| found.sums[q][lane] <= thresholds[q]);
                found.rows |= u16::from(found.passed[q] != 0) << q;
            }
        }
        any
    })
}

/// The lanes of a panel for which something holds.
pub(super) fn bits(holds: impl Fn(usize) -> bool) -> u32 {
    (0..PANEL_ROWS).fold(0, |bits, lane| bits | u32::from(holds(lane)) << lane)
}

/// The places of the bits that are set, ascending.
#[inline]
pub(super) fn ones(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        place
    })
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{halves, panel_sums, store};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Found, HALF, MOST_ROWS, PANEL_ROWS};

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in super::super) fn halves(values: &[f32; PANEL_ROWS]) -> [__m512; 2] {
        // SAFETY: the two halves of an array of thirty-two floats.
        unsafe { [_mm512_loadu_ps(values.as_ptr()), _mm512_loadu_ps(values.as_ptr().add(HALF))] }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in super::super) fn store(sums: [__m512; 2], out: &mut [f32; PANEL_ROWS]) {
        // SAFETY: the two halves of an array of thirty-two floats.
        unsafe {
            _mm512_storeu_ps(out.as_mut_ptr(), sums[0]);
            _mm512_storeu_ps(out.as_mut_ptr().add(HALF), sums[1]);
        }
    }

    /// The sums of a tile of queries and a panel.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in super::super) fn panel_sums(
        norms: &[f32; PANEL_ROWS],
        panel: &[[f32; PANEL_ROWS]],
        factors: &[[f32; MOST_ROWS]],
    ) -> [[__m512; 2]; MOST_ROWS] {
        let mut sums = [halves(norms); MOST_ROWS];
        for (column, factors) in panel.iter().zip(factors) {
            let column = halves(column);
            for q in 0..MOST_ROWS {
                let factor = _mm512_set1_ps(factors[q]);
                sums[q][0] = _mm512_fmadd_ps(column[0], factor, sums[q][0]);
                sums[q][1] = _mm512_fmadd_ps(column[1], factor, sums[q][1]);
            }
        }
        sums
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn first_passing_avx512(
        packed: &[f32],
        panels: &[f32],
        norms: &[f32],
        thresholds: &[f32; MOST_ROWS],
        found: &mut Found,
    ) -> Option<usize> {
        let (factors, _) = packed.as_chunks::<MOST_ROWS>();
        let (columns, _) = panels.as_chunks::<PANEL_ROWS>();
        let (norms, _) = norms.as_chunks::<PANEL_ROWS>();
        for (number, (panel, norms)) in columns.chunks_exact(factors.len()).zip(norms).enumerate() {
            let sums = panel_sums(norms, panel, factors);
            // Each comparison looks only at lanes where all before it failed: no masks to be joined.
            let mut failed = [u16::MAX; 2];
            for q in 0..MOST_ROWS {
                let threshold = _mm512_set1_ps(thresholds[q]);
                for half in 0..2 {
                    failed[half] = _mm512_mask_cmp_ps_mask::<_CMP_NLE_UQ>(
                        failed[half],
                        sums[q][half],
                        threshold,
                    );
                }
                // Kept whether they pass or not: registers that are used below would be moved to the stack here.
                store(sums[q], &mut found.sums[q]);
            }
            if failed[0] & failed[1] == u16::MAX {
                continue;
            }
            found.rows = 0;
            for q in 0..MOST_ROWS {
                let threshold = _mm512_set1_ps(thresholds[q]);
                let [low, high] = halves(&found.sums[q])
                    .map(|sums| u32::from(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(sums, threshold)));
                found.passed[q] = low | high << HALF;
                found.rows |= u16::from(found.passed[q] != 0) << q;
            }
            return Some(number);
        }
        None
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn all_sums_avx512<const PLACES: usize>(
        packed: &[f32],
        panels: &[f32],
        norms: &[f32],
        added: &[f32; MOST_ROWS],
        sums: &mut [[f32; PLACES]; MOST_ROWS],
    ) {
        let (factors, _) = packed.as_chunks::<MOST_ROWS>();
        let (columns, _) = panels.as_chunks::<PANEL_ROWS>();
        let (norms, _) = norms.as_chunks::<PANEL_ROWS>();
        for (number, (panel, norms)) in columns.chunks_exact(factors.len()).zip(norms).enumerate() {
            let found = panel_sums(norms, panel, factors);
            for q in 0..MOST_ROWS {
                let added = _mm512_set1_ps(added[q]);
                let found = found[q].map(|sums| _mm512_add_ps(sums, added));
                store(found, &mut sums[q].as_chunks_mut::<PANEL_ROWS>().0[number]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_finds_what_the_portable_one_finds() {
        let (dim, panels) = (37, 3);
        let value = |at: usize| ((at * 7919 % 101) as f32 - 50.0) / 8.0;
        let values: Vec<f32> = (0..panels * dim * PANEL_ROWS).map(value).collect();
        let norms: Vec<f32> = (0..panels * PANEL_ROWS).map(|place| value(place + 3)).collect();
        let query = |q: usize, j: usize| value(q * 1000 + j);
        // Eighths of small integers: every sum is exact.
        let sum = |q: usize, place: usize| {
            let panel = &values[place / PANEL_ROWS * dim * PANEL_ROWS..];
            let dot: f32 =
                (0..dim).map(|j| query(q, j) * panel[j * PANEL_ROWS + place % PANEL_ROWS]).sum();
            norms[place] + dot
        };
        for level in Level::available() {
            let rows = rows_per_tile(level);
            let packed: Vec<f32> = (0..dim * rows).map(|at| query(at % rows, at / rows)).collect();
            let mut all = [[f32::NAN; 4 * PANEL_ROWS]; MOST_ROWS];
            let added = std::array::from_fn(|q| q as f32);
            all_sums(level, &packed, &values, &norms, &added, &mut all);
            for (q, all) in all[..rows].iter().enumerate() {
                let expected = (0..norms.len()).map(|place| sum(q, place) + q as f32);
                assert!(all[..norms.len()].iter().copied().eq(expected));
                assert!(all[norms.len()..].iter().all(|untouched| untouched.is_nan()));
            }
            let first = |thresholds: &[f32; MOST_ROWS], found: &mut Found| {
                first_passing(level, &packed, &values, &norms, thresholds, found)
            };
            // Only the smallest sum of all passes, then none; then some of the first panel.
            let pairs = (0..rows).flat_map(|q| (0..norms.len()).map(move |place| (q, place)));
            let (q, place) = pairs.min_by(|a, b| sum(a.0, a.1).total_cmp(&sum(b.0, b.1))).unwrap();
            let mut found = Found::default();
            let mut thresholds = [f32::NEG_INFINITY; MOST_ROWS];
            assert_eq!(first(&thresholds, &mut found), None);
            thresholds[q] = sum(q, place);
            assert_eq!(first(&thresholds, &mut found), Some(place / PANEL_ROWS));
            assert_eq!(found.rows, 1 << q);
            assert_eq!(found.passed[q], 1 << (place % PANEL_ROWS));
            assert_eq!(found.sums[q][place % PANEL_ROWS], sum(q, place));

            let thresholds = std::array::from_fn(|q| 40.0 * (q % 3) as f32 - 40.0);
            assert_eq!(first(&thresholds, &mut found), Some(0));
            for q in 0..rows {
                assert_eq!(found.rows >> q & 1 == 1, found.passed[q] != 0);
                for lane in 0..PANEL_ROWS {
                    let passes = sum(q, lane) <= thresholds[q];
                    assert_eq!(found.passed[q] >> lane & 1 == 1, passes);
                    assert!(!passes || found.sums[q][lane] == sum(q, lane));
                }
            }
        }
    }
}
