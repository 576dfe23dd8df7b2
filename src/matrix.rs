//! Row-major buffers: allocated without aborting, in large pages, viewed as matrices.

use ndarray::{ArrayView2, ArrayViewMut2};
use rayon::prelude::*;

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

/// An allocation this large leaves [`SPARE`] bytes free, or counts as failed.
const LARGE: usize = 1 << 18;

/// What the small allocations of libraries, which would abort the process where they fail, may need. More than 32 MiB,
/// so that glibc does not change its thresholds when such a block is freed.
const SPARE: usize = 40 << 20;

/// Bytes from which on a buffer is kept in large pages: as many as NumPy's arrays need.
const WORTH_LARGE_PAGES: usize = 4 << 20;

/// Fails unless the allocator still has this many bytes, and some to spare.
pub(crate) fn check_room(bytes: usize) -> Result<()> {
    let bytes = bytes.saturating_add(SPARE);
    let mut probe: Vec<u8> = Vec::new();
    let room = probe.try_reserve_exact(bytes);
    std::hint::black_box(&mut probe);
    room.map_err(|_| Error::OutOfMemory { bytes })
}

/// Makes room for `len` more entries; returns an error where the allocator would abort the process.
pub(crate) fn try_reserve<T>(values: &mut Vec<T>, len: usize) -> Result<()> {
    if values.capacity() - values.len() >= len {
        return Ok(());
    }
    let bytes = len.saturating_mul(size_of::<T>());
    // Buffers that grow repeatedly grow in large steps.
    let reserved =
        if values.is_empty() { values.try_reserve_exact(len) } else { values.try_reserve(len) };
    reserved.map_err(|_| Error::OutOfMemory { bytes })?;
    if bytes >= LARGE {
        check_room(0).map_err(|_| Error::OutOfMemory { bytes })?;
    }
    if bytes >= WORTH_LARGE_PAGES {
        ask_for_large_pages(values.spare_capacity_mut());
    }
    Ok(())
}

/// Asks for pages of 2 MiB: the first touch of a buffer took six times as long with pages
/// of 4 KiB. A system without them declines.
#[cfg(target_os = "linux")]
fn ask_for_large_pages<T>(memory: &mut [T]) {
    // SAFETY: a question about a constant of the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Ok(page) = usize::try_from(page) else { return };
    let bytes = memory.as_mut_ptr_range();
    let skipped = bytes.start.addr().next_multiple_of(page) - bytes.start.addr();
    let whole = size_of_val(memory).saturating_sub(skipped) / page * page;
    // SAFETY: whole pages inside the buffer, whose contents the advice does not change.
    unsafe {
        let start = bytes.start.byte_add(skipped);
        libc::madvise(start.cast(), whole, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages<T>(_: &mut [T]) {}

pub(crate) fn try_with_capacity<T>(len: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    try_reserve(&mut values, len)?;
    Ok(values)
}

pub(crate) fn try_filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>> {
    let mut values = try_with_capacity(len)?;
    values.resize(len, value);
    Ok(values)
}

pub(crate) fn try_zeros<T: Clone + Default>(len: usize) -> Result<Vec<T>> {
    try_filled(len, T::default())
}

/// The same, written by all threads: the first touch of a large buffer takes longer than its use.
pub(crate) fn par_zeros<T: Clone + Default + Send>(len: usize) -> Result<Vec<T>> {
    let mut values = try_with_capacity(len)?;
    rayon::iter::repeat_n(T::default(), len).collect_into_vec(&mut values);
    Ok(values)
}

/// Collects the items of an iterator of known length.
pub(crate) fn try_copied<T>(entries: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut values = try_with_capacity(entries.len())?;
    values.extend(entries);
    Ok(values)
}

/// Resizes a buffer to `len` entries; those it has stay.
pub(crate) fn try_resize<T: Clone>(values: &mut Vec<T>, len: usize, value: T) -> Result<()> {
    try_reserve(values, len.saturating_sub(values.len()))?;
    values.resize(len, value);
    Ok(())
}
