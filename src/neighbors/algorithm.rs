//! The ways to search, and which one is taken.

use crate::error::Result;
use crate::points::Points;
use crate::progress::Progress;
use crate::simd::Level;

use super::brute::{Brute, CLUSTER_ROWS, queries_per_block};
use super::filter_kernel::{MOST_ROWS, PANEL_ROWS};
use super::kd_tree::KdTree;
use super::leaf_search;
use super::leaves::MOST_COLUMNS;
use super::pairs;
use super::panel_search::{Buffers, Search};
use super::panel_tree::PanelTree;
use super::queries::{NeighborIndex, Neighbors, Queries, write_in_order};
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

/// Columns up to which boxes around panels are tried, and fewest rows.
const MOST_BOXED_COLUMNS: usize = 32;
const FEWEST_BOXED_ROWS: usize = 16 * CLUSTER_ROWS;

/// Panels some of whose rows are searched for their neighbours first, how many rows of each, and how many neighbours.
const SAMPLED_PANELS: usize = 32;
const SAMPLED_ROWS: usize = 8;
const SAMPLED_NEIGHBORS: usize = 16;

/// The largest share of all pairs of a query and a panel that such rows may have to look at: beyond it a
/// product is faster (`benches/boxes.py`).
const MOST_VISITED: f64 = 0.2;

/// Exact distances for each neighbour beyond which single precision does not tell the rows apart, and columns up to
/// which kiddo's tree is then faster than all those distances (`benches/crossover.py --auto --columns 6`).
const MOST_MEASURED: usize = 16;
const MOST_TREE_COLUMNS: usize = 16;

/// The structure that `algorithm` searches.
///
/// [`Algorithm::Auto`] is a k-d tree whose leaves answer their queries together in up to three columns. In more columns
/// it asks a sample of the rows: where boxes rule out most pairs it is a tree of them, elsewhere brute force
/// (`benches/searches.py` times it against other libraries). Where many rows coincide or lie too close together for
/// single precision it is kiddo's tree.
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
        Algorithm::Auto => sampled(points, progress),
        Algorithm::Brute => Ok(Box::new(Brute::new(points, progress)?)),
        Algorithm::KdTree => Ok(Box::new(KdTree::new(points, progress)?)),
    }
}

/// The structure in which rows find their neighbours with the least work.
fn sampled<'a>(
    points: &'a Points,
    progress: &Progress,
) -> Result<Box<dyn NeighborIndex + Send + 'a>> {
    let brute = Brute::new(points, progress)?;
    if points.dim() > MOST_BOXED_COLUMNS || points.len() < FEWEST_BOXED_ROWS {
        return Ok(Box::new(brute));
    }
    let tree = PanelTree::new(brute)?;
    Ok(match least_work(&tree, progress)? {
        Way::Boxes => Box::new(tree),
        Way::Products => Box::new(tree.brute),
        Way::Distances => Box::new(KdTree::new(points, progress)?),
    })
}

/// What most pairs are ruled out by.
#[derive(Debug, PartialEq)]
enum Way {
    Boxes,
    Products,
    /// Their distances in double precision.
    Distances,
}

/// Sends a sample of the rows through the tree.
fn least_work(tree: &PanelTree, progress: &Progress) -> Result<Way> {
    let (points, panels) = (tree.brute.points, tree.panels());
    let mut buffers = Buffers::new(SAMPLED_NEIGHBORS)?;
    let (mut visits, mut measured, mut queries) = (0, 0, 0);
    for sample in 0..SAMPLED_PANELS {
        progress.check()?;
        let first = panels * sample / SAMPLED_PANELS * PANEL_ROWS;
        let rows = &tree.brute.order[first..points.len().min(first + SAMPLED_ROWS)];
        let rows = rows.iter().map(|row| Queries::All.get(points, *row as usize));
        let mut search = Search::new(tree, rows, SAMPLED_NEIGHBORS, &mut buffers)?;
        search.run(Level::current())?;
        visits += search.visits;
        measured += search.scans.iter().map(|scan| scan.measured).sum::<usize>();
        queries += search.scans.len();
    }
    let indistinct = measured > MOST_MEASURED * SAMPLED_NEIGHBORS * queries;
    let boxed = visits as f64 <= MOST_VISITED * (queries * panels) as f64;
    Ok(if indistinct && points.dim() <= MOST_TREE_COLUMNS {
        Way::Distances
    } else if boxed {
        Way::Boxes
    } else {
        Way::Products
    })
}

impl NeighborIndex for Brute<'_> {
    fn search(&self, queries: Queries, k: usize, progress: &Progress) -> Result<Neighbors> {
        if matches!(queries, Queries::All) && pairs::pays(self, k, progress)? {
            return pairs::search(self, Level::current(), k, progress);
        }
        let order = queries_nearby(&self.order, queries, MOST_ROWS, progress)?;
        let block = queries_per_block(order.len());
        write_in_order(
            &order,
            k,
            block,
            || Ok(()),
            |(), _, numbers, indices, squared| {
                let queries =
                    numbers.iter().map(|number| queries.get(self.points, *number as usize));
                self.fill(k, queries, progress, indices, squared)?;
                progress.advance(numbers.len())
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    fn number(at: usize) -> f64 {
        ((at * 7919 + at * at % 1_000_003 * 31) % 100_003) as f64 / 100_003.0
    }

    #[test]
    fn each_kind_of_cloud_is_searched_by_what_rules_out_most_pairs() {
        let table = |columns: usize, value: &dyn Fn(usize, usize) -> f64| {
            Array2::from_shape_fn((9000, columns), |(i, j)| value(i, j))
        };
        let sheet = |i: usize, j: usize| {
            (number(i) * (j + 1) as f64 + number(i + 50_000) * (j * j % 5) as f64).sin()
        };
        for (name, x, expected) in [
            ("sheet", table(8, &sheet), Way::Boxes),
            ("full", table(16, &|i, j| number(i * 17 + j * 7001)), Way::Products),
            ("few distinct rows", table(5, &|i, j| sheet(i % 20, j)), Way::Distances),
            ("wide, few distinct rows", table(20, &|i, j| sheet(i % 20, j)), Way::Boxes),
            (
                "clusters far apart",
                table(5, &|i, j| 1e-4 * sheet(i, j) + 1e4 * (i % 2) as f64),
                Way::Distances,
            ),
        ] {
            let points = Points::new(x.view()).unwrap();
            let progress = Progress::new();
            let tree = PanelTree::new(Brute::new(&points, &progress).unwrap()).unwrap();
            assert_eq!(least_work(&tree, &progress).unwrap(), expected, "{name}");
        }
    }
}
