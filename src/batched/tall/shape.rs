//! Eight frames at once → the left factors Y of their shape operators.
//!
//! The mathematics is that of [`crate::frame`] and [`crate::shape`], arranged so that every step is a product over
//! the columns, done for eight neighbourhoods side by side.
//! [`crate::batched::third_moments`] has the formulas. Nothing is d×d.

use crate::simd::{Vector, dot, dot_4};

use super::frame::Frames;
use crate::batched::third_moments::ThirdMoments;

/// Columns taken at a time in the first product over columns: their pairs stay in the L1 cache.
const COLUMNS: usize = 32;

/// Columns of the register tile of the second product.
const TILE: usize = 4;

/// The workspace, and after [`Shapes::fill`] the result.
pub(super) struct Shapes<V> {
    /// Y, rank×d: S = Yᵀ W.
    pub(super) left: Vec<V>,
    third_moments: ThirdMoments<V>,
    /// sₘ.
    sums: Vec<V>,
    /// The products of the pairs in one tile.
    scratch: Vec<V>,
}

impl<V: Vector> Shapes<V> {
    pub(super) fn new() -> Self {
        Self {
            left: Vec::new(),
            third_moments: ThirdMoments::new(),
            sums: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Finds Y for these frames.
    #[inline(always)]
    pub(super) fn fill(&mut self, frames: &Frames<V>) {
        self.third_moments.start(&frames.spectra, frames.dim);
        self.fill_third_moments(frames);
        self.third_moments.weigh(&frames.spectra, &self.sums);
        self.fill_left(frames);
    }

    /// T by blocks of columns, and s.
    #[inline(always)]
    fn fill_third_moments(&mut self, frames: &Frames<V>) {
        let (rank, dim) = (frames.spectra.rank, frames.dim);
        self.third_moments.entries.fill(V::ZERO);
        let mut product = [V::ZERO; COLUMNS];
        let mut start = 0;
        while start < dim {
            let columns = COLUMNS.min(dim - start);
            let w = |j: usize| frames.direction(j, start, columns);
            for j in 0..rank {
                for l in j..self.third_moments.partners_end(j) {
                    for ((out, a), b) in product.iter_mut().zip(w(j)).zip(w(l)) {
                        *out = *a * *b;
                    }
                    let product = &product[..columns];
                    // T is symmetric: where all pairs are kept, m ≥ l is enough.
                    let (mut m, pair) = (
                        if self.third_moments.paired { l } else { 0 },
                        self.third_moments.pair(j, l),
                    );
                    while m + 4 <= rank {
                        let sums = dot_4(product, [w(m), w(m + 1), w(m + 2), w(m + 3)]);
                        for (offset, sum) in sums.into_iter().enumerate() {
                            self.third_moments.entries[pair * rank + m + offset] += sum;
                        }
                        m += 4;
                    }
                    for m in m..rank {
                        self.third_moments.entries[pair * rank + m] += dot(product, w(m));
                    }
                }
            }
            start += columns;
        }
        if self.third_moments.paired {
            self.third_moments.mirror();
        }
        self.sums.clear();
        for direction in frames.directions.chunks_exact(dim) {
            let mut sum = V::ZERO;
            for entry in direction {
                sum += *entry;
            }
            self.sums.push(sum);
        }
    }

    /// Y = −½ Λ (W + W A), TILE columns at a time.
    #[inline(always)]
    fn fill_left(&mut self, frames: &Frames<V>) {
        let dim = frames.dim;
        self.left.resize(frames.spectra.rank * dim, V::ZERO);
        self.scratch.resize(self.third_moments.pair_count() * TILE, V::ZERO);
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
        let rank = frames.spectra.rank;
        let null = self.third_moments.null;
        let mut g = [V::ZERO; WIDTH];
        let mut pair = 0;
        for j in 0..rank {
            let w = frames.direction(j, a, WIDTH);
            for c in 0..WIDTH {
                g[c] = g[c].plus(w[c], w[c]);
            }
            for l in j..self.third_moments.partners_end(j) {
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
            let mut sums =
                [[self.third_moments.tau[m]; WIDTH], [self.third_moments.tau[m + 1]; WIDTH]];
            let products = self.scratch.chunks_exact(WIDTH);
            for (weights, product) in self.third_moments.entries.chunks_exact(rank).zip(products) {
                for c in 0..WIDTH {
                    sums[0][c] = sums[0][c].plus(weights[m], product[c]);
                    sums[1][c] = sums[1][c].plus(weights[m + 1], product[c]);
                }
            }
            self.write_tile(frames, m, a, sums[0], own);
            self.write_tile(frames, m + 1, a, sums[1], own);
            m += 2;
        }
        if m < rank {
            let mut sums = [self.third_moments.tau[m]; WIDTH];
            let products = self.scratch.chunks_exact(WIDTH);
            for (weights, product) in self.third_moments.entries.chunks_exact(rank).zip(products) {
                for c in 0..WIDTH {
                    sums[c] = sums[c].plus(weights[m], product[c]);
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
        let half = V::splat(-0.5) * frames.spectra.eigenvalues[m];
        let w = frames.direction(m, a, WIDTH);
        let left = &mut self.left[m * frames.dim + a..m * frames.dim + a + WIDTH];
        for c in 0..WIDTH {
            left[c] = half * sums[c].plus(own[c], w[c]);
        }
    }
}
