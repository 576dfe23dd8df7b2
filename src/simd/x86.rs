//! Eight doubles in AVX-512 and in AVX2 registers.

use std::arch::x86_64::*;
use std::mem::transmute;

use super::vector::*;

/// Proof that the processor has AVX-512F, AVX-512BW and POPCNT: all with AVX-512 but the Xeon Phi.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx512Proof(());

impl Avx512Proof {
    pub(super) fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("popcnt");
        all.then_some(Self(()))
    }
}

/// Proof that the processor has AVX2 and FMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx2Proof(());

impl Avx2Proof {
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }
}

/// One AVX-512 register.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Avx512(__m512d);

/// Two AVX registers.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Avx2([__m256d; 2]);

// SAFETY of every intrinsic below: these types are named by `super::level` alone, where a level that holds the proof
// hands them to generic code.
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

#[target_feature(enable = "avx512f,popcnt")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
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
    // Sums of adjacent lanes, then of quarters: each step halves the number of vectors.
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
    fn vectorize<K: Kernel>(kernel: K) -> K::Output {
        intrinsic!(run_avx512(kernel))
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

    /// Two steps of Newton's method, each of which doubles the 14 correct bits of the processor's estimate: faster
    /// than a square root and a division.
    #[inline(always)]
    fn inverse_sqrt(self) -> Self {
        let mut inverse = Self(intrinsic!(_mm512_rsqrt14_pd(self.0)));
        for _ in 0..2 {
            let half = Self::splat(0.5) * inverse;
            let gap =
                Self(intrinsic!(_mm512_fnmadd_pd((self * inverse).0, inverse.0, Self::ONE.0)));
            inverse = inverse.plus(half, gap);
        }
        inverse
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
    fn below(self, other: Self) -> u32 {
        intrinsic!(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, other.0)).into()
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> u32 {
        intrinsic!(_mm512_cmp_pd_mask::<_CMP_LE_OQ>(self.0, other.0)).into()
    }

    #[inline(always)]
    fn compress(self, chosen: u32, to: &mut [f64; LANES]) {
        intrinsic!(_mm512_storeu_pd(
            to.as_mut_ptr(),
            _mm512_maskz_compress_pd(chosen as u8, self.0)
        ))
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
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

/// A bit for each lane of `a` for which a comparison with that of `b` holds.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn compare_avx2<const HOW: i32>(a: Avx2, b: Avx2) -> u32 {
    let low = _mm256_movemask_pd(_mm256_cmp_pd::<HOW>(a.0[0], b.0[0]));
    let high = _mm256_movemask_pd(_mm256_cmp_pd::<HOW>(a.0[1], b.0[1]));
    (low | high << 4) as u32
}

/// The transpose of four rows of four.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn transpose_4(rows: [__m256d; 4]) -> [__m256d; 4] {
    let [a, b, c, d] = rows;
    let (even, odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
    let (even_2, odd_2) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
    [
        _mm256_permute2f128_pd::<0x20>(even, even_2),
        _mm256_permute2f128_pd::<0x20>(odd, odd_2),
        _mm256_permute2f128_pd::<0x31>(even, even_2),
        _mm256_permute2f128_pd::<0x31>(odd, odd_2),
    ]
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn transpose_avx2(vectors: [Avx2; LANES]) -> [Avx2; LANES] {
    let mut out = vectors;
    for rows in 0..2 {
        for half in 0..2 {
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| vectors[rows * 4 + i].0[half]);
            let turned = transpose_4([a, b, c, d]);
            for i in 0..4 {
                out[half * 4 + i].0[rows] = turned[i];
            }
        }
    }
    out
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn sum_each_avx2(vectors: [Avx2; LANES]) -> Avx2 {
    // Sums of halves, of adjacent lanes, then of what is left.
    let pair = |i: usize| {
        let whole = |i: usize| _mm256_add_pd(vectors[i].0[0], vectors[i].0[1]);
        _mm256_hadd_pd(whole(2 * i), whole(2 * i + 1))
    };
    let four = |a: __m256d, b: __m256d| {
        _mm256_add_pd(_mm256_blend_pd::<0b1100>(a, b), _mm256_permute2f128_pd::<0x21>(a, b))
    };
    Avx2([four(pair(0), pair(1)), four(pair(2), pair(3))])
}

// SAFETY: two registers of four doubles.
unsafe impl Vector for Avx2 {
    // SAFETY: as for the trait.
    const ZERO: Self = unsafe { transmute([0.0_f64; LANES]) };
    // SAFETY: as for the trait.
    const ONE: Self = unsafe { transmute([1.0_f64; LANES]) };
    const MANY_REGISTERS: bool = false;

    #[inline(always)]
    fn vectorize<K: Kernel>(kernel: K) -> K::Output {
        intrinsic!(run_avx2(kernel))
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
    fn sum_each(vectors: [Self; LANES]) -> Self {
        intrinsic!(sum_each_avx2(vectors))
    }

    #[inline(always)]
    fn transpose(vectors: [Self; LANES]) -> [Self; LANES] {
        intrinsic!(transpose_avx2(vectors))
    }

    #[inline(always)]
    fn below(self, other: Self) -> u32 {
        intrinsic!(compare_avx2::<_CMP_LT_OQ>(self, other))
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> u32 {
        intrinsic!(compare_avx2::<_CMP_LE_OQ>(self, other))
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
