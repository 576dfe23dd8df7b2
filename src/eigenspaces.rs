//! Which eigenvalues count as zero, which as equal, and what is done where eigenvectors are not determined.

use std::ops::Range;

/// Eigenvalues that differ by less than this, relative to the largest, count as equal; those below it count as zero.
///
/// The eigensolver's own error is near 1e-15. Eigenvectors across a gap this small carry fewer than four digits.
const SAME_EIGENVALUE: f64 = 1e-12;

/// What to do where the eigenvectors are not determined by the data: inside an eigenspace of two or
/// more dimensions, of which the null space is the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Degenerate {
    /// Average over all orthonormal bases of the eigenspace: a function of the data alone.
    #[default]
    Average,
    /// Take the basis the eigensolver happens to return, as the paper's algorithm does. With the cargo feature `faer`
    /// that solver is not LAPACK, and its basis is a different one.
    Lapack,
}

/// How many of the first `count` descending eigenvalues are not zero.
#[inline(always)]
pub(crate) fn rank(count: usize, value: impl Fn(usize) -> f64) -> usize {
    let zero = if count == 0 { 0.0 } else { SAME_EIGENVALUE * value(0).max(0.0) };
    let mut rank = 0;
    while rank < count && value(rank) > zero {
        rank += 1;
    }
    rank
}

/// Calls `each` with every run of equal eigenvalues among `count` descending ones: a cover of 0..count.
///
/// Not an iterator, because the kernels of [`crate::batched`] would not inline it.
#[inline(always)]
pub(crate) fn for_each_space(
    count: usize,
    value: impl Fn(usize) -> f64,
    mut each: impl FnMut(Range<usize>),
) {
    let apart = if count == 0 { 0.0 } else { SAME_EIGENVALUE * value(0) };
    let mut start = 0;
    for end in 1..=count {
        if end == count || value(end - 1) - value(end) > apart {
            each(start..end);
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_eigenvalues_form_one_space_and_each_other_one_its_own() {
        let values = [5.0, 5.0 - 1e-13, 3.0, 1.0, 1.0, 1.0];
        let mut found = Vec::new();
        for_each_space(values.len(), |at| values[at], |space| found.push(space));
        assert_eq!(found, [0..2, 2..3, 3..6]);
        for_each_space(0, |_| f64::NAN, |_| unreachable!("there is no eigenvalue"));
    }

    #[test]
    fn eigenvalues_at_the_rounding_error_of_the_largest_are_zero() {
        for (values, expected) in [(&[2.0, 1.0, 1e-13, -1e-17][..], 2), (&[0.0, 0.0], 0), (&[], 0)]
        {
            assert_eq!(rank(values.len(), |at| values[at]), expected);
        }
    }
}
