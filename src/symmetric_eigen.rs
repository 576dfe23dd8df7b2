//! The eigensolver for one symmetric matrix: LAPACK's dsyev, or faer's. Nothing else names either library.

use crate::error::{Error, Result};

#[cfg(any(
    all(feature = "netlib", feature = "openblas"),
    all(feature = "netlib", feature = "faer"),
    all(feature = "openblas", feature = "faer"),
    not(any(feature = "netlib", feature = "openblas", feature = "faer"))
))]
compile_error!(
    "exactly one of the features \"netlib\" (the default), \"openblas\" and \"faer\" must be on: \
     use --no-default-features --features faer, for example"
);

/// Entries below this share of the largest one are taken for zero.
const NEGLIGIBLE: f64 = 1e-60;

/// Solves a symmetric eigenproblem in place: returns the eigenvalues ascending and leaves the
/// eigenvectors in `matrix`, one row each.
///
/// It cannot be interrupted: LAPACK takes some two seconds for a matrix of 1000 rows and some twenty for one of 2000.
pub(crate) fn symmetric_eigen(matrix: &mut [f64], size: usize) -> Result<Vec<f64>> {
    // Far below the rounding errors of the largest, yet LAPACK's iteration may not converge with them.
    let largest = matrix.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let negligible = NEGLIGIBLE * largest;
    matrix.iter_mut().filter(|value| value.abs() < negligible).for_each(|value| *value = 0.0);
    solve(matrix, size)
}

#[cfg(not(feature = "faer"))]
fn solve(matrix: &mut [f64], size: usize) -> Result<Vec<f64>> {
    use ndarray_linalg::{EighInplace, UPLO};

    let mut matrix = crate::matrix::matrix_mut(matrix, size, size);
    match matrix.eigh_inplace(UPLO::Lower) {
        Ok((eigenvalues, _)) => Ok(eigenvalues.to_vec()),
        Err(error) => Err(Error::NoFrame { reason: error.to_string() }),
    }
}

/// On one thread: the callers are parallel already.
#[cfg(feature = "faer")]
fn solve(matrix: &mut [f64], size: usize) -> Result<Vec<f64>> {
    use crate::matrix::{try_copied, try_zeros};
    use crate::scaling::{exponent, power_of_two};
    use faer::diag::DiagMut;
    use faer::dyn_stack::{MemBuffer, MemStack};
    use faer::linalg::evd::{
        ComputeEigenvectors, EvdError, self_adjoint_evd, self_adjoint_evd_scratch,
    };
    use faer::{MatMut, MatRef, Par};

    // LAPACK does the same inside: norms near 1, by a power of two that rounds nothing.
    let largest = matrix.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let unit = exponent(largest).clamp(-1022, 1022);
    let scaled = try_copied(matrix.iter().map(|value| value * power_of_two(-unit)))?;
    let mut eigenvalues = try_zeros(size)?;
    let need = self_adjoint_evd_scratch::<f64>(
        size,
        ComputeEigenvectors::Yes,
        Par::Seq,
        Default::default(),
    );
    let bytes = need.unaligned_bytes_required();
    let mut scratch = MemBuffer::try_new(need).map_err(|_| Error::OutOfMemory { bytes })?;
    self_adjoint_evd(
        MatRef::from_row_major_slice(&scaled, size, size),
        DiagMut::from_slice_mut(&mut eigenvalues),
        // The columns of this column-major matrix are the rows of `matrix`.
        Some(MatMut::from_column_major_slice_mut(matrix, size, size)),
        Par::Seq,
        MemStack::new(&mut scratch),
        Default::default(),
    )
    .map_err(|EvdError::NoConvergence| Error::no_convergence())?;
    eigenvalues.iter_mut().for_each(|value| *value *= power_of_two(unit));
    Ok(eigenvalues)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A V = V Λ and V Vᵀ = I to rounding errors, ascending.
    fn check(size: usize, entry: impl Fn(usize, usize) -> f64) {
        let a: Vec<f64> = (0..size * size)
            .map(|at| entry((at / size).min(at % size), (at / size).max(at % size)))
            .collect();
        let mut vectors = a.clone();
        let values = symmetric_eigen(&mut vectors, size).unwrap();
        assert!(values.windows(2).all(|pair| pair[0] <= pair[1]), "{values:?}");
        let norm = a.iter().fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let bound = 4e-15 * (size as f64 + 4.0);
        for i in 0..size {
            for j in 0..size {
                let (own, other) = (&vectors[i * size..][..size], &vectors[j * size..][..size]);
                let inner: f64 = own.iter().zip(other).map(|(a, b)| a * b).sum();
                assert!((inner - f64::from(i == j)).abs() < bound, "size {size}: {inner}");
                let image: f64 = a[j * size..][..size].iter().zip(own).map(|(a, v)| a * v).sum();
                assert!((image - values[i] * own[j]).abs() < bound * norm, "size {size}: {image}");
            }
        }
    }

    #[test]
    fn matrices_of_all_sizes_and_scales_are_diagonalised() {
        for size in [1, 2, 3, 5, 13, 40, 130] {
            let wave = |i: usize, j: usize| ((i * 37 + j * 101) as f64 * 0.7).sin();
            check(size, wave);
            check(size, |i, j| 1e-290 * wave(i, j));
            check(size, |i, j| 1e290 * wave(i, j));
            check(size, |_, _| 0.0);
            check(size, |_, _| 1.0);
            check(size, |i, j| f64::from(i == j));
            check(size, |i, j| wave(i, j) * 0.1_f64.powi((i + j).min(200) as i32));
        }
    }

    #[test]
    fn eigenvectors_are_the_rows_left_in_the_matrix() {
        let mut values = vec![2.0, 1.0, 1.0, 2.0];
        assert_eq!(symmetric_eigen(&mut values, 2).unwrap().len(), 2);
        let half = 0.5_f64.sqrt();
        assert!((values[0] * values[1] + 0.5).abs() < 1e-15, "first row is (1, −1)/√2: {values:?}");
        assert!((values[2].abs() - half).abs() < 1e-15 && (values[2] - values[3]).abs() < 1e-15);
    }
}
