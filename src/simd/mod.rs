//! Instruction sets chosen at run time, and eight doubles side by side.
//!
//! A [`Work`] is written once over any [`Vector`] and [`vectorized`] runs it with the best one that [`Level::detect`]
//! finds; a [`Kernel`] is bound to one already. Inside [`Vector::vectorize`] the whole kernel, all of it `#[inline(always)]`, is compiled for the vector's instructions.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// What the processor offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// What every processor of the architecture has: SSE2 or NEON.
    Baseline,
}

impl Level {
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                return Level::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Level::Avx2;
            }
        }
        Level::Baseline
    }

    /// Every level that this processor has.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        match Self::detect() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => vec![Level::Baseline, Level::Avx2, Level::Avx512],
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => vec![Level::Baseline, Level::Avx2],
            Level::Baseline => vec![Level::Baseline],
        }
    }
}

/// Work to be compiled for some instructions. A closure would not do: it cannot be told to inline, and the
/// instructions only reach code that is inlined.
pub(crate) trait Kernel {
    /// To be marked `#[inline(always)]`, like all it calls.
    fn run(self);
}

/// Work over any vector.
pub(crate) trait Work {
    /// To be marked `#[inline(always)]`, like all it calls.
    fn run<V: Vector>(self);
}

/// Does the work with the best instructions there are.
pub(crate) fn vectorized(work: impl Work) {
    struct With<W, V>(W, PhantomData<V>);
    impl<W: Work, V: Vector> Kernel for With<W, V> {
        #[inline(always)]
        fn run(self) {
            self.0.run::<V>();
        }
    }
    // SAFETY: of the detected level.
    unsafe {
        match Level::detect() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Avx512::vectorize(With::<_, Avx512>(work, PhantomData)),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Avx2::vectorize(With::<_, Avx2>(work, PhantomData)),
            Level::Baseline => Portable::vectorize(With::<_, Portable>(work, PhantomData)),
        }
    }
}

/// Doubles side by side: one AVX-512 register of doubles.
pub(crate) const LANES: usize = 8;

/// Eight doubles: one of each of eight problems, or eight columns of one.
///
/// # Safety
///
/// The type must have the size of eight doubles and at most the alignment of a [`Line`], and any eight doubles must be a
/// value of it.
pub(crate) unsafe trait Vector:
    Copy
    + Debug
    + Send
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    const ZERO: Self;
    const ONE: Self;

    /// Whether 28 of these fit the registers.
    const MANY_REGISTERS: bool;

    /// Runs the kernel compiled for this vector's instructions.
    ///
    /// # Safety
    ///
    /// The processor must have them: the level must be the detected one.
    unsafe fn vectorize(kernel: impl Kernel);

    fn splat(value: f64) -> Self;

    /// self + a·b, in one rounding where the processor can.
    fn plus(self, a: Self, b: Self) -> Self;

    /// self / divisor.
    fn over(self, divisor: Self) -> Self;

    fn sqrt(self) -> Self;

    /// 1/√self of a positive number, to about the last bit.
    #[inline(always)]
    fn inverse_sqrt(self) -> Self {
        Self::ONE.over(self.sqrt())
    }

    fn abs(self) -> Self;

    /// |self| with the sign of the other.
    fn copysign(self, sign: Self) -> Self;

    fn max(self, other: Self) -> Self;

    /// `yes` where self ≤ bound, `no` elsewhere.
    fn if_at_most(self, bound: Self, yes: Self, no: Self) -> Self;

    /// `yes` where self < bound, `no` elsewhere.
    fn if_below(self, bound: Self, yes: Self, no: Self) -> Self;

    /// Whether a lane is below the other's.
    #[inline(always)]
    fn any_below(self, other: Self) -> bool {
        (0..LANES).any(|lane| self.lanes()[lane] < other.lanes()[lane])
    }

    /// Whether every lane is below the other's.
    #[inline(always)]
    fn all_below(self, other: Self) -> bool {
        (0..LANES).all(|lane| self.lanes()[lane] < other.lanes()[lane])
    }

    #[inline(always)]
    fn lanes(&self) -> &[f64; LANES] {
        // SAFETY: the trait's contract.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    #[inline(always)]
    fn lanes_mut(&mut self) -> &mut [f64; LANES] {
        // SAFETY: the trait's contract.
        unsafe { &mut *std::ptr::from_mut(self).cast() }
    }

    /// Eight doubles of a slice.
    #[inline(always)]
    fn load(values: &[f64; LANES]) -> Self {
        // SAFETY: the trait's contract.
        unsafe { std::ptr::from_ref(values).cast::<Self>().read_unaligned() }
    }

    /// Lane i of the answer is the sum of the lanes of the i-th vector.
    #[inline(always)]
    fn sum_each(vectors: [Self; LANES]) -> Self {
        let mut sums = Self::ZERO;
        for vector in Self::transpose(vectors) {
            sums += vector;
        }
        sums
    }

    /// Lane i of the j-th answer is lane j of the i-th vector.
    #[inline(always)]
    fn transpose(vectors: [Self; LANES]) -> [Self; LANES] {
        let mut out = vectors;
        for i in 0..LANES {
            for j in 0..LANES {
                out[j].lanes_mut()[i] = vectors[i].lanes()[j];
            }
        }
        out
    }

    /// The largest lane.
    #[inline(always)]
    fn largest(self) -> f64 {
        self.lanes().iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Eight doubles in one cache line, where the kind of vector does not matter.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [f64; LANES]);

impl Line {
    #[inline(always)]
    pub(crate) fn as_vectors<V: Vector>(lines: &[Self]) -> &[V] {
        // SAFETY: the contract of `Vector`.
        unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len()) }
    }

    #[inline(always)]
    pub(crate) fn as_vectors_mut<V: Vector>(lines: &mut [Self]) -> &mut [V] {
        // SAFETY: the contract of `Vector`.
        unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len()) }
    }
}

/// Vectors as plain doubles.
#[inline(always)]
pub(crate) fn flat<V: Vector>(vectors: &[V]) -> &[f64] {
    // SAFETY: the contract of `Vector`.
    unsafe { std::slice::from_raw_parts(vectors.as_ptr().cast(), vectors.len() * LANES) }
}

/// Σ aᵢ bᵢ.
#[inline(always)]
pub(crate) fn dot<V: Vector>(a: &[V], b: &[V]) -> V {
    let mut sum = V::ZERO;
    for (a, b) in a.iter().zip(b) {
        sum = sum.plus(*a, *b);
    }
    sum
}

/// Four dot products that share one factor, and its loads.
#[inline(always)]
pub(crate) fn dot_4<V: Vector>(a: &[V], b: [&[V]; 4]) -> [V; 4] {
    let length = a.len();
    let b = [&b[0][..length], &b[1][..length], &b[2][..length], &b[3][..length]];
    let mut sums = [V::ZERO; 4];
    for i in 0..length {
        sums[0] = sums[0].plus(a[i], b[0][i]);
        sums[1] = sums[1].plus(a[i], b[1][i]);
        sums[2] = sums[2].plus(a[i], b[2][i]);
        sums[3] = sums[3].plus(a[i], b[3][i]);
    }
    sums
}

/// out += factor · a.
#[inline(always)]
pub(crate) fn add_multiple<V: Vector>(out: &mut [V], factor: V, a: &[V]) {
    for (out, a) in out.iter_mut().zip(a) {
        *out = out.plus(factor, *a);
    }
}

/// Implements the operators by the given expressions in a and b. They are no closures, which may not be inlined.
macro_rules! arithmetic {
    ($vector:ty; $a:ident, $b:ident; $add:expr, $sub:expr, $mul:expr, $neg:expr) => {
        impl Add for $vector {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $add
            }
        }
        impl Sub for $vector {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $sub
            }
        }
        impl Mul for $vector {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $mul
            }
        }
        impl Neg for $vector {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                let $a = self;
                $neg
            }
        }
        impl AddAssign for $vector {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl SubAssign for $vector {
            #[inline(always)]
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }
    };
}

pub(crate) use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

mod portable;

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
mod tests {
    use super::*;

    struct InverseSqrt<'a, V>(&'a mut V);

    impl<V: Vector> Kernel for InverseSqrt<'_, V> {
        #[inline(always)]
        fn run(self) {
            *self.0 = self.0.inverse_sqrt();
        }
    }

    fn check_inverse_sqrt<V: Vector>() {
        for exponent in (-300..=300).step_by(20) {
            let scale = 10.0_f64.powi(exponent);
            let numbers = [1.0, 1.000_000_1, 1.3, 2.0, 3.0, 3.999_999, 4.0, 7.7].map(|x| x * scale);
            let mut found = V::load(&numbers);
            // SAFETY: `Level::all` has been asked.
            unsafe { V::vectorize(InverseSqrt(&mut found)) };
            for (number, found) in numbers.iter().zip(found.lanes()) {
                let gap = found * number.sqrt() - 1.0;
                assert!(gap.abs() <= 4.0 * f64::EPSILON, "{number}: {found}, off by {gap}");
            }
        }
    }

    #[test]
    fn inverse_roots_are_right_to_the_last_bits() {
        for level in Level::all() {
            match level {
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => check_inverse_sqrt::<Avx512>(),
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => check_inverse_sqrt::<Avx2>(),
                Level::Baseline => check_inverse_sqrt::<Portable>(),
            }
        }
    }
}
