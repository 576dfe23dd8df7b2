//! An index that owns its rows, for many batches of queries.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::points::Points;
use crate::progress::Progress;

use super::algorithm::{Algorithm, index};
use super::queries::{NeighborIndex, Neighbors, Queries};

/// Rows laid out once and searched as often as wanted, with the neighbours that
/// [`search`](crate::neighbors::search) finds.
///
/// ```
/// use ndarray::array;
/// use shopca_rs::neighbors::{Algorithm, OwnedIndex, Queries};
/// use shopca_rs::{Points, Progress};
///
/// let x = array![[0.0], [1.0], [3.0], [7.0]];
/// let progress = Progress::new();
/// let index = OwnedIndex::new(Points::new(x.view())?, Algorithm::Auto, &progress)?;
/// assert_eq!(index.search(Queries::All, 1, &progress)?.indices, array![[1], [0], [1], [2]]);
/// let (asked, queries) = (array![[6.0]], index.points());
/// let queries = queries.queries(asked.view())?;
/// assert_eq!(index.search(Queries::Points(&queries), 2, &progress)?.indices, array![[3, 2]]);
/// # Ok::<(), shopca_rs::Error>(())
/// ```
pub struct OwnedIndex {
    /// Refers to `points`, so it stands first: fields are dropped in this order.
    index: Box<dyn NeighborIndex + Send>,
    points: Arc<Points<'static>>,
}

impl OwnedIndex {
    /// Copies the rows of `points` unless it owns them, and lays them out.
    pub fn new(points: Points, algorithm: Algorithm, progress: &Progress) -> Result<Self> {
        let points = Arc::new(points.into_owned()?);
        // SAFETY: the points stay where they are, unchanged, until the last `Arc` of them is
        // dropped. One is kept beside the index, is never replaced and is dropped after it; nothing
        // hands out the index or the long lifetime.
        let kept: &'static Points<'static> = unsafe { &*Arc::as_ptr(&points) };
        Ok(Self { index: index(kept, algorithm, progress)?, points })
    }

    /// The rows.
    pub fn points(&self) -> &Points<'_> {
        &self.points
    }

    /// The k nearest rows of every query, k from 1.
    pub fn search(&self, queries: Queries, k: usize, progress: &Progress) -> Result<Neighbors> {
        let most = match queries {
            Queries::All | Queries::Rows(_) => self.points.len() - 1,
            Queries::Points(_) | Queries::Within(..) => self.points.len(),
        };
        if k == 0 || k > most {
            return Err(Error::BadQueryNeighbors { k, most });
        }
        self.index.search(queries, k, progress)
    }
}
