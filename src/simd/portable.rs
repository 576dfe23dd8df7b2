//! Eight doubles as a plain array, for every processor.

use super::vector::*;

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
    fn vectorize<K: Kernel>(kernel: K) -> K::Output {
        kernel.run()
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
