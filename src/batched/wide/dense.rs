//! One frame in few columns → A itself, but for a diagonal term.
//!
//! [`crate::shape`] defines A. If every eigenspace has one direction it is two products of rank r and a diagonal: with
//! P = W∘W, G = WᵀW, g = diag(G), n = 1 − g and σ of
//! [`Spectra::null_share`](crate::batched::spectrum::Spectra::null_share),
//!
//! ```text
//! A = PᵀP + σ n nᵀ + 2σ G∘G + diag(2σ (1 − 2g))
//! ```
//!
//! The last term is left to the caller. A is symmetric: blocks of eight by eight entries on and above the diagonal are
//! computed, the others are their transposes.

use crate::error::Result;
use crate::matrix::try_filled;
use crate::simd::{LANES, Vector};

/// The workspace, and after [`Dense::fill`] the result.
pub(super) struct Dense<V> {
    width: usize,
    /// P, and √σ n as its last row.
    squares: Vec<V>,
    /// A but for diag(2σ (1 − 2g)), with arbitrary numbers after its d columns.
    pub(super) matrix: Vec<V>,
}

impl<V: Vector> Dense<V> {
    pub(super) fn new(count: usize, dim: usize) -> Result<Self> {
        let width = dim.div_ceil(LANES);
        Ok(Self {
            width,
            squares: try_filled((count + 1) * width, V::ZERO)?,
            matrix: try_filled(LANES * width * width, V::ZERO)?,
        })
    }

    /// For the directions W, rank×width, and σ.
    #[inline(always)]
    pub(super) fn fill(&mut self, directions: &[V], rank: usize, share: f64) {
        let width = self.width;
        let (root, twice) = (V::splat(share.sqrt()), V::splat(2.0 * share));
        for c in 0..width {
            let mut g = V::ZERO;
            for j in 0..rank {
                let entry = directions[j * width + c];
                let square = entry * entry;
                self.squares[j * width + c] = square;
                g += square;
            }
            self.squares[rank * width + c] = root * (V::ONE - g);
        }
        for upper in 0..width {
            for c in upper..width {
                self.fill_block(directions, rank, twice, upper, c);
            }
        }
    }

    /// Eight rows and columns, and their mirror image.
    #[inline(always)]
    fn fill_block(&mut self, directions: &[V], rank: usize, twice: V, upper: usize, c: usize) {
        let width = self.width;
        let squares = &self.squares[..(rank + 1) * width];
        let mut block = [V::ZERO; LANES];
        if V::MANY_REGISTERS {
            let (g, p) =
                (product(directions, width, upper, 0, c), product(squares, width, upper, 0, c));
            block = combined(g, p, twice);
        } else {
            for start in [0, LANES / 2] {
                let g: [V; LANES / 2] = product(directions, width, upper, start, c);
                let p = product(squares, width, upper, start, c);
                block[start..start + LANES / 2].copy_from_slice(&combined(g, p, twice));
            }
        }
        for r in 0..LANES {
            self.matrix[(upper * LANES + r) * width + c] = block[r];
        }
        if upper < c {
            let block = V::transpose(block);
            for r in 0..LANES {
                self.matrix[(c * LANES + r) * width + upper] = block[r];
            }
        }
    }
}

/// Σⱼ aⱼ bⱼ over the rows j, for each of R lanes a, from `start` on, of the row's vector `upper`; bⱼ is its vector `c`.
#[inline(always)]
fn product<V: Vector, const R: usize>(
    rows: &[V],
    width: usize,
    upper: usize,
    start: usize,
    c: usize,
) -> [V; R] {
    let mut sums = [V::ZERO; R];
    for row in rows.chunks_exact(width) {
        let factors = &row[upper].lanes()[start..start + R];
        for r in 0..R {
            sums[r] = sums[r].plus(V::splat(factors[r]), row[c]);
        }
    }
    sums
}

/// p + 2σ g∘g.
#[inline(always)]
fn combined<V: Vector, const R: usize>(g: [V; R], mut p: [V; R], twice: V) -> [V; R] {
    for r in 0..R {
        p[r] = p[r].plus(twice, g[r] * g[r]);
    }
    p
}
