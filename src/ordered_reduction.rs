//! Units of work computed by any thread, their results added in the order of the units.
//!
//! A thread that has computed a unit adds what is due and takes the next; no thread waits for another as long as there
//! are buffers. Rayon has no reduction that keeps an order without keeping all results.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};

/// Calls `compute` once for each of the units, with a worker and a buffer of its own, and then `add` for every section
/// in the order of the units. As many threads take part as there are workers.
pub(crate) fn compute_and_add<W: Send, B: Send + Sync, S: Send>(
    units: usize,
    workers: Vec<W>,
    buffers: Vec<B>,
    sections: Vec<S>,
    compute: impl Fn(&mut W, usize, &mut B) -> Result<()> + Sync,
    add: impl Fn(&mut S, usize, &B) + Sync,
) -> Result<()> {
    let sections = sections.into_iter().map(|section| Section { added: 0, free: Some(section) });
    let plan = Plan {
        state: Mutex::new(State {
            units,
            taken: 0,
            added: 0,
            computed: VecDeque::new(),
            buffers,
            sections: sections.collect(),
            stopped: None,
        }),
        changed: Condvar::new(),
    };
    rayon::scope(|scope| {
        for worker in workers {
            let (plan, compute, add) = (&plan, &compute, &add);
            scope.spawn(move |_| plan.work(worker, compute, add));
        }
    });
    let state = plan.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.stopped.map_or(Ok(()), Err)
}

struct Plan<B, S> {
    state: Mutex<State<B, S>>,
    changed: Condvar,
}

struct State<B, S> {
    units: usize,
    /// Units that are computed or being computed.
    taken: usize,
    /// Units that are in all sections.
    added: usize,
    /// What follows them, up to `taken`; none while it is being computed.
    computed: VecDeque<Option<Arc<B>>>,
    /// Free buffers; the last one was used last and is most likely in the cache.
    buffers: Vec<B>,
    sections: Vec<Section<S>>,
    /// Why all threads must stop.
    stopped: Option<Error>,
}

struct Section<S> {
    /// Units that are in it.
    added: usize,
    /// None while a thread adds to it.
    free: Option<S>,
}

/// What a thread can do next.
enum Job<B, S> {
    Add { index: usize, section: S, unit: usize, buffer: Arc<B> },
    Compute { unit: usize, buffer: B },
}

impl<B, S> Plan<B, S> {
    fn work<W>(
        &self,
        mut worker: W,
        compute: &impl Fn(&mut W, usize, &mut B) -> Result<()>,
        add: &impl Fn(&mut S, usize, &B),
    ) {
        let _stop = StopOnPanic(self);
        while let Some(job) = self.next_job() {
            match job {
                Job::Add { index, mut section, unit, buffer } => {
                    add(&mut section, unit, &buffer);
                    drop(buffer);
                    self.state().put_back(index, section);
                }
                Job::Compute { unit, mut buffer } => {
                    let outcome = compute(&mut worker, unit, &mut buffer);
                    self.state().put_result(unit, buffer, outcome);
                }
            }
            self.changed.notify_all();
        }
    }

    /// Waits for something to do; none when all is done or stopped.
    fn next_job(&self) -> Option<Job<B, S>> {
        let mut state = self.state();
        while state.stopped.is_none() && state.added < state.units {
            if let Some(job) = state.choose() {
                return Some(job);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn state(&self) -> MutexGuard<'_, State<B, S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B, S> State<B, S> {
    /// Adding comes first: it frees buffers, and what was just computed is still in the cache.
    fn choose(&mut self) -> Option<Job<B, S>> {
        for (index, section) in self.sections.iter_mut().enumerate() {
            let unit = section.added;
            if let Some(Some(buffer)) = self.computed.get(unit - self.added)
                && let Some(section) = section.free.take()
            {
                return Some(Job::Add { index, section, unit, buffer: Arc::clone(buffer) });
            }
        }
        if self.taken == self.units {
            return None;
        }
        let buffer = self.buffers.pop()?;
        let unit = self.taken;
        self.taken += 1;
        self.computed.push_back(None);
        Some(Job::Compute { unit, buffer })
    }

    fn put_back(&mut self, index: usize, section: S) {
        self.sections[index].free = Some(section);
        self.sections[index].added += 1;
        if self.sections.iter().all(|section| section.added > self.added) {
            self.added += 1;
            let buffer = self.computed.pop_front().flatten().and_then(Arc::into_inner);
            self.buffers.push(buffer.expect("all have added it"));
        }
    }

    fn put_result(&mut self, unit: usize, buffer: B, outcome: Result<()>) {
        self.computed[unit - self.added] = Some(Arc::new(buffer));
        if let Err(error) = outcome {
            self.stopped.get_or_insert(error);
        }
    }
}

/// A thread that panics must not leave the others waiting.
struct StopOnPanic<'a, B, S>(&'a Plan<B, S>);

impl<B, S> Drop for StopOnPanic<'_, B, S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().stopped = Some(Error::Cancelled);
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;

    /// The units each section has seen, computed by `threads` threads with `buffers` buffers.
    fn run(units: usize, threads: usize, buffers: usize, sections: usize) -> Vec<Vec<usize>> {
        let mut seen = vec![Vec::new(); sections];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let compute = |_: &mut (), unit: usize, buffer: &mut usize| {
            std::thread::sleep(Duration::from_micros((unit * 7919 % 13) as u64 * 30));
            *buffer = unit;
            Ok(())
        };
        let add = |section: &mut &mut Vec<usize>, unit: usize, buffer: &usize| {
            assert_eq!(unit, *buffer);
            section.push(unit);
        };
        let (workers, buffers) = (vec![(); threads], vec![0; buffers]);
        let sections = seen.iter_mut().collect();
        pool.install(|| compute_and_add(units, workers, buffers, sections, compute, add)).unwrap();
        seen
    }

    #[test]
    fn every_section_sees_all_units_in_order() {
        for (units, threads, buffers, sections) in
            [(0, 2, 2, 1), (1, 3, 1, 2), (60, 1, 1, 3), (60, 4, 1, 1), (200, 4, 6, 3)]
        {
            let expected = vec![Vec::from_iter(0..units); sections];
            assert_eq!(run(units, threads, buffers, sections), expected);
        }
    }

    #[test]
    fn a_failure_stops_all_and_is_told() {
        let compute = |_: &mut (), unit: usize, _: &mut ()| {
            if unit == 5 { Err(Error::no_convergence()) } else { Ok(()) }
        };
        let outcome = compute_and_add(
            usize::MAX,
            vec![(); 3],
            vec![(); 4],
            vec![(); 2],
            compute,
            |(), _, ()| {},
        );
        assert_eq!(outcome, Err(Error::no_convergence()));
    }

    #[test]
    fn a_panic_stops_all_and_is_passed_on() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let compute = |_: &mut (), unit: usize, _: &mut ()| {
            assert_ne!(unit, 5, "the sixth unit");
            Ok(())
        };
        let run = || {
            compute_and_add(
                usize::MAX,
                vec![(); 3],
                vec![(); 4],
                vec![(); 2],
                compute,
                |(), _, ()| {},
            )
        };
        assert!(catch_unwind(AssertUnwindSafe(|| pool.install(run))).is_err());
    }
}
