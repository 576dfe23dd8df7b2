//! All rows in the order of their distance from one of them.

use crate::error::Result;
use crate::matrix::try_zeros;

/// Bits of a digit. Few rows have the fewest; with more than the most, the places to
/// scatter to would not fit in the cache.
const FEWEST_BITS: u32 = 5;
const MOST_BITS: u32 = 12;

/// Keys that a row may have, so that few rows share one.
const KEYS_PER_ROW: u32 = 64;

/// Sorts the numbers of rows by (squared distance, row number).
///
/// A key is the distance as a fraction of the largest, in two digits; one pass over the rows for each digit, the lower
/// one first, sorts by keys. Rows with equal keys, which are then adjacent, are sorted by their distances.
pub(super) struct Sorting {
    bits: u32,
    /// A key in the upper half, a row number in the lower.
    entries: Vec<u64>,
    spare: Vec<u64>,
    /// Where the entries with each digit begin, for the lower and the upper digit.
    starts: [Vec<u32>; 2],
}

impl Sorting {
    /// Room to sort all but one of `rows` rows.
    pub(super) fn new(rows: usize) -> Result<Self> {
        let keys = (rows as u64 * u64::from(KEYS_PER_ROW)).next_power_of_two();
        let bits = keys.ilog2().div_ceil(2).clamp(FEWEST_BITS, MOST_BITS);
        Ok(Self {
            bits,
            entries: try_zeros(rows - 1)?,
            spare: try_zeros(rows - 1)?,
            starts: [try_zeros(1 << bits)?, try_zeros(1 << bits)?],
        })
    }

    /// The rows other than `own`, nearest first.
    pub(super) fn order(
        &mut self,
        distances: &[f64],
        own: usize,
    ) -> impl ExactSizeIterator<Item = u32> {
        let digit = (1_u64 << self.bits) - 1;
        let largest_key = (1_u64 << (2 * self.bits)) - 1;
        let farthest = distances.iter().copied().fold(0.0, f64::max);
        let scale = largest_key as f64 / farthest;
        self.starts.iter_mut().for_each(|starts| starts.fill(0));
        let [low, high] = &mut self.starts;
        let others = distances[..own]
            .iter()
            .zip(0..)
            .chain(distances[own + 1..].iter().zip(own as u64 + 1..));
        for (entry, (distance, row)) in self.entries.iter_mut().zip(others) {
            // Rounding is monotonic. NaN, where all distances are zero, becomes zero.
            let key = ((distance * scale) as u64).min(largest_key);
            *entry = key << 32 | row;
            low[(key & digit) as usize] += 1;
            high[(key >> self.bits) as usize] += 1;
        }
        for starts in [&mut *low, &mut *high] {
            let mut before = 0;
            for start in starts.iter_mut() {
                before += std::mem::replace(start, before);
            }
        }
        scatter(&self.entries, &mut self.spare, low, |entry| entry >> 32 & digit);
        scatter(&self.spare, &mut self.entries, high, |entry| entry >> (32 + self.bits));
        for equal in self.entries.chunk_by_mut(|a, b| a >> 32 == b >> 32) {
            if equal.len() > 1 {
                let distance = |entry: &u64| distances[*entry as u32 as usize];
                equal.sort_unstable_by(|a, b| distance(a).total_cmp(&distance(b)).then(a.cmp(b)));
            }
        }
        self.entries.iter().map(|entry| *entry as u32)
    }
}

/// Moves every entry to the next place of its digit.
fn scatter(from: &[u64], to: &mut [u64], starts: &mut [u32], digit: impl Fn(u64) -> u64) {
    for entry in from {
        let place = &mut starts[digit(*entry) as usize];
        to[*place as usize] = *entry;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_by_distance_and_then_by_number() {
        let spread = |at: usize| ((at * 7919) % 1009) as f64;
        type Distance = Box<dyn Fn(usize) -> f64>;
        let cases: [(usize, Distance); 7] = [
            (2, Box::new(spread)),
            (1000, Box::new(spread)),
            (70_000, Box::new(move |at| spread(at).sqrt() + at as f64 * 1e-9)),
            (500, Box::new(move |at| (spread(at) / 200.0).floor())),
            (300, Box::new(|_| 0.0)),
            (300, Box::new(move |at| if at == 7 { 1e300 } else { spread(at) })),
            (300, Box::new(move |at| spread(at) * 5e-324)),
        ];
        for (rows, distance) in cases {
            let distances: Vec<f64> = (0..rows).map(distance).collect();
            for own in [0, rows / 2, rows - 1] {
                let mut expected: Vec<u32> =
                    (0..rows as u32).filter(|row| *row as usize != own).collect();
                expected.sort_by(|a, b| distances[*a as usize].total_cmp(&distances[*b as usize]));
                let mut sorting = Sorting::new(rows).unwrap();
                assert!(sorting.order(&distances, own).eq(expected), "{rows} rows without {own}");
            }
        }
    }
}
