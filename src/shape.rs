//! One frame → its shape operator and curvatures.
//!
//! With W the orthogonal frame of C and P = W∘W, the paper's second form HHᵀ over all products of
//! columns is exactly
//!
//! ```text
//! II = ½ (I + A),   A = P Pᵀ,   S = −II C
//! ```
//!
//! Inside an eigenspace of dimension q the columns of W are arbitrary. Averaged over all its
//! orthonormal bases, with N its orthogonal projector and n = diag(N), it contributes to A
//!
//! ```text
//! (n nᵀ + 2 N∘N) / (q + 2)          (q = 1 gives back (w∘w)(w∘w)ᵀ)
//! ```
//!
//! S has the range of C on its right, so with the r directions as the rows of W only A applied to
//! them is needed: S = Yᵀ W with the rows of Y = −½ Λ (W + W A). For the null space N = I − G, G = WᵀW, and
//! with g = diag(G), N∘N = diag(1 − 2g) + G∘G: no basis of it is ever formed.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayViewMut2};

use crate::frame::{Frame, symmetric_eigen};
use crate::matrix::{matrix, matrix_mut};

/// The shape operator S = −II C of one frame, d×d.
///
/// ```
/// use ndarray::array;
/// use shopca_rs::frame::{Degenerate, Frame};
/// use shopca_rs::shape::shape_operator;
///
/// // Along the first axis C = diag(2, 0), P = I and II = I.
/// let line = array![[-1.0, 0.0], [1.0, 0.0]];
/// let s = shape_operator(&Frame::new(line.view(), Degenerate::Average).unwrap());
/// assert!((s - array![[-2.0, 0.0], [0.0, 0.0]]).iter().all(|gap| gap.abs() < 1e-15));
/// ```
pub fn shape_operator(frame: &Frame) -> Array2<f64> {
    let mut operator = Array2::zeros((frame.dim, frame.dim));
    Shaper::new().add_operator(frame, operator.view_mut());
    operator
}

/// The d eigenvalues of S, ascending: the principal curvatures. All are real and none is positive,
/// because S is similar to −C^½ II C^½.
pub fn principal_curvatures(frame: &Frame) -> Result<Vec<f64>, String> {
    let mut principal = vec![0.0; frame.dim];
    Shaper::new().principal_curvatures(frame, &mut principal)?;
    Ok(principal)
}

/// The workspace for shape operators, one for each worker.
#[derive(Debug, Default)]
pub(crate) struct Shaper {
    /// −½ (W + W A), r×d.
    half: Vec<f64>,
    /// Squared directions of the one-dimensional eigenspaces.
    squares: Vec<f64>,
    /// diag(N) of an eigenspace.
    diagonal: Vec<f64>,
    products: Vec<f64>,
    wide: Vec<f64>,
}

impl Shaper {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Appends the r rows of Y = −½ Λ (W + W A) to `rows`, so that S = Yᵀ W.
    pub(crate) fn push_left(&mut self, frame: &Frame, rows: &mut Vec<f64>) {
        self.fill_half(frame);
        for (half, value) in self.half.chunks_exact(frame.dim).zip(&frame.values) {
            rows.extend(half.iter().map(|entry| entry * value));
        }
    }

    /// operator += S.
    pub(crate) fn add_operator(&mut self, frame: &Frame, mut operator: ArrayViewMut2<f64>) {
        let mut left = Vec::with_capacity(frame.rank() * frame.dim);
        self.push_left(frame, &mut left);
        let left = matrix(&left, frame.rank(), frame.dim);
        general_mat_mul(1.0, &left.t(), &frame.directions(), 1.0, &mut operator);
    }

    /// The spectrum of −½ Λ^½ (I + W A Wᵀ) Λ^½, filled up with zeros.
    pub(crate) fn principal_curvatures(
        &mut self,
        frame: &Frame,
        principal: &mut [f64],
    ) -> Result<(), String> {
        principal.fill(0.0);
        let rank = frame.rank();
        if rank == 0 {
            return Ok(());
        }
        self.fill_half(frame);
        let half = matrix(&self.half, rank, frame.dim);
        let mut core = frame.directions().dot(&half.t());
        let roots: Vec<f64> = frame.values.iter().map(|value| value.max(0.0).sqrt()).collect();
        for ((j, l), entry) in core.indexed_iter_mut() {
            *entry *= roots[j] * roots[l];
        }
        let entries = core.as_slice_mut().expect("a product is row-major");
        for (out, value) in principal.iter_mut().zip(symmetric_eigen(entries, rank)?) {
            // −0.0 and rounding above zero both become 0.
            *out = if value < 0.0 { value } else { 0.0 };
        }
        Ok(())
    }

    /// half = −½ (W + W A), where A sums the contributions of all eigenspaces.
    fn fill_half(&mut self, frame: &Frame) {
        let (rank, dim) = (frame.rank(), frame.dim);
        self.half.clear();
        self.half.extend_from_slice(&frame.directions);
        self.add_simple_spaces(frame);
        for space in frame.spaces.iter().filter(|space| space.len() > 1) {
            let basis = &frame.directions[space.start * dim..space.end * dim];
            let share = 1.0 / (space.len() + 2) as f64;
            fill_diagonal(&mut self.diagonal, basis, dim);
            self.add_diagonal_product(frame, share);
            self.add_hadamard_square(frame, basis, 2.0 * share);
        }
        if rank < dim {
            let share = 1.0 / (dim - rank + 2) as f64;
            fill_diagonal(&mut self.diagonal, &frame.directions, dim);
            self.diagonal.iter_mut().for_each(|entry| *entry = 1.0 - *entry);
            self.add_diagonal_product(frame, share);
            // 1 − 2g = 2n − 1.
            for (half, w) in self.half.chunks_exact_mut(dim).zip(frame.directions.chunks_exact(dim))
            {
                for ((out, w), n) in half.iter_mut().zip(w).zip(&self.diagonal) {
                    *out += 2.0 * share * (2.0 * n - 1.0) * w;
                }
            }
            self.add_hadamard_square(frame, &frame.directions, 2.0 * share);
        }
        self.half.iter_mut().for_each(|entry| *entry *= -0.5);
    }

    /// half += W P Pᵀ over the directions that are alone with their eigenvalue.
    fn add_simple_spaces(&mut self, frame: &Frame) {
        let (rank, dim) = (frame.rank(), frame.dim);
        self.squares.clear();
        for space in frame.spaces.iter().filter(|space| space.len() == 1) {
            let direction = &frame.directions[space.start * dim..space.end * dim];
            self.squares.extend(direction.iter().map(|entry| entry * entry));
        }
        let simple = self.squares.len() / dim;
        let squares = matrix(&self.squares, simple, dim);
        self.products.resize(rank * simple, 0.0);
        let mut products = matrix_mut(&mut self.products, rank, simple);
        general_mat_mul(1.0, &frame.directions(), &squares.t(), 0.0, &mut products);
        general_mat_mul(1.0, &products, &squares, 1.0, &mut matrix_mut(&mut self.half, rank, dim));
    }

    /// half += share · (W n) nᵀ with n the current diagonal.
    fn add_diagonal_product(&mut self, frame: &Frame, share: f64) {
        let dim = frame.dim;
        for (half, w) in self.half.chunks_exact_mut(dim).zip(frame.directions.chunks_exact(dim)) {
            let inner: f64 = w.iter().zip(&self.diagonal).map(|(w, n)| w * n).sum();
            for (out, n) in half.iter_mut().zip(&self.diagonal) {
                *out += share * inner * n;
            }
        }
    }

    /// half += factor · W (G∘G) with G = BᵀB over the b rows of `basis`.
    ///
    /// G∘G = KᵀK where the rows of K are the b(b + 1)/2 products of two rows of B, times √2 for two
    /// different ones; K is the smaller factor once d exceeds about b²/2.
    fn add_hadamard_square(&mut self, frame: &Frame, basis: &[f64], factor: f64) {
        let (rank, dim) = (frame.rank(), frame.dim);
        let size = basis.len() / dim;
        let mut half = matrix_mut(&mut self.half, rank, dim);
        let pairs = size * (size + 1) / 2;
        if 2 * pairs * rank < dim * (size + rank) {
            self.wide.clear();
            for (j, first) in basis.chunks_exact(dim).enumerate() {
                for (l, second) in basis.chunks_exact(dim).enumerate().skip(j) {
                    let weight = if l == j { 1.0 } else { std::f64::consts::SQRT_2 };
                    self.wide.extend(first.iter().zip(second).map(|(a, b)| weight * a * b));
                }
            }
            let wide = matrix(&self.wide, pairs, dim);
            self.products.resize(rank * pairs, 0.0);
            let mut products = matrix_mut(&mut self.products, rank, pairs);
            general_mat_mul(factor, &frame.directions(), &wide.t(), 0.0, &mut products);
            general_mat_mul(1.0, &products, &wide, 1.0, &mut half);
        } else {
            let basis = matrix(basis, size, dim);
            self.wide.resize(dim * dim, 0.0);
            let mut gram = matrix_mut(&mut self.wide, dim, dim);
            general_mat_mul(1.0, &basis.t(), &basis, 0.0, &mut gram);
            gram.mapv_inplace(|entry| entry * entry);
            general_mat_mul(factor, &frame.directions(), &gram, 1.0, &mut half);
        }
    }
}

/// diag(BᵀB): the column sums of the squared rows of `basis`.
fn fill_diagonal(diagonal: &mut Vec<f64>, basis: &[f64], dim: usize) {
    diagonal.clear();
    diagonal.resize(dim, 0.0);
    for row in basis.chunks_exact(dim) {
        for (sum, entry) in diagonal.iter_mut().zip(row) {
            *sum += entry * entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Degenerate, Framer, Route};

    #[test]
    fn both_eigenproblems_give_the_same_operator() {
        for (k, dim) in [(2, 2), (3, 7), (6, 6), (9, 4), (13, 36), (50, 60), (70, 45)] {
            let x =
                Array2::from_shape_fn((k, dim), |(i, j)| ((i * 29 + j * 83) as f64 * 0.61).sin());
            let operator = |route| {
                let mut framer = Framer::with_route(k, dim, Degenerate::Average, route);
                let rows = x.rows().into_iter().map(|row| row.to_vec());
                shape_operator(framer.frame(rows).unwrap())
            };
            let (gram, covariance) = (operator(Route::Gram), operator(Route::Covariance));
            let norm = |m: &Array2<f64>| m.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
            let gap = norm(&(&gram - &covariance)) / norm(&covariance);
            assert!(gap < 1e-12, "k {k}, d {dim}: {gap}");
        }
    }
}
