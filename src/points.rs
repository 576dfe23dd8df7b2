//! The input: a finite, row-major table whose squared distances fit a double.

use std::borrow::Cow;

use ndarray::ArrayView2;
use rayon::prelude::*;

use crate::error::{Error, Result};

/// Σ of squared column ranges must stay inside these, so that no square, sum or product of two
/// squared lengths on the way to S̄ overflows, nor all of them vanish.
const LARGEST_SQUARE: f64 = 1e300;
const SMALLEST_SQUARE: f64 = 1e-290;

/// Entries checked by one thread at a time.
const VALUES_PER_CHECK: usize = 1 << 16;

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
    /// The smallest and the largest entry of every column.
    bounds: Vec<(f64, f64)>,
}

impl<'a> Points<'a> {
    /// Checks `table`; copies it only if it is not in row-major order.
    pub fn new(table: ArrayView2<'a, f64>) -> Result<Self> {
        let points = Self::finite("X", table)?;
        let (span, square) = span(points.bounds.iter().copied());
        if square > LARGEST_SQUARE {
            return Err(Error::TooLarge { what: "X", span });
        }
        if span > 0.0 && square < SMALLEST_SQUARE {
            return Err(Error::TooSmall { span });
        }
        Ok(points)
    }

    /// Checks other points whose distances to these are wanted.
    pub fn queries<'q>(&self, table: ArrayView2<'q, f64>) -> Result<Points<'q>> {
        let queries = Points::finite("queries", table)?;
        let (expected, given) = (self.dim, queries.dim);
        if expected != given {
            return Err(Error::QueryColumns { expected, given });
        }
        let joint = self.bounds.iter().zip(&queries.bounds).map(|(own, other)| wider(*own, *other));
        let (span, square) = span(joint);
        if square > LARGEST_SQUARE {
            return Err(Error::TooLarge { what: "X together with queries", span });
        }
        Ok(queries)
    }

    fn finite(what: &'static str, table: ArrayView2<'a, f64>) -> Result<Self> {
        let (rows, columns) = table.dim();
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { what, rows, columns });
        }
        if rows >= u32::MAX as usize {
            return Err(Error::TooManyRows { rows });
        }
        let values = match table.to_slice() {
            Some(values) => Cow::Borrowed(values),
            None => Cow::Owned(table.iter().copied().collect()),
        };
        if let Some(position) = first_not_finite(&values) {
            return Err(Error::NotFinite {
                what,
                value: values[position],
                row: position / columns,
                column: position % columns,
            });
        }
        let bounds = column_bounds(&values, columns);
        Ok(Self { values, dim: columns, bounds })
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
}

fn first_not_finite(values: &[f64]) -> Option<usize> {
    values.par_chunks(VALUES_PER_CHECK).enumerate().find_map_first(|(chunk, part)| {
        let inside = part.iter().position(|value| !value.is_finite())?;
        Some(chunk * VALUES_PER_CHECK + inside)
    })
}

fn column_bounds(values: &[f64], dim: usize) -> Vec<(f64, f64)> {
    let none = || vec![(f64::INFINITY, f64::NEG_INFINITY); dim];
    values
        .par_chunks(VALUES_PER_CHECK.div_ceil(dim) * dim)
        .map(|part| {
            let mut bounds = none();
            for row in part.chunks_exact(dim) {
                for (bound, &value) in bounds.iter_mut().zip(row) {
                    *bound = wider(*bound, (value, value));
                }
            }
            bounds
        })
        .reduce(none, |left, right| {
            left.into_iter().zip(right).map(|(left, right)| wider(left, right)).collect()
        })
}

/// The smallest range that holds both.
fn wider(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// The largest range, and the sum of the squared ranges.
fn span(bounds: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    bounds.fold((0.0, 0.0), |(span, square), (low, high)| {
        let range = high - low;
        (range.max(span), square + range * range)
    })
}
