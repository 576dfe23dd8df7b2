//! Eight neighbourhoods at once → their eigenvalues, directions and eigenspaces.
//!
//! The same two eigenproblems as in [`crate::frame`], solved side by side.

use crate::points::Points;
use crate::simd::{LANES, Vector, add_multiple, dot, dot_4};

use super::spectrum::Spectra;

/// The workspace, and after a solve the answer, for neighbourhoods of k points in d columns.
pub(super) struct Frames<V> {
    k: usize,
    pub(super) dim: usize,
    /// Δ by rows (k×d) if the Gram matrix is the smaller problem, by columns (d×k) otherwise.
    gram: bool,
    centred: Vec<V>,
    mean: Vec<V>,
    pub(super) spectra: Spectra<V>,
    /// W, rank×d.
    pub(super) directions: Vec<V>,
}

impl<V: Vector> Frames<V> {
    pub(super) fn new(k: usize, dim: usize) -> Self {
        let size = k.min(dim);
        Self {
            k,
            dim,
            gram: k <= dim,
            centred: vec![V::ZERO; k * dim],
            mean: vec![V::ZERO; dim],
            spectra: Spectra::new(size, k, if k <= dim { k - 1 } else { dim }),
            directions: Vec::new(),
        }
    }

    /// Finds the frames of the chosen lists of k rows. Returns false if the eigensolver does not converge.
    #[inline(always)]
    pub(super) fn solve(&mut self, points: &Points, chosen: [&[u32]; LANES]) -> bool {
        self.gather(points, chosen);
        self.fill_matrix();
        if !self.spectra.solve() {
            return false;
        }
        self.fill_directions();
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
        let (step_t, step_a) = if self.gram { (dim, 1) } else { (1, k) };
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
                self.centred[t * step_t + a * step_a] = difference;
                self.mean[a] += difference;
            }
        }
        let share = V::splat(1.0 / k as f64);
        for mean in &mut self.mean {
            *mean = *mean * share;
        }
        for t in 0..k {
            for a in 0..dim {
                self.centred[t * step_t + a * step_a] -= self.mean[a];
            }
        }
    }

    /// The upper triangle of the smaller of ΔΔᵀ and ΔᵀΔ.
    #[inline(always)]
    fn fill_matrix(&mut self) {
        let size = self.k.min(self.dim);
        let length = self.k.max(self.dim);
        for i in 0..size {
            let (row, rest) = self.centred[i * length..].split_at(length);
            self.spectra.matrix[i * size + i] = dot(row, row);
            let mut others = rest.chunks_exact(length).take(size - i - 1);
            let mut j = i + 1;
            while let Some(a) = others.next() {
                // Four products share the loads of the row.
                if let (Some(b), Some(c), Some(d)) = (others.next(), others.next(), others.next()) {
                    let sums = dot_4(row, [a, b, c, d]);
                    for (offset, sum) in sums.into_iter().enumerate() {
                        self.spectra.matrix[i * size + j + offset] = sum;
                    }
                    j += 4;
                } else {
                    for j in j..size {
                        let other = &self.centred[j * length..(j + 1) * length];
                        self.spectra.matrix[i * size + j] = dot(row, other);
                    }
                    break;
                }
            }
        }
    }

    /// W from the sorted eigenvectors: they are W itself, or the combinations of Δ's rows that are.
    #[inline(always)]
    fn fill_directions(&mut self) {
        let (k, dim) = (self.k, self.dim);
        if !self.gram {
            std::mem::swap(&mut self.directions, &mut self.spectra.eigenvectors);
            return;
        }
        self.directions.resize(self.spectra.rank * dim, V::ZERO);
        self.directions.fill(V::ZERO);
        for j in 0..self.spectra.rank {
            let weights = &self.spectra.eigenvectors[j * k..(j + 1) * k];
            let direction = &mut self.directions[j * dim..(j + 1) * dim];
            for (weight, row) in weights.iter().zip(self.centred.chunks_exact(dim)) {
                add_multiple(direction, *weight, row);
            }
            let inverse = self.spectra.set_length(j, dot(direction, direction));
            for out in direction.iter_mut() {
                *out = *out * inverse;
            }
        }
    }
}
