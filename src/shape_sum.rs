//! A sum of shape operators that can be merged with others.

use ndarray::Array2;

use crate::error::Result;
use crate::matrix::try_zeros;

/// A sum of shape operators over some points; sums over disjoint sets of points can be merged.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapeSum {
    /// How many operators were summed.
    pub count: usize,
    /// Their total weight; without weights, their number.
    pub weight: f64,
    /// Their sum, d×d.
    pub sum: Array2<f64>,
}

impl ShapeSum {
    /// The sum over no points.
    pub fn empty(dim: usize) -> Result<Self> {
        let sum = Array2::from_shape_vec((dim, dim), try_zeros(dim.saturating_mul(dim))?);
        Ok(Self { count: 0, weight: 0.0, sum: sum.expect("d×d zeros") })
    }

    /// Adds the sum over other points.
    pub fn merge(&mut self, other: &ShapeSum) {
        self.count += other.count;
        self.weight += other.weight;
        self.sum += &other.sum;
    }

    /// The mean, which is zero over no points.
    pub fn mean(mut self) -> Array2<f64> {
        if self.weight > 0.0 {
            self.sum /= self.weight;
        }
        self.sum
    }
}
