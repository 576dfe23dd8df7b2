//! One neighbourhood → its eigenvalues, directions and eigenspaces. The only place that calls LAPACK.
//!
//! The covariance C of k points in d columns has rank r ≤ min(k − 1, d). Its r non-null eigenpairs
//! come from the smaller of two problems with the same non-zero spectrum: the k×k Gram matrix ΔΔᵀ when
//! k ≤ d, the d×d matrix ΔᵀΔ otherwise, both divided by k − 1, where the rows of Δ are the centred points.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, s};
use ndarray_linalg::{EighInplace, UPLO};

use crate::matrix::{matrix, matrix_mut};

/// Eigenvalues closer than this, relative to the largest, count as equal, and as zero if that close to it.
///
/// LAPACK's own error is near 1e-15. Eigenvectors across a gap this small carry fewer than four digits.
pub(crate) const SAME_EIGENVALUE: f64 = 1e-12;

/// What to do where the eigenvectors are not determined by the data: inside an eigenspace of two or
/// more dimensions, of which the null space is the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Degenerate {
    /// Average over all orthonormal bases of the eigenspace: a function of the data alone.
    #[default]
    Average,
    /// Take the basis the eigensolver happens to return, as the paper's algorithm does.
    Lapack,
}

/// The smaller of the two eigenproblems, or one of them by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Route {
    /// The smaller one.
    #[default]
    Smaller,
    /// k×k. Knows nothing of the null space, so `Degenerate::Lapack` cannot use it.
    #[cfg(test)]
    Gram,
    /// d×d.
    #[cfg_attr(not(test), expect(dead_code))]
    Covariance,
}

/// The eigen frame of one neighbourhood's covariance.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    pub(crate) dim: usize,
    /// r eigenvalues, descending.
    pub(crate) values: Vec<f64>,
    /// r unit vectors of d entries, one after the other.
    pub(crate) directions: Vec<f64>,
    /// Where equal eigenvalues begin and end; a cover of 0..r.
    pub(crate) spaces: Vec<Range<usize>>,
}

impl Frame {
    /// The frame of the rows of `neighborhood`.
    pub fn new(neighborhood: ArrayView2<f64>, degenerate: Degenerate) -> Result<Self, String> {
        let (k, dim) = neighborhood.dim();
        let mut framer = Framer::new(k, dim, degenerate);
        framer.frame(neighborhood.rows().into_iter().map(|row| row.to_vec()))?;
        Ok(framer.frame)
    }

    /// The number of columns, d.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of directions, r; the other d − r span the null space.
    pub fn rank(&self) -> usize {
        self.values.len()
    }

    /// The eigenvalues of the covariance that are not zero, descending.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The directions as the rows of an r×d matrix W.
    pub fn directions(&self) -> ArrayView2<'_, f64> {
        ArrayView2::from_shape((self.rank(), self.dim), &self.directions).expect("r rows of d")
    }

    /// Runs of directions that share an eigenvalue.
    pub fn spaces(&self) -> &[Range<usize>] {
        &self.spaces
    }
}

/// A [`Frame`] with the workspace to fill it again and again, one for each worker.
#[derive(Debug)]
pub(crate) struct Framer {
    degenerate: Degenerate,
    route: Route,
    k: usize,
    /// Δ, k×d.
    centred: Vec<f64>,
    mean: Vec<f64>,
    /// The eigenproblem, then its eigenvectors as rows.
    matrix: Vec<f64>,
    pub(crate) frame: Frame,
}

impl Framer {
    pub(crate) fn new(k: usize, dim: usize, degenerate: Degenerate) -> Self {
        Self::with_route(k, dim, degenerate, Route::Smaller)
    }

    pub(crate) fn with_route(k: usize, dim: usize, degenerate: Degenerate, route: Route) -> Self {
        Self {
            degenerate,
            route,
            k,
            centred: vec![0.0; k * dim],
            mean: vec![0.0; dim],
            matrix: Vec::new(),
            frame: Frame { dim, ..Frame::default() },
        }
    }

    /// The frame of the k points that `rows` yields.
    pub(crate) fn frame<R: AsRef<[f64]>>(
        &mut self,
        rows: impl Iterator<Item = R>,
    ) -> Result<&Frame, String> {
        self.centre(rows);
        let gram = match (self.degenerate, self.route) {
            (Degenerate::Lapack, _) | (_, Route::Covariance) => false,
            #[cfg(test)]
            (_, Route::Gram) => true,
            (Degenerate::Average, Route::Smaller) => self.k <= self.frame.dim,
        };
        if gram { self.solve_gram() } else { self.solve_covariance() }?;
        self.find_spaces();
        Ok(&self.frame)
    }

    /// Δ: differences from the first point, then from their mean, so that a common offset costs no digits.
    fn centre<R: AsRef<[f64]>>(&mut self, rows: impl Iterator<Item = R>) {
        let dim = self.frame.dim;
        self.mean.fill(0.0);
        let (first, rest) = self.centred.split_at_mut(dim);
        for (at, row) in rows.enumerate() {
            let row = row.as_ref();
            if at == 0 {
                first.copy_from_slice(row);
                continue;
            }
            let difference = &mut rest[(at - 1) * dim..at * dim];
            for (((out, value), origin), sum) in
                difference.iter_mut().zip(row).zip(first.iter()).zip(&mut self.mean)
            {
                *out = value - origin;
                *sum += *out;
            }
        }
        first.fill(0.0);
        let count = self.k as f64;
        self.mean.iter_mut().for_each(|sum| *sum /= count);
        for row in self.centred.chunks_exact_mut(dim) {
            for (value, mean) in row.iter_mut().zip(&self.mean) {
                *value -= mean;
            }
        }
    }

    /// ΔᵀΔ / (k − 1) = W Λ Wᵀ.
    fn solve_covariance(&mut self) -> Result<(), String> {
        let dim = self.frame.dim;
        self.matrix.resize(dim * dim, 0.0);
        let centred = matrix(&self.centred, self.k, dim);
        let mut covariance = matrix_mut(&mut self.matrix, dim, dim);
        general_mat_mul(1.0 / (self.k - 1) as f64, &centred.t(), &centred, 0.0, &mut covariance);
        let ascending = symmetric_eigen(&mut self.matrix, dim)?;
        let rank = match self.degenerate {
            Degenerate::Lapack => dim,
            Degenerate::Average => rank(&ascending),
        };
        self.frame.values.clear();
        self.frame.values.extend(ascending.iter().rev().take(rank));
        self.frame.directions.clear();
        for vector in self.matrix.chunks_exact(dim).rev().take(rank) {
            self.frame.directions.extend_from_slice(vector);
        }
        Ok(())
    }

    /// ΔΔᵀ / (k − 1) = U Λ Uᵀ, then w = Δᵀu made unit; its length gives λ to full relative precision.
    fn solve_gram(&mut self) -> Result<(), String> {
        let (k, dim) = (self.k, self.frame.dim);
        self.matrix.resize(k * k, 0.0);
        let centred = matrix(&self.centred, k, dim);
        let mut gram = matrix_mut(&mut self.matrix, k, k);
        general_mat_mul(1.0 / (k - 1) as f64, &centred, &centred.t(), 0.0, &mut gram);
        let ascending = symmetric_eigen(&mut self.matrix, k)?;
        // Centring leaves at most k − 1 directions.
        let rank = rank(&ascending).min(k - 1);
        self.matrix.drain(..(k - rank) * k);
        self.frame.directions.resize(rank * dim, 0.0);
        general_mat_mul(
            1.0,
            &matrix(&self.matrix, rank, k).slice(s![..;-1, ..]),
            &centred,
            0.0,
            &mut matrix_mut(&mut self.frame.directions, rank, dim),
        );
        self.frame.values.clear();
        for direction in self.frame.directions.chunks_exact_mut(dim) {
            let square: f64 = direction.iter().map(|value| value * value).sum();
            let length = square.sqrt();
            direction.iter_mut().for_each(|value| *value /= length);
            self.frame.values.push(square / (k - 1) as f64);
        }
        Ok(())
    }

    fn find_spaces(&mut self) {
        let values = &self.frame.values;
        let spaces = &mut self.frame.spaces;
        spaces.clear();
        let apart = match self.degenerate {
            Degenerate::Average => SAME_EIGENVALUE * values.first().copied().unwrap_or(0.0),
            Degenerate::Lapack => f64::NEG_INFINITY,
        };
        let mut start = 0;
        for at in 1..=values.len() {
            if at == values.len() || values[at - 1] - values[at] > apart {
                spaces.push(start..at);
                start = at;
            }
        }
    }
}

/// How many of the ascending eigenvalues are not zero.
fn rank(ascending: &[f64]) -> usize {
    let zero = SAME_EIGENVALUE * ascending.last().copied().unwrap_or(0.0).max(0.0);
    ascending.iter().rev().take_while(|&&value| value > zero).count()
}

/// Solves a symmetric eigenproblem in place: returns the eigenvalues ascending and leaves the
/// eigenvectors in `matrix`, one row each. The one function to change for another solver.
pub(crate) fn symmetric_eigen(values: &mut [f64], size: usize) -> Result<Vec<f64>, String> {
    let mut matrix = matrix_mut(values, size, size);
    match matrix.eigh_inplace(UPLO::Lower) {
        Ok((eigenvalues, _)) => Ok(eigenvalues.to_vec()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    fn framed(points: &Array2<f64>, degenerate: Degenerate, route: Route) -> Frame {
        let (k, dim) = points.dim();
        let mut framer = Framer::with_route(k, dim, degenerate, route);
        framer.frame(points.rows().into_iter().map(|row| row.to_vec())).unwrap();
        framer.frame
    }

    #[test]
    fn eigenvectors_are_the_rows_left_in_the_matrix() {
        let mut values = vec![2.0, 1.0, 1.0, 2.0];
        assert_eq!(symmetric_eigen(&mut values, 2).unwrap().len(), 2);
        let half = 0.5_f64.sqrt();
        assert!((values[0] * values[1] + 0.5).abs() < 1e-15, "first row is (1, −1)/√2: {values:?}");
        assert!((values[2].abs() - half).abs() < 1e-15 && (values[2] - values[3]).abs() < 1e-15);
    }

    #[test]
    fn both_eigenproblems_give_the_same_projector() {
        let points = array![[0.0, 1.0, 4.0, 2.0], [3.0, 1.0, 0.0, 1.0], [2.0, 5.0, 1.0, 0.5]];
        for route in [Route::Gram, Route::Covariance] {
            let frame = framed(&points, Degenerate::Average, route);
            assert_eq!(frame.rank(), 2);
            let w = frame.directions();
            let identity = w.dot(&w.t());
            assert!((identity - Array2::<f64>::eye(2)).iter().all(|gap| gap.abs() < 1e-14));
        }
        let [a, b] = [Route::Gram, Route::Covariance].map(|route| {
            let frame = framed(&points, Degenerate::Average, route);
            frame.directions().t().dot(&frame.directions())
        });
        assert!((a - b).iter().all(|gap| gap.abs() < 1e-14));
    }

    #[test]
    fn equal_points_have_no_direction() {
        let frame = framed(&Array2::ones((5, 3)), Degenerate::Average, Route::Smaller);
        assert_eq!(frame.rank(), 0);
        assert!(frame.spaces().is_empty());
    }

    #[test]
    fn equal_eigenvalues_form_one_space() {
        let square = array![[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]];
        let frame = framed(&square, Degenerate::Average, Route::Smaller);
        assert_eq!(frame.spaces(), std::slice::from_ref(&(0..2)));
        assert_eq!(framed(&square, Degenerate::Lapack, Route::Smaller).spaces().len(), 3);
    }

    #[test]
    fn a_common_offset_costs_no_digits() {
        let near = array![[0.0, 1.0], [0.25, 0.5], [2.0, 0.125], [1.5, 3.0]];
        let a = framed(&near, Degenerate::Average, Route::Smaller);
        let b = framed(&(&near + 1e9), Degenerate::Average, Route::Smaller);
        assert_eq!(a.values(), b.values());
    }
}
