//! Many frames → S̄.
//!
//! The points are cut into blocks whose size does not depend on the number of threads. Each block sums its shape
//! operators as one wide product of their factors, Σ Lᵢᵀ Rᵢ = [L₁; L₂; …]ᵀ [R₁; R₂; …], and the blocks' sums are added
//! in order. So the bits are the same for any number of threads, and only a few sums exist at a time for each of them.
//! With many columns and enough points the scatter form is cheaper and takes over.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2};

use crate::error::{Error, Result};
use crate::frame::{Degenerate, Framer};
use crate::lanes::{self, Batch};
use crate::matrix::{matrix, try_zeros};
use crate::ordered::compute_and_add;
use crate::points::Points;
use crate::scatter;
use crate::shape::Shaper;
use crate::simd::LANES;
use crate::task::Task;

/// Points whose operators are summed by one worker before the ordered merge.
pub(crate) const POINTS_PER_BLOCK: usize = 256;

/// Rows of the factors collected for one wide product.
const ROWS_PER_PRODUCT: usize = 512;

/// Sums that may wait to be merged, for each thread, while they are small.
const SUMS_PER_THREAD: usize = 4;
const SMALL_SUM: usize = 128 * 128;

/// A sum of shape operators over some points; sums over disjoint sets of points can be merged.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapeSum {
    /// How many operators were summed.
    pub count: usize,
    /// Their sum, d×d.
    pub sum: Array2<f64>,
}

impl ShapeSum {
    /// The sum over no points.
    pub fn empty(dim: usize) -> Result<Self> {
        let sum = Array2::from_shape_vec((dim, dim), try_zeros(dim.saturating_mul(dim))?);
        Ok(Self { count: 0, sum: sum.expect("d×d zeros") })
    }

    /// Adds the sum over other points.
    pub fn merge(&mut self, other: &ShapeSum) {
        self.count += other.count;
        self.sum += &other.sum;
    }

    /// The mean, which is zero over no points.
    pub fn mean(mut self) -> Array2<f64> {
        if self.count > 0 {
            self.sum /= self.count as f64;
        }
        self.sum
    }
}

/// S̄: the mean over all points of the shape operators of their neighbourhoods.
///
/// Row i of `neighbors` holds the rows of `points` that are the neighbours of point i.
pub fn mean_shape_operator(
    points: &Points,
    neighbors: ArrayView2<u32>,
    degenerate: Degenerate,
    task: &Task,
) -> Result<Array2<f64>> {
    Ok(shape_sum(points, neighbors, degenerate, task)?.mean())
}

/// The sum of the shape operators of the neighbourhoods in `neighbors`, any number of them.
pub fn shape_sum(
    points: &Points,
    neighbors: ArrayView2<u32>,
    degenerate: Degenerate,
    task: &Task,
) -> Result<ShapeSum> {
    let (k, dim) = (neighbors.ncols(), points.dim());
    if k < 2 {
        return Err(Error::TooFewNeighbors { k });
    }
    let neighbors = neighbors.as_standard_layout();
    let lists: Vec<&[u32]> = neighbors.as_slice().expect("row-major").chunks_exact(k).collect();
    let (rows, count) = (points.len(), lists.len());
    if degenerate == Degenerate::Average && scatter::suits(rows, count, k, dim) {
        return scatter::shape_sum(points, &lists, k, task);
    }
    let blocks: Vec<&[&[u32]]> = lists.chunks(POINTS_PER_BLOCK).collect();
    let mut total = ShapeSum::empty(dim)?;
    for_each_sum(points, &blocks, k, degenerate, task, |sum| total.merge(sum))?;
    Ok(total)
}

/// Sums the operators of each block of neighbourhoods in parallel and shows the sums to `merge` in order.
pub(crate) fn for_each_sum(
    points: &Points,
    blocks: &[&[&[u32]]],
    k: usize,
    degenerate: Degenerate,
    task: &Task,
    merge: impl FnMut(&ShapeSum) + Send,
) -> Result<()> {
    let dim = points.dim();
    let threads = rayon::current_num_threads().min(blocks.len());
    let waiting = if dim * dim <= SMALL_SUM { threads * SUMS_PER_THREAD } else { threads };
    compute_and_add(
        blocks.len(),
        (0..threads).map(|_| Summer::new(k, dim, degenerate)).collect(),
        (0..waiting).map(|_| ShapeSum::empty(dim)).collect::<Result<_>>()?,
        vec![merge],
        |summer, block, sum| summer.sum(points, blocks[block], task, sum),
        |merge, _, sum| merge(sum),
    )
}

/// One worker: its frames, its operators and the two tall matrices it multiplies.
struct Summer {
    solver: Solver,
    left: Vec<f64>,
    right: Vec<f64>,
}

/// Eight small neighbourhoods at a time, or one of any kind.
enum Solver {
    Eight(Box<dyn Batch>),
    One(Box<(Framer, Shaper)>),
}

impl Summer {
    fn new(k: usize, dim: usize, degenerate: Degenerate) -> Self {
        let eight = match degenerate {
            Degenerate::Average => lanes::batch(k, dim),
            Degenerate::Lapack => None,
        };
        let solver = match eight {
            Some(eight) => Solver::Eight(eight),
            None => Solver::One(Box::new((Framer::new(k, dim, degenerate), Shaper::new()))),
        };
        Self { solver, left: Vec::new(), right: Vec::new() }
    }

    /// total = the sum over a block.
    fn sum(
        &mut self,
        points: &Points,
        block: &[&[u32]],
        task: &Task,
        total: &mut ShapeSum,
    ) -> Result<()> {
        let dim = points.dim();
        total.count = block.len();
        total.sum.fill(0.0);
        for lists in block.chunks(LANES) {
            self.push(points, lists, task)?;
            if self.right.len() >= ROWS_PER_PRODUCT * dim {
                self.flush(dim, &mut total.sum);
            }
            task.advance(lists.len())?;
        }
        self.flush(dim, &mut total.sum);
        Ok(())
    }

    /// Appends the factors of up to eight operators.
    fn push(&mut self, points: &Points, lists: &[&[u32]], task: &Task) -> Result<()> {
        match &mut self.solver {
            Solver::Eight(eight) => {
                if !eight.push_factors(points, lists, &mut self.left, &mut self.right) {
                    return Err(Error::no_convergence());
                }
            }
            Solver::One(one) => {
                let (framer, shaper) = one.as_mut();
                for list in lists {
                    task.check()?;
                    let frame = framer
                        .frame(list.iter().map(|&j| points.row(j as usize)))
                        .map_err(|reason| Error::NoFrame { reason })?;
                    self.right.extend_from_slice(&frame.directions);
                    shaper.push_left(frame, &mut self.left);
                }
            }
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
        let (points, task) = (Points::new(x.view()).unwrap(), Task::new());
        for (count, scattered) in [(rows, true), (120, true), (100, false), (1, false)] {
            assert_eq!(scatter::suits(rows, count, k, dim), scattered, "{count}");
            let some = neighbors.slice(s![..count, ..]);
            let got = shape_sum(&points, some, Degenerate::Average, &task).unwrap();
            let operators =
                local::shape_operators(&points, some, Degenerate::Average, &task).unwrap();
            let expected = operators.sum_axis(Axis(0));
            let scale = expected.iter().fold(0.0_f64, |most, entry| most.max(entry.abs()));
            assert!((got.sum - expected).iter().all(|gap| gap.abs() <= 1e-12 * scale), "{count}");
        }
    }
}
