//! The instruction set to use: the best that the processor has, or the one asked for.

use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, Result};

use super::portable::Portable;
use super::vector::{Kernel, Vector};
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Avx2Proof, Avx512, Avx512Proof};

/// The environment variable that names a level.
const VARIABLE: &str = "SHOPCA_SIMD";

/// An instruction set that this processor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512Proof),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2Proof),
    /// What every processor of the architecture has: SSE2 or NEON.
    Portable,
}

/// Work over any vector.
pub(crate) trait Work {
    /// What it returns.
    type Output;

    /// To be marked `#[inline(always)]`, like all it calls, if it is to be [`vectorized`].
    fn run<V: Vector>(self) -> Self::Output;
}

/// Does the work compiled for the current level.
pub(crate) fn vectorized<W: Work>(work: W) -> W::Output {
    Level::current().vectorized(work)
}

/// The position in `Level::available` of a level that [`Level::force`] has set, from 1 on; 0 for none.
static FORCED: AtomicU8 = AtomicU8::new(0);

impl Level {
    /// Every level that this processor has, the best one last.
    pub(crate) fn available() -> Vec<Self> {
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut))]
        let mut levels = vec![Level::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(Avx2Proof::detect().map(Level::Avx2));
            levels.extend(Avx512Proof::detect().map(Level::Avx512));
        }
        levels
    }

    /// The level to use: the one last forced, the one that `SHOPCA_SIMD` names, or the best.
    ///
    /// Callers have passed [`Level::check`], which refuses a name that cannot be served.
    pub(crate) fn current() -> Self {
        match FORCED.load(Ordering::Relaxed) {
            0 => *Self::chosen().as_ref().unwrap_or(&Level::Portable),
            place => Self::available()[usize::from(place) - 1],
        }
    }

    /// Fails if `SHOPCA_SIMD` names no level, or one that this processor does not have.
    pub(crate) fn check() -> Result<()> {
        Self::chosen().as_ref().map(|_| ()).map_err(Error::clone)
    }

    /// What the environment asks for, read once.
    fn chosen() -> &'static Result<Self> {
        static CHOSEN: OnceLock<Result<Level>> = OnceLock::new();
        CHOSEN.get_or_init(|| match std::env::var_os(VARIABLE) {
            Some(name) if !name.is_empty() => Self::named(&name.to_string_lossy()),
            _ => Ok(*Self::available().last().expect("every processor has one")),
        })
    }

    /// Makes every later call use the named level, or with none that of the environment. For tests.
    #[cfg_attr(not(feature = "python"), expect(dead_code))]
    pub(crate) fn force(name: Option<&str>) -> Result<()> {
        let place = match name {
            None => 0,
            Some(name) => {
                let level = Self::named(name)?;
                1 + Self::available().iter().take_while(|other| **other != level).count()
            }
        };
        FORCED.store(place as u8, Ordering::Relaxed);
        Ok(())
    }

    fn named(name: &str) -> Result<Self> {
        let levels = Self::available();
        let names = || levels.iter().map(|level| level.name()).collect::<Vec<_>>().join(", ");
        levels
            .iter()
            .find(|level| level.name() == name)
            .copied()
            .ok_or_else(|| Error::NoSuchInstructions { given: name.to_owned(), available: names() })
    }

    /// Its name in `SHOPCA_SIMD`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => "avx2",
            Level::Portable => "portable",
        }
    }

    /// Does the work with the vector of this level, compiled for the baseline instructions: for work that
    /// makes a solver, which then runs its own kernels by [`Vector::vectorize`].
    pub(crate) fn dispatch<W: Work>(self, work: W) -> W::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => work.run::<Avx512>(),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => work.run::<Avx2>(),
            Level::Portable => work.run::<Portable>(),
        }
    }

    /// Does the work compiled for the instructions of this level.
    pub(crate) fn vectorized<W: Work>(self, work: W) -> W::Output {
        struct With<W, V>(W, PhantomData<V>);
        impl<W: Work, V: Vector> Kernel for With<W, V> {
            type Output = W::Output;

            #[inline(always)]
            fn run(self) -> W::Output {
                self.0.run::<V>()
            }
        }
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => Avx512::vectorize(With::<_, Avx512>(work, PhantomData)),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => Avx2::vectorize(With::<_, Avx2>(work, PhantomData)),
            Level::Portable => Portable::vectorize(With::<_, Portable>(work, PhantomData)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_found_by_its_name_and_no_other_is() {
        for level in Level::available() {
            assert_eq!(Level::named(level.name()), Ok(level));
        }
        let refused = Level::named("sse9").unwrap_err().to_string();
        assert!(refused.contains("\"sse9\"") && refused.contains("portable"), "{refused}");
    }
}
