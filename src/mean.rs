//! Many frames → S̄.
//!
//! The points are cut into blocks whose size does not depend on the number of threads. Each block
//! sums its shape operators as one wide product, Σ Yᵢᵀ Wᵢ = [Y₁; Y₂; …]ᵀ [W₁; W₂; …], and the blocks' sums are added
//! in order. So the bits are the same for any number of threads, and no more sums exist at a time
//! than threads can work on. With many columns the scatter form is cheaper and takes over.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::frame::{Degenerate, Framer};
use crate::lanes::{self, Batch};
use crate::matrix::{matrix, try_zeros};
use crate::points::Points;
use crate::scatter;
use crate::shape::Shaper;
use crate::simd::LANES;
use crate::task::Task;

/// Points whose operators are summed by one worker before the ordered merge.
const POINTS_PER_BLOCK: usize = 256;

/// Directions collected for one wide product.
const ROWS_PER_PRODUCT: usize = 512;

/// Blocks in flight for each thread, while their sums are small.
const BLOCKS_PER_THREAD: usize = 4;
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
    let neighbors = neighbors.as_standard_layout();
    let lists: Vec<&[u32]> = neighbors.as_slice().expect("row-major").chunks_exact(k).collect();
    if degenerate == Degenerate::Average && scatter::suits(k, dim) {
        return scatter::shape_sum(points, &lists, k, task);
    }
    let threads = rayon::current_num_threads();
    let in_flight = if dim * dim <= SMALL_SUM { threads * BLOCKS_PER_THREAD } else { threads };
    let mut total = ShapeSum::empty(dim)?;
    for wave in lists.chunks(in_flight * POINTS_PER_BLOCK) {
        let sums: Vec<ShapeSum> = wave
            .par_chunks(POINTS_PER_BLOCK)
            .map_init(
                || Summer::new(k, dim, degenerate),
                |summer, block| summer.sum(points, block, task),
            )
            .collect::<Result<_>>()?;
        sums.iter().for_each(|sum| total.merge(sum));
    }
    Ok(total)
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

    fn sum(&mut self, points: &Points, block: &[&[u32]], task: &Task) -> Result<ShapeSum> {
        let dim = points.dim();
        let mut total = ShapeSum { count: block.len(), ..ShapeSum::empty(dim)? };
        for lists in block.chunks(LANES) {
            self.push(points, lists, task)?;
            if self.right.len() >= ROWS_PER_PRODUCT * dim {
                self.flush(dim, &mut total.sum);
            }
            task.advance(lists.len())?;
        }
        self.flush(dim, &mut total.sum);
        Ok(total)
    }

    /// Appends the factors of up to eight operators.
    fn push(&mut self, points: &Points, lists: &[&[u32]], task: &Task) -> Result<()> {
        match &mut self.solver {
            Solver::Eight(eight) => {
                if !eight.solve(points, lists) {
                    return Err(Error::no_convergence());
                }
                for lane in 0..lists.len() {
                    eight.push_factors(lane, &mut self.left, &mut self.right);
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
