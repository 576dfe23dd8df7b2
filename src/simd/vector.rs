//! Eight doubles side by side, whatever holds them.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// Work to be compiled for some instructions. Not a closure, which cannot be marked
/// `#[inline(always)]`: the instructions are only used in code that is inlined.
pub(crate) trait Kernel {
    /// What it returns.
    type Output;

    /// To be marked `#[inline(always)]`, like all it calls.
    fn run(self) -> Self::Output;
}

/// Doubles side by side: one AVX-512 register of doubles.
pub(crate) const LANES: usize = 8;

/// A bit for each lane.
const ALL_LANES: u32 = (1 << LANES) - 1;

/// Eight doubles: one of each of eight problems, or eight columns of one.
///
/// Code that is generic over a vector may use it freely: only [`Level::dispatch`](super::Level::dispatch) and
/// [`vectorized`](super::vectorized) name the types, and their level proves that the processor has the instructions.
///
/// # Safety
///
/// The type must have the size of eight doubles and at most the alignment of a [`CacheLine`], and any
/// eight doubles must be a value of it. If it needs instructions that not every processor has, nothing
/// outside of this folder may name it.
pub(crate) unsafe trait Vector:
    'static
    + Copy
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
    fn vectorize<K: Kernel>(kernel: K) -> K::Output;

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

    /// A bit for each lane that is below the other's.
    #[inline(always)]
    fn below(self, other: Self) -> u32 {
        bits(|lane| self.lanes()[lane] < other.lanes()[lane])
    }

    /// A bit for each lane that is at most the other's.
    #[inline(always)]
    fn at_most(self, other: Self) -> u32 {
        bits(|lane| self.lanes()[lane] <= other.lanes()[lane])
    }

    /// Whether a lane is below the other's.
    #[inline(always)]
    fn any_below(self, other: Self) -> bool {
        self.below(other) != 0
    }

    /// Whether every lane is below the other's.
    #[inline(always)]
    fn all_below(self, other: Self) -> bool {
        self.below(other) == ALL_LANES
    }

    /// Writes the lanes whose bits are set side by side. What comes behind them is overwritten too.
    #[inline(always)]
    fn compress(self, chosen: u32, to: &mut [f64; LANES]) {
        let mut count = 0;
        for lane in 0..LANES {
            to[count] = self.lanes()[lane];
            count += (chosen >> lane & 1) as usize;
        }
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

/// A bit for each lane in which something holds.
#[inline(always)]
fn bits(holds: impl Fn(usize) -> bool) -> u32 {
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= u32::from(holds(lane)) << lane;
    }
    bits
}

/// Eight doubles in one cache line, where the kind of vector does not matter.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(crate) struct CacheLine(pub(crate) [f64; LANES]);

impl CacheLine {
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

/// Implements the operators by the given expressions in a and b. They are not closures, which might not be inlined.
macro_rules! arithmetic {
    ($vector:ty; $a:ident, $b:ident; $add:expr, $sub:expr, $mul:expr, $neg:expr) => {
        impl std::ops::Add for $vector {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $add
            }
        }
        impl std::ops::Sub for $vector {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $sub
            }
        }
        impl std::ops::Mul for $vector {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $mul
            }
        }
        impl std::ops::Neg for $vector {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                let $a = self;
                $neg
            }
        }
        impl std::ops::AddAssign for $vector {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl std::ops::SubAssign for $vector {
            #[inline(always)]
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }
    };
}

pub(super) use arithmetic;
