//! One neighbourhood → its eigenvalues, directions and eigenspaces.
//!
//! The covariance C of k points in d columns has rank r ≤ min(k − 1, d). Its r non-null eigenpairs
//! come from the smaller of two problems with the same non-zero spectrum: the k×k Gram matrix ΔΔᵀ when
//! k ≤ d, the d×d matrix ΔᵀΔ otherwise, both divided by k − 1, where the rows of Δ are the centred points.
//!
//! A neighbourhood whose differences have extreme squares is first scaled by a power of two to about 1.

use std::ops::{Range, RangeInclusive};

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, s};

use crate::eigenspaces::{for_each_space, rank};
use crate::error::{Error, Result};
use crate::matrix::{matrix, matrix_mut, try_reserve, try_resize, try_zeros};
use crate::points::Points;
use crate::routes::{self, Eigenproblem};
use crate::scaling::{exponent, power_of_two};
use crate::symmetric_eigen::symmetric_eigen;

pub use crate::eigenspaces::Degenerate;

/// Binary exponents of a neighbourhood's largest difference at which its squares keep all their digits.
const ORDINARY_EXPONENTS: RangeInclusive<i32> = -300..=400;

/// The eigen frame of one neighbourhood's covariance.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    pub(crate) dim: usize,
    /// r eigenvalues, descending.
    pub(crate) values: Vec<f64>,
    /// r unit vectors of d entries, one after the other.
    pub(crate) directions: Vec<f64>,
    /// Runs of equal eigenvalues, which together cover 0..r.
    pub(crate) spaces: Vec<Range<usize>>,
}

impl Frame {
    /// The frame of the rows of `neighborhood`.
    pub fn new(neighborhood: ArrayView2<f64>, degenerate: Degenerate) -> Result<Self> {
        let points = Points::part(neighborhood)?;
        if points.len() < 2 {
            return Err(Error::TooFewNeighbors { k: points.len() });
        }
        let mut framer = Framer::new(points.len(), points.dim(), degenerate)?;
        framer.frame(points.as_slice().chunks_exact(points.dim()))?;
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

/// A [`Frame`] with the workspace to fill it repeatedly, one for each worker.
#[derive(Debug)]
pub(crate) struct Framer {
    degenerate: Degenerate,
    eigenproblem: Eigenproblem,
    k: usize,
    /// Δ, k×d.
    centred: Vec<f64>,
    mean: Vec<f64>,
    /// The eigenproblem, then its eigenvectors as rows.
    matrix: Vec<f64>,
    pub(crate) frame: Frame,
}

impl Framer {
    pub(crate) fn new(k: usize, dim: usize, degenerate: Degenerate) -> Result<Self> {
        Self::with(k, dim, degenerate, routes::eigenproblem(k, dim, degenerate))
    }

    pub(crate) fn with(
        k: usize,
        dim: usize,
        degenerate: Degenerate,
        eigenproblem: Eigenproblem,
    ) -> Result<Self> {
        Ok(Self {
            degenerate,
            eigenproblem,
            k,
            centred: try_zeros(k.saturating_mul(dim))?,
            mean: try_zeros(dim)?,
            matrix: Vec::new(),
            frame: Frame { dim, ..Frame::default() },
        })
    }

    /// The frame of the k points that `rows` yields.
    pub(crate) fn frame<R: AsRef<[f64]>>(
        &mut self,
        rows: impl Iterator<Item = R>,
    ) -> Result<&Frame> {
        self.centre(rows);
        let shift = self.scale();
        match self.eigenproblem {
            Eigenproblem::Gram => self.solve_gram(),
            Eigenproblem::Covariance => self.solve_covariance(),
        }?;
        self.find_spaces();
        // Twice, because the square of the factor may not fit a double.
        for _ in 0..if shift == 0 { 0 } else { 2 } {
            let factor = power_of_two(-shift);
            self.frame.values.iter_mut().for_each(|value| *value *= factor);
        }
        Ok(&self.frame)
    }

    /// Multiplies Δ by 2ˢ so that its squares keep their digits; returns s.
    fn scale(&mut self) -> i32 {
        let largest = self.centred.iter().fold(0.0_f64, |most, entry| most.max(entry.abs()));
        let size = exponent(largest);
        if largest == 0.0 || ORDINARY_EXPONENTS.contains(&size) {
            return 0;
        }
        let factor = power_of_two(-size);
        self.centred.iter_mut().for_each(|entry| *entry *= factor);
        -size
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
    fn solve_covariance(&mut self) -> Result<()> {
        let dim = self.frame.dim;
        try_resize(&mut self.matrix, dim.saturating_mul(dim), 0.0)?;
        let centred = matrix(&self.centred, self.k, dim);
        let mut covariance = matrix_mut(&mut self.matrix, dim, dim);
        general_mat_mul(1.0 / (self.k - 1) as f64, &centred.t(), &centred, 0.0, &mut covariance);
        let ascending = symmetric_eigen(&mut self.matrix, dim)?;
        let rank = match self.degenerate {
            Degenerate::Lapack => dim,
            Degenerate::Average => rank(dim, |at| ascending[dim - 1 - at]),
        };
        self.frame.values.clear();
        self.frame.values.extend(ascending.iter().rev().take(rank));
        self.frame.directions.clear();
        try_reserve(&mut self.frame.directions, rank * dim)?;
        for vector in self.matrix.chunks_exact(dim).rev().take(rank) {
            self.frame.directions.extend_from_slice(vector);
        }
        Ok(())
    }

    /// ΔΔᵀ / (k − 1) = U Λ Uᵀ, then w = Δᵀu, normalised; its length gives λ to full relative precision.
    fn solve_gram(&mut self) -> Result<()> {
        let (k, dim) = (self.k, self.frame.dim);
        try_resize(&mut self.matrix, k * k, 0.0)?;
        let centred = matrix(&self.centred, k, dim);
        let mut gram = matrix_mut(&mut self.matrix, k, k);
        general_mat_mul(1.0 / (k - 1) as f64, &centred, &centred.t(), 0.0, &mut gram);
        let ascending = symmetric_eigen(&mut self.matrix, k)?;
        // Centring leaves at most k − 1 directions.
        let rank = rank(k - 1, |at| ascending[k - 1 - at]);
        self.matrix.drain(..(k - rank) * k);
        try_resize(&mut self.frame.directions, rank * dim, 0.0)?;
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
        let (values, spaces) = (&self.frame.values, &mut self.frame.spaces);
        spaces.clear();
        match self.degenerate {
            Degenerate::Average => {
                for_each_space(values.len(), |at| values[at], |space| spaces.push(space));
            }
            Degenerate::Lapack => spaces.extend((0..values.len()).map(|at| at..at + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    fn framed(points: &Array2<f64>, degenerate: Degenerate, problem: Eigenproblem) -> Frame {
        let (k, dim) = points.dim();
        let mut framer = Framer::with(k, dim, degenerate, problem).unwrap();
        framer.frame(points.rows().into_iter().map(|row| row.to_vec())).unwrap();
        framer.frame
    }

    #[test]
    fn both_eigenproblems_give_the_same_projector() {
        let points = array![[0.0, 1.0, 4.0, 2.0], [3.0, 1.0, 0.0, 1.0], [2.0, 5.0, 1.0, 0.5]];
        for problem in [Eigenproblem::Gram, Eigenproblem::Covariance] {
            let frame = framed(&points, Degenerate::Average, problem);
            assert_eq!(frame.rank(), 2);
            let w = frame.directions();
            let identity = w.dot(&w.t());
            assert!((identity - Array2::<f64>::eye(2)).iter().all(|gap| gap.abs() < 1e-14));
        }
        let [a, b] = [Eigenproblem::Gram, Eigenproblem::Covariance].map(|problem| {
            let frame = framed(&points, Degenerate::Average, problem);
            frame.directions().t().dot(&frame.directions())
        });
        assert!((a - b).iter().all(|gap| gap.abs() < 1e-14));
    }

    #[test]
    fn equal_points_have_no_direction() {
        let frame = framed(&Array2::ones((5, 3)), Degenerate::Average, Eigenproblem::Covariance);
        assert_eq!(frame.rank(), 0);
        assert!(frame.spaces().is_empty());
    }

    #[test]
    fn equal_eigenvalues_form_one_space() {
        let square = array![[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]];
        let frame = framed(&square, Degenerate::Average, Eigenproblem::Covariance);
        assert_eq!(frame.spaces(), std::slice::from_ref(&(0..2)));
        assert_eq!(framed(&square, Degenerate::Lapack, Eigenproblem::Covariance).spaces().len(), 3);
    }

    #[test]
    fn a_common_offset_costs_no_digits() {
        let near = array![[0.0, 1.0], [0.25, 0.5], [2.0, 0.125], [1.5, 3.0]];
        let a = framed(&near, Degenerate::Average, Eigenproblem::Covariance);
        let b = framed(&(&near + 1e9), Degenerate::Average, Eigenproblem::Covariance);
        assert_eq!(a.values(), b.values());
    }

    #[test]
    fn the_frame_of_tiny_and_of_huge_points_is_that_of_the_same_points_scaled() {
        let points = array![[0.0, 1.0, 4.0, 2.0], [3.0, 1.0, 0.0, 1.0], [2.0, 5.0, 1.0, 0.5]];
        for problem in [Eigenproblem::Gram, Eigenproblem::Covariance] {
            let plain = framed(&points, Degenerate::Average, problem);
            for power in [-1000, -600, -480, 450, 508] {
                let scaled = framed(&(&points * power_of_two(power)), Degenerate::Average, problem);
                assert_eq!(scaled.directions(), plain.directions(), "2^{power}");
                assert_eq!(scaled.spaces(), plain.spaces());
                let expected = plain
                    .values()
                    .iter()
                    .map(|value| value * power_of_two(power) * power_of_two(power));
                assert!(scaled.values().iter().copied().eq(expected));
            }
        }
    }

    #[test]
    fn a_frame_of_one_point_or_of_none_at_all_is_refused() {
        let one = Frame::new(array![[1.0, 2.0]].view(), Degenerate::Average);
        assert_eq!(one.unwrap_err(), Error::TooFewNeighbors { k: 1 });
        let not_finite = Frame::new(array![[1.0], [f64::NAN]].view(), Degenerate::Average);
        assert!(matches!(not_finite.unwrap_err(), Error::NotFinite { row: 1, column: 0, .. }));
    }
}
