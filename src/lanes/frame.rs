//! Eight neighbourhoods at once → their eigenvalues, directions and eigenspaces.
//!
//! The same two eigenproblems as in [`crate::frame`], solved side by side.

use std::ops::Range;

use crate::frame::SAME_EIGENVALUE;
use crate::points::Points;
use crate::simd::{LANES, Vector, add_multiple, dot, dot_4};

use super::LARGEST_PROBLEM;
use super::tridiagonal::Tridiagonal;

/// The workspace, and after a solve the answer, for neighbourhoods of k points in d columns.
pub(super) struct Frames<V> {
    pub(super) k: usize,
    pub(super) dim: usize,
    /// Δ by rows (k×d) if the Gram matrix is the smaller problem, by columns (d×k) otherwise.
    pub(super) gram: bool,
    centred: Vec<V>,
    mean: Vec<V>,
    matrix: Vec<V>,
    values: Vec<V>,
    vectors: Vec<V>,
    solver: Tridiagonal<V>,
    /// Directions of each lane; `rank` is the largest. A lane's surplus directions are zero.
    pub(super) ranks: [usize; LANES],
    pub(super) rank: usize,
    /// λ, descending in each lane.
    pub(super) eigenvalues: Vec<V>,
    /// W, rank×d.
    pub(super) directions: Vec<V>,
    /// M, rank×k, row-centred: W = M Δ. Only for the Gram route.
    pub(super) weights: Vec<V>,
    /// Lanes and runs of two or more directions that share an eigenvalue.
    pub(super) spaces: Vec<(usize, Range<usize>)>,
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
            matrix: vec![V::ZERO; size * size],
            values: vec![V::ZERO; size],
            vectors: vec![V::ZERO; size * size],
            solver: Tridiagonal::new(size),
            ranks: [0; LANES],
            rank: 0,
            eigenvalues: Vec::new(),
            directions: Vec::new(),
            weights: Vec::new(),
            spaces: Vec::new(),
        }
    }

    /// Finds the frames of the chosen lists of k rows. Returns false if the eigensolver does not converge.
    #[inline(always)]
    pub(super) fn solve(&mut self, points: &Points, chosen: [&[u32]; LANES]) -> bool {
        self.gather(points, chosen);
        let traces = self.fill_matrix();
        let size = self.k.min(self.dim);
        if !self.solver.solve(&mut self.matrix, size, &mut self.values, &mut self.vectors) {
            return false;
        }
        self.sort_directions(traces);
        self.fill_directions();
        self.find_spaces();
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

    /// The smaller of ΔΔᵀ and ΔᵀΔ, divided by its trace, which is returned.
    #[inline(always)]
    fn fill_matrix(&mut self) -> V {
        let size = self.k.min(self.dim);
        let length = self.k.max(self.dim);
        for i in 0..size {
            let (row, rest) = self.centred[i * length..].split_at(length);
            self.matrix[i * size + i] = dot(row, row);
            let mut others = rest.chunks_exact(length).take(size - i - 1);
            let mut j = i + 1;
            while let Some(a) = others.next() {
                // Four products share the loads of the row.
                if let (Some(b), Some(c), Some(d)) = (others.next(), others.next(), others.next()) {
                    let sums = dot_4(row, [a, b, c, d]);
                    for (offset, sum) in sums.into_iter().enumerate() {
                        self.matrix[i * size + j + offset] = sum;
                    }
                    j += 4;
                } else {
                    for j in j..size {
                        let other = &self.centred[j * length..(j + 1) * length];
                        self.matrix[i * size + j] = dot(row, other);
                    }
                    break;
                }
            }
        }
        let mut trace = V::ZERO;
        for i in 0..size {
            trace += self.matrix[i * size + i];
        }
        // Equal points, or so near that their squares vanish, have no direction.
        let empty = V::splat(4.0 * f64::MIN_POSITIVE);
        let divisor = trace.if_at_most(empty, V::ONE, trace);
        let inverse = trace.if_at_most(empty, V::ZERO, V::ONE.over(divisor));
        for i in 0..size {
            for j in i..size {
                let entry = self.matrix[i * size + j] * inverse;
                self.matrix[i * size + j] = entry;
                self.matrix[j * size + i] = entry;
            }
        }
        trace
    }

    /// Brings the eigenpairs of each lane in descending order and drops those that are zero.
    #[inline(always)]
    fn sort_directions(&mut self, traces: V) {
        let size = self.values.len();
        let mut order = [[0_u8; LARGEST_PROBLEM]; LANES];
        for lane in 0..LANES {
            let order = &mut order[lane][..size];
            for (at, place) in order.iter_mut().enumerate() {
                *place = at as u8;
            }
            let value = |place: u8| self.values[place as usize].lanes()[lane];
            order.sort_unstable_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
            let zero = SAME_EIGENVALUE * value(order[0]).max(0.0);
            let most = if self.gram { self.k - 1 } else { size };
            self.ranks[lane] =
                order.iter().take(most).take_while(|&&place| value(place) > zero).count();
        }
        self.rank = self.ranks.into_iter().max().unwrap_or(0);
        self.eigenvalues.clear();
        self.eigenvalues.resize(self.rank, V::ZERO);
        self.weights.clear();
        self.weights.resize(self.rank * size, V::ZERO);
        for lane in 0..LANES {
            let scale = traces.lanes()[lane] / (self.k - 1) as f64;
            for j in 0..self.ranks[lane] {
                let place = order[lane][j] as usize;
                self.eigenvalues[j].lanes_mut()[lane] = self.values[place].lanes()[lane] * scale;
                for t in 0..size {
                    self.weights[j * size + t].lanes_mut()[lane] =
                        self.vectors[place * size + t].lanes()[lane];
                }
            }
        }
    }

    /// W from the sorted eigenvectors: they are W itself, or the combinations of Δ's rows that are.
    #[inline(always)]
    fn fill_directions(&mut self) {
        let (k, dim) = (self.k, self.dim);
        if !self.gram {
            std::mem::swap(&mut self.directions, &mut self.weights);
            return;
        }
        self.directions.clear();
        self.directions.resize(self.rank * dim, V::ZERO);
        let degrees = V::splat((k - 1) as f64);
        for j in 0..self.rank {
            let weights = &mut self.weights[j * k..(j + 1) * k];
            let direction = &mut self.directions[j * dim..(j + 1) * dim];
            for (weight, row) in weights.iter().zip(self.centred.chunks_exact(dim)) {
                add_multiple(direction, *weight, row);
            }
            let square = dot(direction, direction);
            let none = |yes: V, no: V| square.if_at_most(V::ZERO, yes, no);
            let inverse = none(V::ZERO, V::ONE.over(none(V::ONE, square.sqrt())));
            for out in direction.iter_mut() {
                *out = *out * inverse;
            }
            self.eigenvalues[j] = square.over(degrees);
            let mut mean = V::ZERO;
            for weight in weights.iter_mut() {
                *weight = *weight * inverse;
                mean += *weight;
            }
            mean = mean * V::splat(1.0 / k as f64);
            for weight in weights.iter_mut() {
                *weight -= mean;
            }
        }
    }

    /// The runs of two or more equal eigenvalues.
    fn find_spaces(&mut self) {
        self.spaces.clear();
        for lane in 0..LANES {
            let used = &self.eigenvalues[..self.ranks[lane]];
            let apart = used.first().map_or(0.0, |first| SAME_EIGENVALUE * first.lanes()[lane]);
            let mut start = 0;
            for end in 1..=used.len() {
                if end == used.len()
                    || used[end - 1].lanes()[lane] - used[end].lanes()[lane] > apart
                {
                    if end - start > 1 {
                        self.spaces.push((lane, start..end));
                    }
                    start = end;
                }
            }
        }
    }
}
