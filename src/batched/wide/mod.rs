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
//! they lie in memory, and the factors of one neighbourhood stay in the L1 cache where those of eight would not.

mod dense;
mod factors;
mod transpose;

use crate::error::Result;
use crate::matrix::try_filled;
use crate::points::Points;
use crate::routes::Operator;
use crate::simd::{LANES, Vector};

use crate::batched::spectrum::Spectra;
use crate::batched::third_moments::ThirdMoments;
use crate::batched::tiles::{Rows, Strided, add_triangle, multiply};
use dense::Dense;
use transpose::Transposed;

/// Vectors of a row taken at a time while sums are formed: those of all directions stay in the L1 cache.
const BLOCK: usize = 32;

/// Vectors of a row in a register tile, where there are registers enough.
const TILE: usize = 4;

/// The workspace, and after a solve the result, for neighbourhoods of k points in d columns.
pub(super) struct Wide<V> {
    dim: usize,
    /// Contrasts of a neighbourhood.
    count: usize,
    /// Vectors in a row; the last is filled up with zeros.
    width: usize,
    /// 1 for the columns in the last vector of a row, 0 after them.
    last: V,
    spectra: Spectra<V>,
    third_moments: ThirdMoments<V>,
    dense: Option<Dense<V>>,
    /// Whether the operators of these neighbourhoods are computed from A itself.
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
    moments: Transposed<V>,
    /// ‖wⱼ‖².
    squares: Transposed<V>,
    /// 1/‖wⱼ‖.
    inverses: Vec<V>,
    /// sₘ.
    totals: Vec<V>,
    /// The eigenvectors by columns, divided by the lengths they stand for.
    weights: Transposed<V>,
    /// τ Z and B Z, for each pair the contrasts.
    pair_weights: Transposed<V>,
    /// 1 + 2σ (1 − 2g) of one lane: −2r Q = products + own∘Z.
    own: Vec<V>,
    /// From [`Self::fill_products`], for each contrast a tile.
    products: Vec<V>,
}

impl<V: Vector> Wide<V> {
    pub(super) fn new(operator: Operator, k: usize, dim: usize) -> Result<Self> {
        let (width, count) = (dim.div_ceil(LANES), k - 1);
        let pairs = count * (count + 1) / 2;
        let moments = third_moment_count(count) + count;
        let mut last = V::ZERO;
        last.lanes_mut()[..dim - (width - 1) * LANES].fill(1.0);
        let zeros = |len: usize| try_filled(len, V::ZERO);
        Ok(Self {
            dim,
            count,
            width,
            last,
            spectra: Spectra::new(count, k, count),
            third_moments: ThirdMoments::new(),
            dense: match operator {
                Operator::Dense => Some(Dense::new(count, dim)?),
                Operator::ThirdMoments => None,
            },
            by_matrix: false,
            contrasts: zeros(LANES * count * width)?,
            scales: (1..k).map(|j| 1.0 / ((j * (j + 1)) as f64).sqrt()).collect(),
            running: zeros(width)?,
            directions: zeros(LANES * count * width)?,
            sums: zeros(moments.max(count * count))?,
            moments: Transposed::new(moments)?,
            squares: Transposed::new(count)?,
            inverses: zeros(count)?,
            totals: zeros(count)?,
            weights: Transposed::new(count * count)?,
            pair_weights: Transposed::new((1 + pairs) * count)?,
            own: zeros(width)?,
            products: zeros(count * TILE)?,
        })
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
        // The third moments are summed while W is near; whether A itself will do is known only after all lengths.
        let by_third_moments = self.dense.is_none();
        self.fill_weights();
        for lane in 0..LANES {
            self.fill_directions(lane);
            if by_third_moments {
                self.add_third_moments(lane);
            }
        }
        self.set_lengths();
        self.spectra.find_spaces();
        self.by_matrix = !by_third_moments && self.spectra.spaces.is_empty();
        if !self.by_matrix {
            if !by_third_moments {
                for lane in 0..LANES {
                    self.add_third_moments(lane);
                }
            }
            self.third_moments.start(&self.spectra, self.dim);
            self.fill_third_moments();
            self.third_moments.weigh(&self.spectra, &self.totals);
            self.fill_pair_weights();
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

    /// The eigenvectors divided by √((k − 1) λ), the lengths of W up to the errors of the eigenproblem.
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
        let weights = Strided { values: self.weights.lane(lane), row: rank, column: 1 };
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
    fn add_third_moments(&mut self, lane: usize) {
        let (width, rank) = (self.width, self.spectra.rank);
        let moments = third_moment_count(rank) + rank;
        let (sums, totals) = self.sums[..moments].split_at_mut(third_moment_count(rank));
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
    fn fill_third_moments(&mut self) {
        let rank = self.spectra.rank;
        self.moments.join(&mut self.sums[..third_moment_count(rank) + rank]);
        let mut at = 0;
        for j in 0..rank {
            for l in j..rank {
                let inverse = self.inverses[j] * self.inverses[l];
                for m in l..rank {
                    self.third_moments.set(j, l, m, self.sums[at] * (inverse * self.inverses[m]));
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
    fn fill_pair_weights(&mut self) {
        let (count, rank) = (self.count, self.spectra.rank);
        for m in 0..rank {
            let length = self.spectra.lengths[m];
            for entry in &mut self.spectra.eigenvectors[m * count..(m + 1) * count] {
                *entry = *entry * length;
            }
        }
        let rows = Rows { values: &self.spectra.eigenvectors, stride: count };
        self.third_moments.combine(rows, count);
        self.pair_weights.fill(&self.third_moments.combined);
    }
}

/// T_jlm with j ≤ l ≤ m.
fn third_moment_count(rank: usize) -> usize {
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
