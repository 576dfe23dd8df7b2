//! The single precision product of [`super::brute`], with the comparison fused into it.
//!
//! No library does the comparison while the sums are still in registers; writing them out and reading them again
//! would cost more than the product itself in few columns.

use crate::simd::Level;

/// Points side by side in one panel: one AVX-512 register, two AVX2 or four SSE2/NEON ones.
pub(super) const LANES: usize = 16;

/// Queries the widest kernel takes at once.
pub(super) const MOST_ROWS: usize = 12;

/// Queries taken at once: as many as keep their accumulators in registers.
pub(super) fn rows_per_tile(level: Level) -> usize {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => 12,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => 6,
        Level::Baseline => 3,
    }
}

/// What one panel has for a tile of queries.
#[derive(Default)]
pub(super) struct Found {
    /// sums[q][l] = norms[l] + Σⱼ packed[j][q] · panel[j][l].
    pub(super) sums: [[f32; LANES]; MOST_ROWS],
    /// Bit l of `passed[q]`: that sum is at most `thresholds[q]`.
    pub(super) passed: [u16; MOST_ROWS],
}

/// Fills `found` if any sum passes. Bit q of the answer: any does for query q.
#[inline]
pub(super) fn filter(
    level: Level,
    packed: &[f32],
    panel: &[f32],
    norms: &[f32; LANES],
    thresholds: &[f32; MOST_ROWS],
    found: &mut Found,
) -> u16 {
    match level {
        // SAFETY: `Level::detect` has found the features.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::filter_avx512(packed, panel, norms, thresholds, found) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::filter_avx2(packed, panel, norms, thresholds, found) },
        Level::Baseline => filter_portable(packed, panel, norms, thresholds, found),
    }
}

fn filter_portable(
    packed: &[f32],
    panel: &[f32],
    norms: &[f32; LANES],
    thresholds: &[f32; MOST_ROWS],
    found: &mut Found,
) -> u16 {
    const ROWS: usize = 3;
    let mut registers = [*norms; ROWS];
    let (columns, _) = panel.as_chunks::<LANES>();
    let (factors, _) = packed.as_chunks::<ROWS>();
    for (column, factors) in columns.iter().zip(factors) {
        for q in 0..ROWS {
            for lane in 0..LANES {
                registers[q][lane] += column[lane] * factors[q];
            }
        }
    }
    let mut any = 0;
    for q in 0..ROWS {
        let mut bits = 0;
        for (lane, sum) in registers[q].iter().enumerate() {
            bits |= u16::from(*sum <= thresholds[q]) << lane;
        }
        found.passed[q] = bits;
        found.sums[q] = registers[q];
        any |= u16::from(bits != 0) << q;
    }
    any
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Found, LANES, MOST_ROWS};

    #[target_feature(enable = "avx512f")]
    pub(super) fn filter_avx512(
        packed: &[f32],
        panel: &[f32],
        norms: &[f32; LANES],
        thresholds: &[f32; MOST_ROWS],
        found: &mut Found,
    ) -> u16 {
        const ROWS: usize = 12;
        // SAFETY: an array of sixteen floats.
        let mut registers = [unsafe { _mm512_loadu_ps(norms.as_ptr()) }; ROWS];
        let (columns, _) = panel.as_chunks::<LANES>();
        let (factors, _) = packed.as_chunks::<ROWS>();
        for (column, factors) in columns.iter().zip(factors) {
            // SAFETY: an array of sixteen floats.
            let column = unsafe { _mm512_loadu_ps(column.as_ptr()) };
            for q in 0..ROWS {
                registers[q] = _mm512_fmadd_ps(column, _mm512_set1_ps(factors[q]), registers[q]);
            }
        }
        let mut bits = [0; ROWS];
        let mut any = 0;
        for q in 0..ROWS {
            bits[q] = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(registers[q], _mm512_set1_ps(thresholds[q]));
            any |= u16::from(bits[q] != 0) << q;
        }
        if any == 0 {
            return 0;
        }
        found.passed[..ROWS].copy_from_slice(&bits);
        for (sums, register) in found.sums.iter_mut().zip(registers) {
            // SAFETY: an array of sixteen floats.
            unsafe { _mm512_storeu_ps(sums.as_mut_ptr(), register) };
        }
        any
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn filter_avx2(
        packed: &[f32],
        panel: &[f32],
        norms: &[f32; LANES],
        thresholds: &[f32; MOST_ROWS],
        found: &mut Found,
    ) -> u16 {
        const ROWS: usize = 6;
        // SAFETY: the two halves of an array of sixteen floats.
        let halves = |values: &[f32; LANES]| unsafe {
            [_mm256_loadu_ps(values.as_ptr()), _mm256_loadu_ps(values.as_ptr().add(LANES / 2))]
        };
        let mut registers = [halves(norms); ROWS];
        let (columns, _) = panel.as_chunks::<LANES>();
        let (factors, _) = packed.as_chunks::<ROWS>();
        for (column, factors) in columns.iter().zip(factors) {
            let column = halves(column);
            for q in 0..ROWS {
                let factor = _mm256_set1_ps(factors[q]);
                registers[q][0] = _mm256_fmadd_ps(column[0], factor, registers[q][0]);
                registers[q][1] = _mm256_fmadd_ps(column[1], factor, registers[q][1]);
            }
        }
        let mut bits = [0_u16; ROWS];
        let mut any = 0;
        for q in 0..ROWS {
            let threshold = _mm256_set1_ps(thresholds[q]);
            let mask = |half: usize| {
                let below = _mm256_cmp_ps::<_CMP_LE_OQ>(registers[q][half], threshold);
                _mm256_movemask_ps(below) as u16
            };
            bits[q] = mask(0) | mask(1) << (LANES / 2);
            any |= u16::from(bits[q] != 0) << q;
        }
        if any == 0 {
            return 0;
        }
        found.passed[..ROWS].copy_from_slice(&bits);
        for (sums, register) in found.sums.iter_mut().zip(registers) {
            // SAFETY: the two halves of an array of sixteen floats.
            unsafe {
                _mm256_storeu_ps(sums.as_mut_ptr(), register[0]);
                _mm256_storeu_ps(sums.as_mut_ptr().add(LANES / 2), register[1]);
            }
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_finds_what_the_portable_one_finds() {
        let dim = 37;
        let value = |at: usize| ((at * 7919 % 101) as f32 - 50.0) / 8.0;
        let panel: Vec<f32> = (0..dim * LANES).map(value).collect();
        let norms: [f32; LANES] = std::array::from_fn(|lane| value(lane + 3));
        let thresholds: [f32; MOST_ROWS] = std::array::from_fn(|q| 40.0 * (q % 3) as f32 - 40.0);
        let query = |q: usize, j: usize| value(q * 1000 + j);
        let mut levels = vec![Level::Baseline, Level::detect()];
        #[cfg(target_arch = "x86_64")]
        if Level::detect() == Level::Avx512 {
            levels.push(Level::Avx2);
        }
        for level in levels {
            let rows = rows_per_tile(level);
            let packed: Vec<f32> = (0..dim * rows).map(|at| query(at % rows, at / rows)).collect();
            let mut found = Found::default();
            let rows_found = filter(level, &packed, &panel, &norms, &thresholds, &mut found);
            let Found { sums, passed } = found;
            for q in 0..rows {
                for lane in 0..LANES {
                    // Eighths of small integers: every sum is exact.
                    let dot: f32 = (0..dim).map(|j| query(q, j) * panel[j * LANES + lane]).sum();
                    assert_eq!(sums[q][lane], norms[lane] + dot);
                    assert_eq!(rows_found >> q & 1 == 1, passed[q] != 0);
                    assert_eq!(passed[q] >> lane & 1 == 1, sums[q][lane] <= thresholds[q]);
                }
            }
            let nothing = [f32::NEG_INFINITY; MOST_ROWS];
            assert_eq!(filter(level, &packed, &panel, &norms, &nothing, &mut Found::default()), 0);
            assert_ne!(rows_found, 0);
        }
    }
}
