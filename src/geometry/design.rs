//! The weighted polynomial fit itself, for eight neighbourhoods at once.

use crate::simd::{Vector, add_multiple, dot};

use super::cholesky::Cholesky;
use super::patch::{GROUP, Patch, add_group, add_product};
use super::polynomial::Polynomial;

/// The fit of one degree to all patches: ΦᵀWΦ and its relatives.
#[derive(Debug)]
pub(crate) struct Design<V> {
    pub(crate) polynomial: Polynomial,
    /// Four rows of Φ and of WΦ.
    pub(crate) phi: Vec<V>,
    pub(crate) weighted: Vec<V>,
    /// ΦᵀWΦ and ΦᵀW²Φ, their lower triangles.
    gram: Vec<V>,
    squares: Vec<V>,
    pub(crate) solver: Cholesky<V>,
    /// G⁻¹.
    inverse: Vec<V>,
    trace: Vec<V>,
    /// The coefficients, q × dim.
    pub(crate) beta: Vec<V>,
}

impl<V: Vector> Design<V> {
    pub(crate) fn new(variables: usize, order: usize, dim: usize) -> Self {
        let polynomial = Polynomial::new(variables, order);
        let q = polynomial.len();
        Self {
            phi: vec![V::ZERO; GROUP * q],
            weighted: vec![V::ZERO; GROUP * q],
            gram: vec![V::ZERO; q * q],
            squares: vec![V::ZERO; q * q],
            solver: Cholesky::new(q),
            inverse: vec![V::ZERO; q * q],
            trace: vec![V::ZERO; q],
            beta: vec![V::ZERO; q * dim],
            polynomial,
        }
    }

    /// Φ and WΦ for the four rows from `first`.
    #[inline(always)]
    pub(crate) fn evaluate(&mut self, u: &[V], weights: &[V], first: usize) {
        let (m, q) = (self.polynomial.variables, self.polynomial.len());
        for t in 0..GROUP {
            let phi = &mut self.phi[t * q..(t + 1) * q];
            self.polynomial.evaluate(&u[(first + t) * m..(first + t + 1) * m], phi);
            for (out, phi) in self.weighted[t * q..(t + 1) * q].iter_mut().zip(phi) {
                *out = *phi * weights[first + t];
            }
        }
    }

    /// Least squares of the patch on Φ(u). Returns 1 for lanes of full rank.
    #[inline(always)]
    pub(crate) fn solve(&mut self, patch: &Patch<V>, u: &[V], with_squares: bool) -> V {
        let (dim, q) = (patch.dim, self.polynomial.len());
        self.gram.fill(V::ZERO);
        self.squares.fill(V::ZERO);
        self.beta.fill(V::ZERO);
        for (group, y) in patch.y.chunks_exact(GROUP * dim).enumerate() {
            self.evaluate(u, &patch.weights, group * GROUP);
            for a in 0..q {
                let row = a * q..a * q + a + 1;
                add_group(&mut self.gram[row.clone()], &self.weighted, q, a, &self.phi, 0);
                if with_squares {
                    add_group(&mut self.squares[row], &self.weighted, q, a, &self.weighted, 0);
                }
            }
            add_product(&mut self.beta, &self.weighted, y);
        }
        let full_rank = self.solver.factorise(&self.gram);
        self.solver.solve(&mut self.beta, dim);
        full_rank
    }

    /// The second derivatives B_p, pairs × dim.
    #[inline(always)]
    pub(crate) fn second_derivatives(&self, dim: usize, out: &mut [V]) {
        let first = self.polynomial.first_pair();
        for p in 0..self.polynomial.pairs.len() {
            let factor = V::splat(self.polynomial.second_derivative(p));
            for c in 0..dim {
                out[p * dim + c] = self.beta[(first + p) * dim + c] * factor;
            }
        }
    }

    /// The [`Shares`], from G⁻¹ (ΦᵀW²Φ) G⁻¹, the covariance of the coefficients for noise of unit variance.
    #[inline(always)]
    pub(crate) fn shares(&mut self, weights: &[V]) -> Shares<V> {
        let q = self.polynomial.len();
        self.solver.invert(&mut self.inverse);
        for a in 0..q {
            for b in 0..a {
                self.squares[b * q + a] = self.squares[a * q + b];
            }
        }
        let mut freedom = V::ZERO;
        for weight in weights {
            freedom += *weight;
        }
        for (row, squares) in self.inverse.chunks_exact(q).zip(self.squares.chunks_exact(q)) {
            freedom -= dot(row, squares);
        }
        // The coefficient of a square is half of B_aa; the trace is twice the sum of those coefficients.
        let first = self.polynomial.first_pair();
        self.trace.fill(V::ZERO);
        let mut form = V::ZERO;
        for p in 0..self.polynomial.pairs.len() {
            let row = &self.inverse[(first + p) * q..(first + p + 1) * q];
            let factor = V::splat(self.polynomial.square_factor(p));
            form = form.plus(factor, quadratic_form(row, &self.squares));
            if self.polynomial.pairs[p].0 == self.polynomial.pairs[p].1 {
                add_multiple(&mut self.trace, V::splat(2.0), row);
            }
        }
        Shares { freedom, form, trace: quadratic_form(&self.trace, &self.squares) }
    }
}

/// What noise of unit variance in one normal direction adds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares<V> {
    /// To the weighted squared residuals: Σw − tr(G⁻¹ ΦᵀW²Φ).
    pub(crate) freedom: V,
    /// To |B|².
    pub(crate) form: V,
    /// To |tr B|².
    pub(crate) trace: V,
}

/// x A xᵀ.
#[inline(always)]
fn quadratic_form<V: Vector>(x: &[V], matrix: &[V]) -> V {
    let mut sum = V::ZERO;
    for (row, factor) in matrix.chunks_exact(x.len()).zip(x) {
        sum = sum.plus(*factor, dot(row, x));
    }
    sum
}
