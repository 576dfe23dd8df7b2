//! One frame in few columns → I + A itself.
//!
//! Two products of rank r give A: with P = W∘W and the projector G = WᵀW, if every eigenspace has one direction,
//!
//! ```text
//! I + A = PᵀP + σ n nᵀ + 2σ G∘G + diag(1 + 2σ (1 − 2g)),        g = diag(G),  n = 1 − g
//! ```
//!
//! where σ = 1/(q + 2) for the null space of dimension q (0 without one). It is symmetric: blocks of eight by eight
//! entries on and above the diagonal are computed, the others are their transposes.

use crate::simd::{LANES, Vector, flat};

/// The workspace, and after [`Dense::fill`] the answer.
pub(super) struct Dense<V> {
    width: usize,
    /// P, and √σ n as its last row.
    squares: Vec<V>,
    /// diag(1 + 2σ (1 − 2g)).
    own: Vec<V>,
    /// I + A, with arbitrary numbers after its d columns.
    pub(super) matrix: Vec<V>,
}

impl<V: Vector> Dense<V> {
    /// Whether `count` directions in `dim` columns take less by A than by their tensor.
    pub(super) fn suits(count: usize, dim: usize) -> bool {
        2 * dim < pairs_of(count)
    }

    pub(super) fn new(count: usize, dim: usize) -> Self {
        let width = dim.div_ceil(LANES);
        Self {
            width,
            squares: vec![V::ZERO; (count + 1) * width],
            own: vec![V::ZERO; width],
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
            self.own[c] = V::ONE.plus(twice, V::ONE - g - g);
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
        const HALF: usize = LANES / 2;
        let width = self.width;
        let squares = &self.squares[..(rank + 1) * width];
        let mut block = [V::ZERO; LANES];
        for half in 0..2 {
            let first = upper * LANES + half * HALF;
            let g: [V; HALF] = product(directions, width, first, c);
            let p: [V; HALF] = product(squares, width, first, c);
            for r in 0..HALF {
                block[half * HALF + r] = p[r].plus(twice, g[r] * g[r]);
            }
        }
        if upper == c {
            for r in 0..LANES {
                block[r].lanes_mut()[r] += self.own[c].lanes()[r];
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

/// Σⱼ rowⱼ[first + r] rowⱼ[c] for R columns, each times a vector.
#[inline(always)]
fn product<V: Vector, const R: usize>(
    rows: &[V],
    width: usize,
    first: usize,
    c: usize,
) -> [V; R] {
    let mut sums = [V::ZERO; R];
    for row in rows.chunks_exact(width) {
        let factors = &flat(row)[first..first + R];
        for r in 0..R {
            sums[r] = sums[r].plus(V::splat(factors[r]), row[c]);
        }
    }
    sums
}

fn pairs_of(count: usize) -> usize {
    count * (count + 1) / 2
}
