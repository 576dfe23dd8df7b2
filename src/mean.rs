//! Many frames → S̄.
//!
//! The points are cut into blocks whose size does not depend on the number of threads. Each block sums its shape
//! operators as one wide product of their factors, Σ Lᵢᵀ Rᵢ = [L₁; L₂; …]ᵀ [R₁; R₂; …], and the blocks' sums are added
//! in order. So the result is bitwise the same for any number of threads, each of which holds only a few sums at a
//! time. With many columns and enough points the scatter form is cheaper and takes over.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2};

use crate::batched::{self, Batch};
use crate::block::{Block, check_weights};
use crate::error::{Error, Result};
use crate::frame::{Degenerate, Framer};
use crate::matrix::{matrix, try_copied, try_reserve};
use crate::neighbors::check_neighborhoods;
use crate::ordered_reduction::compute_and_add;
use crate::points::Points;
use crate::progress::Progress;
use crate::routes::{Route, Sizes, Sum};
use crate::scaling::Scaled;
use crate::scatter;
use crate::shape::Shaper;
use crate::simd::LANES;

pub use crate::shape_sum::ShapeSum;

/// Points whose operators are summed by one worker before the ordered merge.
pub(crate) const POINTS_PER_BLOCK: usize = 256;

/// Rows of the factors collected for one wide product.
const ROWS_PER_PRODUCT: usize = 512;

/// Sums that may wait to be merged, for each thread, while they are small.
const SUMS_PER_THREAD: usize = 4;
const SMALL_SUM: usize = 128 * 128;

/// S̄: the mean over all points of the shape operators of their neighbourhoods.
///
/// Row i of `neighbors` holds the rows of `points` that are the neighbours of point i.
pub fn mean_shape_operator(
    points: &Points,
    neighbors: ArrayView2<u32>,
    degenerate: Degenerate,
    progress: &Progress,
) -> Result<Array2<f64>> {
    weighted_mean(points, neighbors, None, degenerate, progress)
}

/// The same with a non-negative weight for each point: Σ wᵢ Sᵢ / Σ wᵢ. The weights do not change how a point counts in
/// the neighbourhoods of others.
pub fn weighted_mean(
    points: &Points,
    neighbors: ArrayView2<u32>,
    weights: Option<&[f64]>,
    degenerate: Degenerate,
    progress: &Progress,
) -> Result<Array2<f64>> {
    check_weights(weights, neighbors.nrows())?;
    let (total, scaled) = scaled_sum(points, neighbors, weights, degenerate, None, progress)?;
    let mut mean = total.mean();
    scaled.restore(&mut mean)?;
    Ok(mean)
}

/// S̄ by one of [`Route::all`] for these sizes, to compare their times and their numbers.
pub fn mean_by_route(
    points: &Points,
    neighbors: ArrayView2<u32>,
    degenerate: Degenerate,
    route: Route,
    progress: &Progress,
) -> Result<Array2<f64>> {
    let (total, scaled) = scaled_sum(points, neighbors, None, degenerate, Some(route), progress)?;
    let mut mean = total.mean();
    scaled.restore(&mut mean)?;
    Ok(mean)
}

/// The sum of the shape operators of the neighbourhoods in `neighbors`, any number of them.
pub fn shape_sum(
    points: &Points,
    neighbors: ArrayView2<u32>,
    degenerate: Degenerate,
    progress: &Progress,
) -> Result<ShapeSum> {
    weighted_sum(points, neighbors, None, degenerate, progress)
}

/// The same with a non-negative weight for each neighbourhood: Σ wᵢ Sᵢ, and Σ wᵢ beside it.
pub fn weighted_sum(
    points: &Points,
    neighbors: ArrayView2<u32>,
    weights: Option<&[f64]>,
    degenerate: Degenerate,
    progress: &Progress,
) -> Result<ShapeSum> {
    check_weights(weights, neighbors.nrows())?;
    let (mut total, scaled) = scaled_sum(points, neighbors, weights, degenerate, None, progress)?;
    scaled.restore(&mut total.sum)?;
    Ok(total)
}

/// The sum over points in units of their own, and these units; by the route of [`Route::new`] if none is given.
fn scaled_sum<'a>(
    points: &'a Points<'a>,
    neighbors: ArrayView2<u32>,
    weights: Option<&[f64]>,
    degenerate: Degenerate,
    route: Option<Route>,
    progress: &Progress,
) -> Result<(ShapeSum, Scaled<'a>)> {
    check_neighborhoods(points, neighbors)?;
    let (k, dim) = (neighbors.ncols(), points.dim());
    let neighbors = neighbors.as_standard_layout();
    let lists = try_copied(neighbors.as_slice().expect("row-major").chunks_exact(k))?;
    let all = Block { lists: &lists, weights };
    let scaled = Scaled::new(points, all)?;
    let sizes = Sizes::of(points, lists.len(), k);
    let route = route.unwrap_or_else(|| Route::new(sizes, degenerate));
    if route.sum() == Sum::Scatter
        && let Some(centre) = scatter::centre(&scaled, &lists)?
    {
        let operator = route.operator();
        let total = scatter::shape_sum(&scaled.points, all, k, &centre, operator, progress)?;
        return Ok((total, scaled));
    }
    let blocks = try_copied(all.chunks(POINTS_PER_BLOCK))?;
    let mut total = ShapeSum::empty(dim)?;
    for_each_sum(&scaled, &blocks, k, degenerate, route, progress, |sum| total.merge(sum))?;
    Ok((total, scaled))
}

/// Sums the operators of each block of neighbourhoods in parallel and passes the sums to `merge` in order.
pub(crate) fn for_each_sum(
    scaled: &Scaled,
    blocks: &[Block],
    k: usize,
    degenerate: Degenerate,
    route: Route,
    progress: &Progress,
    merge: impl FnMut(&ShapeSum) + Send,
) -> Result<()> {
    let dim = scaled.points.dim();
    let threads = rayon::current_num_threads().min(blocks.len());
    let waiting = if dim * dim <= SMALL_SUM { threads * SUMS_PER_THREAD } else { threads };
    compute_and_add(
        blocks.len(),
        (0..threads).map(|_| Summer::new(k, dim, degenerate, route)).collect::<Result<_>>()?,
        (0..waiting).map(|_| ShapeSum::empty(dim)).collect::<Result<_>>()?,
        vec![merge],
        |summer, block, sum| summer.sum(scaled, blocks[block], progress, sum),
        |merge, _, sum| merge(sum),
    )
}

/// One worker: its frames, its operators and the two tall matrices it multiplies.
struct Summer {
    /// Eight small neighbourhoods at a time.
    eight: Option<Box<dyn Batch>>,
    /// One neighbourhood of any size.
    one: (Framer, Shaper),
    left: Vec<f64>,
    right: Vec<f64>,
}

impl Summer {
    fn new(k: usize, dim: usize, degenerate: Degenerate, route: Route) -> Result<Self> {
        let eight = batched::batch(route, k, dim)?;
        let one = (Framer::new(k, dim, degenerate)?, Shaper::new());
        Ok(Self { eight, one, left: Vec::new(), right: Vec::new() })
    }

    /// total = the sum over a block.
    fn sum(
        &mut self,
        scaled: &Scaled,
        block: Block,
        progress: &Progress,
        total: &mut ShapeSum,
    ) -> Result<()> {
        let dim = scaled.points.dim();
        (total.count, total.weight) = (block.lists.len(), block.weight());
        total.sum.fill(0.0);
        for few in block.chunks(LANES) {
            self.push(scaled, few, progress)?;
            if self.right.len() >= ROWS_PER_PRODUCT * dim {
                self.flush(dim, &mut total.sum);
            }
            progress.advance(few.lists.len())?;
        }
        self.flush(dim, &mut total.sum);
        Ok(())
    }

    /// Appends the factors of up to eight operators.
    fn push(&mut self, scaled: &Scaled, block: Block, progress: &Progress) -> Result<()> {
        let (points, Block { lists, weights }) = (&scaled.points, block);
        let extreme =
            || scaled.may_be_extreme() && lists.iter().any(|list| scaled.is_extreme(list));
        if let Some(eight) = &mut self.eight
            && !extreme()
        {
            let most = LANES * lists[0].len().min(points.dim()) * points.dim();
            try_reserve(&mut self.left, most)?;
            try_reserve(&mut self.right, most)?;
            if !eight.push_factors(points, lists, weights, &mut self.left, &mut self.right) {
                return Err(Error::no_convergence());
            }
            return Ok(());
        }
        let (framer, shaper) = &mut self.one;
        for (number, list) in lists.iter().enumerate() {
            progress.check()?;
            let frame = framer.frame(list.iter().map(|&j| points.row(j as usize)))?;
            try_reserve(&mut self.right, frame.directions.len())?;
            self.right.extend_from_slice(&frame.directions);
            let start = self.left.len();
            shaper.push_left(frame, &mut self.left)?;
            batched::weigh(&mut self.left[start..], weights.map(|weights| weights[number]));
        }
        Ok(())
    }

    /// sum += leftᵀ right.
    fn flush(&mut self, dim: usize, sum: &mut Array2<f64>) {
        let rows = self.right.len() / dim;
        let (left, right) = (matrix(&self.left, rows, dim), matrix(&self.right, rows, dim));
        general_mat_mul(1.0, &left.t(), &right, 1.0, sum);
        self.left.clear();
        self.right.clear();
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, s};

    use super::*;
    use crate::local;

    #[test]
    fn few_neighbourhoods_among_many_wide_points_are_not_scattered_and_sum_to_the_same() {
        let (rows, k, dim) = (400, 9, 80);
        let x = Array2::from_shape_fn((rows, dim), |(i, j)| ((i * i + 7 * i * j + j) as f64).sin());
        let neighbors = Array2::from_shape_fn((rows, k), |(i, j)| ((i * 7 + j * 13) % rows) as u32);
        let (points, progress) = (Points::new(x.view()).unwrap(), Progress::new());
        for (count, scattered) in [(rows, true), (120, true), (100, false), (1, false)] {
            let route = Route::new(Sizes::of(&points, count, k), Degenerate::Average);
            assert_eq!(route.sum() == Sum::Scatter, scattered, "{count}");
            let some = neighbors.slice(s![..count, ..]);
            let got = shape_sum(&points, some, Degenerate::Average, &progress).unwrap();
            let operators =
                local::shape_operators(&points, some, Degenerate::Average, &progress).unwrap();
            let expected = operators.sum_axis(Axis(0));
            let scale = expected.iter().fold(0.0_f64, |most, entry| most.max(entry.abs()));
            assert!((got.sum - expected).iter().all(|gap| gap.abs() <= 1e-12 * scale), "{count}");
        }
    }

    #[test]
    fn every_route_gives_the_same_mean() {
        let shapes = [
            (300, 5, 3),
            (300, 9, 4),
            (90, 41, 5),
            (120, 6, 6),
            (150, 7, 20),
            (150, 4, 40),
            (60, 12, 90),
        ];
        for (rows, k, dim) in shapes {
            let x =
                Array2::from_shape_fn((rows, dim), |(i, j)| ((i * i + 7 * i * j + j) as f64).sin());
            let neighbors =
                Array2::from_shape_fn((rows, k), |(i, j)| ((i * 7 + j * 13) % rows) as u32);
            let (points, progress) = (Points::new(x.view()).unwrap(), Progress::new());
            let (neighbors, average) = (neighbors.view(), Degenerate::Average);
            let expected = mean_shape_operator(&points, neighbors, average, &progress).unwrap();
            let scale = expected.iter().fold(0.0_f64, |most, entry| most.max(entry.abs()));
            let routes = Route::all(Sizes::of(&points, rows, k), average);
            assert_eq!(routes.len(), if k > dim { 2 } else { 5 }, "k {k}, d {dim}");
            for route in routes {
                let found = mean_by_route(&points, neighbors, average, route, &progress).unwrap();
                let worst =
                    (found - &expected).iter().fold(0.0_f64, |most, gap| most.max(gap.abs()));
                assert!(worst <= 1e-12 * scale, "k {k}, d {dim}, {route:?}: {worst} of {scale}");
            }
        }
    }

    #[test]
    fn neighbours_that_are_no_rows_and_lists_of_one_are_refused() {
        let x = Array2::from_shape_fn((5, 2), |(i, j)| (i * i + j) as f64);
        let (points, progress) = (Points::new(x.view()).unwrap(), Progress::new());
        let outside = Array2::from_shape_fn((5, 3), |(i, j)| (i + j) as u32);
        let refused = Error::IndexOutOfRange { what: "neighbors", index: 5, row: 3, most: 4 };
        let (one, average) = (Array2::zeros((5, 1)), Degenerate::Average);
        for (lists, expected) in [(outside, refused), (one, Error::TooFewNeighbors { k: 1 })] {
            let lists = lists.view();
            assert_eq!(shape_sum(&points, lists, average, &progress).unwrap_err(), expected);
            assert_eq!(
                mean_shape_operator(&points, lists, average, &progress).unwrap_err(),
                expected
            );
            assert_eq!(
                local::shape_operators(&points, lists, average, &progress).unwrap_err(),
                expected
            );
            let principal = local::principal_curvatures(&points, lists, average, &progress);
            assert_eq!(principal.unwrap_err(), expected);
            let sampled =
                crate::sample::mean_shape_operator(&points, lists, None, average, &progress);
            assert_eq!(sampled.unwrap_err(), expected);
        }
    }
}
