//! Row numbers in ascending order.

use crate::error::Result;
use crate::matrix::try_zeros;

/// Bits in a word of marks.
const BITS: usize = u64::BITS as usize;

/// Words looked through for each row to be sorted, at most; with more of them comparisons are faster.
const WORDS_PER_ROW: usize = 4;

/// A mark for each row of a table, none of them set between two calls.
pub(super) struct Marks(Vec<u64>);

impl Marks {
    /// For tables of `rows` rows.
    pub(super) fn new(rows: usize) -> Result<Self> {
        Ok(Self(try_zeros(rows.div_ceil(BITS))?))
    }

    /// Sorts row numbers that are all different.
    pub(super) fn sort(&mut self, rows: &mut [u32]) {
        if self.0.len() > WORDS_PER_ROW * rows.len() {
            rows.sort_unstable();
            return;
        }
        for &row in rows.iter() {
            self.0[row as usize / BITS] |= 1 << (row as usize % BITS);
        }
        let mut sorted = rows.iter_mut();
        for (word, marks) in self.0.iter_mut().enumerate() {
            let mut marks = std::mem::take(marks);
            while marks != 0 {
                let row = sorted.next().expect("a mark for each");
                *row = (word * BITS) as u32 + marks.trailing_zeros();
                marks &= marks - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_by_marks_and_by_comparisons() {
        for (table, count) in [(1, 1), (64, 64), (65, 20), (1000, 300), (100_000, 30)] {
            let mut marks = Marks::new(table).unwrap();
            for shift in [0, 7] {
                let step = table / count;
                let mut rows: Vec<u32> =
                    (0..count).map(|i| ((i * step + shift) % table) as u32).rev().collect();
                let mut expected = rows.clone();
                expected.sort_unstable();
                expected.dedup();
                assert_eq!(expected.len(), count, "all are different");
                marks.sort(&mut rows);
                assert_eq!(rows, expected, "{count} of {table}");
            }
        }
    }
}
