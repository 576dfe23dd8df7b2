//! The order in which points are visited: near ones one after the other, while their neighbours are in the cache.

use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::try_copied;

/// Fewer points than this are visited as they come: all of them are in the cache.
const WORTH_SORTING: usize = 4096;

/// Columns that tell which points are near each other, and into how many cells (a
/// power of two) the range of each is cut.
const COLUMNS: usize = 3;
const BITS: u32 = 10;

/// The places in `centres`, rows of `values`, along Morton's curve through the columns with the widest ranges.
pub(crate) fn visits(values: &[f64], dim: usize, centres: &[u32]) -> Result<Vec<u32>> {
    let places = 0..centres.len() as u32;
    if centres.len() < WORTH_SORTING {
        return try_copied(places);
    }
    let row = |centre: u32| &values[centre as usize * dim..][..dim];
    let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); dim];
    for &centre in centres {
        for ((low, high), value) in ranges.iter_mut().zip(row(centre)) {
            (*low, *high) = (low.min(*value), high.max(*value));
        }
    }
    let mut columns: Vec<usize> = (0..dim).collect();
    let width = |column: usize| ranges[column].1 - ranges[column].0;
    columns.sort_by(|a, b| width(*b).total_cmp(&width(*a)));
    columns.truncate(COLUMNS);
    let cells = f64::from(1_u32 << BITS);
    let scales: Vec<(usize, f64, f64)> = columns
        .iter()
        .map(|&column| (column, ranges[column].0, cells / width(column).max(f64::MIN_POSITIVE)))
        .collect();
    let mut keys = try_copied(places.map(|place| {
        let row = row(centres[place as usize]);
        let mut key = 0;
        for (shift, (column, low, scale)) in scales.iter().enumerate() {
            let cell = ((row[*column] - low) * scale).min(cells - 1.0) as u64;
            key |= spread(cell) << shift;
        }
        key << u32::BITS | u64::from(place)
    }))?;
    keys.par_sort_unstable();
    try_copied(keys.into_iter().map(|key| key as u32))
}

/// The lowest ten bits, each followed by two zeros.
fn spread(cell: u64) -> u64 {
    let cell = (cell | cell << 16) & 0x0300_00ff;
    let cell = (cell | cell << 8) & 0x0300_f00f;
    let cell = (cell | cell << 4) & 0x030c_30c3;
    (cell | cell << 2) & 0x0924_9249
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_spread_bit_by_bit() {
        for cell in 0..1 << BITS {
            let expected = (0..BITS).fold(0, |sum, bit| sum | (cell >> bit & 1) << (3 * bit));
            assert_eq!(spread(cell), expected);
        }
    }

    #[test]
    fn every_point_is_visited_once_and_near_ones_after_each_other() {
        let values: Vec<f64> = (0..20_000)
            .flat_map(|i| [f64::from(i * 7919 % 20_011), 1.0, f64::from(i * 104_729 % 9973)])
            .collect();
        let centres: Vec<u32> = (0..20_000).rev().collect();
        let order = visits(&values, 3, &centres).unwrap();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..20_000));
        let length = |order: &[u32]| -> f64 {
            let at = |place: u32| {
                let row = centres[place as usize] as usize * 3;
                (values[row], values[row + 2])
            };
            order
                .windows(2)
                .map(|pair| (at(pair[0]).0 - at(pair[1]).0).hypot(at(pair[0]).1 - at(pair[1]).1))
                .sum()
        };
        let unsorted: Vec<u32> = (0..20_000).collect();
        assert!(length(&order) < 0.05 * length(&unsorted));
        assert!(visits(&values, 3, &[5, 5, 7]).unwrap().into_iter().eq(0..3));
    }
}
