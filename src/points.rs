//! The input: a finite, row-major table whose squared distances fit a double.
//!
//! The sum of the squared column ranges bounds every squared distance. It must not overflow, and unless all rows are
//! equal it must be large enough that a hundredth of the range still has a square with all its digits.

use std::borrow::Cow;

use ndarray::ArrayView2;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::matrix::{try_copied, try_zeros};
use crate::simd::Level;

/// Bounds of the sum of squared column ranges: ranges from about 1e-152 to 6e153 are supported.
const LARGEST_SQUARE: f64 = f64::MAX / 4.0;
const SMALLEST_SQUARE: f64 = 1e-304;

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
    /// Whether these are all of the rows, and not some whose range says nothing about the others.
    whole: bool,
    /// The smallest and the largest entry of every column.
    bounds: Vec<(f64, f64)>,
    /// The smallest magnitude of an entry that is not zero; infinity without one.
    smallest: f64,
}

impl<'a> Points<'a> {
    /// Checks `table`; copies it only if it is not in row-major order.
    pub fn new(table: ArrayView2<'a, f64>) -> Result<Self> {
        Self::checked("X", table, true)
    }

    /// The same for some rows of a larger table: they may be arbitrarily close together. Differences below 1e-154
    /// lose digits when they are squared, and below 1e-162 their squares are zero.
    pub fn part(table: ArrayView2<'a, f64>) -> Result<Self> {
        Self::checked("X", table, false)
    }

    /// The same as [`Points::new`] for an embedding, which errors call Z.
    pub fn embedding(table: ArrayView2<'a, f64>) -> Result<Self> {
        Self::checked("Z", table, true)
    }

    fn checked(what: &'static str, table: ArrayView2<'a, f64>, whole: bool) -> Result<Self> {
        let points = Self { whole, ..Self::finite(what, table)? };
        check_span(what, points.bounds.iter().copied(), whole)?;
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
        check_span("X together with queries", joint, self.whole)?;
        Ok(queries)
    }

    fn finite(what: &'static str, table: ArrayView2<'a, f64>) -> Result<Self> {
        // Every computation begins with a checked table, so this is where a wrong SHOPCA_SIMD is refused.
        Level::check()?;
        let (rows, columns) = table.dim();
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { what, rows, columns });
        }
        if rows >= u32::MAX as usize {
            return Err(Error::TooManyRows { rows });
        }
        let values = match table.to_slice() {
            Some(values) => Cow::Borrowed(values),
            None => Cow::Owned(try_copied(table.iter().copied())?),
        };
        if let Some(position) = first_not_finite(&values) {
            return Err(Error::NotFinite {
                what,
                value: values[position],
                row: position / columns,
                column: position % columns,
            });
        }
        let Extent { bounds, smallest } = extent(&values, columns);
        Ok(Self { values, dim: columns, whole: true, bounds, smallest })
    }

    /// The same points with owned rows, copied unless they are owned already.
    pub fn into_owned(self) -> Result<Points<'static>> {
        let values = match self.values {
            Cow::Borrowed(values) => try_copied(values.iter().copied())?,
            Cow::Owned(values) => values,
        };
        let Self { dim, whole, bounds, smallest, .. } = self;
        Ok(Points { values: Cow::Owned(values), dim, whole, bounds, smallest })
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

    /// The smallest and the largest entry of every column among some rows.
    pub(crate) fn bounds_of(&self, rows: &[u32]) -> Vec<(f64, f64)> {
        let mut bounds = vec![(f64::INFINITY, f64::NEG_INFINITY); self.dim];
        for row in rows {
            for (bound, &value) in bounds.iter_mut().zip(self.row(*row as usize)) {
                *bound = wider(*bound, (value, value));
            }
        }
        bounds
    }

    /// The largest range of a column.
    pub(crate) fn span(&self) -> f64 {
        span(self.bounds.iter().copied()).0
    }

    /// The smallest magnitude of an entry that is not zero; infinity if all are zero.
    pub(crate) fn smallest(&self) -> f64 {
        self.smallest
    }

    /// The same rows times a power of two. Columns whose entries are all equal become zero: no difference needs them,
    /// and they may be too large to be multiplied.
    pub(crate) fn scaled(&self, factor: f64) -> Result<Points<'static>> {
        let mut values = try_zeros(self.values.len())?;
        let rows =
            values.par_chunks_exact_mut(self.dim).zip(self.values.par_chunks_exact(self.dim));
        rows.for_each(|(out, row)| {
            for ((out, value), (low, high)) in out.iter_mut().zip(row).zip(&self.bounds) {
                *out = if low == high { 0.0 } else { value * factor };
            }
        });
        let Extent { bounds, smallest } = extent(&values, self.dim);
        Ok(Points {
            values: Cow::Owned(values),
            dim: self.dim,
            whole: self.whole,
            bounds,
            smallest,
        })
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

/// What one pass over the entries finds.
struct Extent {
    bounds: Vec<(f64, f64)>,
    smallest: f64,
}

fn extent(values: &[f64], dim: usize) -> Extent {
    let none = || Extent {
        bounds: vec![(f64::INFINITY, f64::NEG_INFINITY); dim],
        smallest: f64::INFINITY,
    };
    values
        .par_chunks(VALUES_PER_CHECK.div_ceil(dim) * dim)
        .map(|part| {
            let mut all = none();
            for row in part.chunks_exact(dim) {
                for (bound, &value) in all.bounds.iter_mut().zip(row) {
                    *bound = wider(*bound, (value, value));
                }
            }
            all.smallest = part.iter().fold(f64::INFINITY, |smallest, value| {
                smallest.min(if *value == 0.0 { f64::INFINITY } else { value.abs() })
            });
            all
        })
        .reduce(none, |left, right| Extent {
            bounds: left.bounds.into_iter().zip(right.bounds).map(|(a, b)| wider(a, b)).collect(),
            smallest: left.smallest.min(right.smallest),
        })
}

fn check_span(
    what: &'static str,
    bounds: impl Iterator<Item = (f64, f64)>,
    whole: bool,
) -> Result<()> {
    let (span, square) = span(bounds);
    if square > LARGEST_SQUARE {
        return Err(Error::TooLarge { what, span });
    }
    if whole && span > 0.0 && square < SMALLEST_SQUARE {
        return Err(Error::TooSmall { what, span });
    }
    Ok(())
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
