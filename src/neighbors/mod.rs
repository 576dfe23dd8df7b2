//! Exact k nearest neighbours, with one rule for ties.
//!
//! The neighbours of a point are the k rows with the smallest (squared distance, index), the point
//! itself left out. The squared distance is [`squared_distance`] on the rows as given, in double
//! precision and in one fixed order of summation, so every [`Algorithm`] returns the same bits.

mod algorithm;
mod bands;
mod bounding_boxes;
mod brute;
mod candidate;
mod filter;
mod filter_kernel;
mod given;
mod kd_tree;
mod leaf_candidates;
mod leaf_search;
mod leaves;
mod meetings;
mod owned;
mod pair_kernel;
mod pairs;
mod panel_kernel;
mod panel_search;
mod panel_tree;
mod queries;
mod rank_groups;
mod rank_pairs;
mod rankings;
mod ranks;
mod row_order;
mod shortlist;
mod spatial_order;
mod tally;
#[cfg(target_arch = "x86_64")]
mod tally_kernel;

use crate::error::{Error, Result};
use crate::points::Points;
use crate::progress::Progress;

pub use algorithm::{Algorithm, index};
pub use brute::Brute;
pub use candidate::squared_distance;
pub use given::{as_given, as_given_rows, with_own_rows};
pub use kd_tree::KdTree;
pub use owned::OwnedIndex;
pub use queries::{MISSING, NeighborIndex, Neighbors, Queries};
pub use ranks::{rank_parts, ranks};

use given::check_k;
pub(crate) use given::check_neighborhoods;
#[cfg(feature = "python")]
pub(crate) use given::row_numbers;

/// The k nearest rows of `points` to each of `queries`, on the current rayon pool.
///
/// ```
/// use ndarray::array;
/// use shopca_rs::neighbors::{self, Algorithm, Queries};
/// use shopca_rs::{Points, Progress};
///
/// let x = array![[0.0], [1.0], [3.0], [7.0]];
/// let points = Points::new(x.view())?;
/// let found = neighbors::search(&points, Queries::All, 2, Algorithm::Auto, &Progress::new())?;
/// assert_eq!(found.indices, array![[1, 2], [0, 2], [1, 0], [2, 1]]);
/// # Ok::<(), shopca_rs::Error>(())
/// ```
pub fn search(
    points: &Points,
    queries: Queries,
    k: usize,
    algorithm: Algorithm,
    progress: &Progress,
) -> Result<Neighbors> {
    if let Queries::Rows(rows) = queries
        && let Some(row) = rows.iter().position(|row| *row as usize >= points.len())
    {
        let (index, most) = (i64::from(rows[row]), points.len() - 1);
        return Err(Error::IndexOutOfRange { what: "points", index, row, most });
    }
    match queries {
        Queries::All | Queries::Rows(_) => check_k(k, points.len())?,
        Queries::Points(queries) | Queries::Within(queries, _) => {
            let (expected, given) = (points.dim(), queries.dim());
            if expected != given {
                return Err(Error::QueryColumns { expected, given });
            }
            if k == 0 || k > points.len() {
                return Err(Error::BadQueryNeighbors { k, most: points.len() });
            }
        }
    }
    if let Queries::Within(queries, bounds) = queries
        && bounds.len() != queries.len()
    {
        return Err(Error::QueryBounds { expected: queries.len(), given: bounds.len() });
    }
    index(points, algorithm, progress)?.search(queries, k, progress)
}
