//! Eight small positive definite systems at once, scaled to a unit diagonal.

use crate::simd::{Vector, add_multiple, dot};

use super::tiles::Tile;

/// A column of the scaled matrix counts as dependent on those before it if at most this share of it is left.
///
/// Exact dependence leaves nothing but rounding errors, which are well below.
const DEPENDENT: f64 = 1e-11;

/// L of D G D = L Lᵀ, where D makes the diagonal 1.
#[derive(Debug)]
pub(crate) struct Cholesky<V> {
    size: usize,
    /// The lower triangle, row after row in full width.
    factor: Vec<V>,
    /// 1 / L_ii.
    inverse_diagonal: Vec<V>,
    /// D.
    scale: Vec<V>,
    /// What is left of a row, and the column of L that is subtracted next.
    column: Vec<V>,
}

impl<V: Vector> Cholesky<V> {
    pub(crate) fn new(size: usize) -> Self {
        Self {
            size,
            factor: vec![V::ZERO; size * size],
            inverse_diagonal: vec![V::ZERO; size],
            scale: vec![V::ZERO; size],
            column: vec![V::ZERO; size],
        }
    }

    /// Factorises G from its lower triangle. Returns 1 for the lanes of full rank, 0 for the others, whose
    /// dependent columns are replaced by independent ones.
    #[inline(always)]
    pub(crate) fn factorise(&mut self, gram: &[V]) -> V {
        let size = self.size;
        let (dependent, mut full_rank) = (V::splat(DEPENDENT), V::ONE);
        for i in 0..size {
            let diagonal = gram[i * size + i];
            let empty = |yes: V, no: V| diagonal.if_at_most(V::splat(f64::MIN_POSITIVE), yes, no);
            self.scale[i] = empty(V::ZERO, empty(V::ONE, diagonal).inverse_sqrt());
            for j in 0..=i {
                self.factor[i * size + j] = gram[i * size + j] * self.scale[i] * self.scale[j];
            }
        }
        // Column after column, each subtracted from all that is left: these sums do not wait for each other.
        for j in 0..size {
            let left = self.factor[j * size + j];
            full_rank = left.if_at_most(dependent, V::ZERO, full_rank);
            let pivot = left.if_at_most(dependent, V::ONE, left);
            let inverse = pivot.inverse_sqrt();
            self.inverse_diagonal[j] = inverse;
            self.factor[j * size + j] = pivot * inverse;
            for i in j + 1..size {
                let entry = self.factor[i * size + j] * inverse;
                self.factor[i * size + j] = entry;
                self.column[i] = entry;
                let row = &mut self.factor[i * size + j + 1..i * size + i + 1];
                add_multiple(row, -entry, &self.column[j + 1..=i]);
            }
        }
        full_rank
    }

    /// Solves G x = b in place for the columns of `right`, size × width.
    #[inline(always)]
    pub(crate) fn solve(&self, right: &mut [V], width: usize) {
        for (row, scale) in right.chunks_exact_mut(width).zip(&self.scale) {
            scale_row(row, *scale);
        }
        self.solve_lower(right, width);
        self.solve_upper(right, width);
    }

    /// An entry of D.
    #[inline(always)]
    pub(crate) fn scale(&self, column: usize) -> V {
        self.scale[column]
    }

    /// x becomes L⁻¹x for the columns of `right`.
    #[inline(always)]
    pub(crate) fn solve_lower(&self, right: &mut [V], width: usize) {
        let size = self.size;
        for i in 0..size {
            let (done, rest) = right.split_at_mut(i * width);
            let row = &mut rest[..width];
            for j in 0..i {
                add_multiple(row, -self.factor[i * size + j], &done[j * width..(j + 1) * width]);
            }
            scale_row(row, self.inverse_diagonal[i]);
        }
    }

    /// x becomes D L⁻ᵀx for the columns of `right`.
    #[inline(always)]
    pub(crate) fn solve_upper(&self, right: &mut [V], width: usize) {
        let size = self.size;
        for i in (0..size).rev() {
            let (rest, done) = right.split_at_mut((i + 1) * width);
            let row = &mut rest[i * width..];
            for j in i + 1..size {
                let other = &done[(j - i - 1) * width..(j - i) * width];
                add_multiple(row, -self.factor[j * size + i], other);
            }
            scale_row(row, self.inverse_diagonal[i]);
        }
        for (row, scale) in right.chunks_exact_mut(width).zip(&self.scale) {
            scale_row(row, *scale);
        }
    }

    /// Each row x of `rows`, of as many columns as G has, becomes L⁻¹Dx: if G = XᵀX, the columns become orthonormal.
    #[inline(always)]
    pub(crate) fn whiten(&self, rows: &mut [Tile<V>]) {
        let size = self.size;
        for rows in rows.chunks_exact_mut(size) {
            for i in 0..size {
                let (done, rest) = rows.split_at_mut(i);
                let mut sum = rest[0];
                scale_row(&mut sum, self.scale[i]);
                for (factor, other) in self.factor[i * size..].iter().zip(done) {
                    add_multiple(&mut sum, -*factor, other);
                }
                scale_row(&mut sum, self.inverse_diagonal[i]);
                rest[0] = sum;
            }
        }
    }
}

#[inline(always)]
fn scale_row<V: Vector>(row: &mut [V], factor: V) {
    for entry in row {
        *entry = *entry * factor;
    }
}

/// Makes the rows of `basis`, m × dim, orthonormal: E with E Eᵀ = L Lᵀ becomes L⁻¹ E. Leaves L⁻¹ in `inverse`, m × m.
/// Returns 0 for lanes whose rows are dependent.
#[inline(always)]
pub(crate) fn orthonormalise<V: Vector>(basis: &mut [V], inverse: &mut [V], dim: usize) -> V {
    let m = basis.len() / dim;
    inverse[..m * m].fill(V::ZERO);
    let mut independent = V::ONE;
    for i in 0..m {
        inverse[i * m + i] = V::ONE;
        let whole = dot(&basis[i * dim..(i + 1) * dim], &basis[i * dim..(i + 1) * dim]);
        // Twice, because once leaves errors where a row is nearly dependent.
        for _ in 0..2 {
            for j in 0..i {
                let (done, rest) = basis.split_at_mut(i * dim);
                let (row, other) = (&mut rest[..dim], &done[j * dim..(j + 1) * dim]);
                let part = -dot(row, other);
                add_multiple(row, part, other);
                for t in 0..=j {
                    inverse[i * m + t] = inverse[i * m + t].plus(part, inverse[j * m + t]);
                }
            }
        }
        let row = &mut basis[i * dim..(i + 1) * dim];
        let left = dot(row, row);
        let limit = (whole * V::splat(1e-20)).max(V::splat(f64::MIN_POSITIVE));
        independent = left.if_at_most(limit, V::ZERO, independent);
        let length = left.if_at_most(limit, V::ONE, left);
        let factor = left.if_at_most(limit, V::ZERO, length.inverse_sqrt());
        scale_row(row, factor);
        scale_row(&mut inverse[i * m..(i + 1) * m], factor);
    }
    independent
}

#[cfg(test)]
mod tests {
    use super::super::tiles::{Part, TILE, products, zeros};
    use super::*;
    use crate::simd::{LANES, Portable};

    /// G = A Aᵀ of a different A in each lane; the last lane is of rank one.
    fn gram(size: usize) -> Vec<Portable> {
        let mut gram = vec![Portable::ZERO; size * size];
        for lane in 0..LANES {
            let a = |i: usize, t: usize| match lane {
                7 => (i + 1) as f64 * f64::from(t == 0),
                _ => ((i * 7 + t * 5 + lane * 3) % 11) as f64 - 4.0 + f64::from(i == t) * 9.0,
            };
            for i in 0..size {
                for j in 0..size {
                    gram[i * size + j].lanes_mut()[lane] =
                        (0..size).map(|t| a(i, t) * a(j, t)).sum();
                }
            }
        }
        gram
    }

    #[test]
    fn solutions_solve_their_systems_and_whitened_rows_make_the_inverse() {
        let size = 5;
        let gram = gram(size);
        let mut solver = Cholesky::new(size);
        let full = solver.factorise(&gram);
        assert_eq!(full.lanes(), &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
        let mut right: Vec<_> = (0..2 * size).map(|i| Portable::splat(i as f64 - 3.0)).collect();
        solver.solve(&mut right, 2);
        // The rows of the unit matrix in two tiles: L⁻¹D. Then D L⁻ᵀ of them: G⁻¹.
        let mut rows = zeros::<Portable>(size, size);
        let place = |i: usize, j: usize| (i / TILE * size + j, i % TILE);
        for i in 0..size {
            let (tile, t) = place(i, i);
            rows[tile][t] = Portable::ONE;
        }
        solver.whiten(&mut rows);
        let mut inverse = vec![Portable::ZERO; size * size];
        for i in 0..size {
            for j in 0..size {
                let (tile, t) = place(j, i);
                inverse[i * size + j] = rows[tile][t];
            }
        }
        let mut product = vec![Portable::ZERO; size * size];
        products(&rows, size, &rows, size, Part::Full, &mut product);
        solver.solve_upper(&mut inverse, size);
        for lane in 0..7 {
            let at = |values: &[Portable], i: usize| values[i].lanes()[lane];
            for i in 0..size {
                for c in 0..2 {
                    let sum: f64 =
                        (0..size).map(|j| at(&gram, i * size + j) * at(&right, j * 2 + c)).sum();
                    assert!((sum - ((i * 2 + c) as f64 - 3.0)).abs() < 1e-11, "{sum}");
                }
                for j in 0..size {
                    let sum: f64 = (0..size)
                        .map(|t| at(&gram, i * size + t) * at(&inverse, t * size + j))
                        .sum();
                    assert!((sum - f64::from(i == j)).abs() < 1e-11, "{sum}");
                }
            }
            // L⁻¹D(L⁻¹D)ᵀ has the trace of G⁻¹.
            let trace =
                |values: &[Portable]| -> f64 { (0..size).map(|i| at(values, i * size + i)).sum() };
            assert!((trace(&product) - trace(&inverse)).abs() < 1e-11 * trace(&inverse));
        }
    }

    #[test]
    fn orthonormal_rows_are_the_inverse_factor_times_the_rows() {
        let (m, dim) = (3, 4);
        let rows: Vec<_> =
            (0..m * dim).map(|i| Portable::splat(((i * i * 7) % 13) as f64 - 5.0)).collect();
        let (mut basis, mut inverse) = (rows.clone(), vec![Portable::ZERO; m * m]);
        let independent = orthonormalise(&mut basis, &mut inverse, dim);
        assert_eq!(independent.lanes(), &[1.0; LANES]);
        for i in 0..m {
            for j in 0..m {
                let inner = dot(&basis[i * dim..][..dim], &basis[j * dim..][..dim]).lanes()[0];
                assert!((inner - f64::from(i == j)).abs() < 1e-14);
            }
            for c in 0..dim {
                let sum: f64 = (0..m)
                    .map(|j| inverse[i * m + j].lanes()[0] * rows[j * dim + c].lanes()[0])
                    .sum();
                assert!((sum - basis[i * dim + c].lanes()[0]).abs() < 1e-14);
            }
        }
        let mut parallel = vec![Portable::ONE; 2 * dim];
        assert_eq!(orthonormalise(&mut parallel, &mut inverse, dim).lanes(), &[0.0; LANES]);
    }
}
