//! Many wide frames → Σ S, at a price linear in the number of columns for each point.
//!
//! Every direction is a combination of its centred neighbours, W = M Δ, so S = Yᵀ W = (Yᵀ M) Δ. Summed over the
//! points, with the rows of M centred,
//!
//! ```text
//! Σᵢ Sᵢ = Vᵀ X
//! ```
//!
//! where row j of V collects what each neighbourhood that contains point j has for it. V is kept in stripes of columns:
//! the shares of a block of points are computed in parallel, then added in order, each stripe by one thread. So the
//! bits do not depend on the number of threads.

use ndarray::Array2;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, s};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::lanes;
use crate::matrix::{matrix, try_zeros};
use crate::mean::ShapeSum;
use crate::points::Points;
use crate::simd::LANES;
use crate::task::Task;

/// Columns of one stripe.
const STRIPE: usize = 64;

/// Bytes of shares computed before they are added.
const BYTES_PER_BLOCK: usize = 16 << 20;

/// Below this many columns the wide product of [`crate::mean`] is at least as fast: at k = 12 both take the
/// same time for 64 columns, this 0.88 of it for 100 and 1.8 times as much for 16.
const FEWEST_COLUMNS: usize = 64;

/// Whether `count` neighbourhoods of k among `rows` points in `dim` columns gain by this way of summing.
///
/// VᵀX is a product over all rows, however few neighbourhoods there are: 2·rows·d² operations after 2·count·k·r·d for
/// the shares, against 2·count·r·d² for the wide product, with r = k − 1 directions. The rows count double, as V has to
/// be cleared and X centred: at k = 12 both ways take the same time for about a sixth of the points in 400 columns.
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
    let mut stripes: Vec<Stripe> = (0..dim)
        .step_by(STRIPE)
        .map(|first| Stripe::new(first, STRIPE.min(dim - first), rows))
        .collect::<Result<_>>()?;
    let batch = LANES * k * dim;
    let batches = (BYTES_PER_BLOCK / size_of::<f64>() / batch).max(rayon::current_num_threads());
    let mut shares = try_zeros::<f64>(batches * batch)?;
    for block in neighbors.chunks(batches * LANES) {
        shares.par_chunks_mut(batch).zip(block.par_chunks(LANES)).try_for_each_init(
            || lanes::batch(k, dim).expect("`suits` has been asked"),
            |solver, (shares, lists)| {
                if !solver.solve(points, lists) {
                    return Err(Error::no_convergence());
                }
                solver.write_shares(lists.len(), shares);
                task.advance(lists.len())
            },
        )?;
        stripes.par_iter_mut().for_each(|stripe| stripe.add(block, &shares, dim));
    }
    let centred = centred(points)?;
    let centred = matrix(&centred, rows, dim);
    let mut total = ShapeSum { count: neighbors.len(), ..ShapeSum::empty(dim)? };
    let products: Vec<Array2<f64>> =
        stripes.par_iter().map(|stripe| stripe.times(centred)).collect();
    for (stripe, product) in stripes.iter().zip(products) {
        total.sum.slice_mut(s![stripe.first..stripe.first + stripe.width, ..]).assign(&product);
    }
    Ok(total)
}

/// Some columns of V.
struct Stripe {
    first: usize,
    width: usize,
    values: Vec<f64>,
}

impl Stripe {
    fn new(first: usize, width: usize, rows: usize) -> Result<Self> {
        Ok(Self { first, width, values: try_zeros(rows * width)? })
    }

    /// Adds a block's shares, point after point, neighbour after neighbour.
    fn add(&mut self, block: &[&[u32]], shares: &[f64], dim: usize) {
        let neighbors = block.iter().flat_map(|list| list.iter());
        for (&neighbor, share) in neighbors.zip(shares.chunks_exact(dim)) {
            let start = neighbor as usize * self.width;
            let row = &mut self.values[start..start + self.width];
            for (sum, share) in row.iter_mut().zip(&share[self.first..]) {
                *sum += share;
            }
        }
    }

    /// Its rows of VᵀX.
    fn times(&self, points: ArrayView2<f64>) -> Array2<f64> {
        let own = matrix(&self.values, points.nrows(), self.width);
        let mut product = Array2::zeros((self.width, points.ncols()));
        general_mat_mul(1.0, &own.t(), &points, 0.0, &mut product);
        product
    }
}

/// X minus its column means. In exact arithmetic VᵀX does not need it; a common offset would cost digits.
fn centred(points: &Points) -> Result<Vec<f64>> {
    let dim = points.dim();
    let mean = points.column_means();
    let mut centred = try_zeros(points.as_slice().len())?;
    centred.par_chunks_exact_mut(dim).zip(points.as_slice().par_chunks_exact(dim)).for_each(
        |(out, row)| {
            for ((out, value), mean) in out.iter_mut().zip(row).zip(&mean) {
                *out = value - mean;
            }
        },
    );
    Ok(centred)
}
