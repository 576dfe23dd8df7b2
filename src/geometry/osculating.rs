//! What a quadratic graph leaves out because the surface bends: the part of the higher terms that is known from B.
//!
//! On spheres and their products the normal part of a point is y = ½B(v, v) with v = (I − ½A_y)^(−½) u,
//! A_y = ⟨y, B⟩, where u is its tangential part; v ≈ u + ¼A_y u + (3/32)A_y² u. With the coefficients c_p(v) of
//! ½B(v, v) in the vectors B_p of the pairs p = (a, b), and K = ⟨B_p, B_r⟩, no step needs the d columns:
//! y = Σ c_p B_p, |y|² = cᵀKc and the entries of A_y are Kc.

use crate::simd::{Vector, dot};

use super::polynomial::Polynomial;
use super::tiles::{TILE, Tile};

/// Rounds of the fixed point y → v → y.
const ROUNDS: usize = 2;

/// A square whose root is below 1 whatever the rounding errors.
const SURELY_BELOW_ONE: f64 = 0.99;

/// The corrections of eight fits, with their workspace.
#[derive(Debug)]
pub(crate) struct Osculating<V> {
    /// K, pairs × pairs.
    products: Vec<V>,
    /// |B|, over all entries of the symmetric matrix.
    norm: V,
    coefficients: Vec<V>,
    /// Kc.
    shape: Vec<V>,
    v: Vec<V>,
    once: Vec<V>,
    /// One row of u and its result.
    row: Vec<V>,
    found: Vec<V>,
}

impl<V: Vector> Osculating<V> {
    pub(crate) fn new(polynomial: &Polynomial) -> Self {
        let (pairs, m) = (polynomial.pairs.len(), polynomial.variables);
        Self {
            products: vec![V::ZERO; pairs * pairs],
            norm: V::ZERO,
            coefficients: vec![V::ZERO; pairs],
            shape: vec![V::ZERO; pairs],
            v: vec![V::ZERO; m],
            once: vec![V::ZERO; m],
            row: vec![V::ZERO; m],
            found: vec![V::ZERO; pairs],
        }
    }

    /// Takes the vectors B_p, pairs × dim. Returns |B|².
    #[inline(always)]
    pub(crate) fn take(&mut self, polynomial: &Polynomial, form: &[V], dim: usize) -> V {
        let pairs = polynomial.pairs.len();
        let mut square = V::ZERO;
        for p in 0..pairs {
            for r in 0..=p {
                let product = dot(&form[p * dim..(p + 1) * dim], &form[r * dim..(r + 1) * dim]);
                self.products[p * pairs + r] = product;
                self.products[r * pairs + p] = product;
            }
            let own = self.products[p * pairs + p];
            square = square.plus(V::splat(polynomial.multiplicity(p)), own);
        }
        self.norm = square.sqrt();
        square
    }

    /// c(v) − c(u) of the rows of u, times the weights `factors`.
    #[inline(always)]
    pub(crate) fn changes(&mut self, u: &[Tile<V>], factors: &[Tile<V>], out: &mut [Tile<V>]) {
        match self.v.len() {
            1 => self.fixed::<1, 1>(u, factors, out),
            2 => self.fixed::<2, 3>(u, factors, out),
            3 => self.fixed::<3, 6>(u, factors, out),
            _ => self.any(u, factors, out),
        }
    }

    /// The same with the sizes known to the compiler.
    #[inline(always)]
    fn fixed<const M: usize, const PAIRS: usize>(
        &self,
        u: &[Tile<V>],
        factors: &[Tile<V>],
        out: &mut [Tile<V>],
    ) {
        let rows = u.as_chunks::<M>().0.iter().zip(out.as_chunks_mut::<PAIRS>().0);
        let mut products = [V::ZERO; 36];
        let products = &mut products[..PAIRS * PAIRS];
        products.copy_from_slice(&self.products);
        for ((u, out), factors) in rows.zip(factors) {
            for t in 0..TILE {
                let (mut coefficients, mut shape) = ([V::ZERO; PAIRS], [V::ZERO; PAIRS]);
                let (mut row, mut v, mut once) = ([V::ZERO; M], [V::ZERO; M], [V::ZERO; M]);
                for a in 0..M {
                    row[a] = u[a][t];
                }
                let mut found = [V::ZERO; PAIRS];
                change(
                    products,
                    self.norm,
                    &row,
                    &mut coefficients,
                    &mut shape,
                    &mut v,
                    &mut once,
                    &mut found,
                );
                for p in 0..PAIRS {
                    out[p][t] = found[p] * factors[t];
                }
            }
        }
    }

    #[inline(always)]
    fn any(&mut self, u: &[Tile<V>], factors: &[Tile<V>], out: &mut [Tile<V>]) {
        let Self { products, norm, coefficients, shape, v, once, row, found } = self;
        let rows = u.chunks_exact(row.len()).zip(out.chunks_exact_mut(found.len()));
        for ((u, out), factors) in rows.zip(factors) {
            for t in 0..TILE {
                for (row, u) in row.iter_mut().zip(u) {
                    *row = u[t];
                }
                change(products, *norm, row, coefficients, shape, v, once, found);
                for (out, found) in out.iter_mut().zip(found.iter()) {
                    out[t] = *found * factors[t];
                }
            }
        }
    }
}

/// c(v) − c(u); `coefficients`, `shape`, `v` and `once` are workspace.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "slices whose lengths the compiler may know")]
fn change<V: Vector>(
    products: &[V],
    norm: V,
    u: &[V],
    coefficients: &mut [V],
    shape: &mut [V],
    v: &mut [V],
    once: &mut [V],
    out: &mut [V],
) {
    let (pairs, m) = (out.len(), u.len());
    quadratic(u, coefficients);
    for p in 0..pairs {
        out[p] = -coefficients[p];
    }
    for _ in 0..ROUNDS {
        let mut square = V::ZERO;
        for p in 0..pairs {
            let mut sum = V::ZERO;
            for r in 0..pairs {
                sum = sum.plus(products[p * pairs + r], coefficients[r]);
            }
            shape[p] = sum;
            square = square.plus(sum, coefficients[p]);
        }
        // |B||y| is clipped at 1, a right angle. Where it is surely smaller in all lanes, neither a root nor a
        // quotient is needed.
        let clip = if (square * norm * norm).all_below(V::splat(SURELY_BELOW_ONE)) {
            V::ONE
        } else {
            V::ONE.over((square.max(V::ZERO).sqrt() * norm).max(V::ONE))
        };
        for a in 0..m {
            let mut sum = V::ZERO;
            for b in 0..m {
                sum = sum.plus(shape[pair(a, b, m)], u[b]);
            }
            once[a] = sum * clip;
        }
        let (quarter, rest) = (V::splat(0.25), V::splat(3.0 / 32.0));
        for a in 0..m {
            let mut sum = V::ZERO;
            for b in 0..m {
                sum = sum.plus(shape[pair(a, b, m)], once[b]);
            }
            v[a] = u[a].plus(quarter, once[a]).plus(rest, sum * clip);
        }
        quadratic(v, coefficients);
    }
    for p in 0..pairs {
        out[p] += coefficients[p];
    }
}

/// The place of (a, b) among the pairs, as in [`Polynomial::pair`].
#[inline(always)]
fn pair(a: usize, b: usize, m: usize) -> usize {
    let (a, b) = if a < b { (a, b) } else { (b, a) };
    a * (2 * m - a - 1) / 2 + b
}

/// The coefficients of ½B(v, v): ½v_a² and v_a v_b.
#[inline(always)]
fn quadratic<V: Vector>(v: &[V], out: &mut [V]) {
    let m = v.len();
    let mut p = 0;
    for a in 0..m {
        out[p] = v[a] * v[a] * V::splat(0.5);
        for b in a + 1..m {
            out[p + b - a] = v[a] * v[b];
        }
        p += m - a;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_stand_where_the_polynomial_has_them() {
        for m in 1..6 {
            let polynomial = Polynomial::new(m, 2);
            for a in 0..m {
                for b in 0..m {
                    assert_eq!(pair(a, b, m), polynomial.pair(a, b));
                }
            }
        }
    }
}
