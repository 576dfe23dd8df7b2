//! Third moments of eight frames at once → the weights of the products that make up A W.
//!
//! With T_jlm = Σₐ wⱼ wₗ wₘ and s_m = Σₐ wₘ, what A of [`crate::shape`] does to wₘ is, column by column,
//!
//! ```text
//! A wₘ = Σ_{j≤l} B_jl,m wⱼ∘wₗ  +  τₘ (1)  +  2σ (1 − 2g)∘wₘ,       g = Σⱼ wⱼ∘wⱼ
//! ```
//!
//! where σ is that of [`Spectra::null_share`], τₘ = σ (sₘ − Σⱼ T_jjm), and B weighs T by the
//! eigenspaces: κ = 2/(size + 2) inside one, 2σ more for every pair, so that B_jl,m = 2 κ_jl T_jlm for j < l and
//! B_jj,m = κ_jj T_jjm + Σ_{i in j's space} T_iim/(size + 2) − τₘ.

use crate::simd::Vector;

use super::spectrum::Spectra;
use super::tiles::Rows;

/// The workspace, and after [`ThirdMoments::weigh`] the result.
pub(super) struct ThirdMoments<V> {
    rank: usize,
    /// Whether pairs of different directions matter: all with j ≤ l are kept then, otherwise those with j = l.
    pub(super) paired: bool,
    /// σ.
    pub(super) null: V,
    /// κ, rank×rank.
    kappa: Vec<V>,
    /// T, then B, by pair and m.
    pub(super) entries: Vec<V>,
    /// τ.
    pub(super) tau: Vec<V>,
    /// Σᵢ T_iim/(size + 2) over j's space, for one m.
    shares: Vec<V>,
    /// τ N, then B N for each pair: as many as N has columns.
    pub(super) combined: Vec<V>,
}

impl<V: Vector> ThirdMoments<V> {
    pub(super) fn new() -> Self {
        Self {
            rank: 0,
            paired: false,
            null: V::ZERO,
            kappa: Vec::new(),
            entries: Vec::new(),
            tau: Vec::new(),
            shares: Vec::new(),
            combined: Vec::new(),
        }
    }

    /// Makes room for the third moments of these spectra in `dim` columns, with arbitrary entries.
    #[inline(always)]
    pub(super) fn start(&mut self, spectra: &Spectra<V>, dim: usize) {
        self.rank = spectra.rank;
        self.null = spectra.null_share(dim);
        self.fill_kappa(spectra);
        self.entries.resize(self.rank * self.pair_count(), V::ZERO);
    }

    /// κ, and whether any pair of different directions matters.
    #[inline(always)]
    fn fill_kappa(&mut self, spectra: &Spectra<V>) {
        let rank = self.rank;
        let null = self.null;
        self.kappa.resize(rank * rank, V::ZERO);
        self.kappa.fill(null + null);
        for j in 0..rank {
            // A space of its own: 2/3 here and 1/3 in `weigh` make the whole of wⱼ∘wⱼ.
            self.kappa[j * rank + j] += V::splat(2.0 / 3.0);
        }
        for (lane, space) in &spectra.spaces {
            let kappa = 2.0 / (space.len() + 2) as f64 + 2.0 * null.lanes()[*lane];
            for j in space.clone() {
                for l in space.clone() {
                    self.kappa[j * rank + l].lanes_mut()[*lane] = kappa;
                }
            }
        }
        self.paired = null.largest() > 0.0 || !spectra.spaces.is_empty();
    }

    #[inline(always)]
    pub(super) fn pair_count(&self) -> usize {
        if self.paired { self.rank * (self.rank + 1) / 2 } else { self.rank }
    }

    /// The position of the pair j ≤ l.
    #[inline(always)]
    pub(super) fn pair(&self, j: usize, l: usize) -> usize {
        if self.paired { j * (2 * self.rank + 1 - j) / 2 + (l - j) } else { j }
    }

    /// One past the last partner of j.
    #[inline(always)]
    pub(super) fn partners_end(&self, j: usize) -> usize {
        if self.paired { self.rank } else { j + 1 }
    }

    /// T_jlm at all its places, for j ≤ l ≤ m and all pairs kept.
    #[inline(always)]
    pub(super) fn set(&mut self, j: usize, l: usize, m: usize, value: V) {
        let (jl, jm, lm) = (self.pair(j, l), self.pair(j, m), self.pair(l, m));
        self.entries[jl * self.rank + m] = value;
        self.entries[jm * self.rank + l] = value;
        self.entries[lm * self.rank + j] = value;
    }

    /// Copies T_jlm, found for j ≤ l ≤ m, to its other places.
    #[inline(always)]
    pub(super) fn mirror(&mut self) {
        let rank = self.rank;
        for j in 0..rank {
            for l in j..rank {
                for m in l..rank {
                    self.set(j, l, m, self.entries[self.pair(j, l) * rank + m]);
                }
            }
        }
    }

    /// T → B and τ; `sums` are the sₘ.
    #[inline(always)]
    pub(super) fn weigh(&mut self, spectra: &Spectra<V>, sums: &[V]) {
        let rank = self.rank;
        let third = V::splat(1.0 / 3.0);
        self.tau.clear();
        self.shares.resize(rank, V::ZERO);
        for m in 0..rank {
            let mut sum = sums[m];
            for j in 0..rank {
                let square = self.entries[self.pair(j, j) * rank + m];
                sum -= square;
                self.shares[j] = square * third;
            }
            let tau = self.null * sum;
            self.tau.push(tau);
            // In a space of several directions each gets the same share of Σᵢ T_iim.
            for (lane, space) in &spectra.spaces {
                let square = |i: usize| self.entries[self.pair(i, i) * rank + m].lanes()[*lane];
                let share = space.clone().map(square).sum::<f64>() / (space.len() + 2) as f64;
                for j in space.clone() {
                    self.shares[j].lanes_mut()[*lane] = share;
                }
            }
            for j in 0..rank {
                let at = self.pair(j, j) * rank + m;
                self.entries[at] =
                    self.kappa[j * rank + j] * self.entries[at] + self.shares[j] - tau;
            }
        }
        for j in 0..rank {
            for l in j + 1..self.partners_end(j) {
                let kappa = self.kappa[j * rank + l];
                let at = self.pair(j, l) * rank;
                for entry in &mut self.entries[at..at + rank] {
                    *entry = (kappa + kappa) * *entry;
                }
            }
        }
    }

    /// τ and B times N, which has `count` columns: what A does to combinations of the directions.
    #[inline(always)]
    pub(super) fn combine(&mut self, n: Rows<V>, count: usize) {
        self.combined.resize((1 + self.pair_count()) * count, V::ZERO);
        let (tau, pairs) = self.combined.split_at_mut(count);
        combine_row(&self.tau, n, tau);
        let entries = self.entries.chunks_exact(self.rank.max(1));
        for (b, out) in entries.zip(pairs.chunks_exact_mut(count)) {
            combine_row(b, n, out);
        }
    }
}

/// out = row N.
#[inline(always)]
fn combine_row<V: Vector>(row: &[V], n: Rows<V>, out: &mut [V]) {
    let mut t = 0;
    while t + 4 <= out.len() {
        let mut sums = [V::ZERO; 4];
        for (m, entry) in row.iter().enumerate() {
            let n = &n.values[m * n.stride + t..][..4];
            for i in 0..4 {
                sums[i] = sums[i].plus(*entry, n[i]);
            }
        }
        out[t..t + 4].copy_from_slice(&sums);
        t += 4;
    }
    for t in t..out.len() {
        out[t] = V::ZERO;
        for (m, entry) in row.iter().enumerate() {
            out[t] = out[t].plus(*entry, n.values[m * n.stride + t]);
        }
    }
}
