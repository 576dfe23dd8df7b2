//! Which k: the error of II estimated at several scales, without knowing the surface.
//!
//! At a sample of points and for k growing by √2, V_k is what noise adds to |II_k|², trimmed and averaged. With l
//! about k/2 and radii h, the squared bias of II_k is B_k² / (1 − (h_l/h_k)ᵖ)²,
//! B_k² = mean |II_k − II_l|² − (V_l − V_k) if positive: the difference of two biases that grow as hᵖ, less that of
//! their noise. The estimated error is V_k plus the squared bias.

use ndarray::{Array2, Array3, ArrayView2, ArrayView3, s};

use crate::error::{Error, Result};
use crate::matrix::try_zeros;
use crate::neighbors::{self, Algorithm, Queries};
use crate::points::Points;
use crate::progress::Progress;

use super::estimate::{FormEstimate, Sizes};
use super::fit::fitter;
use super::polynomial::unknowns;
use super::records::fit_each;

/// The largest k tried.
const MOST_NEIGHBORS: usize = 1300;

/// The search over k stops once the estimated error is this many times the least, after some values.
const HOPELESS: f64 = 30.0;
const FEWEST_SCALES: usize = 7;

/// The share of the points in a mean, those with the smallest values.
const KEPT: f64 = 0.9;

/// The estimates at one k.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Neighbours.
    pub neighbors: usize,
    /// The mean squared error of II; infinite if only one k was tried, since there is none to compare with.
    pub error: f64,
    /// What noise adds to |II|².
    pub variance: f64,
    /// The median radius.
    pub radius: f64,
    /// The share of points whose neighbours determine the fit.
    pub valid: f64,
}

/// The candidates for k: 1.5 q · 2^(j/2), at most a third of the points.
pub fn candidates(points: usize, intrinsic: usize, order: usize) -> Vec<usize> {
    let most = (points / 3).min(MOST_NEIGHBORS);
    let first = 1.5 * unknowns(intrinsic, order) as f64;
    let mut scales: Vec<usize> = (0..40)
        .map(|j| (first * (f64::from(j) / 2.0).exp2()).round() as usize)
        .take_while(|&k| k <= most)
        .collect();
    scales.dedup();
    scales
}

/// The estimated errors of fits of one order at the rows `sample` of `points`, for growing k. Empty
/// if there are too few points for any.
pub fn scales(
    points: &Points,
    sample: &[u32],
    intrinsic: usize,
    order: usize,
    algorithm: Algorithm,
    progress: &Progress,
) -> Result<Vec<Scale>> {
    let (dim, candidates) = (points.dim(), candidates(points.len(), intrinsic, order));
    let Some(&most) = candidates.last() else { return Ok(Vec::new()) };
    Sizes { neighbors: most, dim, intrinsic, order }.check()?;
    if sample.is_empty() {
        return Err(Error::SampleSize { given: 0, most: points.len() });
    }
    progress.expect(sample.len() * (1 + candidates.len()));
    let index = neighbors::index(points, algorithm, progress)?;
    let search = |k: usize| -> Result<Array2<u32>> {
        Ok(index.search(Queries::Rows(sample), k, progress)?.indices)
    };
    // Where the error soon grows, the neighbours at the largest scales are never asked for.
    let mut lists = search(candidates.get(FEWEST_SCALES + 1).copied().unwrap_or(most))?;
    let scales = judge(&candidates, order, |k| {
        if k > lists.ncols() {
            progress.expect(sample.len());
            lists =
                search(candidates.iter().copied().find(|&wider| wider >= 2 * k).unwrap_or(most))?;
        }
        let sizes = Sizes { neighbors: k, dim, intrinsic, order };
        Forms::new(points, sample, lists.slice(s![.., ..k]), sizes, progress)
    })?;
    progress.advance(sample.len() * (candidates.len() - scales.len()))?;
    Ok(scales)
}

/// The fits at all `candidates` of the rows `sample` of `points`, whose nearest are in the rows of `neighbors`: for
/// each k and each row what [`scales_of_fits`] takes. They can be made anywhere, some rows at a time.
pub fn scale_fits(
    points: &Points,
    sample: &[u32],
    neighbors: ArrayView2<u32>,
    candidates: &[usize],
    intrinsic: usize,
    order: usize,
    progress: &Progress,
) -> Result<Array3<f64>> {
    let sizes = Sizes { neighbors: 0, dim: points.dim(), intrinsic, order };
    let mut records = Vec::new();
    for &k in candidates {
        let sizes = Sizes { neighbors: k, ..sizes }.check()?;
        let fits = Forms::new(points, sample, neighbors.slice(s![.., ..k]), sizes, progress)?;
        records.extend_from_slice(&fits.records);
    }
    let shape = (candidates.len(), sample.len(), Forms::width(points.dim(), intrinsic));
    Ok(Array3::from_shape_vec(shape, records).expect("a record for each"))
}

/// The estimated errors at all `candidates` from the fits of [`scale_fits`]: those of [`scales`].
pub fn scales_of_fits(
    fits: ArrayView3<f64>,
    candidates: &[usize],
    dim: usize,
    intrinsic: usize,
    order: usize,
) -> Result<Vec<Scale>> {
    let mut each = fits.outer_iter();
    judge(candidates, order, |k| {
        let sizes = Sizes { neighbors: k, dim, intrinsic, order };
        let records = each.next().expect("fits for each k").iter().copied().collect();
        Ok(Forms { sizes, width: Forms::width(dim, intrinsic), records })
    })
}

/// The estimated errors of the fits that `fit` makes for each k, up to where larger ones are hopeless.
fn judge(
    candidates: &[usize],
    order: usize,
    mut fit: impl FnMut(usize) -> Result<Forms>,
) -> Result<Vec<Scale>> {
    let mut fits: Vec<Forms> = Vec::new();
    let mut scales: Vec<Scale> = Vec::new();
    for (j, &k) in candidates.iter().enumerate() {
        let fit = fit(k)?;
        let mut scale = fit.scale(k);
        if j > 0 {
            let l = j.saturating_sub(2);
            let apart = fit.squared_difference(&fits[l]);
            let difference = (apart - (scales[l].variance - scale.variance).max(0.0)).max(0.0);
            let power = if order == 4 { 4 } else { 2 };
            let growth = (scales[l].radius / scale.radius).powi(power);
            let bias = difference / (1.0 - growth).powi(2);
            let finite = |error: f64| if error.is_finite() { error } else { f64::INFINITY };
            scale.error = finite(scale.variance + bias);
            if j == 1 {
                // The bias at the smallest scale is that of the next, less its growth.
                scales[0].error = finite(scales[0].variance + bias * growth * growth);
            }
        }
        fits.push(fit);
        scales.push(scale);
        let least = scales.iter().map(|scale| scale.error).fold(f64::INFINITY, f64::min);
        if j >= FEWEST_SCALES && least < scale.error / HOPELESS {
            break;
        }
    }
    Ok(scales)
}

/// The fits at one k: valid, radius, variance, tangent (m × d) and form (pairs × d) of every point.
struct Forms {
    sizes: Sizes,
    width: usize,
    records: Vec<f64>,
}

const FORM_HEAD: usize = 3;

impl Forms {
    fn width(dim: usize, m: usize) -> usize {
        FORM_HEAD + m * dim + m * (m + 1) / 2 * dim
    }

    fn new(
        points: &Points,
        sample: &[u32],
        lists: ArrayView2<u32>,
        sizes: Sizes,
        progress: &Progress,
    ) -> Result<Self> {
        let (dim, m) = (sizes.dim, sizes.intrinsic);
        let width = Self::width(dim, m);
        let mut records = try_zeros::<f64>(sample.len().saturating_mul(width))?;
        let write = |_, estimate: &mut FormEstimate, out: &mut [f64]| {
            out[0] = 1.0;
            out[1] = estimate.radius;
            out[2] = estimate.form_variance;
            let (tangent, form) = out[FORM_HEAD..].split_at_mut(m * dim);
            tangent.copy_from_slice(&estimate.tangent);
            form.copy_from_slice(&estimate.form);
        };
        let make = || fitter(sizes);
        fit_each(points.as_slice(), dim, sample, lists, &mut records, progress, make, write)?;
        Ok(Self { sizes, width, records })
    }

    fn valid(&self) -> impl Iterator<Item = &[f64]> {
        self.records.chunks_exact(self.width).filter(|record| record[0] == 1.0)
    }

    fn scale(&self, neighbors: usize) -> Scale {
        let variance = trimmed_mean(self.valid().map(|record| record[2]).collect());
        let mut radii: Vec<f64> = self.valid().map(|record| record[1]).collect();
        radii.sort_unstable_by(f64::total_cmp);
        let middle = radii.len() / 2;
        let radius = match radii.len() {
            0 => f64::NAN,
            count if count % 2 == 1 => radii[middle],
            _ => 0.5 * (radii[middle - 1] + radii[middle]),
        };
        let valid = radii.len() as f64 / (self.records.len() / self.width) as f64;
        Scale { neighbors, error: f64::INFINITY, variance, radius, valid }
    }

    /// The trimmed mean of |II − II'|² over the points that both determine.
    fn squared_difference(&self, other: &Self) -> f64 {
        let records = self.records.chunks_exact(self.width);
        let both = records.zip(other.records.chunks_exact(self.width));
        let valid = both.filter(|(own, other)| own[0] == 1.0 && other[0] == 1.0);
        trimmed_mean(valid.map(|(own, other)| self.apart(own, other)).collect())
    }

    /// |II − II'|² as tensors in R^d. With M = TT'ᵀ it is |II − M II' Mᵀ|² + |II'|² − |M II' Mᵀ|².
    fn apart(&self, own: &[f64], other: &[f64]) -> f64 {
        let (dim, m) = (self.sizes.dim, self.sizes.intrinsic);
        let (tangent, form) = own[FORM_HEAD..].split_at(m * dim);
        let (other_tangent, other_form) = other[FORM_HEAD..].split_at(m * dim);
        let row =
            |values: &[f64], a: usize| -> Vec<f64> { values[a * dim..(a + 1) * dim].to_vec() };
        let mut turn = vec![0.0; m * m];
        for a in 0..m {
            for b in 0..m {
                turn[a * m + b] =
                    row(tangent, a).iter().zip(row(other_tangent, b)).map(|(x, y)| x * y).sum();
            }
        }
        let pair = |a: usize, b: usize| {
            let (a, b) = (a.min(b), a.max(b));
            a * m - a * (a + 1) / 2 + b
        };
        let mut total = 0.0;
        for c in 0..dim {
            for a in 0..m {
                for b in 0..m {
                    let mut turned = 0.0;
                    for i in 0..m {
                        for j in 0..m {
                            let entry = other_form[pair(i, j) * dim + c];
                            turned += turn[a * m + i] * entry * turn[b * m + j];
                        }
                    }
                    let whole = other_form[pair(a, b) * dim + c];
                    let gap = form[pair(a, b) * dim + c] - turned;
                    total += gap * gap + (whole * whole - turned * turned);
                }
            }
        }
        total.max(0.0)
    }
}

/// The mean of the smallest 90 %.
fn trimmed_mean(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let kept = ((KEPT * values.len() as f64) as usize).max(1);
    values.iter().take(kept).sum::<f64>() / kept as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_grow_by_the_root_of_two_up_to_a_third_of_the_points() {
        assert_eq!(candidates(300, 2, 3), [15, 21, 30, 42, 60, 85]);
        assert_eq!(candidates(30, 2, 3), [] as [usize; 0]);
        assert!(candidates(1_000_000, 2, 3).iter().all(|&k| k <= MOST_NEIGHBORS));
    }

    #[test]
    fn a_trimmed_mean_leaves_out_the_largest_tenth() {
        let values = (0..20).map(|i| if i == 7 { 1e9 } else { f64::from(i) }).collect();
        // 0 … 18 without 7 and 19, 18 values.
        assert_eq!(trimmed_mean(values), (18.0 * 19.0 / 2.0 - 7.0) / 18.0);
        assert_eq!(trimmed_mean(vec![3.0]), 3.0);
    }
}
