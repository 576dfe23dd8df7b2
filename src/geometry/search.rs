//! Neighbourhoods found and passed on in batches, so that their lists need not all be in memory at once.

use ndarray::ArrayView2;

use crate::error::{Error, Result};
use crate::matrix::try_zeros;
use crate::neighbors::NeighborIndex;
use crate::points::Points;
use crate::progress::Progress;

/// Neighbours in the lists of a batch.
const NEIGHBORS_PER_BATCH: usize = 1 << 24;

/// Calls `each` for consecutive batches of `centres`: the index of the first centre, the batch, and the k nearest other
/// rows of each of its centres, ascending.
pub(crate) fn for_each_batch(
    points: &Points,
    index: &dyn NeighborIndex,
    centres: &[u32],
    k: usize,
    progress: &Progress,
    mut each: impl FnMut(usize, &[u32], ArrayView2<u32>) -> Result<()>,
) -> Result<()> {
    let most = points.len() - 1;
    if k > most {
        return Err(Error::TooManyNeighbors { k, most });
    }
    let batch = (NEIGHBORS_PER_BATCH / k.max(1)).max(1);
    for (number, rows) in centres.chunks(batch).enumerate() {
        let lists = index.lists(rows, k, progress)?;
        each(number * batch, rows, lists.view())?;
    }
    Ok(())
}

/// The rows `centres` and the k nearest of each of them, ascending.
pub fn rows_near(
    points: &Points,
    index: &dyn NeighborIndex,
    centres: &[u32],
    k: usize,
    progress: &Progress,
) -> Result<Vec<u32>> {
    let count = points.len();
    let mut wanted = try_zeros::<bool>(count)?;
    for &centre in centres {
        wanted[centre as usize] = true;
    }
    if centres.len() < count {
        progress.expect(centres.len());
        for_each_batch(points, index, centres, k, progress, |_, _, lists| {
            for &row in lists {
                wanted[row as usize] = true;
            }
            Ok(())
        })?;
    }
    Ok((0..count as u32).filter(|&row| wanted[row as usize]).collect())
}
