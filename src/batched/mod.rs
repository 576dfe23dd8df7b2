//! Eight neighbourhoods at once → their shape operators as products of two thin factors.
//!
//! One neighbourhood is too small a problem for the processor: most of its time goes to calls and half-filled
//! registers. Here each lane of a SIMD register holds the eigenproblem of a different neighbourhood. With more points
//! than columns all other steps use one lane per neighbourhood too ([`tall`]); otherwise the lanes hold eight columns
//! of one neighbourhood in every step over the columns ([`wide`]). [`crate::frame`] and [`crate::shape`] do the same
//! for one neighbourhood of any size.

mod spectrum;
mod stripes;
mod tall;
mod third_moments;
mod tiles;
pub(crate) mod tridiagonal;
mod wide;

use crate::error::Result;
use crate::points::Points;
use crate::routes::{Operator, Route, Solver};
use crate::simd::{CacheLine, Kernel, LANES, Level, Vector, Work};

pub(crate) use stripes::{STRIPE, stripe_at};
use tall::Tall;
use wide::Wide;

/// A solver for up to eight neighbourhoods, with any instruction set.
pub(crate) trait Batch: Send {
    /// Appends factors of the shape operators of up to eight neighbourhoods, each a list of k rows of `points`: as many
    /// rows of d numbers to `left` as to `right`, so that Σ w S = leftᵀ right, where w is 1 without weights. Returns
    /// false if the eigensolver does not converge.
    #[must_use]
    fn push_factors(
        &mut self,
        points: &Points,
        neighborhoods: &[&[u32]],
        weights: Option<&[f64]>,
        left: &mut Vec<f64>,
        right: &mut Vec<f64>,
    ) -> bool;
}

/// The same for neighbourhoods of no more points than columns.
pub(crate) trait Sharer: Send {
    /// Finds for every neighbour of up to eight neighbourhoods the d numbers to add to its row of V, so that
    /// Σ S = Vᵀ X. They go where [`stripe_at`] says. Returns false if the eigensolver does not converge.
    #[must_use]
    fn share(
        &mut self,
        points: &Points,
        neighborhoods: &[&[u32]],
        shares: &mut [CacheLine],
    ) -> bool;
}

/// The solver of a route, for neighbourhoods of k points in `dim` columns; none for [`Solver::Single`].
pub(crate) fn batch(route: Route, k: usize, dim: usize) -> Result<Option<Box<dyn Batch>>> {
    Level::current().dispatch(MakeBatch { route, k, dim })
}

/// The same for shares, which only [`Solver::Wide`] has.
pub(crate) fn sharer(operator: Operator, k: usize, dim: usize) -> Result<Box<dyn Sharer>> {
    Level::current().dispatch(MakeSharer { operator, k, dim })
}

struct MakeBatch {
    route: Route,
    k: usize,
    dim: usize,
}

impl Work for MakeBatch {
    type Output = Result<Option<Box<dyn Batch>>>;

    fn run<V: Vector>(self) -> Self::Output {
        Ok(match self.route.solver() {
            Solver::Single => None,
            Solver::Tall => Some(Box::new(Tall::<V>::new(self.k, self.dim)?)),
            Solver::Wide => {
                Some(Box::new(Wide::<V>::new(self.route.operator(), self.k, self.dim)?))
            }
        })
    }
}

struct MakeSharer {
    operator: Operator,
    k: usize,
    dim: usize,
}

impl Work for MakeSharer {
    type Output = Result<Box<dyn Sharer>>;

    fn run<V: Vector>(self) -> Self::Output {
        Ok(Box::new(Wide::<V>::new(self.operator, self.k, self.dim)?))
    }
}

/// One neighbourhood for each lane: missing ones repeat the first, and their lanes are never read.
fn fill_lanes<'a>(neighborhoods: &[&'a [u32]]) -> [&'a [u32]; LANES] {
    std::array::from_fn(|lane| *neighborhoods.get(lane).unwrap_or(&neighborhoods[0]))
}

/// A step of one of the solvers, for the neighbourhoods in the first lanes.
struct Step<'a, S, T> {
    solver: &'a mut S,
    points: &'a Points<'a>,
    chosen: [&'a [u32]; LANES],
    lanes: usize,
    target: T,
}

impl<'a, S, T> Step<'a, S, T> {
    fn new(solver: &'a mut S, points: &'a Points, neighborhoods: &[&'a [u32]], target: T) -> Self {
        let (chosen, lanes) = (fill_lanes(neighborhoods), neighborhoods.len());
        Self { solver, points, chosen, lanes, target }
    }
}

/// The buffers that [`Batch`] appends to, and the weight of each neighbourhood.
struct Factors<'a> {
    left: &'a mut Vec<f64>,
    right: &'a mut Vec<f64>,
    weights: Option<&'a [f64]>,
}

impl Factors<'_> {
    /// Multiplies what has been appended to `left` from `start` on by the weight of one lane.
    fn weigh(&mut self, start: usize, lane: usize) {
        weigh(&mut self.left[start..], self.weights.map(|weights| weights[lane]));
    }
}

/// Multiplies a factor of a shape operator by its weight, if it has one.
pub(crate) fn weigh(factor: &mut [f64], weight: Option<f64>) {
    if let Some(weight) = weight {
        factor.iter_mut().for_each(|entry| *entry *= weight);
    }
}

/// Both solvers append their factors by a [`Step`].
macro_rules! batch {
    ($solver:ident) => {
        impl<V: Vector> Batch for $solver<V> {
            fn push_factors(
                &mut self,
                points: &Points,
                neighborhoods: &[&[u32]],
                weights: Option<&[f64]>,
                left: &mut Vec<f64>,
                right: &mut Vec<f64>,
            ) -> bool {
                let target = Factors { left, right, weights };
                V::vectorize(Step::new(self, points, neighborhoods, target))
            }
        }

        impl<V: Vector> Kernel for Step<'_, $solver<V>, Factors<'_>> {
            type Output = bool;

            #[inline(always)]
            fn run(mut self) -> bool {
                let converged = self.solver.solve(self.points, self.chosen);
                if converged {
                    for lane in 0..self.lanes {
                        let start = self.target.left.len();
                        self.solver.push_factors(lane, self.target.left, self.target.right);
                        self.target.weigh(start, lane);
                    }
                }
                converged
            }
        }
    };
}

batch!(Tall);
batch!(Wide);

impl<V: Vector> Sharer for Wide<V> {
    fn share(
        &mut self,
        points: &Points,
        neighborhoods: &[&[u32]],
        shares: &mut [CacheLine],
    ) -> bool {
        V::vectorize(Step::new(self, points, neighborhoods, shares))
    }
}

impl<V: Vector> Kernel for Step<'_, Wide<V>, &mut [CacheLine]> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let converged = self.solver.solve(self.points, self.chosen);
        if converged {
            self.solver.write_shares(self.lanes, self.target);
        }
        converged
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis};

    use super::*;
    use crate::frame::{Degenerate, Frame};
    use crate::routes::Sizes;
    use crate::shape::shape_operator;

    /// S of each neighbourhood at every SIMD level, against one frame at a time.
    fn check(k: usize, dim: usize, entry: impl Fn(usize, usize) -> f64) {
        check_to(1e-13, k, dim, entry);
    }

    fn check_to(tolerance: f64, k: usize, dim: usize, entry: impl Fn(usize, usize) -> f64) {
        let compare = |found: &Array2<f64>, expected: &Array2<f64>, what: &str| {
            let scale = expected.iter().fold(1e-300_f64, |most, entry| most.max(entry.abs()));
            let worst = (found - expected).iter().fold(0.0_f64, |most, gap| most.max(gap.abs()));
            assert!(worst <= tolerance * scale, "{what}: {worst} of {scale}");
        };
        let table = Array2::from_shape_fn((2 * k + 12, dim), |(i, j)| entry(i, j));
        let points = Points::new(table.view()).unwrap();
        let lists: Vec<Vec<u32>> =
            (0..5).map(|first| (0..k).map(|t| (first * 3 + t * 2) as u32).collect()).collect();
        let lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
        let expected: Vec<Array2<f64>> = lists
            .iter()
            .map(|list| {
                let rows: Vec<usize> = list.iter().map(|&row| row as usize).collect();
                let neighborhood = table.select(Axis(0), &rows);
                shape_operator(&Frame::new(neighborhood.view(), Degenerate::Average).unwrap())
                    .unwrap()
            })
            .collect();
        let route = Route::new(Sizes::of(&points, lists.len(), k), Degenerate::Average);
        for level in Level::available() {
            let mut batch = level.dispatch(MakeBatch { route, k, dim }).unwrap().unwrap();
            let mut operator = |lists: &[&[u32]]| {
                let (mut left, mut right) = (Vec::new(), Vec::new());
                assert!(batch.push_factors(&points, lists, None, &mut left, &mut right));
                let rows = left.len() / dim;
                let left = Array2::from_shape_vec((rows, dim), left).unwrap();
                let right = Array2::from_shape_vec((rows, dim), right).unwrap();
                left.t().dot(&right)
            };
            for (lane, expected) in expected.iter().enumerate() {
                let found = operator(&lists[lane..=lane]);
                compare(&found, expected, &format!("k {k}, d {dim}, list {lane}"));
            }
            let total = expected.iter().fold(Array2::zeros((dim, dim)), |sum, one| sum + one);
            compare(&operator(&lists), &total, &format!("k {k}, d {dim}, all lists"));
        }
        if k > dim {
            return;
        }
        let width = dim.div_ceil(LANES);
        for level in Level::available() {
            let mut sharer =
                level.dispatch(MakeSharer { operator: route.operator(), k, dim }).unwrap();
            let mut shares = vec![CacheLine::default(); LANES * k * width];
            assert!(sharer.share(&points, &lists, &mut shares));
            for (lane, expected) in expected.iter().enumerate() {
                let share = Array2::from_shape_fn((k, dim), |(t, a)| {
                    let (start, stride) = stripe_at(a / LANES / STRIPE, k, width);
                    shares[start + (lane * k + t) * stride + a / LANES % STRIPE].0[a % LANES]
                });
                let rows: Vec<usize> = lists[lane].iter().map(|&row| row as usize).collect();
                let rows = table.select(Axis(0), &rows);
                let centred = &rows - &rows.mean_axis(Axis(0)).unwrap();
                compare(&share.t().dot(&centred), expected, &format!("shares, k {k}, d {dim}"));
            }
        }
    }

    fn wave(i: usize, j: usize) -> f64 {
        ((i * 37 + j * 101) as f64 * 0.7).sin() + 0.1 * (j as f64)
    }

    #[test]
    fn lanes_agree_with_one_frame_at_a_time() {
        for (k, dim) in
            [(2, 1), (2, 2), (5, 3), (3, 5), (9, 4), (4, 9), (13, 36), (40, 7), (12, 70), (40, 45)]
        {
            check(k, dim, wave);
        }
    }

    #[test]
    fn lanes_agree_on_equal_points_and_equal_eigenvalues() {
        check(6, 4, |_, _| 1.0);
        check(6, 40, |_, _| 1.0);
        check(6, 70, |i, j| f64::from(u8::from(i % 4 == j)));
        check(6, 4, |i, j| f64::from(u8::from(i % 4 == j)));
        check(5, 8, |i, j| ((i / (1 << (j % 3))) % 2) as f64);
        check(9, 3, |i, j| if j == 1 { 2.0 } else { (i % 3) as f64 });
        check(7, 6, |i, j| if i < 9 { 0.0 } else { wave(i, j) });
    }

    #[test]
    fn a_direction_of_little_variance_has_its_full_length() {
        // Its eigenvalue, 1e-9 of the largest, is wrong from the seventh digit on.
        let factor = |p: usize, i: usize| ((i * i * (p + 3) + i) as f64).sin();
        let part = |p: usize, i: usize, j: usize| factor(p, i) * factor(p + 4, j);
        for dim in [20, 40] {
            check_to(1e-9, 9, dim, |i, j| {
                part(0, i, j) + part(1, i, j) + part(2, i, j) + 3e-5 * part(3, i, j)
            });
        }
    }
}
