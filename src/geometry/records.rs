//! Many neighbourhoods → a record of numbers for each point.

use std::sync::Mutex;

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::matrix::try_zeros;
use crate::points::Points;
use crate::progress::Progress;
use crate::simd::LANES;

use super::estimate::{FormEstimate, Sizes};
use super::fit::{Fitter, fitter};
use super::invariants::Invariants;
use super::visits::visits;

/// Points in a unit of parallel work: a multiple of the eight that are fitted together.
const POINTS_PER_BLOCK: usize = 8 * LANES;

/// Numbers at the start of every record: [`FormEstimate::write_head`].
pub const HEAD: usize = 5;

/// Fits the neighbourhood of each of the rows `centres` of `values`, of `dim` columns, and has `write` fill its record,
/// an equal share of `records`. Records of points that the fit does not determine are 0, then NaN.
///
/// `make` makes the solver of a worker; `write` also gets the index of the point in `centres`.
#[expect(
    clippy::too_many_arguments,
    reason = "points, their neighbourhoods, how to fit them and the answer"
)]
pub(crate) fn fit_each<'a>(
    values: &[f64],
    dim: usize,
    centres: &[u32],
    neighbors: ArrayView2<u32>,
    records: &mut [f64],
    progress: &Progress,
    make: impl Fn() -> Box<dyn Fitter + 'a> + Sync,
    write: impl Fn(usize, &mut FormEstimate, &mut [f64]) + Sync,
) -> Result<()> {
    if centres.is_empty() {
        return Ok(());
    }
    let (k, width) = (neighbors.ncols(), records.len() / centres.len());
    let neighbors = neighbors.as_standard_layout();
    let lists = neighbors.as_slice().expect("row-major");
    let order = visits(values, dim, centres)?;
    let records = Mutex::new(records);
    order.par_chunks(POINTS_PER_BLOCK).try_for_each_init(
        || (make(), vec![FormEstimate::default(); LANES], vec![0.0; POINTS_PER_BLOCK * width]),
        |(fitter, estimates, block), places| {
            let batches = places.chunks(LANES).zip(block.chunks_mut(LANES * width));
            for (places, block) in batches {
                // Missing lanes repeat the first, and are never read.
                let place =
                    |lane: usize| places[if lane < places.len() { lane } else { 0 }] as usize;
                let mine = std::array::from_fn(|lane| centres[place(lane)]);
                let near = std::array::from_fn(|lane| &lists[place(lane) * k..][..k]);
                let estimates = &mut estimates[..places.len()];
                if !fitter.fit(values, mine, near, estimates) {
                    return Err(Error::no_convergence());
                }
                let each = places.iter().zip(estimates).zip(block.chunks_exact_mut(width));
                for ((place, estimate), record) in each {
                    if estimate.valid {
                        write(*place as usize, estimate, record);
                    } else {
                        record.fill(f64::NAN);
                        record[0] = 0.0;
                    }
                }
                progress.advance(places.len())?;
            }
            let records = &mut *records.lock().expect("no thread panics while it copies");
            for (place, record) in places.iter().zip(block.chunks_exact(width)) {
                records[*place as usize * width..][..width].copy_from_slice(record);
            }
            Ok(())
        },
    )
}

/// What a record holds after its [`HEAD`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The offset to the surface (d), the tangent basis (d × m) and II (m × m × d).
    Form,
    /// |H|, |II|² less what noise adds, scalar curvature, and with one normal direction the m principal curvatures,
    /// ascending, and the unit normal (d) along tr II, towards which they are positive.
    Curvatures,
}

impl Output {
    /// Numbers in a record.
    pub fn width(self, dim: usize, m: usize) -> usize {
        HEAD + match self {
            Output::Form => dim + m * dim + m * m * dim,
            Output::Curvatures => 3 + if dim == m + 1 { m + dim } else { 0 },
        }
    }

    pub(crate) fn write(self, estimate: &FormEstimate, dim: usize, m: usize, out: &mut [f64]) {
        estimate.write_head(out);
        match self {
            Output::Form => write_form(estimate, dim, m, &mut out[HEAD..]),
            Output::Curvatures => write_curvatures(estimate, dim, m, &mut out[HEAD..]),
        }
    }
}

/// The second fundamental forms, or the curvatures, at the rows `centres` of `points`, from the neighbours in the rows
/// of `neighbors`: a record for each.
///
/// ```
/// use ndarray::Array2;
/// use shopca_rs::geometry::{HEAD, Output, Sizes, second_forms};
/// use shopca_rs::neighbors::{self, Queries};
/// use shopca_rs::{Algorithm, Points, Progress};
///
/// // A circle of radius 2.
/// let x = Array2::from_shape_fn((100, 2), |(i, j)| {
///     let t = i as f64 * 0.062_831_853_071_795_86;
///     2.0 * if j == 0 { t.cos() } else { t.sin() }
/// });
/// let (points, progress, centres) = (Points::new(x.view())?, Progress::new(), [0, 25]);
/// let found = neighbors::search(&points, Queries::Rows(&centres), 8, Algorithm::Auto, &progress)?;
/// let sizes = Sizes { neighbors: 8, dim: 2, intrinsic: 1, order: 2 };
/// let lists = found.indices.view();
/// let records = second_forms(&points, &centres, lists, sizes, Output::Form, &progress)?;
/// let form = HEAD + 2 + 2;
/// assert!((records[[0, form]] + 0.5).abs() < 1e-6, "II at (2, 0) is (−1/2, 0)");
/// # Ok::<(), shopca_rs::Error>(())
/// ```
pub fn second_forms(
    points: &Points,
    centres: &[u32],
    neighbors: ArrayView2<u32>,
    sizes: Sizes,
    output: Output,
    progress: &Progress,
) -> Result<Array2<f64>> {
    let Sizes { dim, intrinsic: m, .. } = sizes.check()?;
    let width = output.width(dim, m);
    let mut records = try_zeros::<f64>(centres.len().saturating_mul(width))?;
    let make = || fitter(sizes);
    let write =
        |_, estimate: &mut FormEstimate, out: &mut [f64]| output.write(estimate, dim, m, out);
    fit_each(points.as_slice(), dim, centres, neighbors, &mut records, progress, make, write)?;
    Ok(Array2::from_shape_vec((centres.len(), width), records).expect("a record for each"))
}

/// Offset, tangent as d × m, II as m × m × d.
fn write_form(estimate: &FormEstimate, dim: usize, m: usize, out: &mut [f64]) {
    let (offset, rest) = out.split_at_mut(dim);
    offset.copy_from_slice(&estimate.offset);
    let (tangent, form) = rest.split_at_mut(m * dim);
    for a in 0..m {
        for c in 0..dim {
            tangent[c * m + a] = estimate.tangent[a * dim + c];
        }
    }
    let mut pair = 0;
    for a in 0..m {
        for b in a..m {
            let from = &estimate.form[pair * dim..(pair + 1) * dim];
            form[(a * m + b) * dim..][..dim].copy_from_slice(from);
            form[(b * m + a) * dim..][..dim].copy_from_slice(from);
            pair += 1;
        }
    }
}

fn write_curvatures(estimate: &FormEstimate, dim: usize, m: usize, out: &mut [f64]) {
    let invariants = Invariants::new(estimate, dim, m);
    out[0] = invariants.mean;
    out[1] = invariants.squared_norm;
    out[2] = invariants.scalar;
    if dim == m + 1 {
        let (principal, normal) = out[3..].split_at_mut(m);
        invariants.write_principal(estimate, principal, normal);
    }
}
