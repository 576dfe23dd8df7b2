//! Some frames → the shape operator or the curvatures of each.

use ndarray::{Array2, Array3, ArrayView2};
use rayon::prelude::*;

use crate::error::Result;
use crate::frame::{Degenerate, Frame, Framer};
use crate::matrix::{matrix_mut, try_zeros};
use crate::neighbors::check_neighborhoods;
use crate::points::Points;
use crate::progress::Progress;
use crate::shape::Shaper;

/// The shape operators of the neighbourhoods in `neighbors`, each d×d.
pub fn shape_operators(
    points: &Points,
    neighbors: ArrayView2<u32>,
    degenerate: Degenerate,
    progress: &Progress,
) -> Result<Array3<f64>> {
    let (count, dim) = (neighbors.nrows(), points.dim());
    let mut entries = try_zeros(count.saturating_mul(dim).saturating_mul(dim))?;
    for_each_frame(points, neighbors, degenerate, progress, &mut entries, |shaper, frame, out| {
        shaper.add_operator(frame, matrix_mut(out, dim, dim))
    })?;
    Ok(Array3::from_shape_vec((count, dim, dim), entries).expect("d×d entries for each"))
}

/// The principal curvatures of the neighbourhoods in `neighbors`: d eigenvalues each, ascending.
pub fn principal_curvatures(
    points: &Points,
    neighbors: ArrayView2<u32>,
    degenerate: Degenerate,
    progress: &Progress,
) -> Result<Array2<f64>> {
    let (count, dim) = (neighbors.nrows(), points.dim());
    let mut entries = try_zeros(count.saturating_mul(dim))?;
    for_each_frame(
        points,
        neighbors,
        degenerate,
        progress,
        &mut entries,
        Shaper::principal_curvatures,
    )?;
    Ok(Array2::from_shape_vec((count, dim), entries).expect("d entries for each"))
}

/// Calls `write` for every neighbourhood with its frame and its equal share of `entries`.
fn for_each_frame<F>(
    points: &Points,
    neighbors: ArrayView2<u32>,
    degenerate: Degenerate,
    progress: &Progress,
    entries: &mut [f64],
    write: F,
) -> Result<()>
where
    F: Fn(&mut Shaper, &Frame, &mut [f64]) -> Result<()> + Sync,
{
    check_neighborhoods(points, neighbors)?;
    let (count, k) = neighbors.dim();
    if count == 0 {
        return Ok(());
    }
    let share = entries.len() / count;
    entries.par_chunks_exact_mut(share).enumerate().try_for_each_init(
        || (Framer::new(k, points.dim(), degenerate), Shaper::new()),
        |(framer, shaper), (row, out)| {
            let framer = framer.as_mut().map_err(|error| error.clone())?;
            let neighborhood = neighbors.row(row).into_iter().map(|&j| points.row(j as usize));
            write(shaper, framer.frame(neighborhood)?, out)?;
            progress.advance(1)
        },
    )
}
