//! Eight frames at once → the left factors Y of their shape operators.
//!
//! The mathematics is that of [`crate::frame`] and [`crate::shape`], arranged so that every step is a product over
//! the columns, done for eight points side by side. With the symmetric tensor T_jlm = Σₐ wⱼ wₗ wₘ and s_m = Σₐ wₘ, what A
//! does to wₘ is, column by column,
//!
//! ```text
//! A wₘ = Σ_{j≤l} B_jl,m wⱼ∘wₗ  +  τₘ (1)  +  2σ (1 − 2g)∘wₘ,       g = Σⱼ wⱼ∘wⱼ
//! ```
//!
//! where σ = 1/(q + 2) for the null space of dimension q (0 without one), τₘ = σ (sₘ − Σⱼ T_jjm), and B weighs T by the
//! eigenspaces: κ = 2/(size + 2) inside one, 2σ more for every pair, so that B_jl,m = 2 κ_jl T_jlm for j < l and
//! B_jj,m = κ_jj T_jjm + Σ_{i in j's space} T_iim/(size + 2) − τₘ. Nothing is d×d.

use crate::simd::{LANES, Vector, add_multiple, dot, dot_4};

use super::frame::Frames;

/// Columns taken at a time in the first product over columns: their pairs stay in the first cache.
const COLUMNS: usize = 32;

/// Columns of the register tile of the second product.
const TILE: usize = 4;

/// The workspace, and after [`Shapes::fill`] the answer.
pub(super) struct Shapes<V> {
    /// Y, rank×d: S = Yᵀ W.
    pub(super) left: Vec<V>,
    /// κ, rank×rank.
    kappa: Vec<V>,
    /// T, then B: for each m the pairs.
    tensor: Vec<V>,
    /// τ.
    tau: Vec<V>,
    /// Whether pairs of different directions matter: all with j ≤ l are kept then, otherwise those with j = l.
    paired: bool,
    rank: usize,
    /// The products of the pairs in one tile, or one row of shares.
    scratch: Vec<V>,
}

impl<V: Vector> Shapes<V> {
    pub(super) fn new() -> Self {
        Self {
            left: Vec::new(),
            kappa: Vec::new(),
            tensor: Vec::new(),
            tau: Vec::new(),
            paired: false,
            rank: 0,
            scratch: Vec::new(),
        }
    }

    /// Finds Y for these frames.
    #[inline(always)]
    pub(super) fn fill(&mut self, frames: &Frames<V>) {
        self.rank = frames.rank;
        self.fill_kappa(frames);
        self.fill_tensor(frames);
        self.weigh_tensor(frames);
        self.fill_left(frames);
    }

    /// κ, and whether any pair of different directions matters.
    #[inline(always)]
    fn fill_kappa(&mut self, frames: &Frames<V>) {
        let rank = self.rank;
        let null = null_share(frames);
        self.kappa.clear();
        self.kappa.resize(rank * rank, null + null);
        for j in 0..rank {
            // A space of its own: 2/3 here and 1/3 in weigh_tensor make the whole of wⱼ∘wⱼ.
            self.kappa[j * rank + j] += V::splat(2.0 / 3.0);
        }
        for (lane, space) in &frames.spaces {
            let kappa = 2.0 / (space.len() + 2) as f64 + 2.0 * null.lanes()[*lane];
            for j in space.clone() {
                for l in space.clone() {
                    self.kappa[j * rank + l].lanes_mut()[*lane] = kappa;
                }
            }
        }
        self.paired = null.largest() > 0.0 || !frames.spaces.is_empty();
    }

    #[inline(always)]
    fn pair_count(&self) -> usize {
        if self.paired { self.rank * (self.rank + 1) / 2 } else { self.rank }
    }

    /// Where the pair j ≤ l stands.
    #[inline(always)]
    fn pair(&self, j: usize, l: usize) -> usize {
        if self.paired { j * (2 * self.rank + 1 - j) / 2 + (l - j) } else { j }
    }

    /// One past the last partner of j.
    #[inline(always)]
    fn partners_end(&self, j: usize) -> usize {
        if self.paired { self.rank } else { j + 1 }
    }

    /// T by blocks of columns.
    #[inline(always)]
    fn fill_tensor(&mut self, frames: &Frames<V>) {
        let (rank, dim) = (self.rank, frames.dim);
        let pairs = self.pair_count();
        self.tensor.clear();
        self.tensor.resize(rank * pairs, V::ZERO);
        let mut product = [V::ZERO; COLUMNS];
        let mut start = 0;
        while start < dim {
            let columns = COLUMNS.min(dim - start);
            let w = |j: usize| frames.direction(j, start, columns);
            for j in 0..rank {
                for l in j..self.partners_end(j) {
                    for ((out, a), b) in product.iter_mut().zip(w(j)).zip(w(l)) {
                        *out = *a * *b;
                    }
                    let product = &product[..columns];
                    // T is symmetric: with all pairs at hand m ≥ l is enough.
                    let (mut m, pair) = (if self.paired { l } else { 0 }, self.pair(j, l));
                    while m + 4 <= rank {
                        let sums = dot_4(product, [w(m), w(m + 1), w(m + 2), w(m + 3)]);
                        for (offset, sum) in sums.into_iter().enumerate() {
                            self.tensor[(m + offset) * pairs + pair] += sum;
                        }
                        m += 4;
                    }
                    for m in m..rank {
                        self.tensor[m * pairs + pair] += dot(product, w(m));
                    }
                }
            }
            start += columns;
        }
        if self.paired {
            self.mirror_tensor();
        }
    }

    /// Copies T_jlm, found for j ≤ l ≤ m, to its other places.
    #[inline(always)]
    fn mirror_tensor(&mut self) {
        let (rank, pairs) = (self.rank, self.pair_count());
        for j in 0..rank {
            for l in j..rank {
                for m in l..rank {
                    let value = self.tensor[m * pairs + self.pair(j, l)];
                    let (jm, lm) = (self.pair(j, m), self.pair(l, m));
                    self.tensor[l * pairs + jm] = value;
                    self.tensor[j * pairs + lm] = value;
                }
            }
        }
    }

    /// T → B and τ.
    #[inline(always)]
    fn weigh_tensor(&mut self, frames: &Frames<V>) {
        let (rank, pairs) = (self.rank, self.pair_count());
        let null = null_share(frames);
        let third = V::splat(1.0 / 3.0);
        self.tau.clear();
        self.scratch.clear();
        self.scratch.resize(rank, V::ZERO);
        for m in 0..rank {
            let mut sum = V::ZERO;
            for entry in frames.direction(m, 0, frames.dim) {
                sum += *entry;
            }
            for j in 0..rank {
                let square = self.tensor[m * pairs + self.pair(j, j)];
                sum -= square;
                self.scratch[j] = square * third;
            }
            let tau = null * sum;
            self.tau.push(tau);
            // In a space of several directions each gets the same share of Σᵢ T_iim.
            for (lane, space) in &frames.spaces {
                let square = |i: usize| self.tensor[m * pairs + self.pair(i, i)].lanes()[*lane];
                let share = space.clone().map(square).sum::<f64>() / (space.len() + 2) as f64;
                for j in space.clone() {
                    self.scratch[j].lanes_mut()[*lane] = share;
                }
            }
            for j in 0..rank {
                let at = m * pairs + self.pair(j, j);
                self.tensor[at] =
                    self.kappa[j * rank + j] * self.tensor[at] + self.scratch[j] - tau;
                for l in j + 1..self.partners_end(j) {
                    let kappa = self.kappa[j * rank + l];
                    let at = m * pairs + self.pair(j, l);
                    self.tensor[at] = (kappa + kappa) * self.tensor[at];
                }
            }
        }
    }

    /// Y = −½ Λ (W + W A), TILE columns at a time.
    #[inline(always)]
    fn fill_left(&mut self, frames: &Frames<V>) {
        let dim = frames.dim;
        self.left.clear();
        self.left.resize(self.rank * dim, V::ZERO);
        self.scratch.clear();
        self.scratch.resize(self.pair_count() * TILE, V::ZERO);
        let mut a = 0;
        while a + TILE <= dim {
            self.fill_tile::<TILE>(frames, a);
            a += TILE;
        }
        while a < dim {
            self.fill_tile::<1>(frames, a);
            a += 1;
        }
    }

    #[inline(always)]
    fn fill_tile<const WIDTH: usize>(&mut self, frames: &Frames<V>, a: usize) {
        let (rank, pairs) = (self.rank, self.pair_count());
        let null = null_share(frames);
        let mut g = [V::ZERO; WIDTH];
        let mut pair = 0;
        for j in 0..rank {
            let w = frames.direction(j, a, WIDTH);
            for c in 0..WIDTH {
                g[c] = g[c].plus(w[c], w[c]);
            }
            for l in j..self.partners_end(j) {
                let other = frames.direction(l, a, WIDTH);
                for c in 0..WIDTH {
                    self.scratch[pair * WIDTH + c] = w[c] * other[c];
                }
                pair += 1;
            }
        }
        // 1 + 2σ (1 − 2g).
        let mut own = [V::ONE; WIDTH];
        for c in 0..WIDTH {
            own[c] += (null + null) * (V::ONE - g[c] - g[c]);
        }
        // Two rows of B share the loads of the products.
        let mut m = 0;
        while m + 2 <= rank {
            let mut sums = [[self.tau[m]; WIDTH], [self.tau[m + 1]; WIDTH]];
            let (upper, lower) = self.tensor[m * pairs..(m + 2) * pairs].split_at(pairs);
            let products = self.scratch.chunks_exact(WIDTH);
            for ((upper, lower), product) in upper.iter().zip(lower).zip(products) {
                for c in 0..WIDTH {
                    sums[0][c] = sums[0][c].plus(*upper, product[c]);
                    sums[1][c] = sums[1][c].plus(*lower, product[c]);
                }
            }
            self.write_tile(frames, m, a, sums[0], own);
            self.write_tile(frames, m + 1, a, sums[1], own);
            m += 2;
        }
        if m < rank {
            let mut sums = [self.tau[m]; WIDTH];
            let products = self.scratch.chunks_exact(WIDTH);
            for (weight, product) in self.tensor[m * pairs..].iter().zip(products) {
                for c in 0..WIDTH {
                    sums[c] = sums[c].plus(*weight, product[c]);
                }
            }
            self.write_tile(frames, m, a, sums, own);
        }
    }

    #[inline(always)]
    fn write_tile<const WIDTH: usize>(
        &mut self,
        frames: &Frames<V>,
        m: usize,
        a: usize,
        sums: [V; WIDTH],
        own: [V; WIDTH],
    ) {
        let half = V::splat(-0.5) * frames.eigenvalues[m];
        let w = frames.direction(m, a, WIDTH);
        let left = &mut self.left[m * frames.dim + a..m * frames.dim + a + WIDTH];
        for c in 0..WIDTH {
            left[c] = half * sums[c].plus(own[c], w[c]);
        }
    }

    /// shares[lane][t] = Σⱼ M_jt Yⱼ.
    #[inline(always)]
    pub(super) fn write_shares(&mut self, frames: &Frames<V>, lanes: usize, shares: &mut [f64]) {
        let (k, dim) = (frames.k, frames.dim);
        let row = &mut self.scratch;
        row.resize(dim, V::ZERO);
        for t in 0..k {
            row.fill(V::ZERO);
            for (weights, left) in frames.weights.chunks_exact(k).zip(self.left.chunks_exact(dim)) {
                add_multiple(row, weights[t], left);
            }
            for lane in 0..lanes {
                let start = (lane * k + t) * dim;
                for (out, entry) in shares[start..start + dim].iter_mut().zip(row.iter()) {
                    *out = entry.lanes()[lane];
                }
            }
        }
    }
}

/// σ of each lane.
#[inline(always)]
fn null_share<V: Vector>(frames: &Frames<V>) -> V {
    let mut share = V::ZERO;
    for lane in 0..LANES {
        let null = frames.dim - frames.ranks[lane];
        if null > 0 {
            share.lanes_mut()[lane] = 1.0 / (null + 2) as f64;
        }
    }
    share
}
