//! Many wide frames → Σ S, at a price linear in the number of columns for each point.
//!
//! A shape operator is a product of two thin factors, S = Qᵀ Z, and the rows of Z are contrasts of the neighbours:
//! combinations whose weights sum to zero. So S is a sum over the neighbours, each times its share of Q. Over all points,
//!
//! ```text
//! Σᵢ Sᵢ = Vᵀ X
//! ```
//!
//! where row j of V collects what each neighbourhood that contains point j has for it. V is kept in stripes of columns:
//! the shares of a block of points are computed in parallel, then added in order, each stripe by one thread. So the
//! bits do not depend on the number of threads.

mod product;

use std::sync::{Mutex, PoisonError};

use ndarray::Axis;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::lanes::{self, STRIPE, Sharer, stripe_at};
use crate::matrix::try_zeros;
use crate::mean::ShapeSum;
use crate::points::Points;
use crate::simd::{LANES, Line, Vector, Work, vectorized};
use crate::task::Task;

use product::{PANEL, multiply};

/// Bytes of shares computed before they are added: few enough to stay in the second cache.
const BYTES_PER_BLOCK: usize = 2 << 20;

/// Batches in a block, and parts of the product, for each thread at least.
const TASKS_PER_THREAD: usize = 3;

/// Below this many columns the wide product of [`crate::mean`] takes the same time, for 16 and 24 columns at k = 12.
const FEWEST_COLUMNS: usize = 32;

/// Whether `count` neighbourhoods of k among `rows` points in `dim` columns gain by this way of summing.
///
/// VᵀX is a product over all rows, however few neighbourhoods there are: 2·rows·d² operations, against 2·count·r·d² for
/// the wide product with its r = k − 1 rows for each. The rows count double, as V has to be cleared and X centred, and
/// d − k instead of d stands for the shares, which are written and added.
pub(crate) fn suits(rows: usize, count: usize, k: usize, dim: usize) -> bool {
    let small = k <= dim && k <= lanes::LARGEST_PROBLEM;
    small && dim >= FEWEST_COLUMNS && 2 * rows * dim < count * (k - 1) * (dim - k)
}

/// The sum of the averaged shape operators of the neighbourhoods in `neighbors`.
pub(crate) fn shape_sum(
    points: &Points,
    neighbors: &[&[u32]],
    k: usize,
    task: &Task,
) -> Result<ShapeSum> {
    let (rows, dim) = (points.len(), points.dim());
    let width = dim.div_ceil(LANES);
    let mut stripes: Vec<Stripe> = (0..width.div_ceil(STRIPE))
        .into_par_iter()
        .map(|index| Stripe::new(index, k, width, rows))
        .collect::<Result<_>>()?;
    // Neither the blocks nor the parts of the product change the order of any sum.
    let threads = rayon::current_num_threads();
    let tasks = TASKS_PER_THREAD * threads;
    let batch = LANES * k * width;
    let batches =
        (BYTES_PER_BLOCK / size_of::<Line>() / batch).max(tasks).next_multiple_of(threads);
    let batches = batches.min(neighbors.len().div_ceil(LANES)).max(1);
    let mut shares = try_zeros::<Line>(batches * batch)?;
    let solvers: Vec<Mutex<Box<dyn Sharer>>> = (0..threads)
        .map(|_| Mutex::new(lanes::sharer(k, dim).expect("`suits` has been asked")))
        .collect();
    for block in neighbors.chunks(batches * LANES) {
        let batches = shares.par_chunks_mut(batch).zip(block.par_chunks(LANES));
        batches.try_for_each(|(shares, lists)| {
            // Each thread has its own, so nobody waits.
            let own = &solvers[rayon::current_thread_index().unwrap_or(0)];
            let mut solver = own.lock().unwrap_or_else(PoisonError::into_inner);
            if !solver.share(points, lists, shares) {
                return Err(Error::no_convergence());
            }
            task.advance(lists.len())
        })?;
        stripes
            .par_iter_mut()
            .for_each(|stripe| vectorized(Add { stripe, block, shares: &shares, batch }));
    }
    let mut total = ShapeSum { count: neighbors.len(), ..ShapeSum::empty(dim)? };
    let columns = width.div_ceil(PANEL).div_ceil(tasks) * PANEL * LANES;
    let means = points.column_means();
    let parts: Vec<_> = total.sum.axis_chunks_iter_mut(Axis(1), columns).collect();
    parts
        .into_par_iter()
        .enumerate()
        .try_for_each(|(part, sum)| multiply(&stripes, points, &means, part * columns, sum))?;
    Ok(total)
}

/// Some columns of V.
struct Stripe {
    /// Where its shares begin in those of eight neighbourhoods.
    offset: usize,
    /// Lines in a row.
    width: usize,
    values: Vec<Line>,
}

impl Stripe {
    fn new(index: usize, k: usize, width: usize, rows: usize) -> Result<Self> {
        let (offset, width) = stripe_at(index, k, width);
        Ok(Self { offset, width, values: try_zeros(rows * width)? })
    }
}

/// Adds a block's shares to a stripe, point after point, neighbour after neighbour.
struct Add<'a> {
    stripe: &'a mut Stripe,
    block: &'a [&'a [u32]],
    shares: &'a [Line],
    /// Lines of the shares of eight neighbourhoods.
    batch: usize,
}

impl Work for Add<'_> {
    #[inline(always)]
    fn run<V: Vector>(self) {
        let (offset, width) = (self.stripe.offset, self.stripe.width);
        let values = Line::as_vectors_mut::<V>(&mut self.stripe.values);
        for (lists, shares) in self.block.chunks(LANES).zip(self.shares.chunks(self.batch)) {
            let shares = Line::as_vectors::<V>(&shares[offset..]).chunks_exact(width);
            let neighbors = lists.iter().flat_map(|list| list.iter());
            for (&neighbor, share) in neighbors.zip(shares) {
                let row = &mut values[neighbor as usize * width..][..width];
                for (sum, share) in row.iter_mut().zip(share) {
                    *sum += *share;
                }
            }
        }
    }
}
