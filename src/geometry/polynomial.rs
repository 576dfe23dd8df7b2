//! The monomials of the local fit.

use crate::simd::Vector;

use super::tiles::{Tile, scaled};

/// The number of monomials of degree at most `order` in `variables` variables: C(variables + order, order).
pub fn unknowns(variables: usize, order: usize) -> usize {
    (1..=order).fold(1_usize, |count, i| count.saturating_mul(variables + i) / i)
}

/// Monomials 1, u_a, u_a u_b (a ≤ b), … up to some degree, in lexicographic order within a degree.
///
/// Squares are plain u_a², so that the second derivative ∂_a∂_b is
/// [`Polynomial::second_derivative`] times the coefficient.
#[derive(Debug, Clone)]
pub(crate) struct Polynomial {
    pub(crate) variables: usize,
    /// Each column from the quadratic ones on is an earlier column times a variable.
    factors: Vec<(usize, usize)>,
    /// The variables of the quadratic columns.
    pub(crate) pairs: Vec<(usize, usize)>,
    /// The index of (a, b) among the pairs, variables × variables.
    pair_at: Vec<usize>,
}

impl Polynomial {
    pub(crate) fn new(variables: usize, order: usize) -> Self {
        let mut factors = Vec::new();
        let mut pairs = Vec::new();
        // The columns of the last degree: their numbers and last variables.
        let mut last: Vec<(usize, usize)> = (0..variables).map(|a| (1 + a, a)).collect();
        let mut columns = 1 + variables;
        for degree in 2..=order {
            let mut next = Vec::new();
            for &(column, largest) in &last {
                for a in largest..variables {
                    factors.push((column, a));
                    next.push((columns, a));
                    columns += 1;
                    if degree == 2 {
                        pairs.push((largest, a));
                    }
                }
            }
            last = next;
        }
        let mut pair_at = vec![0; variables * variables];
        for (at, &(a, b)) in pairs.iter().enumerate() {
            pair_at[a * variables + b] = at;
            pair_at[b * variables + a] = at;
        }
        Self { variables, factors, pairs, pair_at }
    }

    /// The number of columns, q.
    pub(crate) fn len(&self) -> usize {
        1 + self.variables + self.factors.len()
    }

    /// The first quadratic column.
    pub(crate) fn first_pair(&self) -> usize {
        1 + self.variables
    }

    /// The index of (a, b) among the pairs.
    #[inline(always)]
    pub(crate) fn pair(&self, a: usize, b: usize) -> usize {
        self.pair_at[a * self.variables + b]
    }

    /// ∂_a∂_b of the quadratic column (a, b): 2 on the diagonal, else 1.
    #[inline(always)]
    pub(crate) fn second_derivative(&self, pair: usize) -> f64 {
        if self.pairs[pair].0 == self.pairs[pair].1 { 2.0 } else { 1.0 }
    }

    /// How often a pair occurs in a symmetric matrix: 1 on the diagonal, else 2.
    #[inline(always)]
    pub(crate) fn multiplicity(&self, pair: usize) -> f64 {
        3.0 - self.second_derivative(pair)
    }

    /// What a unit in the coefficient of a pair adds to the squared norm of the matrix of second derivatives.
    #[inline(always)]
    pub(crate) fn square_factor(&self, pair: usize) -> f64 {
        if self.pairs[pair].0 == self.pairs[pair].1 { 4.0 } else { 2.0 }
    }

    /// The monomials of u.
    #[inline(always)]
    pub(crate) fn evaluate<V: Vector>(&self, u: &[V], out: &mut [V]) {
        out[0] = V::ONE;
        out[1..=self.variables].copy_from_slice(u);
        if let [x, y] = *u {
            // Two variables need no table: xⁿ is x xⁿ⁻¹, and the others of a degree are y times all before.
            let (mut before, mut at, end) = (1, 3, out.len());
            while at < end {
                let width = at - before;
                out[at] = out[before] * x;
                for i in 0..width {
                    out[at + 1 + i] = out[before + i] * y;
                }
                before = at;
                at += width + 1;
            }
            return;
        }
        for (at, &(column, a)) in self.factors.iter().enumerate() {
            out[1 + self.variables + at] = out[column] * u[a];
        }
    }

    /// The monomials of four rows, times `start`.
    #[inline(always)]
    pub(crate) fn evaluate_tile<V: Vector>(
        &self,
        u: &[Tile<V>],
        start: &Tile<V>,
        out: &mut [Tile<V>],
    ) {
        out[0] = *start;
        for (out, u) in out[1..].iter_mut().zip(u) {
            *out = scaled(u, start);
        }
        for (at, &(column, a)) in self.factors.iter().enumerate() {
            out[1 + self.variables + at] = scaled(&out[column], &u[a]);
        }
    }

    /// Their gradients, variables × q, from the monomials themselves: ∇(φ u_a) = u_a ∇φ + φ e_a.
    #[inline(always)]
    pub(crate) fn gradients<V: Vector>(&self, u: &[V], values: &[V], out: &mut [V]) {
        let (m, q) = (self.variables, self.len());
        for c in 0..m {
            let row = &mut out[c * q..(c + 1) * q];
            row[0] = V::ZERO;
            for a in 0..m {
                row[1 + a] = if a == c { V::ONE } else { V::ZERO };
            }
            for (at, &(column, a)) in self.factors.iter().enumerate() {
                let mut slope = row[column] * u[a];
                if a == c {
                    slope += values[column];
                }
                row[1 + m + at] = slope;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Portable;

    #[test]
    fn there_are_as_many_columns_as_unknowns() {
        for variables in 1..6 {
            for order in 2..=4 {
                assert_eq!(Polynomial::new(variables, order).len(), unknowns(variables, order));
            }
        }
        assert_eq!((unknowns(2, 2), unknowns(2, 4), unknowns(3, 3)), (6, 15, 20));
    }

    #[test]
    fn columns_are_the_monomials_and_their_gradients() {
        let polynomial = Polynomial::new(2, 3);
        let (x, y) = (0.7, -1.3);
        let u = [x, y].map(Portable::splat);
        let mut values = vec![Portable::ZERO; polynomial.len()];
        let mut slopes = vec![Portable::ZERO; 2 * polynomial.len()];
        polynomial.evaluate(&u, &mut values);
        polynomial.gradients(&u, &values, &mut slopes);
        let expected = [1.0, x, y, x * x, x * y, y * y, x * x * x, x * x * y, x * y * y, y * y * y];
        let in_x = [0.0, 1.0, 0.0, 2.0 * x, y, 0.0, 3.0 * x * x, 2.0 * x * y, y * y, 0.0];
        let in_y = [0.0, 0.0, 1.0, 0.0, x, 2.0 * y, 0.0, x * x, 2.0 * x * y, 3.0 * y * y];
        let close = |got: &[Portable], expected: &[f64]| {
            got.iter()
                .zip(expected)
                .all(|(got, expected)| (got.lanes()[3] - expected).abs() < 1e-15)
        };
        assert!(close(&values, &expected));
        assert!(close(&slopes[..10], &in_x) && close(&slopes[10..], &in_y));
        assert_eq!(polynomial.pairs, [(0, 0), (0, 1), (1, 1)]);
        assert_eq!((polynomial.pair(1, 0), polynomial.pair(1, 1)), (1, 2));
    }
}
