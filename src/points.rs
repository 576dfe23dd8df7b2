//! The input: a finite, row-major table whose squared distances fit a double.

use std::borrow::Cow;

use ndarray::ArrayView2;
use rayon::prelude::*;

use crate::error::{Error, Result};

/// Σ of squared column ranges must stay inside these, so that no square, sum or product of two
/// squared lengths on the way to S̄ overflows, nor all of them vanish.
const LARGEST_SQUARE: f64 = 1e300;
const SMALLEST_SQUARE: f64 = 1e-290;

/// Rows checked between two looks at the other threads' findings.
const ROWS_PER_CHECK: usize = 4096;

/// A checked data matrix: rows are points.
///
/// ```
/// use ndarray::array;
/// use shopca_rs::{Error, Points};
///
/// let x = array![[0.0, 1.0], [2.0, f64::NAN]];
/// assert!(matches!(Points::new(x.view()), Err(Error::NotFinite { row: 1, column: 1, .. })));
/// ```
#[derive(Debug, Clone)]
pub struct Points<'a> {
    /// Row after row.
    values: Cow<'a, [f64]>,
    dim: usize,
}

impl<'a> Points<'a> {
    /// Checks `table`; copies it only if it is not in row-major order.
    pub fn new(table: ArrayView2<'a, f64>) -> Result<Self> {
        let (rows, columns) = table.dim();
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { rows, columns });
        }
        if rows >= u32::MAX as usize {
            return Err(Error::TooManyRows { rows });
        }
        let values = match table.to_slice() {
            Some(values) => Cow::Borrowed(values),
            None => Cow::Owned(table.iter().copied().collect()),
        };
        let points = Self { values, dim: columns };
        points.check_values()?;
        Ok(points)
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    /// Never true: an empty table is refused by [`Points::new`].
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The number of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// One point.
    #[inline]
    pub fn row(&self, index: usize) -> &[f64] {
        &self.values[index * self.dim..(index + 1) * self.dim]
    }

    /// All entries, row after row.
    #[inline]
    pub fn as_slice(&self) -> &[f64] {
        &self.values
    }

    /// The mean of every column, summed in the order of the rows.
    pub(crate) fn column_means(&self) -> Vec<f64> {
        let share = 1.0 / self.len() as f64;
        let mut means = vec![0.0; self.dim];
        for row in self.values.chunks_exact(self.dim) {
            for (mean, value) in means.iter_mut().zip(row) {
                *mean += value * share;
            }
        }
        means
    }

    fn check_values(&self) -> Result<()> {
        let (dim, values) = (self.dim, self.as_slice());
        if let Some(position) =
            values.par_chunks(ROWS_PER_CHECK * dim).enumerate().find_map_first(|(chunk, part)| {
                let inside = part.iter().position(|value| !value.is_finite())?;
                Some(chunk * ROWS_PER_CHECK * dim + inside)
            })
        {
            return Err(Error::NotFinite {
                value: values[position],
                row: position / dim,
                column: position % dim,
            });
        }
        let ranges = self.column_ranges();
        let span = ranges.iter().copied().fold(0.0, f64::max);
        let square: f64 = ranges.iter().map(|range| range * range).sum();
        if square.is_nan() || square > LARGEST_SQUARE {
            return Err(Error::TooLarge { span });
        }
        if span > 0.0 && square < SMALLEST_SQUARE {
            return Err(Error::TooSmall { span });
        }
        Ok(())
    }

    /// max − min of every column.
    fn column_ranges(&self) -> Vec<f64> {
        let dim = self.dim;
        let bounds = self
            .as_slice()
            .par_chunks(ROWS_PER_CHECK * dim)
            .map(|part| {
                let mut bounds = vec![(f64::INFINITY, f64::NEG_INFINITY); dim];
                for row in part.chunks_exact(dim) {
                    for (bound, &value) in bounds.iter_mut().zip(row) {
                        *bound = (bound.0.min(value), bound.1.max(value));
                    }
                }
                bounds
            })
            .reduce_with(|mut left, right| {
                for (bound, other) in left.iter_mut().zip(right) {
                    *bound = (bound.0.min(other.0), bound.1.max(other.1));
                }
                left
            })
            .unwrap_or_default();
        bounds.into_iter().map(|(low, high)| high - low).collect()
    }
}
