//! Some frames, chosen at random → S̄ and its standard error.
//!
//! Let the sample be m of the n points, drawn without replacement and in random order. It is cut into G groups of
//! consecutive points, nearly equal in size. With m_g points and the mean S̄_g in group g,
//!
//! ```text
//! SE² = (1 − m/n) / (m (G − 1)) · Σ_g m_g (S̄_g − S̄)²        (entry by entry)
//! ```
//!
//! Let s² be the variance of an entry over all n points (divided by n − 1). Then the mean of a sample has the variance
//! (1 − m/n) s²/m. Groups of any sizes have E S̄_g² = (E S̄)² + (1/m_g − 1/n) s², and likewise S̄ itself with m, so
//! that E Σ_g m_g (S̄_g − S̄)² = (G − 1) s²: SE² is unbiased. It has G − 1 degrees of freedom, so
//! SE itself is uncertain by about 1/√(2(G − 1)), 13 % for 32 groups.
//!
//! With weights w ≥ 0, S̄ = Σ w S / Σ w and likewise S̄_g, and the sum of the weights of a group stands
//! for m_g, that of all for the m in front of G − 1: the standard error of a ratio, to first order in
//! the spread of the groups' weights.
//!
//! The squares of single operators would give a slightly better estimate, but each operator would have to exist as d×d,
//! which its factors avoid.

use ndarray::{Array2, ArrayView2, Zip};

use crate::block::{Block, check_weights};
use crate::error::{Error, Result};
use crate::frame::Degenerate;
use crate::matrix::try_copied;
use crate::mean::{POINTS_PER_BLOCK, for_each_sum};
use crate::neighbors::check_neighborhoods;
use crate::points::Points;
use crate::progress::Progress;
use crate::routes::{Route, Sizes};
use crate::scaling::Scaled;
use crate::shape_sum::ShapeSum;

/// Groups of a sample that has at least as many points; a smaller one has a group for each point.
const GROUPS: usize = 32;

/// A mean over a random sample of points, and its standard error.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    /// The mean of the sample's shape operators, d×d.
    pub mean: Array2<f64>,
    /// The standard error of each entry; zero if the sample is all of the points.
    pub standard_error: Array2<f64>,
}

/// The mean of the shape operators of a random sample of `points`.
///
/// Each row of `neighbors` holds the neighbours of one point of the sample, among all of `points`. The rows must be in
/// random order: groups of consecutive ones stand for samples of their own.
///
/// `weights` has a non-negative number for each of these rows; without it all have the same weight.
///
/// The operators are summed as one wide product in each group, also where the mean over all points would be scattered:
/// that takes a product over all points for each sum.
///
/// ```
/// use ndarray::Array2;
/// use shopca_rs::neighbors::{self, Queries};
/// use shopca_rs::{Algorithm, Degenerate, Points, Progress, sample};
///
/// let x = Array2::from_shape_fn((500, 2), |(i, j)| (i as f64 * [0.7, 1.3][j]).sin());
/// let (points, progress) = (Points::new(x.view())?, Progress::new());
/// // A stand-in for a shuffle: 150 rows in an order that has nothing to do with the data.
/// let rows: Vec<u32> = (0..150).map(|i| i * 197 % 500).collect();
/// let found = neighbors::search(&points, Queries::Rows(&rows), 5, Algorithm::Auto, &progress)?;
/// let sampled =
///     sample::mean_shape_operator(&points, found.indices.view(), None, Degenerate::Average, &progress)?;
/// assert!(sampled.standard_error[[0, 0]] < 0.1 * sampled.mean[[0, 0]].abs());
/// # Ok::<(), shopca_rs::Error>(())
/// ```
pub fn mean_shape_operator(
    points: &Points,
    neighbors: ArrayView2<u32>,
    weights: Option<&[f64]>,
    degenerate: Degenerate,
    progress: &Progress,
) -> Result<Sampled> {
    check_neighborhoods(points, neighbors)?;
    check_weights(weights, neighbors.nrows())?;
    let (count, k) = neighbors.dim();
    let (all, dim) = (points.len(), points.dim());
    if count < 2 || count > all {
        return Err(Error::SampleSize { given: count, most: all });
    }
    let neighbors = neighbors.as_standard_layout();
    let lists = try_copied(neighbors.as_slice().expect("row-major").chunks_exact(k))?;
    let cuts = group_cuts(count);
    let all_lists = Block { lists: &lists, weights };
    let scaled = Scaled::new(points, all_lists)?;
    let blocks: Vec<Block> = cuts
        .windows(2)
        .flat_map(|cut| all_lists.slice(cut[0], cut[1]).chunks(POINTS_PER_BLOCK))
        .collect();
    let route = Route::new(Sizes::of(points, count, k), degenerate);
    let (mut sums, mut group) = (GroupedSum::empty(dim)?, ShapeSum::empty(dim)?);
    for_each_sum(&scaled, &blocks, k, degenerate, route, progress, |sum| {
        group.merge(sum);
        if sums.total.count + group.count == cuts[sums.groups + 1] {
            sums.push(&group);
            (group.count, group.weight) = (0, 0.0);
            group.sum.fill(0.0);
        }
    })?;
    let mut sampled = sums.finish(all);
    scaled.restore(&mut sampled.mean)?;
    scaled.restore(&mut sampled.standard_error)?;
    Ok(sampled)
}

/// Where each group of a sample of `count` points begins, and where the last one ends.
pub fn group_cuts(count: usize) -> Vec<usize> {
    let groups = GROUPS.min(count);
    (0..=groups).map(|group| group * count / groups).collect()
}

/// The mean over a sample from `all` points and its standard error, from the sums of its groups, two or more. For
/// callers that hold the points of one group at a time: [`group_cuts`] says how to cut.
pub fn mean_of_groups(groups: impl IntoIterator<Item = ShapeSum>, all: usize) -> Result<Sampled> {
    let mut sums: Option<GroupedSum> = None;
    for group in groups {
        let sums = match &mut sums {
            Some(sums) => sums,
            None => sums.insert(GroupedSum::empty(group.sum.nrows())?),
        };
        sums.push(&group);
    }
    match sums {
        Some(sums) if sums.groups > 1 => Ok(sums.finish(all)),
        few => Err(Error::SampleSize { given: few.map_or(0, |sums| sums.total.count), most: all }),
    }
}

/// The sum over some groups, and how far their means are apart.
struct GroupedSum {
    total: ShapeSum,
    groups: usize,
    /// √(Σ_g m_g (S̄_g − S̄)²), entry by entry. The root, because the squares may not fit a double.
    deviation: Array2<f64>,
}

impl GroupedSum {
    fn empty(dim: usize) -> Result<Self> {
        Ok(Self { total: ShapeSum::empty(dim)?, groups: 0, deviation: ShapeSum::empty(dim)?.sum })
    }

    /// A group of m_g points whose mean is δ away from that of the m before adds m m_g / (m + m_g) δ² to the squares.
    fn push(&mut self, group: &ShapeSum) {
        let (before, new) = (self.total.weight, group.weight);
        if before > 0.0 && new > 0.0 {
            let weight = (before * new / (before + new)).sqrt();
            Zip::from(&mut self.deviation).and(&self.total.sum).and(&group.sum).for_each(
                |deviation, total, sum| {
                    *deviation = deviation.hypot((sum / new - total / before) * weight);
                },
            );
        }
        self.total.merge(group);
        self.groups += 1;
    }

    /// The mean and its standard error as an estimate of the mean over `all` points.
    fn finish(self, all: usize) -> Sampled {
        let (share, freedom) = (self.total.count as f64 / all as f64, (self.groups - 1) as f64);
        let factor = ((1.0 - share) / (self.total.weight * freedom)).sqrt();
        let standard_error = self.deviation * factor;
        Sampled { mean: self.total.mean(), standard_error }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Axis;

    use super::*;
    use crate::neighbors::{self, Algorithm, Queries};
    use crate::{local, mean};

    /// Points in general position: nearly equal or vanishing eigenvalues would cost the digits that are compared.
    fn cloud(rows: usize, dim: usize) -> Array2<f64> {
        Array2::from_shape_fn((rows, dim), |(i, j)| {
            let mixed = ((i * dim + j + 1) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            (mixed >> 11) as f64 / (1_u64 << 53) as f64
        })
    }

    fn sampled(x: &Array2<f64>, rows: &[u32], k: usize) -> Result<Sampled> {
        let (points, progress) = (Points::new(x.view())?, Progress::new());
        let found = neighbors::search(&points, Queries::Rows(rows), k, Algorithm::Auto, &progress)?;
        mean_shape_operator(&points, found.indices.view(), None, Degenerate::Average, &progress)
    }

    /// The formula of the module's comment, from single operators.
    fn by_definition(x: &Array2<f64>, rows: &[u32], k: usize) -> Sampled {
        let (points, progress) = (Points::new(x.view()).unwrap(), Progress::new());
        let found = neighbors::search(&points, Queries::Rows(rows), k, Algorithm::Brute, &progress)
            .unwrap();
        let operators =
            local::shape_operators(&points, found.indices.view(), Degenerate::Average, &progress)
                .unwrap();
        let mean = operators.mean_axis(Axis(0)).unwrap();
        let (count, groups) = (rows.len(), rows.len().min(32));
        let mut squares = Array2::<f64>::zeros(mean.dim());
        for group in 0..groups {
            let (start, end) = (group * count / groups, (group + 1) * count / groups);
            let own = operators.slice(ndarray::s![start..end, .., ..]).mean_axis(Axis(0)).unwrap();
            squares += &((own - &mean).mapv(|gap| gap * gap) * (end - start) as f64);
        }
        let factor = (1.0 - count as f64 / x.nrows() as f64) / (count as f64 * (groups - 1) as f64);
        Sampled { mean, standard_error: (squares * factor).mapv(f64::sqrt) }
    }

    fn close(a: &Array2<f64>, b: &Array2<f64>) -> bool {
        let scale = b.iter().fold(1e-300_f64, |most, entry| most.max(entry.abs()));
        a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-13 * scale)
    }

    #[test]
    fn mean_and_error_follow_their_definition_for_any_sizes_of_groups() {
        // 600 points have groups of 18 and 19, 8500 of more than one block.
        for (rows, dim, k, count) in
            [(40, 3, 5, 2), (40, 3, 5, 33), (900, 4, 6, 600), (9001, 2, 4, 8500), (300, 70, 9, 70)]
        {
            let x = cloud(rows, dim);
            let chosen: Vec<u32> = (0..count).map(|i| (i * 613 % rows) as u32).collect();
            let (got, expected) = (sampled(&x, &chosen, k).unwrap(), by_definition(&x, &chosen, k));
            assert!(close(&got.mean, &expected.mean), "mean of {count}");
            assert!(close(&got.standard_error, &expected.standard_error), "error of {count}");
        }
    }

    #[test]
    fn groups_summed_elsewhere_have_the_same_mean_and_error() {
        let x = cloud(300, 3);
        let rows: Vec<u32> = (0..100).map(|i| i * 77 % 300).collect();
        let points = Points::new(x.view()).unwrap();
        let progress = Progress::new();
        let found = neighbors::search(&points, Queries::Rows(&rows), 6, Algorithm::Auto, &progress)
            .unwrap();
        let (all, average) = (found.indices.view(), Degenerate::Average);
        let some: Vec<f64> = (1..=rows.len()).map(|i| 1.0 / i as f64).collect();
        for weights in [None, Some(&some[..])] {
            let sums: Vec<ShapeSum> = group_cuts(rows.len())
                .windows(2)
                .map(|cut| {
                    let group = all.slice(ndarray::s![cut[0]..cut[1], ..]);
                    let own = weights.map(|weights| &weights[cut[0]..cut[1]]);
                    mean::weighted_sum(&points, group, own, average, &progress).unwrap()
                })
                .collect();
            let groups = || sums.iter().cloned();
            let expected = mean_shape_operator(&points, all, weights, average, &progress);
            assert_eq!(mean_of_groups(groups(), 300), expected);
            let one = mean_of_groups(groups().take(1), 300);
            assert_eq!(one, Err(Error::SampleSize { given: 3, most: 300 }));
        }
    }

    #[test]
    fn all_points_have_no_error() {
        let x = cloud(200, 3);
        let rows: Vec<u32> = (0..200).map(|i| i * 77 % 200).collect();
        let got = sampled(&x, &rows, 6).unwrap();
        assert!(got.standard_error.iter().all(|&error| error == 0.0));
        let points = Points::new(x.view()).unwrap();
        let progress = Progress::new();
        let found =
            neighbors::search(&points, Queries::All, 6, Algorithm::Auto, &progress).unwrap();
        let full = mean::mean_shape_operator(
            &points,
            found.indices.view(),
            Degenerate::Average,
            &progress,
        );
        assert!(close(&got.mean, &full.unwrap()));
    }

    #[test]
    fn the_error_of_huge_and_of_tiny_data_is_that_of_the_same_data_scaled() {
        let (x, rows) = (cloud(100, 3), Vec::from_iter((0..40).map(|i| i * 77 % 100)));
        let plain = sampled(&x, &rows, 6).unwrap().standard_error;
        for exponent in [480, -470] {
            let scale = f64::from(exponent).exp2();
            let scaled = sampled(&(&x * scale), &rows, 6).unwrap().standard_error;
            assert!(close(&(scaled / scale / scale), &plain), "2^{exponent}");
        }
    }

    #[test]
    fn a_sample_of_one_or_of_too_many_is_refused() {
        let x = cloud(30, 2);
        for count in [0, 1, 31] {
            let rows: Vec<u32> = (0..count).map(|i| i % 30).collect();
            let expected = Error::SampleSize { given: count as usize, most: 30 };
            assert_eq!(sampled(&x, &rows, 4), Err(expected));
        }
    }

    #[test]
    fn the_bits_do_not_depend_on_the_pool() {
        let x = cloud(3000, 5);
        let rows: Vec<u32> = (0..1500).map(|i| i * 613 % 3000).collect();
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| sampled(&x, &rows, 9).unwrap())
        };
        let one = with(1);
        assert!([2, 3, 8].into_iter().all(|threads| with(threads) == one));
    }
}
