//! Instruction sets chosen at run time, and eight doubles side by side.
//!
//! A [`Kernel`] is written once over any [`Vector`] and compiled for each; [`Level::detect`] says which to use. Inside
//! [`Vector::vectorize`] the whole kernel, all of it `#[inline(always)]`, is compiled for the vector's instructions.

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

/// One number of each of eight problems.
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

    fn abs(self) -> Self;

    /// |self| with the sign of the other.
    fn copysign(self, sign: Self) -> Self;

    fn max(self, other: Self) -> Self;

    /// `yes` where self ≤ bound, `no` elsewhere.
    fn if_at_most(self, bound: Self, yes: Self, no: Self) -> Self;

    /// `yes` where self < bound, `no` elsewhere.
    fn if_below(self, bound: Self, yes: Self, no: Self) -> Self;

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

mod portable {
    use super::*;

    /// Eight plain doubles.
    #[derive(Debug, Clone, Copy)]
    #[repr(transparent)]
    pub(crate) struct Portable([f64; LANES]);

    /// Whether `mul_add` is an instruction and not a library call.
    const FUSED: bool = cfg!(target_arch = "aarch64");

    #[inline(always)]
    fn map(a: Portable, f: impl Fn(f64) -> f64) -> Portable {
        Portable(a.0.map(f))
    }

    #[inline(always)]
    fn zip(a: Portable, b: Portable, f: impl Fn(f64, f64) -> f64) -> Portable {
        let mut out = a;
        for (out, b) in out.0.iter_mut().zip(b.0) {
            *out = f(*out, b);
        }
        out
    }

    #[inline(always)]
    fn choose(mask: [bool; LANES], yes: Portable, no: Portable) -> Portable {
        let mut out = no;
        for lane in 0..LANES {
            if mask[lane] {
                out.0[lane] = yes.0[lane];
            }
        }
        out
    }

    arithmetic!(Portable; a, b;
        zip(a, b, |a, b| a + b),
        zip(a, b, |a, b| a - b),
        zip(a, b, |a, b| a * b),
        map(a, |a| -a));

    // SAFETY: it is eight doubles.
    unsafe impl Vector for Portable {
        const ZERO: Self = Self([0.0; LANES]);
        const ONE: Self = Self([1.0; LANES]);
        const MANY_REGISTERS: bool = false;

        #[inline(always)]
        unsafe fn vectorize(kernel: impl Kernel) {
            kernel.run();
        }

        #[inline(always)]
        fn splat(value: f64) -> Self {
            Self([value; LANES])
        }

        #[inline(always)]
        fn plus(self, a: Self, b: Self) -> Self {
            let mut out = self;
            for lane in 0..LANES {
                out.0[lane] = if FUSED {
                    a.0[lane].mul_add(b.0[lane], out.0[lane])
                } else {
                    out.0[lane] + a.0[lane] * b.0[lane]
                };
            }
            out
        }

        #[inline(always)]
        fn over(self, divisor: Self) -> Self {
            zip(self, divisor, |a, b| a / b)
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            map(self, f64::sqrt)
        }

        #[inline(always)]
        fn abs(self) -> Self {
            map(self, f64::abs)
        }

        #[inline(always)]
        fn copysign(self, sign: Self) -> Self {
            zip(self, sign, f64::copysign)
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            zip(self, other, |a, b| if a > b { a } else { b })
        }

        #[inline(always)]
        fn if_at_most(self, bound: Self, yes: Self, no: Self) -> Self {
            choose(std::array::from_fn(|lane| self.0[lane] <= bound.0[lane]), yes, no)
        }

        #[inline(always)]
        fn if_below(self, bound: Self, yes: Self, no: Self) -> Self {
            choose(std::array::from_fn(|lane| self.0[lane] < bound.0[lane]), yes, no)
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;
    use std::mem::transmute;

    use super::*;

    /// One AVX-512 register.
    #[derive(Debug, Clone, Copy)]
    #[repr(transparent)]
    pub(crate) struct Avx512(__m512d);

    /// Two AVX registers.
    #[derive(Debug, Clone, Copy)]
    #[repr(transparent)]
    pub(crate) struct Avx2([__m256d; 2]);

    // SAFETY of every intrinsic below: values of these types are only worked on inside `vectorize`, whose caller
    // vouches for the instructions.
    macro_rules! intrinsic {
        ($($call:tt)*) => {{
            // SAFETY: see above.
            unsafe { $($call)* }
        }};
    }

    arithmetic!(Avx512; a, b;
        Self(intrinsic!(_mm512_add_pd(a.0, b.0))),
        Self(intrinsic!(_mm512_sub_pd(a.0, b.0))),
        Self(intrinsic!(_mm512_mul_pd(a.0, b.0))),
        Self(intrinsic!(_mm512_sub_pd(_mm512_set1_pd(-0.0), a.0))));

    #[target_feature(enable = "avx512f")]
    fn run_avx512(kernel: impl Kernel) {
        kernel.run();
    }

    /// Quarters 0 and 2, or 1 and 3, of two registers.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn quarters(a: __m512d, b: __m512d) -> (__m512d, __m512d) {
        (_mm512_shuffle_f64x2::<0b10_00_10_00>(a, b), _mm512_shuffle_f64x2::<0b11_01_11_01>(a, b))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn sum_each_avx512(vectors: [Avx512; LANES]) -> Avx512 {
        // Sums of neighbours, then of quarters: each step halves the number of vectors.
        let pair = |i: usize| {
            let (a, b) = (vectors[2 * i].0, vectors[2 * i + 1].0);
            _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b))
        };
        let halve = |a: __m512d, b: __m512d| {
            let (even, odd) = quarters(a, b);
            _mm512_add_pd(even, odd)
        };
        Avx512(halve(halve(pair(0), pair(1)), halve(pair(2), pair(3))))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn transpose_avx512(vectors: [Avx512; LANES]) -> [Avx512; LANES] {
        let mut out = vectors;
        for odd in 0..2 {
            // The even or the odd lanes of two vectors, then every other quarter of two such pairs.
            let pair = |i: usize| {
                let (a, b) = (vectors[2 * i].0, vectors[2 * i + 1].0);
                if odd == 0 { _mm512_unpacklo_pd(a, b) } else { _mm512_unpackhi_pd(a, b) }
            };
            let (first, second) = quarters(pair(0), pair(1));
            let (third, fourth) = quarters(pair(2), pair(3));
            let (low, high) = quarters(first, third);
            (out[odd], out[4 + odd]) = (Avx512(low), Avx512(high));
            let (low, high) = quarters(second, fourth);
            (out[2 + odd], out[6 + odd]) = (Avx512(low), Avx512(high));
        }
        out
    }

    // SAFETY: a register of eight doubles.
    unsafe impl Vector for Avx512 {
        // SAFETY: as for the trait.
        const ZERO: Self = unsafe { transmute([0.0_f64; LANES]) };
        // SAFETY: as for the trait.
        const ONE: Self = unsafe { transmute([1.0_f64; LANES]) };
        const MANY_REGISTERS: bool = true;

        #[inline(always)]
        unsafe fn vectorize(kernel: impl Kernel) {
            // SAFETY: the caller's promise.
            unsafe { run_avx512(kernel) }
        }

        #[inline(always)]
        fn splat(value: f64) -> Self {
            Self(intrinsic!(_mm512_set1_pd(value)))
        }

        #[inline(always)]
        fn plus(self, a: Self, b: Self) -> Self {
            Self(intrinsic!(_mm512_fmadd_pd(a.0, b.0, self.0)))
        }

        #[inline(always)]
        fn over(self, divisor: Self) -> Self {
            Self(intrinsic!(_mm512_div_pd(self.0, divisor.0)))
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            Self(intrinsic!(_mm512_sqrt_pd(self.0)))
        }

        #[inline(always)]
        fn abs(self) -> Self {
            Self(intrinsic!(_mm512_abs_pd(self.0)))
        }

        #[inline(always)]
        fn copysign(self, sign: Self) -> Self {
            Self(intrinsic!({
                let bits = _mm512_castpd_si512(_mm512_set1_pd(-0.0));
                let sign = _mm512_and_si512(bits, _mm512_castpd_si512(sign.0));
                let size = _mm512_andnot_si512(bits, _mm512_castpd_si512(self.0));
                _mm512_castsi512_pd(_mm512_or_si512(sign, size))
            }))
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            Self(intrinsic!(_mm512_max_pd(self.0, other.0)))
        }

        #[inline(always)]
        fn sum_each(vectors: [Self; LANES]) -> Self {
            intrinsic!(sum_each_avx512(vectors))
        }

        #[inline(always)]
        fn transpose(vectors: [Self; LANES]) -> [Self; LANES] {
            intrinsic!(transpose_avx512(vectors))
        }

        #[inline(always)]
        fn if_at_most(self, bound: Self, yes: Self, no: Self) -> Self {
            Self(intrinsic!({
                let mask = _mm512_cmp_pd_mask::<_CMP_LE_OQ>(self.0, bound.0);
                _mm512_mask_blend_pd(mask, no.0, yes.0)
            }))
        }

        #[inline(always)]
        fn if_below(self, bound: Self, yes: Self, no: Self) -> Self {
            Self(intrinsic!({
                let mask = _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, bound.0);
                _mm512_mask_blend_pd(mask, no.0, yes.0)
            }))
        }
    }

    /// Applies an intrinsic to both halves.
    macro_rules! halves {
        ($half:ident => $value:expr) => {{
            let low = {
                let $half = 0;
                intrinsic!($value)
            };
            let high = {
                let $half = 1;
                intrinsic!($value)
            };
            Self([low, high])
        }};
    }

    arithmetic!(Avx2; a, b;
        halves!(h => _mm256_add_pd(a.0[h], b.0[h])),
        halves!(h => _mm256_sub_pd(a.0[h], b.0[h])),
        halves!(h => _mm256_mul_pd(a.0[h], b.0[h])),
        halves!(h => _mm256_xor_pd(_mm256_set1_pd(-0.0), a.0[h])));

    #[target_feature(enable = "avx2,fma")]
    fn run_avx2(kernel: impl Kernel) {
        kernel.run();
    }

    // SAFETY: two registers of four doubles.
    unsafe impl Vector for Avx2 {
        // SAFETY: as for the trait.
        const ZERO: Self = unsafe { transmute([0.0_f64; LANES]) };
        // SAFETY: as for the trait.
        const ONE: Self = unsafe { transmute([1.0_f64; LANES]) };
        const MANY_REGISTERS: bool = false;

        #[inline(always)]
        unsafe fn vectorize(kernel: impl Kernel) {
            // SAFETY: the caller's promise.
            unsafe { run_avx2(kernel) }
        }

        #[inline(always)]
        fn splat(value: f64) -> Self {
            halves!(_h => _mm256_set1_pd(value))
        }

        #[inline(always)]
        fn plus(self, a: Self, b: Self) -> Self {
            halves!(h => _mm256_fmadd_pd(a.0[h], b.0[h], self.0[h]))
        }

        #[inline(always)]
        fn over(self, divisor: Self) -> Self {
            halves!(h => _mm256_div_pd(self.0[h], divisor.0[h]))
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            halves!(h => _mm256_sqrt_pd(self.0[h]))
        }

        #[inline(always)]
        fn abs(self) -> Self {
            halves!(h => _mm256_andnot_pd(_mm256_set1_pd(-0.0), self.0[h]))
        }

        #[inline(always)]
        fn copysign(self, sign: Self) -> Self {
            halves!(h => {
                let bits = _mm256_set1_pd(-0.0);
                _mm256_or_pd(_mm256_and_pd(bits, sign.0[h]), _mm256_andnot_pd(bits, self.0[h]))
            })
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            halves!(h => _mm256_max_pd(self.0[h], other.0[h]))
        }

        #[inline(always)]
        fn if_at_most(self, bound: Self, yes: Self, no: Self) -> Self {
            halves!(h => {
                let mask = _mm256_cmp_pd::<_CMP_LE_OQ>(self.0[h], bound.0[h]);
                _mm256_blendv_pd(no.0[h], yes.0[h], mask)
            })
        }

        #[inline(always)]
        fn if_below(self, bound: Self, yes: Self, no: Self) -> Self {
            halves!(h => {
                let mask = _mm256_cmp_pd::<_CMP_LT_OQ>(self.0[h], bound.0[h]);
                _mm256_blendv_pd(no.0[h], yes.0[h], mask)
            })
        }
    }
}
