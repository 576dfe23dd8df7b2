//! The sums of [`super::panel_search`], with the comparison fused into them.
//!
//! Both sums take the same steps in the same order, and every step rounds monotonically: the squared gap between a
//! query and a box never exceeds the squared distance of a row inside, as they are computed here.

use crate::simd::Level;

use super::bounding_boxes::larger;
use super::filter_kernel::PANEL_ROWS;

/// Queries side by side.
pub(super) const TOGETHER: usize = PANEL_ROWS;

/// Panels side by side: a cluster.
pub(super) const CLUSTER: usize = 16;

/// Lanes of the loops without intrinsics.
const WIDTH: usize = 8;

/// The sides of the boxes of a cluster's panels in one column; missing panels are infinitely far away.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sides {
    pub(super) low: [f32; CLUSTER],
    pub(super) high: [f32; CLUSTER],
}

impl Sides {
    pub(super) const EMPTY: Self =
        Self { low: [f32::INFINITY; CLUSTER], high: [f32::NEG_INFINITY; CLUSTER] };
}

/// The squared distances of the panels of a cluster from a box with the sides `low` and `high`.
#[inline(always)]
pub(super) fn gaps(cluster: &[Sides], low: &[f32], high: &[f32]) -> [f32; CLUSTER] {
    let mut sums = [0.0; CLUSTER];
    for part in 0..CLUSTER / WIDTH {
        let mut registers = [0.0; WIDTH];
        for ((sides, low), high) in cluster.iter().zip(low).zip(high) {
            let lows: [f32; WIDTH] = sides.low.as_chunks().0[part];
            let highs: [f32; WIDTH] = sides.high.as_chunks().0[part];
            for panel in 0..WIDTH {
                let gap = larger(larger(lows[panel] - high, low - highs[panel]), 0.0);
                registers[panel] += gap * gap;
            }
        }
        sums.as_chunks_mut().0[part] = registers;
    }
    sums
}

/// Bit q: the squared distance of query q from the box of a cluster's panel is at most its threshold.
///
/// `queries` has their entries column after column.
#[inline(always)]
pub(super) fn reaching(
    level: Level,
    queries: &[[f32; TOGETHER]],
    cluster: &[Sides],
    panel: usize,
    thresholds: &[f32; TOGETHER],
) -> u32 {
    let panel = panel % CLUSTER;
    match level {
        // SAFETY: the level proves that the processor has them.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(_) => unsafe { x86::reaching(queries, cluster, panel, thresholds) },
        _ => {
            let mut all = 0;
            for first in (0..TOGETHER).step_by(WIDTH) {
                let mut sums = [0.0; WIDTH];
                for (queries, sides) in queries.iter().zip(cluster) {
                    let (low, high) = (sides.low[panel], sides.high[panel]);
                    let queries: [f32; WIDTH] = queries.as_chunks().0[first / WIDTH];
                    for lane in 0..WIDTH {
                        let gap = larger(larger(low - queries[lane], queries[lane] - high), 0.0);
                        sums[lane] += gap * gap;
                    }
                }
                for lane in 0..WIDTH {
                    all |= u32::from(sums[lane] <= thresholds[first + lane]) << (first + lane);
                }
            }
            all
        }
    }
}

/// The squared distances of a query from the rows of a panel. Bit r of the answer: that
/// of row r is at most the threshold.
///
/// `panel` has the entries of the rows column after column.
#[inline(always)]
pub(super) fn differences(
    level: Level,
    panel: &[[f32; PANEL_ROWS]],
    query: &[f32],
    threshold: f32,
    sums: &mut [f32; PANEL_ROWS],
) -> u32 {
    match level {
        // SAFETY: the level proves that the processor has them.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(_) => unsafe { x86::differences(panel, query, threshold, sums) },
        _ => {
            let mut passed = 0;
            for (part, out) in sums.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
                let mut sums = [0.0; WIDTH];
                for (values, query) in panel.iter().zip(query) {
                    let values: [f32; WIDTH] = values.as_chunks().0[part];
                    for lane in 0..WIDTH {
                        let difference = values[lane] - query;
                        sums[lane] += difference * difference;
                    }
                }
                for lane in 0..WIDTH {
                    passed |= u32::from(sums[lane] <= threshold) << (part * WIDTH + lane);
                }
                *out = sums;
            }
            passed
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::super::filter_kernel::halves;
    use super::{PANEL_ROWS, Sides, TOGETHER};

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn reaching(
        queries: &[[f32; TOGETHER]],
        cluster: &[Sides],
        panel: usize,
        thresholds: &[f32; TOGETHER],
    ) -> u32 {
        let zero = _mm512_setzero_ps();
        let mut sums = [zero; 2];
        for (queries, sides) in queries.iter().zip(cluster) {
            let (low, high) = (_mm512_set1_ps(sides.low[panel]), _mm512_set1_ps(sides.high[panel]));
            for (sum, queries) in sums.iter_mut().zip(halves(queries)) {
                let gap = _mm512_max_ps(_mm512_sub_ps(low, queries), _mm512_sub_ps(queries, high));
                let gap = _mm512_max_ps(gap, zero);
                *sum = _mm512_fmadd_ps(gap, gap, *sum);
            }
        }
        at_most(sums, halves(thresholds))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn differences(
        panel: &[[f32; PANEL_ROWS]],
        query: &[f32],
        threshold: f32,
        sums: &mut [f32; PANEL_ROWS],
    ) -> u32 {
        let mut registers = [_mm512_setzero_ps(); 2];
        for (values, query) in panel.iter().zip(query) {
            let query = _mm512_set1_ps(*query);
            for (sum, values) in registers.iter_mut().zip(halves(values)) {
                let difference = _mm512_sub_ps(values, query);
                *sum = _mm512_fmadd_ps(difference, difference, *sum);
            }
        }
        for (sums, register) in
            sums.as_chunks_mut::<{ PANEL_ROWS / 2 }>().0.iter_mut().zip(registers)
        {
            // SAFETY: an array of sixteen floats.
            unsafe { _mm512_storeu_ps(sums.as_mut_ptr(), register) };
        }
        at_most(registers, [_mm512_set1_ps(threshold); 2])
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn at_most(sums: [__m512; 2], thresholds: [__m512; 2]) -> u32 {
        let mask =
            |half: usize| u32::from(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(sums[half], thresholds[half]));
        mask(0) | mask(1) << (PANEL_ROWS / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(at: usize) -> f32 {
        ((at * 7919 % 101) as f32 - 50.0) / 8.0
    }

    #[test]
    fn every_level_has_the_sums_of_plain_loops() {
        // Eighths of small whole numbers: every sum is exact.
        let columns = 7;
        let panel: Vec<[f32; PANEL_ROWS]> = (0..columns)
            .map(|column| std::array::from_fn(|row| value(column * PANEL_ROWS + row)))
            .collect();
        let query: Vec<f32> = (0..columns).map(|column| value(1000 + column)).collect();
        let expected: [f32; PANEL_ROWS] = std::array::from_fn(|row| {
            (0..columns).map(|column| (panel[column][row] - query[column]).powi(2)).sum()
        });
        let threshold = expected[5];
        for level in Level::available() {
            let mut sums = [f32::NAN; PANEL_ROWS];
            let passed = differences(level, &panel, &query, threshold, &mut sums);
            assert_eq!(sums, expected);
            for row in 0..PANEL_ROWS {
                assert_eq!(passed >> row & 1 == 1, expected[row] <= threshold);
            }
        }
    }

    #[test]
    fn every_level_finds_the_queries_that_reach_into_a_box() {
        let columns = 5;
        let queries: Vec<[f32; TOGETHER]> = (0..columns)
            .map(|column| std::array::from_fn(|q| value(column * TOGETHER + q)))
            .collect();
        let mut cluster = vec![Sides::EMPTY; columns];
        let panel = 3;
        for sides in &mut cluster {
            (sides.low[panel], sides.high[panel]) = (-1.0, 2.0);
        }
        let gap = |q: usize| -> f32 {
            let outside = |value: f32| (-1.0 - value).max(value - 2.0).max(0.0);
            queries.iter().map(|column| outside(column[q]).powi(2)).sum()
        };
        // Each just reaches the box, and the odd ones just do not.
        let thresholds = std::array::from_fn(|q| gap(q) - if q % 2 == 1 { 0.01 } else { 0.0 });
        for level in Level::available() {
            let found = reaching(level, &queries, &cluster, panel, &thresholds);
            assert_eq!(found, 0x5555_5555);
        }
    }

    #[test]
    fn boxes_are_as_far_apart_as_their_nearest_corners() {
        let mut cluster = [Sides::EMPTY; 2];
        for (panel, (low, high)) in [(0.0, 1.0), (4.0, 9.0), (-8.0, -2.0)].into_iter().enumerate() {
            for sides in &mut cluster {
                (sides.low[panel], sides.high[panel]) = (low, high);
            }
        }
        let found = gaps(&cluster, &[0.5, 0.5], &[2.0, 3.0]);
        assert_eq!(found[..3], [0.0, 2.0 * 2.0 + 1.0, 2.0 * 2.5 * 2.5]);
        assert!(found[3..].iter().all(|gap| *gap == f32::INFINITY));
    }

    #[test]
    fn no_row_is_nearer_than_its_box() {
        // Numbers that round in every step.
        let number = |at: usize| ((at * 7919 % 10_007) as f32 / 10_007.0).sqrt();
        let columns = 9;
        let panel: Vec<[f32; PANEL_ROWS]> = (0..columns)
            .map(|column| std::array::from_fn(|row| number(column * 1000 + row)))
            .collect();
        let queries: Vec<[f32; TOGETHER]> = (0..columns)
            .map(|column| std::array::from_fn(|q| 0.3 * number(q * 500 + column) - 0.4))
            .collect();
        for row in 0..PANEL_ROWS {
            // The box is the row itself.
            let mut cluster = vec![Sides::EMPTY; columns];
            for (sides, values) in cluster.iter_mut().zip(&panel) {
                (sides.low[0], sides.high[0]) = (values[row], values[row]);
            }
            for level in Level::available() {
                let mut squared = [0.0; TOGETHER];
                for q in 0..TOGETHER {
                    let query: Vec<f32> = queries.iter().map(|column| column[q]).collect();
                    let mut sums = [0.0; PANEL_ROWS];
                    differences(level, &panel, &query, 0.0, &mut sums);
                    squared[q] = sums[row];
                }
                assert_eq!(reaching(level, &queries, &cluster, 0, &squared), u32::MAX);
            }
        }
    }
}
