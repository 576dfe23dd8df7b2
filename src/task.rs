//! One small type through which long work is counted and cancelled.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// The state of one long computation, shared between the threads that do it and the one that watches.
///
/// ```
/// use shopca_rs::{Error, Task};
///
/// let task = Task::new();
/// task.expect(10);
/// task.advance(4)?;
/// assert_eq!(task.progress(), (4, 10));
/// task.cancel();
/// assert_eq!(task.advance(1), Err(Error::Cancelled));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Task {
    done: AtomicUsize,
    total: AtomicUsize,
    cancelled: AtomicBool,
}

impl Task {
    /// A task with nothing to do yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Announces `units` more units of work.
    pub fn expect(&self, units: usize) {
        self.total.fetch_add(units, Ordering::Relaxed);
    }

    /// Reports `units` as done; fails if the task was cancelled meanwhile.
    pub fn advance(&self, units: usize) -> Result<()> {
        self.done.fetch_add(units, Ordering::Relaxed);
        self.check()
    }

    /// Fails if the task was cancelled.
    pub fn check(&self) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Asks the workers to stop at their next check.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Units done and units announced so far.
    pub fn progress(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
