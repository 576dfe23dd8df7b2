//! The intrinsic dimension of a point cloud from the spectra of its neighbourhoods.

use ndarray::ArrayView2;
use rayon::prelude::*;

use crate::error::Result;
use crate::frame::{Degenerate, Framer};
use crate::matrix::try_zeros;
use crate::neighbors::check_neighborhoods;
use crate::points::Points;
use crate::progress::Progress;

/// Eigenvalues above this share of the largest count, as Fukunaga and Olsen propose.
const COUNTED: f64 = 0.05;

/// Neighbourhoods in a unit of parallel work.
const POINTS_PER_BLOCK: usize = 64;

/// How many eigenvalues of the covariance of each neighbourhood in `neighbors` exceed 0.05 of its largest.
///
/// ```
/// use ndarray::Array2;
/// use shopca_rs::neighbors::{self, Queries};
/// use shopca_rs::{Algorithm, Points, Progress, dimension};
///
/// // A curve in space.
/// let x = Array2::from_shape_fn((200, 3), |(i, j)| (i as f64 * [0.01, 0.02, 0.03][j]).sin());
/// let (points, progress) = (Points::new(x.view())?, Progress::new());
/// let found = neighbors::search(&points, Queries::All, 6, Algorithm::Auto, &progress)?;
/// let local = dimension::local_dimensions(&points, found.indices.view(), &progress)?;
/// assert_eq!(local.iter().filter(|&&dimension| dimension == 1.0).count(), 200);
/// # Ok::<(), shopca_rs::Error>(())
/// ```
pub fn local_dimensions(
    points: &Points,
    neighbors: ArrayView2<u32>,
    progress: &Progress,
) -> Result<Vec<f64>> {
    check_neighborhoods(points, neighbors)?;
    let (count, k) = neighbors.dim();
    let mut dimensions = try_zeros::<f64>(count)?;
    dimensions.par_chunks_mut(POINTS_PER_BLOCK).enumerate().try_for_each_init(
        || Framer::new(k, points.dim(), Degenerate::Average),
        |framer, (block, dimensions)| {
            let framer = framer.as_mut().map_err(|error| error.clone())?;
            for (offset, out) in dimensions.iter_mut().enumerate() {
                let list = neighbors.row(block * POINTS_PER_BLOCK + offset);
                let frame = framer.frame(list.into_iter().map(|&j| points.row(j as usize)))?;
                let largest = frame.values().first().copied().unwrap_or(0.0);
                *out = frame.values().iter().filter(|&&v| v > COUNTED * largest).count() as f64;
            }
            progress.advance(dimensions.len())
        },
    )?;
    Ok(dimensions)
}
