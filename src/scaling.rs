//! Points in units in which squared differences neither overflow nor vanish.
//!
//! Frames are made of squared differences and their sums over all points. Multiplying the rows by 2ˢ multiplies every
//! shape operator by 4ˢ and rounds nothing, so extreme data are scaled to ordinary units first, and the result is scaled back.

use std::borrow::Cow;

use ndarray::{Array, Dimension};

use crate::error::{Error, Result};
use crate::points::Points;

/// Binary exponents of the largest column range that are left unchanged. Up to the larger one, squares leave room for a sum
/// over any number of points. Data with a larger range are scaled to it, and not to 1, so that small entries keep their
/// digits.
const SMALLEST_EXPONENT: i32 = -300;
const LARGEST_EXPONENT: i32 = 400;

/// Differences below 2 to this power are faint: frames of small neighbourhoods, which are not
/// scaled one by one, lose digits of their squares.
const FAINT_EXPONENT: i32 = -300;

/// Bits by which a difference of two doubles can be smaller than the doubles themselves, and a few more.
const BITS_OF_CANCELLATION: i32 = 60;

/// Points in ordinary units.
pub(crate) struct Scaled<'a> {
    pub(crate) points: Cow<'a, Points<'a>>,
    /// The s of 2ˢ.
    exponent: i32,
}

impl<'a> Scaled<'a> {
    /// Copies the rows only if they need another scale.
    pub(crate) fn new(points: &'a Points<'a>) -> Result<Self> {
        let range = exponent(points.span());
        let shift = match range {
            _ if points.span() == 0.0 => 0,
            ..SMALLEST_EXPONENT => -range,
            SMALLEST_EXPONENT..=LARGEST_EXPONENT => 0,
            _ => LARGEST_EXPONENT - range,
        };
        let points = match shift {
            0 => Cow::Borrowed(points),
            _ => Cow::Owned(points.scaled(power_of_two(shift))?),
        };
        Ok(Self { points, exponent: shift })
    }

    /// Whether some neighbourhood may be faint: there are numbers so small that their differences can be.
    pub(crate) fn may_be_faint(&self) -> bool {
        self.points.smallest() < power_of_two(FAINT_EXPONENT + BITS_OF_CANCELLATION)
    }

    /// Whether a neighbourhood must have a scale of its own. Equal points have none.
    pub(crate) fn is_faint(&self, list: &[u32]) -> bool {
        let row = |index: u32| self.points.row(index as usize);
        let origin = row(list[0]);
        let differences = list.iter().flat_map(|&index| row(index).iter().zip(origin));
        let largest = differences.fold(0.0_f64, |largest, (a, b)| largest.max((a - b).abs()));
        largest > 0.0 && largest < power_of_two(FAINT_EXPONENT)
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

    #[test]
    fn ordinary_points_are_not_copied_and_extreme_ones_get_an_ordinary_range() {
        let x = array![[0.0, 3.0], [1.0, 3.0], [-2.0, 3.0]];
        for (factor, copied) in
            [(1.0, false), (1e80, false), (1e-80, false), (1e150, true), (1e-150, true)]
        {
            let mut x = &x * factor;
            x.column_mut(1).fill(1e300);
            let points = Points::new(x.view()).unwrap();
            let scaled = Scaled::new(&points).unwrap();
            assert_eq!(matches!(scaled.points, Cow::Owned(_)), copied, "{factor}");
            let range = exponent(scaled.points.span());
            assert!((SMALLEST_EXPONENT..=LARGEST_EXPONENT).contains(&range));
            let mut operator = array![[1.0, -2.0]] * power_of_two(scaled.exponent).powi(2);
            scaled.restore(&mut operator).unwrap();
            assert_eq!(operator, array![[1.0, -2.0]]);
        }
    }

    #[test]
    fn operators_of_tiny_parts_vanish_as_their_squares_do() {
        for (scale, expected) in [(1e-155, 1e-310), (1e-160, 1e-320), (1e-170, 0.0), (5e-324, 0.0)]
        {
            let x = array![[0.0], [1.0]] * scale;
            let points = Points::part(x.view()).unwrap();
            let scaled = Scaled::new(&points).unwrap();
            let range = scaled.points.span();
            let mut operator = array![[range * range]];
            scaled.restore(&mut operator).unwrap();
            assert!((operator[[0, 0]] - expected).abs() <= 1e-323, "{scale}: {operator}");
        }
    }

    #[test]
    fn a_neighbourhood_is_faint_if_all_its_differences_are() {
        let x = array![[0.0, 1.0], [0.0, 1.0], [1e-120, 1.0], [0.0, 2.0]];
        let points = Points::new(x.view()).unwrap();
        let scaled = Scaled::new(&points).unwrap();
        assert!(scaled.may_be_faint());
        assert!(scaled.is_faint(&[0, 1, 2]));
        assert!(!scaled.is_faint(&[0, 1, 3]), "one difference is large");
        assert!(!scaled.is_faint(&[0, 1]), "there is no difference");
    }
}
