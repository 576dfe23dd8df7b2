//! Many wide frames → Σ S, at a cost linear in the number of columns for each point.
//!
//! A shape operator is a product of two thin factors, S = Qᵀ Z, and the rows of Z are contrasts of the neighbours:
//! combinations whose weights sum to zero. So S is a sum over the neighbours, each
//! times its share of Q. Over all points,
//!
//! ```text
//! Σᵢ Sᵢ = Vᵀ X
//! ```
//!
//! where row j of V sums the shares of point j in all neighbourhoods that contain it. The shares of a neighbourhood
//! sum to zero, so X may be centred anywhere; their rounding errors do not, and cost the more digits the farther the
//! points are from the centre. [`centre`] says where that is too far. V is kept in stripes of columns:
//! the shares of some points are computed by any thread and added in the order of the points, each stripe by one thread
//! at a time. So the result does not depend on the number of threads, bit for bit.

mod product;
mod stripe;

use rayon::prelude::*;

use crate::batched::{self, STRIPE};
use crate::block::Block;
use crate::error::{Error, Result};
use crate::matrix::{try_copied, try_with_capacity, try_zeros};
use crate::neighbors::squared_distance;
use crate::ordered_reduction::compute_and_add;
use crate::points::Points;
use crate::progress::Progress;
use crate::routes::Operator;
use crate::scaling::Scaled;
use crate::shape_sum::ShapeSum;
use crate::simd::{CacheLine, LANES, Vector, Work, vectorized};

use product::multiply;
use stripe::Stripe;

/// Bytes of shares computed before they are added: few enough to stay in the L2 cache.
const BYTES_PER_UNIT: usize = 256 << 10;

/// Units for each thread at least, while they have eight points: few shares wait, and
/// no thread waits long for the last.
const UNITS_PER_THREAD: usize = 32;

/// Units that may wait to be added, and sections of V, for each thread.
const SLOTS_PER_THREAD: usize = 3;

/// The largest factor by which the result may amplify the relative rounding errors of the shares.
const LARGEST_LOSS: f64 = 256.0;

/// Rows whose medians are the centre.
const ROWS_FOR_MEDIANS: usize = 65;

/// Neighbourhoods in a unit of parallel work while the centre is checked.
const LISTS_AT_ONCE: usize = 1024;

/// A point amid the others from which Σ S = Vᵀ(X − c) can be computed without loss, if there is one.
///
/// With rᵢ the size of neighbourhood i and Dᵢ its distance from c, shares are about as large as rᵢ and the result as
/// Σ rᵢ², so that relative rounding errors of the shares are amplified by Σ rᵢ Dᵢ / Σ rᵢ² in the result.
pub(crate) fn centre(scaled: &Scaled, neighbors: &[&[u32]]) -> Result<Option<Vec<f64>>> {
    let points: &Points = &scaled.points;
    if scaled.may_be_extreme() && neighbors.iter().any(|list| scaled.is_extreme(list)) {
        return Ok(None);
    }
    let centre = medians_of_some(points)?;
    let mut distances = try_zeros::<f64>(points.len())?;
    distances.par_iter_mut().enumerate().with_min_len(LISTS_AT_ONCE).for_each(|(row, distance)| {
        *distance = squared_distance(points.row(row), &centre).sqrt();
    });
    let sums: Vec<(f64, f64)> = neighbors
        .par_chunks(LISTS_AT_ONCE)
        .map(|lists| {
            lists.iter().fold((0.0, 0.0), |(losses, squares), list| {
                let row = |index: u32| points.row(index as usize);
                // The nearest and the farthest of those that a search has found.
                let squared = squared_distance(row(list[0]), row(list[list.len() - 1]));
                let far = list.iter().map(|index| distances[*index as usize]).fold(0.0, f64::max);
                (losses + squared.sqrt() * far, squares + squared)
            })
        })
        .collect();
    let (losses, squares) =
        sums.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    Ok((losses <= LARGEST_LOSS * squares).then_some(centre))
}

/// The median of every column over rows that are evenly spread over the table.
fn medians_of_some(points: &Points) -> Result<Vec<f64>> {
    let step = points.len().div_ceil(ROWS_FOR_MEDIANS);
    let rows = (0..points.len()).step_by(step);
    let mut entries = try_with_capacity(rows.len())?;
    let mut medians = try_with_capacity(points.dim())?;
    for column in 0..points.dim() {
        entries.clear();
        entries.extend(rows.clone().map(|row| points.row(row)[column]));
        let middle = entries.len() / 2;
        medians.push(*entries.select_nth_unstable_by(middle, f64::total_cmp).1);
    }
    Ok(medians)
}

/// The sum of the averaged shape operators of the neighbourhoods in a block, with X centred at `centre`.
pub(crate) fn shape_sum(
    points: &Points,
    block: Block,
    k: usize,
    centre: &[f64],
    operator: Operator,
    progress: &Progress,
) -> Result<ShapeSum> {
    let (rows, dim) = (points.len(), points.dim());
    let width = dim.div_ceil(LANES);
    let mut stripes: Vec<Stripe> = (0..width.div_ceil(STRIPE))
        .into_par_iter()
        .map(|index| Stripe::new(index, k, width, rows))
        .collect::<Result<_>>()?;
    // Neither the units nor the sections change the order of any sum.
    let threads = rayon::current_num_threads();
    let slots = SLOTS_PER_THREAD * threads;
    let batch = LANES * k * width;
    let batches = block.lists.len() / (LANES * UNITS_PER_THREAD * threads);
    let batches = batches.min(BYTES_PER_UNIT / size_of::<CacheLine>() / batch).max(1);
    let points_in_unit = batches * LANES;
    let units = try_copied(block.chunks(points_in_unit))?;
    let workers = (0..threads.min(units.len()))
        .map(|_| batched::sharer(operator, k, dim))
        .collect::<Result<_>>()?;
    let buffers: Vec<Vec<CacheLine>> =
        (0..slots.min(units.len())).map(|_| try_zeros(batches * batch)).collect::<Result<_>>()?;
    let stripes_in_section = stripes.len().div_ceil(slots);
    let sections = stripes.chunks_mut(stripes_in_section).collect();
    compute_and_add(
        units.len(),
        workers,
        buffers,
        sections,
        |solver, unit, shares| {
            for (lists, shares) in units[unit].lists.chunks(LANES).zip(shares.chunks_mut(batch)) {
                if !solver.share(points, lists, shares) {
                    return Err(Error::no_convergence());
                }
                progress.advance(lists.len())?;
            }
            Ok(())
        },
        |section, unit, shares| {
            for stripe in section.iter_mut() {
                vectorized(Add { stripe, unit: units[unit], shares, batch });
            }
        },
    )?;
    let (count, weight) = (block.lists.len(), block.weight());
    let mut total = ShapeSum { count, weight, ..ShapeSum::empty(dim)? };
    multiply(&stripes, points, centre, total.sum.view_mut(), progress)?;
    Ok(total)
}

/// Adds a unit's shares to a stripe, point after point, neighbour after neighbour.
/// Multiplying by a weight of 1 is exact.
struct Add<'a> {
    stripe: &'a mut Stripe,
    unit: Block<'a>,
    shares: &'a [CacheLine],
    /// Lines of the shares of eight neighbourhoods.
    batch: usize,
}

impl Work for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let (offset, width) = (self.stripe.offset, self.stripe.width);
        let values = CacheLine::as_vectors_mut::<V>(&mut self.stripe.values);
        for (few, shares) in self.unit.chunks(LANES).zip(self.shares.chunks(self.batch)) {
            let shares = CacheLine::as_vectors::<V>(&shares[offset..]).chunks_exact(width);
            let neighbors = few.lists.iter().enumerate().flat_map(|(lane, list)| {
                let weight = V::splat(few.weights.map_or(1.0, |weights| weights[lane]));
                list.iter().map(move |neighbor| (*neighbor, weight))
            });
            for ((neighbor, weight), share) in neighbors.zip(shares) {
                let row = &mut values[neighbor as usize * width..][..width];
                for (sum, share) in row.iter_mut().zip(share) {
                    *sum = sum.plus(*share, weight);
                }
            }
        }
    }
}
