//! One frame in few columns → A itself, but for its own diagonal.
//!
//! Two products of rank r give A: with P = W∘W and the projector G = WᵀW, if every eigenspace has one direction,
//!
//! ```text
//! A = PᵀP + σ n nᵀ + 2σ G∘G + diag(2σ (1 − 2g)),        g = diag(G),  n = 1 − g
//! ```
//!
//! where σ = 1/(q + 2) for the null space of dimension q (0 without one). The last term is left to the caller. It is symmetric: blocks of eight by eight
//! entries on and above the diagonal are computed, the others are their transposes.

use crate::simd::{LANES, Vector};

/// The workspace, and after [`Dense::fill`] the answer.
pub(super) struct Dense<V> {
    width: usize,
    /// P, and √σ n as its last row.
    squares: Vec<V>,
    /// A but for diag(2σ (1 − 2g)), with arbitrary numbers after its d columns.
    pub(super) matrix: Vec<V>,
}

impl<V: Vector> Dense<V> {
    /// Whether `count` directions in `dim` columns take less by A than by their tensor: 2 d r against r²(r + 1)·2/3
    /// operations for a column, those of A the faster ones. At k = 12 A takes 0.74 of the tensor's time for 40 columns,
    /// 0.9 for 64; at k = 16 0.83 for 96.
    pub(super) fn suits(count: usize, dim: usize) -> bool {
        2 * dim <= count * (count + 1)
    }

    pub(super) fn new(count: usize, dim: usize) -> Self {
        let width = dim.div_ceil(LANES);
        Self {
            width,
            squares: vec![V::ZERO; (count + 1) * width],
            matrix: vec![V::ZERO; LANES * width * width],
        }
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

/// Σⱼ aⱼ bⱼ for R of the entries a of each row's vector `upper`, from `start` on, and its vector b = c.
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
