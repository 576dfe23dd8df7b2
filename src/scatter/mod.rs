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
//! the shares of some points are computed by any thread and added in the order of the points, each stripe by one thread
//! at a time. So the bits do not depend on the number of threads.

mod product;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::lanes::{self, STRIPE, stripe_at};
use crate::matrix::try_zeros;
use crate::mean::ShapeSum;
use crate::ordered::compute_and_add;
use crate::points::Points;
use crate::simd::{LANES, Line, Vector, Work, vectorized};
use crate::task::Task;

use product::multiply;

/// Bytes of shares computed before they are added: few enough to stay in the second cache.
const BYTES_PER_UNIT: usize = 256 << 10;

/// Units for each thread at least, while they have eight points: few shares wait, and nobody waits long for the last.
const UNITS_PER_THREAD: usize = 32;

/// Units that may wait to be added, and sections of V, for each thread.
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
    // Neither the units nor the sections change the order of any sum.
    let threads = rayon::current_num_threads();
    let tasks = TASKS_PER_THREAD * threads;
    let batch = LANES * k * width;
    let batches = neighbors.len() / (LANES * UNITS_PER_THREAD * threads);
    let batches = batches.min(BYTES_PER_UNIT / size_of::<Line>() / batch).max(1);
    let points_in_unit = batches * LANES;
    let units: Vec<&[&[u32]]> = neighbors.chunks(points_in_unit).collect();
    let workers = (0..threads.min(units.len()))
        .map(|_| lanes::sharer(k, dim).expect("`suits` has been asked"));
    let buffers: Vec<Vec<Line>> =
        (0..tasks.min(units.len())).map(|_| try_zeros(batches * batch)).collect::<Result<_>>()?;
    let stripes_in_section = stripes.len().div_ceil(tasks);
    let sections = stripes.chunks_mut(stripes_in_section).collect();
    compute_and_add(
        units.len(),
        workers.collect(),
        buffers,
        sections,
        |solver, unit, shares| {
            for (lists, shares) in units[unit].chunks(LANES).zip(shares.chunks_mut(batch)) {
                if !solver.share(points, lists, shares) {
                    return Err(Error::no_convergence());
                }
                task.advance(lists.len())?;
            }
            Ok(())
        },
        |section, unit, shares| {
            for stripe in section.iter_mut() {
                vectorized(Add { stripe, unit: units[unit], shares, batch });
            }
        },
    )?;
    let mut total = ShapeSum { count: neighbors.len(), ..ShapeSum::empty(dim)? };
    multiply(&stripes, points, total.sum.view_mut())?;
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

/// Adds a unit's shares to a stripe, point after point, neighbour after neighbour.
struct Add<'a> {
    stripe: &'a mut Stripe,
    unit: &'a [&'a [u32]],
    shares: &'a [Line],
    /// Lines of the shares of eight neighbourhoods.
    batch: usize,
}

impl Work for Add<'_> {
    #[inline(always)]
    fn run<V: Vector>(self) {
        let (offset, width) = (self.stripe.offset, self.stripe.width);
        let values = Line::as_vectors_mut::<V>(&mut self.stripe.values);
        for (lists, shares) in self.unit.chunks(LANES).zip(self.shares.chunks(self.batch)) {
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
