//! Eight neighbourhoods of more points than columns → their eigenvalues, directions and eigenspaces.
//!
//! The same eigenproblem as in [`crate::frame`], solved side by side.

use crate::error::Result;
use crate::matrix::try_filled;
use crate::points::Points;
use crate::simd::{LANES, Vector, dot, dot_4};

use crate::batched::spectrum::Spectra;

/// The workspace, and after a solve the result, for neighbourhoods of k points in d columns.
pub(super) struct Frames<V> {
    k: usize,
    pub(super) dim: usize,
    /// Δ by columns, d×k.
    centred: Vec<V>,
    mean: Vec<V>,
    pub(super) spectra: Spectra<V>,
    /// W, rank×d.
    pub(super) directions: Vec<V>,
}

impl<V: Vector> Frames<V> {
    pub(super) fn new(k: usize, dim: usize) -> Result<Self> {
        Ok(Self {
            k,
            dim,
            centred: try_filled(k.saturating_mul(dim), V::ZERO)?,
            mean: try_filled(dim, V::ZERO)?,
            spectra: Spectra::new(dim, k, dim),
            directions: Vec::new(),
        })
    }

    /// Finds the frames of the chosen lists of k rows. Returns false if the eigensolver does not converge.
    #[inline(always)]
    pub(super) fn solve(&mut self, points: &Points, chosen: [&[u32]; LANES]) -> bool {
        self.gather(points, chosen);
        self.fill_matrix();
        if !self.spectra.solve() {
            return false;
        }
        // The eigenvectors are W itself.
        std::mem::swap(&mut self.directions, &mut self.spectra.eigenvectors);
        self.spectra.find_spaces();
        true
    }

    /// `width` entries of the j-th direction.
    #[inline(always)]
    pub(super) fn direction(&self, j: usize, start: usize, width: usize) -> &[V] {
        let at = j * self.dim + start;
        &self.directions[at..at + width]
    }

    /// Δ: differences from the first neighbour, then from their mean.
    #[inline(always)]
    fn gather(&mut self, points: &Points, chosen: [&[u32]; LANES]) {
        let (k, dim) = (self.k, self.dim);
        let row = |lane: usize, at: usize| points.row(chosen[lane][at] as usize);
        let mut first: [&[f64]; LANES] = [&[]; LANES];
        for lane in 0..LANES {
            first[lane] = &row(lane, 0)[..dim];
        }
        self.mean.fill(V::ZERO);
        for t in 0..k {
            let mut rows = first;
            for lane in 0..LANES {
                rows[lane] = &row(lane, t)[..dim];
            }
            for a in 0..dim {
                let mut difference = V::ZERO;
                for lane in 0..LANES {
                    difference.lanes_mut()[lane] = rows[lane][a] - first[lane][a];
                }
                self.centred[a * k + t] = difference;
                self.mean[a] += difference;
            }
        }
        let share = V::splat(1.0 / k as f64);
        for (column, mean) in self.centred.chunks_exact_mut(k).zip(&mut self.mean) {
            *mean = *mean * share;
            for entry in column {
                *entry -= *mean;
            }
        }
    }

    /// The upper triangle of ΔᵀΔ.
    #[inline(always)]
    fn fill_matrix(&mut self) {
        let (k, size) = (self.k, self.dim);
        for i in 0..size {
            let (column, rest) = self.centred[i * k..].split_at(k);
            self.spectra.matrix[i * size + i] = dot(column, column);
            let mut others = rest.chunks_exact(k);
            let mut j = i + 1;
            while let Some(a) = others.next() {
                // Four products share the loads of the column.
                if let (Some(b), Some(c), Some(d)) = (others.next(), others.next(), others.next()) {
                    let sums = dot_4(column, [a, b, c, d]);
                    for (offset, sum) in sums.into_iter().enumerate() {
                        self.spectra.matrix[i * size + j + offset] = sum;
                    }
                    j += 4;
                } else {
                    for j in j..size {
                        let other = &self.centred[j * k..(j + 1) * k];
                        self.spectra.matrix[i * size + j] = dot(column, other);
                    }
                    break;
                }
            }
        }
    }
}
