//! Numbers of eight problems side by side ↔ those of each problem in a row.

use crate::error::Result;
use crate::matrix::try_filled;
use crate::simd::{LANES, Vector, flat};

/// The numbers of eight problems, equally many of each, problem after problem.
pub(super) struct Transposed<V> {
    values: Vec<V>,
    /// Vectors for one problem.
    stride: usize,
}

impl<V: Vector> Transposed<V> {
    /// For at most `most` numbers of each problem.
    pub(super) fn new(most: usize) -> Result<Self> {
        Ok(Self { values: try_filled(most.next_multiple_of(LANES), V::ZERO)?, stride: 0 })
    }

    /// Splits numbers that lie side by side by problem.
    #[inline(always)]
    pub(super) fn fill(&mut self, entries: &[V]) {
        self.stride = entries.len().div_ceil(LANES);
        let (squares, rest) = entries.as_chunks::<LANES>();
        for (at, square) in squares.iter().enumerate() {
            self.put_square(at, V::transpose(*square));
        }
        if !rest.is_empty() {
            self.put_square(squares.len(), V::transpose(filled_up(rest)));
        }
    }

    /// The numbers of all problems from 8 · `at` on.
    #[inline(always)]
    fn put_square(&mut self, at: usize, square: [V; LANES]) {
        for lane in 0..LANES {
            self.values[lane * self.stride + at] = square[lane];
        }
    }

    /// Sets the numbers of one problem, each the sum of the lanes of a vector; equally many for every problem.
    #[inline(always)]
    pub(super) fn put_sums(&mut self, lane: usize, sums: &[V]) {
        self.stride = sums.len().div_ceil(LANES);
        let values = &mut self.values[lane * self.stride..(lane + 1) * self.stride];
        let (squares, rest) = sums.as_chunks::<LANES>();
        for (value, square) in values.iter_mut().zip(squares) {
            *value = V::sum_each(*square);
        }
        if !rest.is_empty() {
            values[squares.len()] = V::sum_each(filled_up(rest));
        }
    }

    /// The numbers of one problem.
    #[inline(always)]
    pub(super) fn lane(&self, lane: usize) -> &[f64] {
        flat(&self.values[lane * self.stride..(lane + 1) * self.stride])
    }

    /// Puts the numbers of all problems side by side.
    #[inline(always)]
    pub(super) fn join(&self, entries: &mut [V]) {
        let (squares, rest) = entries.as_chunks_mut::<LANES>();
        for (at, square) in squares.iter_mut().enumerate() {
            *square = self.square(at);
        }
        if !rest.is_empty() {
            let square = self.square(squares.len());
            rest.copy_from_slice(&square[..rest.len()]);
        }
    }

    /// The numbers from 8 · `at` on, side by side.
    #[inline(always)]
    fn square(&self, at: usize) -> [V; LANES] {
        let mut square = [V::ZERO; LANES];
        for lane in 0..LANES {
            square[lane] = self.values[lane * self.stride + at];
        }
        V::transpose(square)
    }
}

/// Up to eight vectors, and zeros.
#[inline(always)]
fn filled_up<V: Vector>(part: &[V]) -> [V; LANES] {
    let mut square = [V::ZERO; LANES];
    square[..part.len()].copy_from_slice(part);
    square
}
