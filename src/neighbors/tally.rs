//! How many of some sums lie below each of some bands, and which may lie in one of them.

use crate::simd::Level;

use super::bands::{Bands, Lanes, PanelBands, key};
use super::filter_kernel::PANEL_ROWS;
#[cfg(target_arch = "x86_64")]
use super::tally_kernel;

/// Compares the sums of each query, the first panels of its line, with its own bands: adds the number below each band
/// to `below`, and sets `close` to the sums that may lie in one, as bits. Says whether there are any.
#[inline]
pub(super) fn tally_queries<const PLACES: usize, const PANELS: usize>(
    level: Level,
    sums: &[[f32; PLACES]],
    panels: usize,
    bands: Bands,
    below: &mut [u32],
    close: &mut [[u32; PANELS]],
) -> bool {
    match level {
        // SAFETY: the level proves that the processor has them.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(_) => unsafe {
            tally_kernel::tally_queries(sums, panels, bands, below, close)
        },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(_) => unsafe { tally_queries_avx2(sums, panels, bands, below, close) },
        Level::Portable => tally_queries_portable(sums, panels, bands, below, close),
    }
}

/// Compares the sums of some rows and a panel of queries, from the place `first` of each row's line on, with the bands
/// of the panel, and sets `close` to the lanes of each row that may lie in one. Says whether there are any.
#[inline]
pub(super) fn tally_panel<const PLACES: usize>(
    level: Level,
    sums: &[[f32; PLACES]],
    first: usize,
    panel: &mut PanelBands,
    close: &mut [u32],
) -> bool {
    match level {
        // SAFETY: the level proves that the processor has them.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(_) => unsafe { tally_kernel::tally_panel(sums, first, panel, close) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(_) => unsafe { tally_panel_avx2(sums, first, panel, close) },
        Level::Portable => tally_panel_portable(sums, first, panel, close),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn tally_queries_avx2<const PLACES: usize, const PANELS: usize>(
    sums: &[[f32; PLACES]],
    panels: usize,
    bands: Bands,
    below: &mut [u32],
    close: &mut [[u32; PANELS]],
) -> bool {
    tally_queries_portable(sums, panels, bands, below, close)
}

#[inline(always)]
fn tally_queries_portable<const PLACES: usize, const PANELS: usize>(
    sums: &[[f32; PLACES]],
    panels: usize,
    bands: Bands,
    below: &mut [u32],
    close: &mut [[u32; PANELS]],
) -> bool {
    let mut any = false;
    let mut keys = [[0; PANEL_ROWS]; PANELS];
    for (query, (sums, close)) in sums.iter().zip(close).enumerate() {
        *close = [0; PANELS];
        let (sums, _) = sums.as_chunks::<PANEL_ROWS>();
        let scale = bands.scales[query];
        for (keys, sums) in keys[..panels].iter_mut().zip(sums) {
            for lane in 0..PANEL_ROWS {
                keys[lane] = key(sums[lane], scale);
            }
        }
        for band in (query * bands.count..(query + 1) * bands.count).rev() {
            let (low, high) = (bands.lows[band], bands.highs[band]);
            let (mut under, mut near) = ([0_u16; PANEL_ROWS], false);
            for (keys, close) in keys[..panels].iter().zip(&mut *close) {
                let inside = compare(keys, |_| low, |_| high, &mut under);
                *close |= inside;
                near |= inside != 0;
            }
            let under: u32 = under.iter().map(|count| u32::from(*count)).sum();
            below[band] += under;
            any |= near;
            // No sum reaches down to this band, nor to those before.
            if under == 0 && !near {
                break;
            }
        }
    }
    any
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn tally_panel_avx2<const PLACES: usize>(
    sums: &[[f32; PLACES]],
    first: usize,
    panel: &mut PanelBands,
    close: &mut [u32],
) -> bool {
    tally_panel_portable(sums, first, panel, close)
}

#[inline(always)]
fn tally_panel_portable<const PLACES: usize>(
    sums: &[[f32; PLACES]],
    first: usize,
    panel: &mut PanelBands,
    close: &mut [u32],
) -> bool {
    let PanelBands { scales, lows, highs, below } = panel;
    let mut any = 0;
    for (sums, close) in sums.iter().zip(close) {
        let sums = &sums[first..first + PANEL_ROWS];
        let mut keys = [0; PANEL_ROWS];
        for lane in 0..PANEL_ROWS {
            keys[lane] = key(sums[lane], scales[lane]);
        }
        *close = 0;
        for ((low, high), below) in lows.iter().zip(&*highs).zip(&mut *below) {
            *close |= compare(&keys, |lane| low[lane], |lane| high[lane], below);
        }
        any |= *close;
    }
    any != 0
}

/// Counts the keys below a band, and returns those in it as bits.
#[inline(always)]
fn compare(
    keys: &Lanes<u16>,
    low: impl Fn(usize) -> u16,
    high: impl Fn(usize) -> u16,
    below: &mut Lanes<u16>,
) -> u32 {
    let mut inside = [0; PANEL_ROWS];
    for lane in 0..PANEL_ROWS {
        let under = keys[lane] < low(lane);
        below[lane] += u16::from(under);
        inside[lane] = u16::from(!under & (keys[lane] <= high(lane)));
    }
    if inside.iter().fold(0, |any, inside| any | inside) == 0 {
        return 0;
    }
    (0..PANEL_ROWS).fold(0, |bits, lane| bits | u32::from(inside[lane]) << lane)
}

#[cfg(test)]
mod tests {
    use super::super::bands::TOP;
    use super::*;

    const PLACES: usize = 3 * PANEL_ROWS;

    /// Whole numbers in no order.
    fn line(query: usize) -> [f32; PLACES] {
        std::array::from_fn(|at| ((at * 37 + query * 11) % PLACES) as f32)
    }

    /// The number of sums below a band, and the places of those in it.
    fn plain(sums: &[f32], band: [f32; 2]) -> (u32, Vec<usize>) {
        let below = sums.iter().filter(|sum| **sum < band[0]).count();
        let inside = |at: &usize| sums[*at] >= band[0] && sums[*at] <= band[1];
        (below as u32, (0..sums.len()).filter(inside).collect())
    }

    fn places(bits: &[u32]) -> Vec<usize> {
        let set = |at: &usize| bits[at / PANEL_ROWS] >> (at % PANEL_ROWS) & 1 == 1;
        (0..bits.len() * PANEL_ROWS).filter(set).collect()
    }

    /// Bands that are apart, that overlap, that hold everything or nothing.
    fn bands_of(query: usize, count: usize) -> Vec<[f32; 2]> {
        let band = |at: usize| match query {
            0 => [(5 * at + 5) as f32, (5 * at + 6) as f32],
            1 => [(10 + at / 2) as f32, (12 + at) as f32],
            2 => [0.0, TOP],
            3 => [(200 + at) as f32, (200 + at) as f32],
            _ => [0.0, 0.0],
        };
        (0..count).map(band).collect()
    }

    #[test]
    fn every_level_counts_what_the_definition_says() {
        let queries = 5;
        let sums: Vec<_> = (0..queries).map(line).collect();
        for count in 1..20 {
            let bands: Vec<Vec<[f32; 2]>> = (0..queries).map(|q| bands_of(q, count)).collect();
            let ends = |end: usize| -> Vec<u16> {
                bands.iter().flatten().map(|band| band[end] as u16).collect()
            };
            let (lows, highs, scales) = (ends(0), ends(1), vec![1.0; queries]);
            for level in Level::available() {
                let mut below = vec![1; queries * count];
                let mut close = vec![[u32::MAX; 3]; queries];
                let asked = Bands { count, scales: &scales, lows: &lows, highs: &highs };
                assert!(tally_queries(level, &sums, 3, asked, &mut below, &mut close));
                for query in 0..queries {
                    let mut inside = Vec::new();
                    for (band, below) in bands[query].iter().zip(&below[query * count..]) {
                        let (expected, places) = plain(&sums[query], *band);
                        assert_eq!(*below, 1 + expected, "query {query}, {count} bands");
                        inside.extend(places);
                    }
                    inside.sort_unstable();
                    inside.dedup();
                    assert_eq!(places(&close[query]), inside, "query {query}, {count} bands");
                }
            }
        }
    }

    #[test]
    fn a_panel_of_queries_counts_what_each_counts_alone() {
        let rows = 11;
        let sums: Vec<[f32; PLACES]> = (0..rows).map(line).collect();
        let scales: Lanes<f32> = std::array::from_fn(|lane| (1 + lane % 3) as f32);
        for count in 1..20 {
            let bands: Vec<Vec<[f32; 2]>> =
                (0..PANEL_ROWS).map(|lane| bands_of(lane % 5, count)).collect();
            let ends = |end: usize| -> Vec<u16> {
                bands.iter().flatten().map(|band| band[end] as u16).collect()
            };
            let (lows, highs) = (ends(0), ends(1));
            for level in Level::available() {
                let asked = Bands { count, scales: &scales, lows: &lows, highs: &highs };
                let mut panel = PanelBands::new(asked).unwrap();
                let mut close = vec![u32::MAX; rows];
                tally_panel(level, &sums, PANEL_ROWS, &mut panel, &mut close);
                let mut counts = vec![7; PANEL_ROWS * count];
                panel.drain_to(&mut counts);
                for lane in 0..PANEL_ROWS {
                    let column: Vec<f32> =
                        sums.iter().map(|line| line[PANEL_ROWS + lane] * scales[lane]).collect();
                    let mut inside = vec![false; rows];
                    for (band, below) in bands[lane].iter().zip(&counts[lane * count..]) {
                        let (expected, rows) = plain(&column, *band);
                        assert_eq!(*below, 7 + expected, "lane {lane}, {count} bands");
                        rows.into_iter().for_each(|row| inside[row] = true);
                    }
                    let found = close.iter().map(|bits| bits >> lane & 1 == 1);
                    assert!(found.eq(inside), "lane {lane}, {count} bands");
                }
            }
        }
    }
}
