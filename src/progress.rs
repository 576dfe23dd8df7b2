//! Progress and cancellation of long work, through one small type.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// How far one long computation is, and whether it must stop; shared between its threads and the one that watches it.
///
/// ```
/// use shopca_rs::{Error, Progress};
///
/// let progress = Progress::new();
/// progress.expect(10);
/// progress.advance(4)?;
/// assert_eq!(progress.counts(), (4, 10));
/// progress.cancel();
/// assert_eq!(progress.advance(1), Err(Error::Cancelled));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicUsize,
    total: AtomicUsize,
    cancelled: AtomicBool,
}

impl Progress {
    /// Nothing announced, nothing done.
    pub fn new() -> Self {
        Self::default()
    }

    /// Announces `units` more units of work.
    pub fn expect(&self, units: usize) {
        self.total.fetch_add(units, Ordering::Relaxed);
    }

    /// Reports `units` as done; fails if the work was cancelled meanwhile.
    pub fn advance(&self, units: usize) -> Result<()> {
        self.done.fetch_add(units, Ordering::Relaxed);
        self.check()
    }

    /// Fails if the work was cancelled.
    pub fn check(&self) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Asks the workers to stop at their next check.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Units done and units announced so far.
    pub fn counts(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
