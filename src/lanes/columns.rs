//! Eight neighbourhoods of no more points than columns → their shape operators as products of two thin factors.
//!
//! The k centred neighbours are turned into r = k − 1 contrasts Z, which have the same covariance C = ZᵀZ / r:
//!
//! ```text
//! zⱼ = (x₀ + … + xⱼ₋₁ − j xⱼ) / √(j (j + 1)),        S = −½ (I + A) C = Qᵀ Z,        Q = −1/(2r) Z (I + A)
//! ```
//!
//! The eigenproblems, r×r, are solved for eight neighbourhoods side by side. Everything that is as long as the
//! columns is done for one neighbourhood after the other, eight columns side by side: rows are read and written as
//! they lie in memory, and the factors of one neighbourhood stay in the first cache where those of eight would not.

use crate::points::Points;
use crate::simd::{LANES, Line, Vector, flat};

use super::dense::Dense;
use super::spectrum::Spectra;
use super::split::Split;
use super::tensor::Tensor;
use super::tiles::{Factors, Rows, add_triangle, multiply, multiply_pairs};
use super::{STRIPE, stripe_at};

/// Vectors of a row taken at a time while sums are formed: those of all directions stay in the first cache.
const BLOCK: usize = 32;

/// Vectors of a row in a register tile, where there are registers enough.
const TILE: usize = 4;

/// The workspace, and after a solve the answer, for neighbourhoods of k points in d columns.
pub(super) struct Columns<V> {
    dim: usize,
    /// Contrasts of a neighbourhood.
    count: usize,
    /// Vectors in a row; the last is filled up with zeros.
    width: usize,
    /// 1 for the columns in the last vector of a row, 0 after them.
    last: V,
    spectra: Spectra<V>,
    tensor: Tensor<V>,
    dense: Option<Dense<V>>,
    /// Whether these neighbourhoods go by A itself.
    by_matrix: bool,
    /// Z of each lane, count×width.
    contrasts: Vec<V>,
    /// 1/√(j (j + 1)) for j from 1 on.
    scales: Vec<f64>,
    /// x₀ + … + xⱼ₋₁ − j x₀.
    running: Vec<V>,
    /// W of each lane, rank×width.
    directions: Vec<V>,
    /// What is summed over the columns of one lane, eight partial sums of every entry; then the same of all lanes.
    sums: Vec<V>,
    /// ZZᵀ, then T and s.
    moments: Split<V>,
    /// ‖wⱼ‖².
    squares: Split<V>,
    /// 1/‖wⱼ‖.
    inverses: Vec<V>,
    /// sₘ.
    totals: Vec<V>,
    /// The eigenvectors by columns, divided by the lengths they stand for.
    weights: Split<V>,
    /// τ Z and B Z, for each pair the contrasts.
    tensors: Split<V>,
    /// 1 + 2σ (1 − 2g) of one lane: −2r Q = products + own∘Z.
    own: Vec<V>,
    /// From [`Self::fill_products`], for each contrast a tile.
    products: Vec<V>,
}

impl<V: Vector> Columns<V> {
    pub(super) fn new(k: usize, dim: usize) -> Self {
        let (width, count) = (dim.div_ceil(LANES), k - 1);
        let pairs = count * (count + 1) / 2;
        let moments = tensor_entries(count) + count;
        let mut last = V::ZERO;
        last.lanes_mut()[..dim - (width - 1) * LANES].fill(1.0);
        Self {
            dim,
            count,
            width,
            last,
            spectra: Spectra::new(count, k, count),
            tensor: Tensor::new(),
            dense: Dense::<V>::suits(count, dim).then(|| Dense::new(count, dim)),
            by_matrix: false,
            contrasts: vec![V::ZERO; LANES * count * width],
            scales: (1..k).map(|j| 1.0 / ((j * (j + 1)) as f64).sqrt()).collect(),
            running: vec![V::ZERO; width],
            directions: vec![V::ZERO; LANES * count * width],
            sums: vec![V::ZERO; moments.max(count * count)],
            moments: Split::new(moments),
            squares: Split::new(count),
            inverses: vec![V::ZERO; count],
            totals: vec![V::ZERO; count],
            weights: Split::new(count * count),
            tensors: Split::new((1 + pairs) * count),
            own: vec![V::ZERO; width],
            products: vec![V::ZERO; count * TILE],
        }
    }

    /// Finds everything but Q. Returns false if the eigensolver does not converge.
    #[inline(always)]
    pub(super) fn solve(&mut self, points: &Points, chosen: [&[u32]; LANES]) -> bool {
        self.fill_matrix(points, chosen);
        if !self.spectra.solve() {
            return false;
        }
        if self.spectra.rank == 0 {
            return true;
        }
        // The tensor is summed while W is near; whether A itself will do is known only after all lengths.
        let by_tensor = self.dense.is_none();
        self.fill_weights();
        for lane in 0..LANES {
            self.fill_directions(lane);
            if by_tensor {
                self.add_tensor(lane);
            }
        }
        self.set_lengths();
        self.spectra.find_spaces();
        self.by_matrix = !by_tensor && self.spectra.spaces.is_empty();
        if !self.by_matrix {
            if !by_tensor {
                for lane in 0..LANES {
                    self.add_tensor(lane);
                }
            }
            self.tensor.start(&self.spectra, self.dim);
            self.fill_tensor();
            self.tensor.weigh(&self.spectra, &self.totals);
            self.fill_tensor_weights();
        }
        true
    }

    /// Z of one lane, from differences to the first neighbour: a common offset costs no digits.
    #[inline(always)]
    fn gather(&mut self, points: &Points, list: &[u32], lane: usize) {
        let (dim, width, count) = (self.dim, self.width, self.count);
        let values = points.as_slice();
        let contrasts = &mut self.contrasts[lane * count * width..(lane + 1) * count * width];
        let (whole, last) = (dim / LANES, self.last);
        let row = |neighbor: u32| &values[neighbor as usize * dim..];
        let origin = row(list[0]);
        let mut origin_rest = V::ZERO;
        if whole < width {
            origin_rest = load_rest(&origin[whole * LANES..], last);
        }
        let (origin, _) = origin[..whole * LANES].as_chunks::<LANES>();
        self.running.fill(V::ZERO);
        for (j, (out, &neighbor)) in contrasts.chunks_exact_mut(width).zip(&list[1..]).enumerate() {
            let row = row(neighbor);
            let (minus, scale) = (V::splat(-((j + 1) as f64)), V::splat(self.scales[j]));
            let (entries, _) = row[..whole * LANES].as_chunks::<LANES>();
            for (((out, running), entry), origin) in
                out.iter_mut().zip(&mut self.running).zip(entries).zip(origin)
            {
                let difference = V::load(entry) - V::load(origin);
                *out = running.plus(minus, difference) * scale;
                *running += difference;
            }
            if whole < width {
                let difference = load_rest(&row[whole * LANES..], last) - origin_rest;
                out[whole] = self.running[whole].plus(minus, difference) * scale;
                self.running[whole] += difference;
            }
        }
    }

    /// Z and the upper triangle of ZZᵀ.
    #[inline(always)]
    fn fill_matrix(&mut self, points: &Points, chosen: [&[u32]; LANES]) {
        let (count, width) = (self.count, self.width);
        let pairs = count * (count + 1) / 2;
        for lane in 0..LANES {
            self.gather(points, chosen[lane], lane);
            let sums = &mut self.sums[..pairs];
            let mut c = 0;
            while c < width {
                let values = &self.contrasts[lane * count * width + c..];
                let rows = Rows { values, stride: width };
                add_triangle(None, rows, count, BLOCK.min(width - c), sums, c == 0);
                c += BLOCK;
            }
            self.moments.put_sums(lane, sums);
        }
        self.moments.join(&mut self.sums[..pairs]);
        let mut at = 0;
        for i in 0..count {
            let row = &mut self.spectra.matrix[i * count + i..(i + 1) * count];
            row.copy_from_slice(&self.sums[at..at + count - i]);
            at += count - i;
        }
    }

    /// The eigenvectors over √((k − 1) λ), as near to the lengths of W as the eigenproblem knows them.
    #[inline(always)]
    fn fill_weights(&mut self) {
        let (count, rank) = (self.count, self.spectra.rank);
        for j in 0..rank {
            let inverse = self.spectra.set_length(j);
            for t in 0..count {
                self.sums[t * rank + j] = self.spectra.eigenvectors[j * count + t] * inverse;
            }
        }
        self.weights.fill(&self.sums[..count * rank]);
    }

    /// W of one lane up to its lengths, and their squares: the combinations of contrasts that the eigenvectors are.
    #[inline(always)]
    fn fill_directions(&mut self, lane: usize) {
        let (count, width, rank) = (self.count, self.width, self.spectra.rank);
        let contrasts = &self.contrasts[lane * count * width..(lane + 1) * count * width];
        let directions = &mut self.directions[lane * rank * width..(lane + 1) * rank * width];
        let weights = Factors { values: self.weights.lane(lane), row: rank, column: 1 };
        let mut c = 0;
        while V::MANY_REGISTERS && c + TILE <= width {
            let rows = Rows { values: &contrasts[c..], stride: width };
            multiply::<V, TILE>(weights, rows, count, &mut directions[c..], width, rank);
            c += TILE;
        }
        while c < width {
            let rows = Rows { values: &contrasts[c..], stride: width };
            multiply::<V, 1>(weights, rows, count, &mut directions[c..], width, rank);
            c += 1;
        }
        for (j, row) in directions.chunks_exact(width).enumerate() {
            let mut sum = [V::ZERO; 4];
            let (fours, rest) = row.as_chunks::<4>();
            for four in fours {
                for i in 0..4 {
                    sum[i] = sum[i].plus(four[i], four[i]);
                }
            }
            for (sum, entry) in sum.iter_mut().zip(rest) {
                *sum = sum.plus(*entry, *entry);
            }
            self.sums[j] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
        self.squares.put_sums(lane, &self.sums[..rank]);
    }

    /// The lengths of W in all lanes.
    #[inline(always)]
    fn set_lengths(&mut self) {
        let rank = self.spectra.rank;
        self.squares.join(&mut self.sums[..rank]);
        for j in 0..rank {
            self.inverses[j] = self.spectra.correct_length(j, self.sums[j]);
        }
    }

    /// The sums over the columns that make up T and s of one lane, for W up to its lengths.
    #[inline(always)]
    fn add_tensor(&mut self, lane: usize) {
        let (width, rank) = (self.width, self.spectra.rank);
        let moments = tensor_entries(rank) + rank;
        let (sums, totals) = self.sums[..moments].split_at_mut(tensor_entries(rank));
        let directions = &self.directions[lane * rank * width..(lane + 1) * rank * width];
        let mut c = 0;
        while c < width {
            let length = BLOCK.min(width - c);
            let mut at = 0;
            for j in 0..rank {
                let first = &directions[j * width + c..j * width + c + length];
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
        self.moments.put_sums(lane, &self.sums[..moments]);
    }

    /// T and s.
    #[inline(always)]
    fn fill_tensor(&mut self) {
        let rank = self.spectra.rank;
        self.moments.join(&mut self.sums[..tensor_entries(rank) + rank]);
        let mut at = 0;
        for j in 0..rank {
            for l in j..rank {
                let inverse = self.inverses[j] * self.inverses[l];
                for m in l..rank {
                    self.tensor.set(j, l, m, self.sums[at] * (inverse * self.inverses[m]));
                    at += 1;
                }
            }
        }
        for j in 0..rank {
            self.totals[j] = self.sums[at + j] * self.inverses[j];
        }
    }

    /// From what A does to W to what it does to Z = Nᵀ W: B and τ times N, whose rows are the eigenvectors as long as
    /// the directions were.
    #[inline(always)]
    fn fill_tensor_weights(&mut self) {
        let (count, rank) = (self.count, self.spectra.rank);
        for m in 0..rank {
            let length = self.spectra.lengths[m];
            for entry in &mut self.spectra.eigenvectors[m * count..(m + 1) * count] {
                *entry = *entry * length;
            }
        }
        let rows = Rows { values: &self.spectra.eigenvectors, stride: count };
        self.tensor.combine(rows, count);
        self.tensors.fill(&self.tensor.combined);
    }

    /// Scales W of one lane to unit length and makes ready for [`Self::fill_products`].
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

    /// Z A of one lane in C vectors from c on, but for what belongs to the column itself.
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
            let factors = Factors { values: flat(contrasts), row: 1, column: width * LANES };
            let rows = Rows { values: &dense.matrix[c..], stride: width };
            multiply::<V, C>(factors, rows, self.dim, &mut self.products, C, count);
            return;
        }
        let directions = &self.directions[lane * rank * width..(lane + 1) * rank * width];
        let rows = Rows { values: &directions[c..], stride: width };
        multiply_pairs::<V, C>(self.tensors.lane(lane), rows, rank, &mut self.products, count);
    }

    /// What each neighbour gets of Q: the contrasts taken apart again. For the first lanes, where [`stripe_at`] says.
    #[inline(always)]
    pub(super) fn write_shares(&mut self, lanes: usize, shares: &mut [Line]) {
        let (k, width) = (self.count + 1, self.width);
        let shares = Line::as_vectors_mut::<V>(shares);
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
    pub(super) fn push_factors(&mut self, lane: usize, left: &mut Vec<f64>, right: &mut Vec<f64>) {
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

/// T_jlm with j ≤ l ≤ m.
fn tensor_entries(rank: usize) -> usize {
    rank * (rank + 1) * (rank + 2) / 6
}

/// The last columns of a row, with zeros after them. What follows in memory belongs to the next row.
#[inline(always)]
fn load_rest<V: Vector>(values: &[f64], last: V) -> V {
    if let Some(eight) = values.first_chunk::<LANES>() {
        return V::load(eight) * last;
    }
    let mut eight = [0.0; LANES];
    eight[..values.len()].copy_from_slice(values);
    V::load(&eight) * last
}
