//! The weighted polynomial fit itself, for eight neighbourhoods at once.
//!
//! With Φ the monomials of the rows and Ψ = √W Φ, the normal equations are G = ΨᵀΨ = D⁻¹LLᵀD⁻¹. The whitened design
//! Q = ΨDL⁻ᵀ has orthonormal columns, so that the coefficients of y are β = DL⁻ᵀ Qᵀ√W y and the residuals are
//! √W y − QQᵀ√W y: nothing needs Φ or G again.

use crate::simd::{Vector, add_multiple};

use super::cholesky::Cholesky;
use super::patch::Patch;
use super::polynomial::Polynomial;
use super::tiles::{Part, TILE, Tile, add_combination, products, scaled, total, zeros};

/// The fit of one degree to all patches.
#[derive(Debug)]
pub(crate) struct Design<V> {
    pub(crate) polynomial: Polynomial,
    /// Ψ, then Q: q columns.
    pub(crate) columns: Vec<Tile<V>>,
    gram: Vec<V>,
    pub(crate) solver: Cholesky<V>,
    /// The rows of DL⁻ᵀ for the pairs, as columns: q × pairs.
    to_pairs: Vec<V>,
    /// Q times them, pairs columns: with √W they take y to the coefficients of the pairs.
    pub(crate) pairs: Vec<Tile<V>>,
    /// The coefficients, q × dim.
    pub(crate) beta: Vec<V>,
}

impl<V: Vector> Design<V> {
    pub(crate) fn new(variables: usize, order: usize, dim: usize, rows: usize) -> Self {
        let polynomial = Polynomial::new(variables, order);
        let (q, pairs) = (polynomial.len(), polynomial.pairs.len());
        Self {
            columns: zeros(rows, q),
            gram: vec![V::ZERO; q * q],
            solver: Cholesky::new(q),
            to_pairs: vec![V::ZERO; q * pairs],
            pairs: zeros(rows, pairs),
            beta: vec![V::ZERO; q * dim],
            polynomial,
        }
    }

    /// Sets Ψ and factorises ΨᵀΨ. Returns 1 for lanes of full rank.
    #[inline(always)]
    pub(crate) fn factorise(&mut self, u: &[Tile<V>], roots: &[Tile<V>]) -> V {
        let (m, q) = (self.polynomial.variables, self.polynomial.len());
        let rows = self.columns.chunks_exact_mut(q).zip(u.chunks_exact(m));
        for ((columns, u), roots) in rows.zip(roots) {
            self.polynomial.evaluate_tile(u, roots, columns);
        }
        products(&self.columns, q, &self.columns, q, Part::Lower, &mut self.gram);
        self.solver.factorise(&self.gram)
    }

    /// The coefficients of √W y in `right`, dim columns, by Ψᵀ√W y.
    #[inline(always)]
    pub(crate) fn solve(&mut self, right: &[Tile<V>], dim: usize) {
        let q = self.polynomial.len();
        products(&self.columns, q, right, dim, Part::Full, &mut self.beta);
        self.solver.solve(&mut self.beta, dim);
    }

    /// Ψ becomes Q.
    #[inline(always)]
    pub(crate) fn whiten(&mut self) {
        self.solver.whiten(&mut self.columns);
        let first = self.polynomial.first_pair();
        let count = self.polynomial.pairs.len();
        // The columns of L⁻¹, and D.
        self.to_pairs.fill(V::ZERO);
        for p in 0..count {
            self.to_pairs[(first + p) * count + p] = self.solver.scale(first + p);
        }
        self.solver.solve_lower(&mut self.to_pairs, count);
        self.pairs.fill([V::ZERO; TILE]);
        add_combination(&mut self.pairs, &self.columns, &self.to_pairs, count);
    }

    /// B_p from the coefficients of the pairs, pairs × dim.
    #[inline(always)]
    pub(crate) fn second_derivatives(&self, coefficients: &[V], dim: usize, out: &mut [V]) {
        let rows = coefficients.chunks_exact(dim).zip(out.chunks_exact_mut(dim));
        for (p, (row, out)) in rows.enumerate().take(self.polynomial.pairs.len()) {
            let factor = V::splat(self.polynomial.second_derivative(p));
            for (out, entry) in out.iter_mut().zip(row) {
                *out = *entry * factor;
            }
        }
    }

    /// The [`Shares`]: with noise of unit variance in y, the coefficients have the covariance S Sᵀ, S = DL⁻ᵀQᵀ√W.
    #[inline(always)]
    pub(crate) fn shares(&self, patch: &Patch<V>) -> Shares<V> {
        let (q, count) = (self.polynomial.len(), self.polynomial.pairs.len());
        let mut freedom = [V::ZERO; TILE];
        let mut form = [V::ZERO; TILE];
        let mut trace = [V::ZERO; TILE];
        let rows = self.columns.chunks_exact(q).zip(self.pairs.chunks_exact(count));
        for ((columns, pairs), weights) in rows.zip(&patch.weights) {
            let mut left = [V::ONE; TILE];
            for column in columns {
                for t in 0..TILE {
                    left[t] = left[t].plus(-column[t], column[t]);
                }
            }
            let (mut norm, mut sum) = ([V::ZERO; TILE], [V::ZERO; TILE]);
            for (p, pair) in pairs.iter().enumerate() {
                let factor = V::splat(self.polynomial.square_factor(p));
                add_multiple(&mut norm, factor, &scaled(pair, pair));
                if self.polynomial.pairs[p].0 == self.polynomial.pairs[p].1 {
                    // The coefficient of a square is half of B_aa.
                    add_multiple(&mut sum, V::splat(2.0), pair);
                }
            }
            for t in 0..TILE {
                freedom[t] = freedom[t].plus(weights[t], left[t]);
                form[t] = form[t].plus(weights[t], norm[t]);
                trace[t] = trace[t].plus(weights[t], sum[t] * sum[t]);
            }
        }
        Shares { freedom: total(&freedom), form: total(&form), trace: total(&trace) }
    }
}

/// What noise of unit variance in one normal direction adds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares<V> {
    /// To the weighted squared residuals: Σw − Σw|Q_i|².
    pub(crate) freedom: V,
    /// To |B|².
    pub(crate) form: V,
    /// To |tr B|².
    pub(crate) trace: V,
}
