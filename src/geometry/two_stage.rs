//! Two fits for noisy points: foot points and tangents first, then II from the tilts of the tangents.

use ndarray::{Array2, ArrayView2, s};

use crate::error::Result;
use crate::matrix::{matrix, try_zeros};
use crate::neighbors::{self, Algorithm, NeighborIndex};
use crate::points::Points;
use crate::progress::Progress;

use super::estimate::{FormEstimate, Sizes};
use super::fit::fitter;
use super::records::{Output, fit_each};
use super::search::{for_each_batch, rows_near};
use super::tilts::{POTENTIAL, tilt_fitter};

/// Foot points are not ordered as the points are. So the second stage chooses among the foot points of more of the
/// nearest points than it takes: this many times as many, and some more.
const SPARE: f64 = 1.3;
const SPARE_POINTS: usize = 10;

/// The settings of the two stages.
#[derive(Debug, Clone, Copy)]
pub struct TwoStage {
    /// The fit of the first stage.
    pub first: Sizes,
    /// Foot points in a neighbourhood of the second stage, the centre not counted.
    pub second: usize,
    /// What noise adds to |II|² after the second stage, as a share of what it adds after the first.
    pub variance_ratio: f64,
    /// How many of the first columns decide which points are neighbours; the others only take part in the fits.
    pub columns: usize,
}

impl TwoStage {
    /// Points of d columns as the search sees them.
    fn searched<'a>(&self, values: &'a [f64]) -> Result<Points<'a>> {
        let table = matrix(values, values.len() / self.first.dim, self.first.dim);
        Points::new(table.slice_move(s![.., ..self.columns]))
    }
}

/// Validity, noise, what it adds to |II|² and |tr II|², offset and tangent of the first stage at some rows.
struct First {
    dim: usize,
    width: usize,
    records: Vec<f64>,
}

const FIRST_HEAD: usize = 4;

impl First {
    fn new(
        points: &Points,
        index: &dyn NeighborIndex,
        rows: &[u32],
        sizes: Sizes,
        progress: &Progress,
    ) -> Result<Self> {
        let Sizes { neighbors, dim, intrinsic: m, .. } = sizes;
        let width = FIRST_HEAD + dim + m * dim;
        let mut records = try_zeros::<f64>(rows.len().saturating_mul(width))?;
        for_each_batch(points, index, rows, neighbors, progress, |start, rows, lists| {
            let records = &mut records[start * width..(start + rows.len()) * width];
            let write = |_, estimate: &mut FormEstimate, out: &mut [f64]| {
                out[0] = 1.0;
                out[1] = estimate.noise_variance;
                out[2] = estimate.form_variance;
                out[3] = estimate.trace_variance;
                out[FIRST_HEAD..FIRST_HEAD + dim].copy_from_slice(&estimate.offset);
                out[FIRST_HEAD + dim..].copy_from_slice(&estimate.tangent);
            };
            fit_each(
                points.as_slice(),
                dim,
                rows,
                lists,
                records,
                progress,
                || fitter(sizes),
                write,
            )
        })?;
        Ok(Self { dim, width, records })
    }

    fn record(&self, place: usize) -> &[f64] {
        &self.records[place * self.width..(place + 1) * self.width]
    }

    fn is_valid(&self, place: usize) -> bool {
        self.record(place)[0] == 1.0
    }

    /// What [`Second::fit`] takes over.
    fn errors(&self, place: usize) -> &[f64] {
        &self.record(place)[1..FIRST_HEAD + self.dim]
    }

    fn offset(&self, place: usize) -> &[f64] {
        &self.record(place)[FIRST_HEAD..FIRST_HEAD + self.dim]
    }

    fn tangent(&self, place: usize) -> &[f64] {
        &self.record(place)[FIRST_HEAD + self.dim..]
    }
}

/// The second stage, once the first is done.
struct Second {
    sizes: Sizes,
    variance_ratio: f64,
    output: Output,
}

impl Second {
    /// Fills a record for each of the rows `centres` of `feet`. `errors` has σ², what noise adds to |II|² and |tr II|²
    /// and the offset of the first stage for each of them.
    #[expect(
        clippy::too_many_arguments,
        reason = "two tables, their neighbourhoods and the answer"
    )]
    fn fit<'e>(
        &self,
        feet: &[f64],
        tangents: &[f64],
        centres: &[u32],
        lists: ArrayView2<u32>,
        errors: impl Fn(usize) -> &'e [f64] + Sync,
        records: &mut [f64],
        progress: &Progress,
    ) -> Result<()> {
        let Sizes { dim, intrinsic: m, .. } = self.sizes;
        let write = |number: usize, estimate: &mut FormEstimate, out: &mut [f64]| {
            let errors = errors(number);
            estimate.noise_variance = errors[0];
            estimate.form_variance = errors[1] * self.variance_ratio;
            estimate.trace_variance = errors[2] * self.variance_ratio;
            estimate.offset.clear();
            estimate.offset.extend_from_slice(&errors[3..]);
            self.output.write(estimate, dim, m, out);
        };
        fit_each(
            feet,
            dim,
            centres,
            lists,
            records,
            progress,
            || tilt_fitter(self.sizes, tangents),
            write,
        )
    }
}

/// The second stage alone: a record for each of the rows `centres` of `feet`, from their neighbours in the rows of
/// `neighbors`.
///
/// `tangents` has a basis (m × d) for each of the feet, `errors` has σ², what noise adds to |II|² and |tr II|², and the
/// offset for each of the centres, all of them from the first stage.
#[expect(clippy::too_many_arguments, reason = "the output of one stage is the input of the next")]
pub fn second_stage(
    feet: &Points,
    tangents: ArrayView2<f64>,
    errors: ArrayView2<f64>,
    centres: &[u32],
    neighbors: ArrayView2<u32>,
    plan: TwoStage,
    output: Output,
    progress: &Progress,
) -> Result<Array2<f64>> {
    let Sizes { dim, intrinsic: m, .. } = plan.first;
    let sizes = Sizes { neighbors: plan.second, order: POTENTIAL, ..plan.first }.check()?;
    let (tangents, errors) = (tangents.as_standard_layout(), errors.as_standard_layout());
    let tangents = tangents.as_slice().expect("row-major");
    let errors = errors.as_slice().expect("row-major");
    let each = 3 + dim;
    let width = output.width(dim, m);
    let mut records = try_zeros::<f64>(centres.len().saturating_mul(width))?;
    let stage = Second { sizes, variance_ratio: plan.variance_ratio, output };
    let of = |number: usize| &errors[number * each..(number + 1) * each];
    stage.fit(feet.as_slice(), tangents, centres, neighbors, of, &mut records, progress)?;
    Ok(Array2::from_shape_vec((centres.len(), width), records).expect("a record for each"))
}

/// Second fundamental forms, or curvatures, at the rows `centres` of `points` by two stages: a record for each.
pub fn two_stage_forms(
    points: &Points,
    centres: &[u32],
    plan: TwoStage,
    algorithm: Algorithm,
    output: Output,
    progress: &Progress,
) -> Result<Array2<f64>> {
    let Sizes { neighbors: k1, dim, intrinsic: m, .. } = plan.first.check()?;
    let second = Sizes { neighbors: plan.second, order: POTENTIAL, ..plan.first }.check()?;
    let searched = plan.searched(points.as_slice())?;
    let index = neighbors::index(&searched, algorithm, progress)?;
    // The rows whose foot points the second stage may need.
    let spare = foot_points(points.len(), plan.second);
    let rows = rows_near(points, index.as_ref(), centres, spare, progress)?;
    progress.expect(2 * rows.len() + 2 * centres.len());
    let first =
        First::new(points, index.as_ref(), &rows, Sizes { neighbors: k1, ..plan.first }, progress)?;
    let surface = Surface::new(points, &rows, &first)?;

    let width = output.width(dim, m);
    let mut records = try_zeros::<f64>(centres.len().saturating_mul(width))?;
    for record in records.chunks_exact_mut(width) {
        record[1..].fill(f64::NAN);
    }
    // The index of each centre among the foot points; those without one keep their empty records.
    let mut wanted = Vec::new();
    let mut places = Vec::new();
    for (number, &row) in centres.iter().enumerate() {
        let place = rows.binary_search(&row).expect("every centre is needed");
        if surface.place_of[place] != NO_FOOT {
            wanted.push(surface.place_of[place]);
            places.push((number, place));
        }
    }
    if surface.feet.len() / dim <= second.neighbors {
        // Too few valid points for a second stage anywhere.
        return Ok(
            Array2::from_shape_vec((centres.len(), width), records).expect("a record for each")
        );
    }
    let feet = Points::new(matrix(&surface.feet, surface.feet.len() / dim, dim))?;
    let searched = plan.searched(feet.as_slice())?;
    let among_feet = neighbors::index(&searched, algorithm, progress)?;
    let mut found = try_zeros::<f64>(wanted.len().saturating_mul(width))?;
    for_each_batch(
        &feet,
        among_feet.as_ref(),
        &wanted,
        second.neighbors,
        progress,
        |start, rows, lists| {
            let records = &mut found[start * width..(start + rows.len()) * width];
            let errors = |number: usize| first.errors(places[start + number].1);
            let stage = Second { sizes: second, variance_ratio: plan.variance_ratio, output };
            stage.fit(feet.as_slice(), &surface.tangents, rows, lists, errors, records, progress)
        },
    )?;
    for ((number, _), record) in places.iter().zip(found.chunks_exact(width)) {
        records[number * width..(number + 1) * width].copy_from_slice(record);
    }
    Ok(Array2::from_shape_vec((centres.len(), width), records).expect("a record for each"))
}

/// How many of the nearest of n points have foot points that a second stage of k neighbours may need.
pub fn foot_points(n: usize, k: usize) -> usize {
    ((SPARE * k as f64) as usize + SPARE_POINTS).min(n - 1)
}

/// Stands for the foot point of a row that has none in the first stage.
const NO_FOOT: u32 = u32::MAX;

/// The foot points and tangents of the valid points of a first stage.
struct Surface {
    feet: Vec<f64>,
    tangents: Vec<f64>,
    /// The index of the foot point for each row of the first stage, or NO_FOOT.
    place_of: Vec<u32>,
}

impl Surface {
    fn new(points: &Points, rows: &[u32], first: &First) -> Result<Self> {
        let valid = (0..rows.len()).filter(|&place| first.is_valid(place)).count();
        let dim = points.dim();
        let tangent = first.width - FIRST_HEAD - dim;
        let mut feet = try_zeros(valid.saturating_mul(dim))?;
        let mut tangents = try_zeros(valid.saturating_mul(tangent))?;
        let mut place_of = try_zeros::<u32>(rows.len())?;
        let mut next = 0;
        for (place, &row) in rows.iter().enumerate() {
            if !first.is_valid(place) {
                place_of[place] = NO_FOOT;
                continue;
            }
            let foot = &mut feet[next * dim..(next + 1) * dim];
            let moved = points.row(row as usize).iter().zip(first.offset(place));
            for (foot, (value, offset)) in foot.iter_mut().zip(moved) {
                *foot = value + offset;
            }
            tangents[next * tangent..(next + 1) * tangent].copy_from_slice(first.tangent(place));
            place_of[place] = next as u32;
            next += 1;
        }
        Ok(Self { feet, tangents, place_of })
    }
}
