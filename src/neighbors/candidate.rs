//! Distances, and the k best candidates by (squared distance, index).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::error::{Error, Result};

/// Σ (aⱼ − bⱼ)² in eight interleaved partial sums: the one definition of distance here.
///
/// No fused multiply-add, so the bits are the same on every processor.
#[inline]
pub fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    const PARTIAL_SUMS: usize = 8;
    let mut sums = [0.0; PARTIAL_SUMS];
    let (a_blocks, a_rest) = a.as_chunks::<PARTIAL_SUMS>();
    let (b_blocks, b_rest) = b.as_chunks::<PARTIAL_SUMS>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..PARTIAL_SUMS {
            let difference = a[lane] - b[lane];
            sums[lane] += difference * difference;
        }
    }
    for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        let difference = a - b;
        sums[lane] += difference * difference;
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

/// A possible neighbour, ordered by (squared distance, index).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) squared: f64,
    pub(super) index: u32,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.squared.total_cmp(&other.squared).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best `capacity` candidates seen so far. The order in which they come does not matter.
#[derive(Debug)]
pub(super) struct Nearest {
    pub(super) capacity: usize,
    pub(super) heap: BinaryHeap<Candidate>,
}

impl Nearest {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, heap: BinaryHeap::new() }
    }

    /// Room for all candidates at once.
    pub(super) fn reserve(&mut self) -> Result<()> {
        let (len, bytes) = (self.capacity, self.capacity * size_of::<Candidate>());
        let missing = len - self.heap.len();
        self.heap.try_reserve_exact(missing).map_err(|_| Error::OutOfMemory { bytes })
    }

    pub(super) fn is_full(&self) -> bool {
        self.heap.len() == self.capacity
    }

    /// The squared distance a candidate must not exceed to be of interest.
    #[inline]
    pub(super) fn worst(&self) -> f64 {
        match self.heap.peek() {
            Some(last) if self.is_full() => last.squared,
            _ => f64::INFINITY,
        }
    }

    #[inline]
    pub(super) fn offer(&mut self, candidate: Candidate) {
        if self.heap.len() < self.capacity {
            self.heap.push(candidate);
        } else if let Some(mut last) = self.heap.peek_mut()
            && candidate < *last
        {
            *last = candidate;
        }
    }

    /// Nearest first; leaves the collection empty for the next query.
    pub(super) fn drain_sorted(&mut self, sorted: &mut Vec<Candidate>) {
        sorted.clear();
        sorted.extend(self.heap.drain());
        sorted.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_candidates_do_not_depend_on_the_order_they_come_in() {
        let offered: Vec<_> = [(2.0, 4), (1.0, 9), (2.0, 1), (0.0, 7), (2.0, 3)]
            .map(|(squared, index)| Candidate { squared, index })
            .into();
        let mut sorted = Vec::new();
        for shift in 0..offered.len() {
            let mut nearest = Nearest::new(3);
            for at in 0..offered.len() {
                nearest.offer(offered[(at + shift) % offered.len()]);
            }
            nearest.drain_sorted(&mut sorted);
            assert_eq!(sorted.iter().map(|c| c.index).collect::<Vec<_>>(), [7, 9, 1]);
        }
    }
}
