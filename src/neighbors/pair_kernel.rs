//! The product of [`super::filter_kernel`], compared on both sides of each pair while the sums are in registers.

use crate::simd::Level;

use super::filter_kernel::{HALF, MOST_ROWS, PANEL_ROWS, bits, half_sums};
#[cfg(target_arch = "x86_64")]
use super::filter_kernel::{halves, panel_sums, store};

/// How far the two sides look.
pub(super) struct Limits<'l> {
    /// What a sum must not exceed for the query, −∞ for missing ones.
    pub(super) queries: &'l [f32; MOST_ROWS],
    /// What is added to a sum before a row compares it, NaN for missing queries.
    pub(super) added: &'l [f32; MOST_ROWS],
    /// What it must then not exceed for the row, −∞ for missing ones.
    pub(super) rows: &'l [f32],
}

/// What a tile of queries and a panel of rows are to each other.
pub(super) struct Met {
    /// sums[q][l] = norms[l] + Σⱼ packed[j][q] · panel[j][l].
    pub(super) sums: [[f32; PANEL_ROWS]; MOST_ROWS],
    /// Bit l of `passed[q]`: the sum is of interest to query q; of `wanted[q]`: to row l.
    pub(super) passed: [u32; MOST_ROWS],
    pub(super) wanted: [u32; MOST_ROWS],
    /// Bit q: any bit of either is set.
    pub(super) queries: u16,
}

impl Default for Met {
    fn default() -> Self {
        let none = [0; MOST_ROWS];
        Self { sums: [[0.0; PANEL_ROWS]; MOST_ROWS], passed: none, wanted: none, queries: 0 }
    }
}

/// The number of the first panel of which any sum is of interest to either side, with what it has in `met`.
///
/// The other arguments are those of [`super::filter_kernel::first_passing`].
#[inline]
pub(super) fn first_meeting(
    level: Level,
    packed: &[f32],
    panels: &[f32],
    norms: &[f32],
    limits: &Limits,
    met: &mut Met,
) -> Option<usize> {
    match level {
        // SAFETY: the level proves that the processor has them.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(_) => unsafe { first_meeting_avx512(packed, panels, norms, limits, met) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(_) => unsafe { first_meeting_avx2(packed, panels, norms, limits, met) },
        Level::Portable => first_meeting_portable::<3, false>(packed, panels, norms, limits, met),
    }
}

#[inline(always)]
fn first_meeting_portable<const ROWS: usize, const FUSED: bool>(
    packed: &[f32],
    panels: &[f32],
    norms: &[f32],
    limits: &Limits,
    met: &mut Met,
) -> Option<usize> {
    let (factors, _) = packed.as_chunks::<ROWS>();
    let (columns, _) = panels.as_chunks::<PANEL_ROWS>();
    let norms = norms.as_chunks::<PANEL_ROWS>().0.iter();
    let rows = limits.rows.as_chunks::<PANEL_ROWS>().0.iter();
    let mut panels = columns.chunks_exact(factors.len()).zip(norms.zip(rows));
    panels.position(|(panel, (norms, rows))| {
        let mut any = false;
        for half in [0, HALF] {
            let sums = half_sums::<ROWS, FUSED>(norms, panel, half, factors);
            for q in 0..ROWS {
                for lane in 0..HALF {
                    let sum = sums[q][lane];
                    any |=
                        (sum <= limits.queries[q]) | (sum + limits.added[q] <= rows[half + lane]);
                }
                met.sums[q][half..half + HALF].copy_from_slice(&sums[q]);
            }
        }
        if any {
            met.queries = 0;
            for q in 0..ROWS {
                let sums = &met.sums[q];
                met.passed[q] = bits(|lane| sums[lane] <= limits.queries[q]);
                met.wanted[q] = bits(|lane| sums[lane] + limits.added[q] <= rows[lane]);
                met.queries |= u16::from(met.passed[q] | met.wanted[q] != 0) << q;
            }
        }
        any
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn first_meeting_avx2(
    packed: &[f32],
    panels: &[f32],
    norms: &[f32],
    limits: &Limits,
    met: &mut Met,
) -> Option<usize> {
    first_meeting_portable::<6, true>(packed, panels, norms, limits, met)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn first_meeting_avx512(
    packed: &[f32],
    panels: &[f32],
    norms: &[f32],
    limits: &Limits,
    met: &mut Met,
) -> Option<usize> {
    use std::arch::x86_64::*;

    let (factors, _) = packed.as_chunks::<MOST_ROWS>();
    let (columns, _) = panels.as_chunks::<PANEL_ROWS>();
    let norms = norms.as_chunks::<PANEL_ROWS>().0.iter();
    let rows = limits.rows.as_chunks::<PANEL_ROWS>().0.iter();
    let panels = columns.chunks_exact(factors.len()).zip(norms.zip(rows));
    for (number, (panel, (norms, rows))) in panels.enumerate() {
        let sums = panel_sums(norms, panel, factors);
        let rows = halves(rows);
        // Each comparison looks only at lanes where all before it failed: no masks to be joined.
        let (mut not_passed, mut not_wanted) = ([u16::MAX; 2], [u16::MAX; 2]);
        for q in 0..MOST_ROWS {
            let query = _mm512_set1_ps(limits.queries[q]);
            let added = _mm512_set1_ps(limits.added[q]);
            for half in 0..2 {
                let sum = sums[q][half];
                not_passed[half] =
                    _mm512_mask_cmp_ps_mask::<_CMP_NLE_UQ>(not_passed[half], sum, query);
                not_wanted[half] = _mm512_mask_cmp_ps_mask::<_CMP_NLE_UQ>(
                    not_wanted[half],
                    _mm512_add_ps(sum, added),
                    rows[half],
                );
            }
            store(sums[q], &mut met.sums[q]);
        }
        if not_passed[0] & not_passed[1] & not_wanted[0] & not_wanted[1] == u16::MAX {
            continue;
        }
        met.queries = 0;
        for q in 0..MOST_ROWS {
            let query = _mm512_set1_ps(limits.queries[q]);
            let added = _mm512_set1_ps(limits.added[q]);
            let (mut passed, mut wanted) = (0, 0);
            for (half, sums) in halves(&met.sums[q]).into_iter().enumerate() {
                let of_query = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(sums, query);
                let of_row =
                    _mm512_cmp_ps_mask::<_CMP_LE_OQ>(_mm512_add_ps(sums, added), rows[half]);
                passed |= u32::from(of_query) << (half * HALF);
                wanted |= u32::from(of_row) << (half * HALF);
            }
            (met.passed[q], met.wanted[q]) = (passed, wanted);
            met.queries |= u16::from(passed | wanted != 0) << q;
        }
        return Some(number);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::filter_kernel::rows_per_tile;
    use super::*;

    #[test]
    fn every_kernel_finds_what_interests_either_side() {
        let (dim, panels) = (21, 4);
        let places = panels * PANEL_ROWS;
        let value = |at: usize| ((at * 7919 % 101) as f32 - 50.0) / 8.0;
        let values: Vec<f32> = (0..dim * places).map(value).collect();
        let norms: Vec<f32> = (0..places).map(|place| value(place + 3)).collect();
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
            let mut smallest: Vec<f32> =
                (0..rows * places).map(|at| sum(at % rows, at / rows)).collect();
            smallest.sort_unstable_by(f32::total_cmp);
            // The last query is missing.
            let mut queries = std::array::from_fn(|q| smallest[q]);
            let mut added = std::array::from_fn(|q| q as f32);
            (queries[rows - 1], added[rows - 1]) = (f32::NEG_INFINITY, f32::NAN);
            let far: Vec<f32> = (0..places).map(|place| smallest[place % 7]).collect();
            let none = vec![f32::NEG_INFINITY; places];
            for limits in [far, none, vec![f32::INFINITY; places]] {
                let limits = Limits { queries: &queries, added: &added, rows: &limits };
                let passed = |q: usize, place: usize| sum(q, place) <= queries[q];
                let wanted =
                    |q: usize, place: usize| sum(q, place) + added[q] <= limits.rows[place];
                let mut met = Met::default();
                let found = first_meeting(level, &packed, &values, &norms, &limits, &mut met);
                let expected = (0..panels).find(|panel| {
                    (0..rows * PANEL_ROWS).any(|at| {
                        let (q, place) = (at / PANEL_ROWS, panel * PANEL_ROWS + at % PANEL_ROWS);
                        passed(q, place) | wanted(q, place)
                    })
                });
                assert_eq!(found, expected);
                let Some(panel) = found else { continue };
                for q in 0..rows {
                    let places = panel * PANEL_ROWS..;
                    assert_eq!(met.passed[q], bits(|lane| passed(q, places.start + lane)));
                    assert_eq!(met.wanted[q], bits(|lane| wanted(q, places.start + lane)));
                    assert_eq!(met.queries >> q & 1 == 1, met.passed[q] | met.wanted[q] != 0);
                    let sums = (0..PANEL_ROWS).map(|lane| sum(q, places.start + lane));
                    assert!(met.sums[q].into_iter().eq(sums));
                }
            }
        }
    }
}
