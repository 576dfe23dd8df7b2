//! The ways to search, and which one is taken.

use crate::error::Result;
use crate::points::Points;
use crate::progress::Progress;
use crate::simd::Level;

use super::brute::{Brute, queries_per_block};
use super::filter_kernel::MOST_ROWS;
use super::kd_tree::KdTree;
use super::leaf_search;
use super::leaves::MOST_COLUMNS;
use super::pairs;
use super::queries::{NeighborIndex, Neighbors, Queries, fill_in_order};
use super::spatial_order::queries_nearby;

/// How the neighbours are searched. The answer does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// Brute force, or a tree in few columns: see [`index`].
    #[default]
    Auto,
    /// kiddo's immutable k-d tree, for few columns.
    KdTree,
    /// A blocked matrix product as a filter, then exact distances.
    Brute,
}

/// The structure that `algorithm` searches.
///
/// [`Algorithm::Auto`] is brute force, in up to three columns a k-d tree whose leaves answer their queries together
/// (`benches/searches.py` times it against other libraries). Where many rows coincide in few columns it is kiddo's tree, which
/// holds equal rows once.
pub fn index<'a>(
    points: &'a Points,
    algorithm: Algorithm,
    progress: &Progress,
) -> Result<Box<dyn NeighborIndex + Send + 'a>> {
    match algorithm {
        Algorithm::Auto if points.dim() <= MOST_COLUMNS => {
            Ok(match leaf_search::index(points, progress)? {
                Some(index) => index,
                None => Box::new(KdTree::new(points, progress)?),
            })
        }
        Algorithm::Auto | Algorithm::Brute => Ok(Box::new(Brute::new(points, progress)?)),
        Algorithm::KdTree => Ok(Box::new(KdTree::new(points, progress)?)),
    }
}

impl NeighborIndex for Brute<'_> {
    fn search(&self, queries: Queries, k: usize, progress: &Progress) -> Result<Neighbors> {
        if matches!(queries, Queries::All) && pairs::pays(self, k, progress)? {
            return pairs::search(self, Level::current(), k, progress);
        }
        let order = queries_nearby(&self.order, queries, MOST_ROWS, progress)?;
        let block = queries_per_block(order.len());
        fill_in_order(&order, k, block, progress, |numbers, indices, squared| {
            let queries = numbers.iter().map(|number| queries.get(self.points, *number as usize));
            self.fill(k, queries, progress, indices, squared).map(|_| ())
        })
    }
}
