//! Instruction sets chosen at run time, and eight doubles side by side.
//!
//! A [`Work`] is written once over any [`Vector`]. [`vectorized`] runs it with the vector of the current [`Level`]; a
//! [`Kernel`] is bound to one vector already. Inside [`Vector::vectorize`] the whole kernel, all of it
//! `#[inline(always)]`, is compiled for the vector's instructions.
//!
//! The level is the best that the processor has, or the one that the environment variable `SHOPCA_SIMD`
//! names: `portable`, `avx2` or `avx512`. A level with instructions that not every processor has can
//! only be made by asking the processor.

mod level;
mod portable;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use level::{Level, Work, vectorized};
pub(crate) use portable::Portable;
pub(crate) use vector::{CacheLine, Kernel, LANES, Vector, add_multiple, dot, dot_4, flat};

#[cfg(test)]
mod tests {
    use super::*;

    struct InverseSqrt<'a>(&'a [f64; LANES]);

    impl Work for InverseSqrt<'_> {
        type Output = [f64; LANES];

        #[inline(always)]
        fn run<V: Vector>(self) -> [f64; LANES] {
            *V::load(self.0).inverse_sqrt().lanes()
        }
    }

    #[test]
    fn inverse_roots_are_right_to_the_last_bits() {
        for level in Level::available() {
            for exponent in (-300..=300).step_by(20) {
                let scale = 10.0_f64.powi(exponent);
                let numbers =
                    [1.0, 1.000_000_1, 1.3, 2.0, 3.0, 3.999_999, 4.0, 7.7].map(|x| x * scale);
                let found = level.vectorized(InverseSqrt(&numbers));
                for (number, found) in numbers.iter().zip(found) {
                    let gap = found * number.sqrt() - 1.0;
                    assert!(gap.abs() <= 4.0 * f64::EPSILON, "{number}: {found}, off by {gap}");
                }
            }
        }
    }

    struct Comparisons<'a>(&'a [f64; LANES], &'a [f64; LANES]);

    impl Work for Comparisons<'_> {
        type Output = (u32, u32, [f64; LANES]);

        #[inline(always)]
        fn run<V: Vector>(self) -> Self::Output {
            let (a, b) = (V::load(self.0), V::load(self.1));
            let mut chosen = [-1.0; LANES];
            a.compress(a.below(b), &mut chosen);
            (a.below(b), a.at_most(b), chosen)
        }
    }

    #[test]
    fn lanes_are_compared_and_those_chosen_come_first() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN, 0.0, -7.0];
        let b = [1.5, 2.0, 2.5, f64::INFINITY, 5.0, 1.0, -0.0, -6.0];
        for level in Level::available() {
            let (below, at_most, chosen) = level.vectorized(Comparisons(&a, &b));
            assert_eq!((below, at_most), (0b1000_1001, 0b1101_1011));
            assert_eq!(chosen[..3], [1.0, 4.0, -7.0]);
        }
    }
}
