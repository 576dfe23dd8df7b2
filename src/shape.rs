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

use crate::error::Result;
use crate::frame::Frame;
use crate::matrix::{matrix, matrix_mut, try_reserve, try_resize, try_zeros};
use crate::routes::{HadamardSquare, hadamard_square};
use crate::symmetric_eigen::symmetric_eigen;

/// The shape operator S = −II C of one frame, d×d.
///
/// ```
/// use ndarray::array;
/// use shopca_rs::frame::{Degenerate, Frame};
/// use shopca_rs::shape::shape_operator;
///
/// // Along the first axis C = diag(2, 0), P = I and II = I.
/// let line = array![[-1.0, 0.0], [1.0, 0.0]];
/// let s = shape_operator(&Frame::new(line.view(), Degenerate::Average)?)?;
/// assert!((s - array![[-2.0, 0.0], [0.0, 0.0]]).iter().all(|gap| gap.abs() < 1e-15));
/// # Ok::<(), shopca_rs::Error>(())
/// ```
pub fn shape_operator(frame: &Frame) -> Result<Array2<f64>> {
    let dim = frame.dim;
    let mut entries = try_zeros(dim.saturating_mul(dim))?;
    Shaper::new().add_operator(frame, matrix_mut(&mut entries, dim, dim))?;
    Ok(Array2::from_shape_vec((dim, dim), entries).expect("d×d entries"))
}

/// The d eigenvalues of S, ascending: the principal curvatures. All are real and none is positive,
/// because S is similar to −C^½ II C^½.
pub fn principal_curvatures(frame: &Frame) -> Result<Vec<f64>> {
    let mut principal = try_zeros(frame.dim)?;
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
    pub(crate) fn push_left(&mut self, frame: &Frame, rows: &mut Vec<f64>) -> Result<()> {
        self.fill_half(frame)?;
        try_reserve(rows, self.half.len())?;
        for (half, value) in self.half.chunks_exact(frame.dim).zip(&frame.values) {
            rows.extend(half.iter().map(|entry| entry * value));
        }
        Ok(())
    }

    /// operator += S.
    pub(crate) fn add_operator(
        &mut self,
        frame: &Frame,
        mut operator: ArrayViewMut2<f64>,
    ) -> Result<()> {
        let mut left = Vec::new();
        self.push_left(frame, &mut left)?;
        let left = matrix(&left, frame.rank(), frame.dim);
        general_mat_mul(1.0, &left.t(), &frame.directions(), 1.0, &mut operator);
        Ok(())
    }

    /// The spectrum of −½ Λ^½ (I + W A Wᵀ) Λ^½, filled up with zeros.
    pub(crate) fn principal_curvatures(
        &mut self,
        frame: &Frame,
        principal: &mut [f64],
    ) -> Result<()> {
        principal.fill(0.0);
        let rank = frame.rank();
        if rank == 0 {
            return Ok(());
        }
        self.fill_half(frame)?;
        let half = matrix(&self.half, rank, frame.dim);
        let mut entries = try_zeros(rank * rank)?;
        let mut core = matrix_mut(&mut entries, rank, rank);
        general_mat_mul(1.0, &frame.directions(), &half.t(), 0.0, &mut core);
        // Subnormal eigenvalues are scaled to about 1, where LAPACK keeps the digits they have.
        let tiny = frame.values[0] < f64::MIN_POSITIVE;
        let unit = if tiny { f64::MIN_POSITIVE } else { 1.0 };
        let mut roots = try_zeros(rank)?;
        for (root, value) in roots.iter_mut().zip(&frame.values) {
            *root = (value.max(0.0) / unit).sqrt();
        }
        for ((j, l), entry) in core.indexed_iter_mut() {
            *entry *= roots[j] * roots[l];
        }
        for (out, value) in principal.iter_mut().zip(symmetric_eigen(&mut entries, rank)?) {
            // −0.0 and rounding above zero both become 0.
            *out = if value < 0.0 { value * unit } else { 0.0 };
        }
        Ok(())
    }

    /// half = −½ (W + W A), where A sums the contributions of all eigenspaces.
    fn fill_half(&mut self, frame: &Frame) -> Result<()> {
        let (rank, dim) = (frame.rank(), frame.dim);
        self.half.clear();
        try_reserve(&mut self.half, frame.directions.len())?;
        self.half.extend_from_slice(&frame.directions);
        self.add_simple_spaces(frame)?;
        for space in frame.spaces.iter().filter(|space| space.len() > 1) {
            let basis = &frame.directions[space.start * dim..space.end * dim];
            let share = 1.0 / (space.len() + 2) as f64;
            fill_diagonal(&mut self.diagonal, basis, dim);
            self.add_diagonal_product(frame, share);
            self.add_hadamard_square(frame, basis, 2.0 * share)?;
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
            self.add_hadamard_square(frame, &frame.directions, 2.0 * share)?;
        }
        self.half.iter_mut().for_each(|entry| *entry *= -0.5);
        Ok(())
    }

    /// half += W P Pᵀ over the directions whose eigenvalue is simple.
    fn add_simple_spaces(&mut self, frame: &Frame) -> Result<()> {
        let (rank, dim) = (frame.rank(), frame.dim);
        self.squares.clear();
        try_reserve(&mut self.squares, frame.directions.len())?;
        for space in frame.spaces.iter().filter(|space| space.len() == 1) {
            let direction = &frame.directions[space.start * dim..space.end * dim];
            self.squares.extend(direction.iter().map(|entry| entry * entry));
        }
        let simple = self.squares.len() / dim;
        let squares = matrix(&self.squares, simple, dim);
        try_resize(&mut self.products, rank * simple, 0.0)?;
        let mut products = matrix_mut(&mut self.products, rank, simple);
        general_mat_mul(1.0, &frame.directions(), &squares.t(), 0.0, &mut products);
        general_mat_mul(1.0, &products, &squares, 1.0, &mut matrix_mut(&mut self.half, rank, dim));
        Ok(())
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
    /// different ones.
    fn add_hadamard_square(&mut self, frame: &Frame, basis: &[f64], factor: f64) -> Result<()> {
        let (rank, dim) = (frame.rank(), frame.dim);
        let size = basis.len() / dim;
        let mut half = matrix_mut(&mut self.half, rank, dim);
        if hadamard_square(size, rank, dim) == HadamardSquare::Pairs {
            let pairs = size * (size + 1) / 2;
            self.wide.clear();
            try_reserve(&mut self.wide, pairs * dim)?;
            for (j, first) in basis.chunks_exact(dim).enumerate() {
                for (l, second) in basis.chunks_exact(dim).enumerate().skip(j) {
                    let weight = if l == j { 1.0 } else { std::f64::consts::SQRT_2 };
                    self.wide.extend(first.iter().zip(second).map(|(a, b)| weight * a * b));
                }
            }
            let wide = matrix(&self.wide, pairs, dim);
            try_resize(&mut self.products, rank * pairs, 0.0)?;
            let mut products = matrix_mut(&mut self.products, rank, pairs);
            general_mat_mul(factor, &frame.directions(), &wide.t(), 0.0, &mut products);
            general_mat_mul(1.0, &products, &wide, 1.0, &mut half);
        } else {
            let basis = matrix(basis, size, dim);
            try_resize(&mut self.wide, dim.saturating_mul(dim), 0.0)?;
            let mut gram = matrix_mut(&mut self.wide, dim, dim);
            general_mat_mul(1.0, &basis.t(), &basis, 0.0, &mut gram);
            gram.mapv_inplace(|entry| entry * entry);
            general_mat_mul(factor, &frame.directions(), &gram, 1.0, &mut half);
        }
        Ok(())
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
    use crate::frame::{Degenerate, Framer};
    use crate::routes::Eigenproblem;

    #[test]
    fn both_eigenproblems_give_the_same_operator() {
        for (k, dim) in [(2, 2), (3, 7), (6, 6), (9, 4), (13, 36), (50, 60), (70, 45)] {
            let x =
                Array2::from_shape_fn((k, dim), |(i, j)| ((i * 29 + j * 83) as f64 * 0.61).sin());
            let operator = |problem| {
                let mut framer = Framer::with(k, dim, Degenerate::Average, problem).unwrap();
                let rows = x.rows().into_iter().map(|row| row.to_vec());
                shape_operator(framer.frame(rows).unwrap()).unwrap()
            };
            let (gram, covariance) =
                (operator(Eigenproblem::Gram), operator(Eigenproblem::Covariance));
            let norm = |m: &Array2<f64>| m.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
            let gap = norm(&(&gram - &covariance)) / norm(&covariance);
            assert!(gap < 1e-12, "k {k}, d {dim}: {gap}");
        }
    }
}
