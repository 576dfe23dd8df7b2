//! The result of a solve: the factors Q and Z of each shape operator, or the share of Q that each neighbour has.

use crate::batched::stripes::{STRIPE, stripe_at};
use crate::batched::tiles::{Rows, Strided, multiply, multiply_pairs};
use crate::simd::{CacheLine, LANES, Vector, flat};

use super::{TILE, Wide};

impl<V: Vector> Wide<V> {
    /// Scales W of one lane to unit length and prepares [`Self::fill_products`].
    #[inline(always)]
    fn start_products(&mut self, lane: usize) {
        let (width, rank) = (self.width, self.spectra.rank);
        if rank == 0 {
            self.products.fill(V::ZERO);
            self.own.fill(V::ZERO);
            return;
        }
        let directions = &mut self.directions[lane * rank * width..(lane + 1) * rank * width];
        let share = self.spectra.null_share(self.dim).lanes()[lane];
        let twice = V::splat(2.0 * share);
        for c in 0..width {
            let mut g = V::ZERO;
            for j in 0..rank {
                let entry = &mut directions[j * width + c];
                *entry = *entry * V::splat(self.inverses[j].lanes()[lane]);
                g = g.plus(*entry, *entry);
            }
            self.own[c] = V::ONE.plus(twice, V::ONE - g - g);
        }
        if self.by_matrix
            && let Some(dense) = &mut self.dense
        {
            dense.fill(directions, rank, share);
        }
    }

    /// Z A of one lane in C vectors from c on, without the diagonal term of A.
    #[inline(always)]
    fn fill_products<const C: usize>(&mut self, lane: usize, c: usize) {
        let (width, rank, count) = (self.width, self.spectra.rank, self.count);
        if rank == 0 {
            return;
        }
        if self.by_matrix
            && let Some(dense) = &self.dense
        {
            let contrasts = &self.contrasts[lane * count * width..(lane + 1) * count * width];
            let factors = Strided { values: flat(contrasts), row: 1, column: width * LANES };
            let rows = Rows { values: &dense.matrix[c..], stride: width };
            multiply::<V, C>(factors, rows, self.dim, &mut self.products, C, count);
            return;
        }
        let directions = &self.directions[lane * rank * width..(lane + 1) * rank * width];
        let rows = Rows { values: &directions[c..], stride: width };
        multiply_pairs::<V, C>(self.pair_weights.lane(lane), rows, rank, &mut self.products, count);
    }

    /// The share of Q of each neighbour, from those of the contrasts it is part of. For
    /// the first lanes, at [`stripe_at`].
    #[inline(always)]
    pub(in crate::batched) fn write_shares(&mut self, lanes: usize, shares: &mut [CacheLine]) {
        let (k, width) = (self.count + 1, self.width);
        let shares = CacheLine::as_vectors_mut::<V>(shares);
        for lane in 0..lanes {
            self.start_products(lane);
            let mut c = 0;
            while c < width {
                let (at, stride) = stripe_at(c / STRIPE, k, width);
                let out = &mut shares[at + lane * k * stride + c % STRIPE..];
                if V::MANY_REGISTERS && c + TILE <= width {
                    self.fill_products::<TILE>(lane, c);
                    self.share_tile::<TILE>(lane, c, out, stride);
                    c += TILE;
                } else {
                    self.fill_products::<1>(lane, c);
                    self.share_tile::<1>(lane, c, out, stride);
                    c += 1;
                }
            }
        }
    }

    /// shareₜ = Σⱼ qⱼ ∂zⱼ/∂xₜ in C vectors from c on.
    #[inline(always)]
    fn share_tile<const C: usize>(&self, lane: usize, c: usize, out: &mut [V], stride: usize) {
        let (count, width) = (self.count, self.width);
        let contrasts = &self.contrasts[lane * count * width..(lane + 1) * count * width];
        let own = &self.own[c..c + C];
        let mut after = [V::ZERO; C];
        for j in (1..=count).rev() {
            let scale = V::splat(-0.5 / count as f64 * self.scales[j - 1]);
            let minus = V::splat(-(j as f64));
            let product = &self.products[(j - 1) * C..j * C];
            let z = &contrasts[(j - 1) * width + c..][..C];
            let out = &mut out[j * stride..j * stride + C];
            for i in 0..C {
                let part = product[i].plus(own[i], z[i]) * scale;
                out[i] = after[i].plus(minus, part);
                after[i] += part;
            }
        }
        out[..C].copy_from_slice(&after);
    }

    /// Appends the rows of one lane's Q to `left` and those of its Z to `right`.
    #[inline(always)]
    pub(in crate::batched) fn push_factors(
        &mut self,
        lane: usize,
        left: &mut Vec<f64>,
        right: &mut Vec<f64>,
    ) {
        let (count, width, dim) = (self.count, self.width, self.dim);
        let scale = V::splat(-0.5 / count as f64);
        self.start_products(lane);
        let start = left.len();
        left.resize(start + count * dim, 0.0);
        let left = &mut left[start..];
        for c in 0..width {
            self.fill_products::<1>(lane, c);
            let columns = c * LANES..dim.min((c + 1) * LANES);
            let contrasts = &self.contrasts[lane * count * width..];
            for (t, row) in left.chunks_exact_mut(dim).enumerate() {
                let scaled = self.products[t].plus(self.own[c], contrasts[t * width + c]) * scale;
                row[columns.clone()].copy_from_slice(&scaled.lanes()[..columns.len()]);
            }
        }
        let contrasts = &self.contrasts[lane * count * width..(lane + 1) * count * width];
        for row in contrasts.chunks_exact(width) {
            right.extend_from_slice(&flat(row)[..dim]);
        }
    }
}
