//! Row-major buffers: made without aborting, seen as matrices.

use ndarray::{ArrayView2, ArrayViewMut2};

use crate::error::{Error, Result};

const MISFIT: &str = "the buffer has rows × columns entries";

pub(crate) fn matrix(values: &[f64], rows: usize, columns: usize) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((rows, columns), values).expect(MISFIT)
}

pub(crate) fn matrix_mut(
    values: &mut [f64],
    rows: usize,
    columns: usize,
) -> ArrayViewMut2<'_, f64> {
    ArrayViewMut2::from_shape((rows, columns), values).expect(MISFIT)
}

/// A buffer of `len` zeros, or a sentence where the allocator would abort the process.
pub(crate) fn try_zeros<T: Clone + Default>(len: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values
        .try_reserve_exact(len)
        .map_err(|_| Error::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) })?;
    values.resize(len, T::default());
    Ok(values)
}
