//! Neighbourhoods whose operators are summed, and their weights.

use crate::error::{Error, Result};

/// Lists of neighbours, and the weight of the operator of each; 1 without weights.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub(crate) lists: &'a [&'a [u32]],
    pub(crate) weights: Option<&'a [f64]>,
}

impl<'a> Block<'a> {
    /// Consecutive parts of at most `length` lists.
    pub(crate) fn chunks(self, length: usize) -> impl ExactSizeIterator<Item = Block<'a>> {
        let cut = move |(number, lists): (usize, &'a [&'a [u32]])| {
            let start = number * length;
            Block { lists, weights: self.weights.map(|all| &all[start..start + lists.len()]) }
        };
        self.lists.chunks(length).enumerate().map(cut)
    }

    /// Those from `start` to `end`.
    pub(crate) fn slice(self, start: usize, end: usize) -> Self {
        let weights = self.weights.map(|all| &all[start..end]);
        Self { lists: &self.lists[start..end], weights }
    }

    /// Their total weight.
    pub(crate) fn weight(self) -> f64 {
        self.weights.map_or(self.lists.len() as f64, |weights| weights.iter().sum())
    }
}

/// Checks that there is a weight for each of `count` neighbourhoods and that some weight is positive.
pub(crate) fn check_weights(weights: Option<&[f64]>, count: usize) -> Result<()> {
    let valid = |weights: &[f64]| {
        let each = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
        each && weights.len() == count && weights.iter().any(|weight| *weight > 0.0)
    };
    match weights {
        Some(weights) if !valid(weights) => {
            Err(Error::Weights { expected: count, given: weights.len() })
        }
        _ => Ok(()),
    }
}
