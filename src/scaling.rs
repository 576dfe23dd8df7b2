//! Points in units in which squared differences neither overflow nor vanish.
//!
//! Frames are made of squared differences of neighbours and their sums over all points. Multiplying the rows by 2ˢ
//! multiplies every shape operator by 4ˢ and rounds nothing, so extreme data are scaled to ordinary units
//! first, and the result is scaled back. A table of small range is scaled up to a range of about 1. A table of
//! large range is scaled down only as far as its largest neighbourhood requires: an outlier that is nobody's
//! neighbour must not make the others vanish.

use std::borrow::Cow;

use ndarray::{Array, Dimension};
use rayon::prelude::*;

use crate::block::Block;
use crate::error::{Error, Result};
use crate::points::Points;

/// Binary exponents of a neighbourhood's largest difference at which squares keep all their digits and leave room for a
/// sum over any number of points. Points with larger neighbourhoods are scaled to the upper end, and not to 1, so that
/// small differences keep their digits.
const SMALLEST_EXPONENT: i32 = -300;
const LARGEST_EXPONENT: i32 = 400;

/// Bits by which a difference of two doubles can be smaller than the doubles themselves, and a few more.
const BITS_OF_CANCELLATION: i32 = 60;

/// Points in ordinary units.
pub(crate) struct Scaled<'a> {
    pub(crate) points: Cow<'a, Points<'a>>,
    /// The s of 2ˢ.
    exponent: i32,
}

impl<'a> Scaled<'a> {
    /// Units for the neighbourhoods in `block`, whose lists are rows of `points`. Copies the rows only if they need
    /// another scale.
    pub(crate) fn new(points: &'a Points<'a>, block: Block) -> Result<Self> {
        let range = exponent(points.span());
        let shift = match range {
            _ if points.span() == 0.0 => 0,
            ..SMALLEST_EXPONENT => -range,
            SMALLEST_EXPONENT..=LARGEST_EXPONENT => 0,
            _ => (LARGEST_EXPONENT - exponent(largest_difference(points, block))).min(0),
        };
        let points = match shift {
            0 => Cow::Borrowed(points),
            _ => Cow::Owned(points.scaled(power_of_two(shift))?),
        };
        Ok(Self { points, exponent: shift })
    }

    /// Whether some neighbourhood may be extreme: there are numbers so small that their
    /// differences can be, or so far apart.
    pub(crate) fn may_be_extreme(&self) -> bool {
        self.points.smallest() < power_of_two(SMALLEST_EXPONENT + BITS_OF_CANCELLATION)
            || exponent(self.points.span()) > LARGEST_EXPONENT
    }

    /// Whether a neighbourhood must have a scale of its own. Equal points have none.
    /// Too large are only those of weight 0.
    pub(crate) fn is_extreme(&self, list: &[u32]) -> bool {
        let largest = difference(&self.points, list);
        let ordinary = SMALLEST_EXPONENT..=LARGEST_EXPONENT;
        largest > 0.0 && !ordinary.contains(&exponent(largest))
    }

    /// Brings shape operators, their sums or their errors back to the units of the data.
    pub(crate) fn restore<D: Dimension>(&self, operators: &mut Array<f64, D>) -> Result<()> {
        if self.exponent != 0 {
            // Twice, because the square of the factor may not fit a double.
            let factor = power_of_two(-self.exponent);
            operators.mapv_inplace(|entry| entry * factor * factor);
        }
        match operators.iter().all(|entry| entry.is_finite()) {
            true => Ok(()),
            false => Err(Error::SumTooLarge),
        }
    }
}

/// The largest difference, in any column, between the first point of a neighbourhood and the others.
fn difference(points: &Points, list: &[u32]) -> f64 {
    let row = |index: u32| points.row(index as usize);
    let origin = row(list[0]);
    let differences = list.iter().flat_map(|&index| row(index).iter().zip(origin));
    differences.fold(0.0_f64, |largest, (a, b)| largest.max((a - b).abs()))
}

/// The same over all neighbourhoods that have a weight.
fn largest_difference(points: &Points, block: Block) -> f64 {
    let weighted = |number: usize| block.weights.is_none_or(|weights| weights[number] > 0.0);
    let lists = block.lists.par_iter().enumerate().filter(|(number, _)| weighted(*number));
    lists.map(|(_, list)| difference(points, list)).reduce(|| 0.0, f64::max)
}

/// 2ˢ for the exponents of doubles, the subnormal ones left out.
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    debug_assert!((-1022..=1023).contains(&exponent));
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The s with 2ˢ ≤ value < 2ˢ⁺¹; −1022 for anything smaller, zero included.
pub(crate) fn exponent(value: f64) -> i32 {
    ((value.to_bits() >> 52 & 0x7FF) as i32 - 1023).max(-1022)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn exponents_and_powers_of_two_fit_together() {
        for power in [-1022, -500, -1, 0, 1, 52, 1023] {
            assert_eq!(power_of_two(power), f64::from(power).exp2());
            assert_eq!(exponent(power_of_two(power) * 1.5), power);
        }
        assert_eq!(exponent(0.0), -1022);
    }

    /// Units for lists of neighbours without weights.
    fn units<'a>(points: &'a Points<'a>, lists: &[&[u32]]) -> Scaled<'a> {
        Scaled::new(points, Block { lists, weights: None }).unwrap()
    }

    #[test]
    fn ordinary_points_are_not_copied_and_extreme_ones_get_an_ordinary_range() {
        let x = array![[0.0, 3.0], [1.0, 3.0], [-2.0, 3.0]];
        for (factor, copied) in
            [(1.0, false), (1e80, false), (1e-80, false), (1e150, true), (1e-150, true)]
        {
            let mut x = &x * factor;
            x.column_mut(1).fill(1e300);
            let points = Points::new(x.view()).unwrap();
            let scaled = units(&points, &[&[0, 1, 2]]);
            assert_eq!(matches!(scaled.points, Cow::Owned(_)), copied, "{factor}");
            let range = exponent(scaled.points.span());
            assert!((SMALLEST_EXPONENT..=LARGEST_EXPONENT + 1).contains(&range));
            let mut operator = array![[1.0, -2.0]] * power_of_two(scaled.exponent).powi(2);
            scaled.restore(&mut operator).unwrap();
            assert_eq!(operator, array![[1.0, -2.0]]);
        }
    }

    #[test]
    fn an_outlier_changes_the_units_only_where_it_is_a_neighbour() {
        let x = array![[0.0], [1e-150], [1e150]];
        let points = Points::new(x.view()).unwrap();
        let lists: [&[u32]; 2] = [&[0, 1], &[0, 2]];
        assert_eq!(units(&points, &lists[..1]).exponent, 0);
        assert!(units(&points, &lists).exponent < 0);
        let of_the_first = Block { lists: &lists, weights: Some(&[1.0, 0.0]) };
        let scaled = Scaled::new(&points, of_the_first).unwrap();
        assert_eq!(scaled.exponent, 0);
        assert!(scaled.may_be_extreme());
        assert!(scaled.is_extreme(lists[0]) && scaled.is_extreme(lists[1]));
    }

    #[test]
    fn operators_of_tiny_parts_vanish_as_their_squares_do() {
        for (scale, expected) in [(1e-155, 1e-310), (1e-160, 1e-320), (1e-170, 0.0), (5e-324, 0.0)]
        {
            let x = array![[0.0], [1.0]] * scale;
            let points = Points::part(x.view()).unwrap();
            let scaled = units(&points, &[&[0, 1]]);
            let range = scaled.points.span();
            let mut operator = array![[range * range]];
            scaled.restore(&mut operator).unwrap();
            assert!((operator[[0, 0]] - expected).abs() <= 1e-323, "{scale}: {operator}");
        }
    }

    #[test]
    fn a_neighbourhood_is_extreme_if_its_largest_difference_is() {
        let x = array![[0.0, 1.0], [0.0, 1.0], [1e-120, 1.0], [0.0, 2.0]];
        let points = Points::new(x.view()).unwrap();
        let scaled = units(&points, &[]);
        assert!(scaled.may_be_extreme());
        assert!(scaled.is_extreme(&[0, 1, 2]));
        assert!(!scaled.is_extreme(&[0, 1, 3]), "one difference is large");
        assert!(!scaled.is_extreme(&[0, 1]), "there is no difference");
    }
}
