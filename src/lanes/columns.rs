//! Eight neighbourhoods of no more points than columns → what each has for the rows of V in [`crate::scatter`].
//!
//! The small problems, k×k and smaller, are solved for eight neighbourhoods side by side. Everything that is as long as
//! the columns is done for one neighbourhood after the other, eight columns side by side: rows are read and written as
//! they lie in memory, and the factors of one neighbourhood stay in the first cache where those of eight would not.

use crate::points::Points;
use crate::simd::{LANES, Line, Vector, flat};

use super::spectrum::Spectra;
use super::tensor::Tensor;
use super::tiles::{Rows, add_triangle, multiply, multiply_pairs};
use super::{STRIPE, stripe_at};

/// Vectors of a row taken at a time while sums are formed: those of all directions stay in the first cache.
const BLOCK: usize = 32;

/// Vectors of a row in a register tile, where there are registers enough.
const TILE: usize = 4;

/// The workspace, and after a solve the answer, for neighbourhoods of k points in d columns.
pub(super) struct Columns<V> {
    k: usize,
    dim: usize,
    /// Vectors in a row; the last is filled up with zeros.
    width: usize,
    spectra: Spectra<V>,
    tensor: Tensor<V>,
    /// Δ of each lane, k×width.
    centred: Vec<V>,
    mean: Vec<V>,
    /// W of each lane, rank×width.
    directions: Vec<V>,
    /// What is summed over the columns, for each lane: eight partial sums of every entry.
    sums: Vec<V>,
    /// 1/‖wⱼ‖ before W is scaled, then sₘ.
    totals: Vec<V>,
    /// M by columns, then −½ Λ M by rows.
    weights: Split<V>,
    /// B, for each pair the m.
    tensors: Split<V>,
    /// W + W A in a tile.
    left: Vec<V>,
}

impl<V: Vector> Columns<V> {
    pub(super) fn new(k: usize, dim: usize) -> Self {
        let (width, rank) = (dim.div_ceil(LANES), k - 1);
        let pairs = rank * (rank + 1) / 2;
        // The Gram matrix needs k(k + 1)/2; the tensor r(r + 1)(r + 2)/6 and the sums of its directions.
        let sums = (pairs + k).max(pairs * (rank + 2) / 3 + rank);
        Self {
            k,
            dim,
            width,
            spectra: Spectra::new(k, k, rank),
            tensor: Tensor::new(),
            centred: vec![V::ZERO; LANES * k * width],
            mean: vec![V::ZERO; width],
            directions: vec![V::ZERO; LANES * rank * width],
            sums: vec![V::ZERO; LANES * sums],
            totals: vec![V::ZERO; rank],
            weights: Split::new(k * rank),
            tensors: Split::new(pairs * rank),
            left: vec![V::ZERO; rank * TILE],
        }
    }

    /// Finds everything but the shares. Returns false if the eigensolver does not converge.
    #[inline(always)]
    pub(super) fn solve(&mut self, points: &Points, chosen: [&[u32]; LANES]) -> bool {
        self.fill_matrix(points, chosen);
        if !self.spectra.solve() {
            return false;
        }
        if self.spectra.rank == 0 {
            return true;
        }
        self.fill_directions();
        self.spectra.find_spaces();
        self.tensor.start(&self.spectra, self.dim);
        self.fill_tensor();
        self.tensor.weigh(&self.spectra, &self.totals);
        self.tensors.fill(&self.tensor.entries);
        self.fill_share_weights();
        true
    }

    /// Δ of one lane: differences from the first neighbour, then from their mean.
    #[inline(always)]
    fn gather(&mut self, points: &Points, list: &[u32], lane: usize) {
        let (k, width) = (self.k, self.width);
        let centred = &mut self.centred[lane * k * width..(lane + 1) * k * width];
        let (origin, origin_rest) = points.row(list[0] as usize).as_chunks::<LANES>();
        self.mean.fill(V::ZERO);
        for (out, &neighbor) in centred.chunks_exact_mut(width).zip(list) {
            let (row, rest) = points.row(neighbor as usize).as_chunks::<LANES>();
            let entries = out.iter_mut().zip(&mut self.mean);
            for ((out, mean), (entry, origin)) in entries.zip(row.iter().zip(origin)) {
                *out = V::load(entry) - V::load(origin);
                *mean += *out;
            }
            // The lanes after the last column stay zero.
            for (at, (entry, origin)) in rest.iter().zip(origin_rest).enumerate() {
                let difference = entry - origin;
                out[width - 1].lanes_mut()[at] = difference;
                self.mean[width - 1].lanes_mut()[at] += difference;
            }
        }
        let share = V::splat(1.0 / k as f64);
        for mean in &mut self.mean {
            *mean = *mean * share;
        }
        for row in centred.chunks_exact_mut(width) {
            for (out, mean) in row.iter_mut().zip(&self.mean) {
                *out -= *mean;
            }
        }
    }

    /// Δ and the upper triangle of ΔΔᵀ.
    #[inline(always)]
    fn fill_matrix(&mut self, points: &Points, chosen: [&[u32]; LANES]) {
        let (k, width) = (self.k, self.width);
        let pairs = k * (k + 1) / 2;
        for lane in 0..LANES {
            self.gather(points, chosen[lane], lane);
            let sums = &mut self.sums[lane * pairs..(lane + 1) * pairs];
            let mut c = 0;
            while c < width {
                let rows = Rows { values: &self.centred[lane * k * width + c..], stride: width };
                add_triangle(None, rows, k, BLOCK.min(width - c), sums, c == 0);
                c += BLOCK;
            }
        }
        let mut pair = 0;
        for i in 0..k {
            for j in i..k {
                self.spectra.matrix[i * k + j] = sum_of_lanes(&self.sums, pairs, pair);
                pair += 1;
            }
        }
    }

    /// W = M Δ, scaled to unit length.
    #[inline(always)]
    fn fill_directions(&mut self) {
        let (k, width, rank) = (self.k, self.width, self.spectra.rank);
        for j in 0..rank {
            for t in 0..k {
                self.sums[t * rank + j] = self.spectra.eigenvectors[j * k + t];
            }
        }
        self.weights.fill(&self.sums[..k * rank]);
        for lane in 0..LANES {
            let centred = &self.centred[lane * k * width..(lane + 1) * k * width];
            let directions = &mut self.directions[lane * rank * width..(lane + 1) * rank * width];
            let weights = self.weights.lane(lane);
            let mut c = 0;
            while V::MANY_REGISTERS && c + TILE <= width {
                let rows = Rows { values: &centred[c..], stride: width };
                multiply::<V, TILE>(weights, rows, k, &mut directions[c..], width, rank);
                c += TILE;
            }
            while c < width {
                let rows = Rows { values: &centred[c..], stride: width };
                multiply::<V, 1>(weights, rows, k, &mut directions[c..], width, rank);
                c += 1;
            }
            for j in 0..rank {
                let mut sum = [V::ZERO; 4];
                let (fours, rest) = directions[j * width..(j + 1) * width].as_chunks::<4>();
                for four in fours {
                    for i in 0..4 {
                        sum[i] = sum[i].plus(four[i], four[i]);
                    }
                }
                for (sum, entry) in sum.iter_mut().zip(rest) {
                    *sum = sum.plus(*entry, *entry);
                }
                self.sums[lane * rank + j] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
            }
        }
        for j in 0..rank {
            let square = sum_of_lanes(&self.sums, rank, j);
            self.totals[j] = self.spectra.set_length(j, square);
        }
        for lane in 0..LANES {
            for j in 0..rank {
                let inverse = V::splat(self.totals[j].lanes()[lane]);
                let at = (lane * rank + j) * width;
                for entry in &mut self.directions[at..at + width] {
                    *entry = *entry * inverse;
                }
            }
        }
    }

    /// T and s.
    #[inline(always)]
    fn fill_tensor(&mut self) {
        let (width, rank) = (self.width, self.spectra.rank);
        let entries = rank * (rank + 1) * (rank + 2) / 6;
        let stride = entries + rank;
        for lane in 0..LANES {
            let (sums, totals) =
                self.sums[lane * stride..(lane + 1) * stride].split_at_mut(entries);
            let directions = &self.directions[lane * rank * width..(lane + 1) * rank * width];
            let mut c = 0;
            while c < width {
                let length = BLOCK.min(width - c);
                let w = |j: usize| &directions[j * width + c..j * width + c + length];
                let mut at = 0;
                for j in 0..rank {
                    let first = w(j);
                    let mut total = if c == 0 { V::ZERO } else { totals[j] };
                    for entry in first {
                        total += *entry;
                    }
                    totals[j] = total;
                    let count = rank - j;
                    let pairs = count * (count + 1) / 2;
                    let rows = Rows { values: &directions[j * width + c..], stride: width };
                    let sums = &mut sums[at..at + pairs];
                    add_triangle(Some(first), rows, count, length, sums, c == 0);
                    at += pairs;
                }
                c += BLOCK;
            }
        }
        let mut at = 0;
        for j in 0..rank {
            for l in j..rank {
                for m in l..rank {
                    self.tensor.set(j, l, m, sum_of_lanes(&self.sums, stride, at));
                    at += 1;
                }
            }
        }
        for j in 0..rank {
            self.totals[j] = sum_of_lanes(&self.sums, stride, entries + j);
        }
    }

    /// −½ Λ M: what turns W + W A into shares.
    #[inline(always)]
    fn fill_share_weights(&mut self) {
        let (k, rank) = (self.k, self.spectra.rank);
        for j in 0..rank {
            let half = V::splat(-0.5) * self.spectra.eigenvalues[j];
            for t in 0..k {
                self.sums[j * k + t] = half * self.spectra.eigenvectors[j * k + t];
            }
        }
        self.weights.fill(&self.sums[..rank * k]);
    }

    /// W + W A of one lane in C vectors from c on.
    #[inline(always)]
    fn fill_left<const C: usize>(&mut self, lane: usize, c: usize) {
        let (width, rank) = (self.width, self.spectra.rank);
        let directions = &self.directions[lane * rank * width..(lane + 1) * rank * width];
        let w = |j: usize| &directions[j * width + c..j * width + c + C];
        let rows = Rows { values: &directions[c..], stride: width };
        multiply_pairs::<V, C>(self.tensors.lane(lane), rows, rank, &mut self.left);
        let mut g = [V::ZERO; C];
        for j in 0..rank {
            let w = w(j);
            for i in 0..C {
                g[i] = g[i].plus(w[i], w[i]);
            }
        }
        // 1 + 2σ (1 − 2g).
        let null = V::splat(self.tensor.null.lanes()[lane]);
        let mut own = [V::ONE; C];
        for i in 0..C {
            own[i] += (null + null) * (V::ONE - g[i] - g[i]);
        }
        for m in 0..rank {
            let tau = V::splat(self.tensor.tau[m].lanes()[lane]);
            let (w, left) = (w(m), &mut self.left[m * C..(m + 1) * C]);
            for i in 0..C {
                left[i] = (left[i] + tau).plus(own[i], w[i]);
            }
        }
    }

    /// shares[t] = Σⱼ M_jt Yⱼ of the first lanes, where [`stripe_at`] says.
    #[inline(always)]
    pub(super) fn write_shares(&mut self, lanes: usize, shares: &mut [Line]) {
        let (k, width, rank) = (self.k, self.width, self.spectra.rank);
        let shares = Line::as_vectors_mut::<V>(shares);
        if rank == 0 {
            shares.fill(V::ZERO);
            return;
        }
        for lane in 0..lanes {
            let mut c = 0;
            while c < width {
                let (at, stride) = stripe_at(c / STRIPE, k, width);
                let out = &mut shares[at + lane * k * stride + c % STRIPE..];
                if V::MANY_REGISTERS && c + TILE <= width {
                    self.fill_left::<TILE>(lane, c);
                    let left = Rows { values: &self.left, stride: TILE };
                    multiply::<V, TILE>(self.weights.lane(lane), left, rank, out, stride, k);
                    c += TILE;
                } else {
                    self.fill_left::<1>(lane, c);
                    let left = Rows { values: &self.left, stride: 1 };
                    multiply::<V, 1>(self.weights.lane(lane), left, rank, out, stride, k);
                    c += 1;
                }
            }
        }
    }
}

/// Numbers of eight problems, taken apart.
struct Split<V> {
    values: Vec<V>,
    /// Vectors for one problem.
    stride: usize,
}

impl<V: Vector> Split<V> {
    /// For at most `most` numbers of each problem.
    fn new(most: usize) -> Self {
        Self { values: vec![V::ZERO; most.next_multiple_of(LANES)], stride: 0 }
    }

    #[inline(always)]
    fn fill(&mut self, entries: &[V]) {
        self.stride = entries.len().div_ceil(LANES);
        for (at, part) in entries.chunks(LANES).enumerate() {
            let mut square = [V::ZERO; LANES];
            square[..part.len()].copy_from_slice(part);
            let square = V::transpose(square);
            for lane in 0..LANES {
                self.values[lane * self.stride + at] = square[lane];
            }
        }
    }

    /// The numbers of one problem.
    #[inline(always)]
    fn lane(&self, lane: usize) -> &[f64] {
        flat(&self.values[lane * self.stride..(lane + 1) * self.stride])
    }
}

/// The sum over columns of one entry: lane by lane the eight partial sums.
#[inline(always)]
fn sum_of_lanes<V: Vector>(sums: &[V], stride: usize, at: usize) -> V {
    let mut parts = [V::ZERO; LANES];
    for lane in 0..LANES {
        parts[lane] = sums[lane * stride + at];
    }
    V::sum_each(parts)
}
