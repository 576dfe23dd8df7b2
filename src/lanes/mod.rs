//! Eight neighbourhoods at once → their shape operators as products of two thin factors.
//!
//! One neighbourhood is too small a problem for the processor: most of its time goes to calls and half-filled
//! registers. Here each lane of a SIMD register holds the eigenproblem of another neighbourhood. With more points than
//! columns all other steps go side by side too ([`frame`], [`shape`]); otherwise the lanes hold columns of one
//! neighbourhood in everything that is as long as they ([`columns`]). [`crate::frame`] and [`crate::shape`] do the same
//! for one neighbourhood of any size.

mod columns;
mod dense;
mod frame;
mod shape;
mod spectrum;
mod split;
mod tensor;
mod tiles;
mod tridiagonal;

use crate::points::Points;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{Kernel, LANES, Level, Line, Portable, Vector};

use columns::Columns;
use frame::Frames;
use shape::Shapes;

/// The largest eigenproblem solved here. At k = 30 lanes take 0.4 to 0.8 of the time of one frame at a time; at
/// k = 40 they lose slightly with 100 columns and still win with 400, or with more neighbours than columns.
pub(crate) const LARGEST_PROBLEM: usize = 40;

/// Lines of eight columns in a stripe of shares.
pub(crate) const STRIPE: usize = 4;

/// Where a stripe of the shares of eight neighbourhoods of k points begins, and how many lines it has for each
/// neighbour, if all `width` lines of columns are cut into stripes. The neighbours follow each other, lane by lane.
pub(crate) fn stripe_at(stripe: usize, k: usize, width: usize) -> (usize, usize) {
    (LANES * k * stripe * STRIPE, STRIPE.min(width - stripe * STRIPE))
}

/// A solver for up to eight neighbourhoods, whatever its instructions are.
pub(crate) trait Batch: Send {
    /// Appends factors of the shape operators of up to eight neighbourhoods, each a list of k rows of `points`: as many
    /// rows of d numbers to `left` as to `right`, so that Σ S = leftᵀ right. Returns false if the eigensolver does not
    /// converge.
    #[must_use]
    fn push_factors(
        &mut self,
        points: &Points,
        neighborhoods: &[&[u32]],
        left: &mut Vec<f64>,
        right: &mut Vec<f64>,
    ) -> bool;
}

/// The same for neighbourhoods of no more points than columns.
pub(crate) trait Sharer: Send {
    /// Finds for every neighbour of up to eight neighbourhoods the d numbers to add to its row of V, so that
    /// Σ S = Vᵀ X. They go where [`stripe_at`] says. Returns false if the eigensolver does not converge.
    #[must_use]
    fn share(&mut self, points: &Points, neighborhoods: &[&[u32]], shares: &mut [Line]) -> bool;
}

/// The solver for neighbourhoods of k points in `dim` columns, if they are small enough to gain by it.
pub(crate) fn batch(k: usize, dim: usize) -> Option<Box<dyn Batch>> {
    if k.min(dim) > LARGEST_PROBLEM {
        return None;
    }
    Some(match Level::detect() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => batch_of::<Avx512>(k, dim),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => batch_of::<Avx2>(k, dim),
        Level::Baseline => batch_of::<Portable>(k, dim),
    })
}

/// The vectors must be of a kind that the processor has.
fn batch_of<V: Vector + 'static>(k: usize, dim: usize) -> Box<dyn Batch> {
    if k <= dim { Box::new(Columns::<V>::new(k, dim)) } else { Box::new(Eight::<V>::new(k, dim)) }
}

/// The same for shares, which must be of at most as many points as columns.
pub(crate) fn sharer(k: usize, dim: usize) -> Option<Box<dyn Sharer>> {
    if k > dim.min(LARGEST_PROBLEM) {
        return None;
    }
    Some(match Level::detect() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => Box::new(Columns::<Avx512>::new(k, dim)),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => Box::new(Columns::<Avx2>::new(k, dim)),
        Level::Baseline => Box::new(Columns::<Portable>::new(k, dim)),
    })
}

/// One neighbourhood for each lane: missing ones repeat the first, and nobody reads their lanes.
fn fill_lanes<'a>(neighborhoods: &[&'a [u32]]) -> [&'a [u32]; LANES] {
    std::array::from_fn(|lane| *neighborhoods.get(lane).unwrap_or(&neighborhoods[0]))
}

/// Neighbourhoods of more points than columns: every step for all eight side by side.
struct Eight<V> {
    frames: Frames<V>,
    shapes: Shapes<V>,
}

impl<V: Vector> Eight<V> {
    fn new(k: usize, dim: usize) -> Self {
        Self { frames: Frames::new(k, dim), shapes: Shapes::new() }
    }
}

/// A step of one of the solvers, for the neighbourhoods in the first lanes.
struct Step<'a, S, T> {
    solver: &'a mut S,
    points: &'a Points<'a>,
    chosen: [&'a [u32]; LANES],
    lanes: usize,
    target: T,
    converged: &'a mut bool,
}

/// Runs what the arguments say as a [`Step`] of this solver.
macro_rules! step {
    ($solver:ident, $vector:ty, $points:ident, $neighborhoods:ident, $target:expr) => {{
        let mut converged = false;
        // SAFETY: solvers are made for the detected level.
        unsafe {
            <$vector>::vectorize(Step {
                solver: $solver,
                points: $points,
                chosen: fill_lanes($neighborhoods),
                lanes: $neighborhoods.len(),
                target: $target,
                converged: &mut converged,
            });
        }
        converged
    }};
}

/// Where [`Batch`] appends.
struct Factors<'a> {
    left: &'a mut Vec<f64>,
    right: &'a mut Vec<f64>,
}

/// Both solvers append their factors by a [`Step`].
macro_rules! batch {
    ($solver:ident) => {
        impl<V: Vector> Batch for $solver<V> {
            fn push_factors(
                &mut self,
                points: &Points,
                neighborhoods: &[&[u32]],
                left: &mut Vec<f64>,
                right: &mut Vec<f64>,
            ) -> bool {
                step!(self, V, points, neighborhoods, Factors { left, right })
            }
        }
    };
}

batch!(Eight);
batch!(Columns);

impl<V: Vector> Kernel for Step<'_, Eight<V>, Factors<'_>> {
    #[inline(always)]
    fn run(self) {
        let Eight { frames, shapes } = self.solver;
        *self.converged = frames.solve(self.points, self.chosen);
        if *self.converged {
            shapes.fill(frames);
            for lane in 0..self.lanes {
                let used = frames.spectra.ranks[lane] * frames.dim;
                let entry = |entry: &V| entry.lanes()[lane];
                self.target.left.extend(shapes.left[..used].iter().map(entry));
                self.target.right.extend(frames.directions[..used].iter().map(entry));
            }
        }
    }
}

impl<V: Vector> Kernel for Step<'_, Columns<V>, Factors<'_>> {
    #[inline(always)]
    fn run(self) {
        *self.converged = self.solver.solve(self.points, self.chosen);
        if *self.converged {
            for lane in 0..self.lanes {
                self.solver.push_factors(lane, self.target.left, self.target.right);
            }
        }
    }
}

impl<V: Vector> Sharer for Columns<V> {
    fn share(&mut self, points: &Points, neighborhoods: &[&[u32]], shares: &mut [Line]) -> bool {
        step!(self, V, points, neighborhoods, shares)
    }
}

impl<V: Vector> Kernel for Step<'_, Columns<V>, &mut [Line]> {
    #[inline(always)]
    fn run(self) {
        *self.converged = self.solver.solve(self.points, self.chosen);
        if *self.converged {
            self.solver.write_shares(self.lanes, self.target);
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis};

    use super::*;
    use crate::frame::{Degenerate, Frame};
    use crate::shape::shape_operator;

    /// S of each neighbourhood by lanes of every kind there is, against one frame at a time.
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
            })
            .collect();
        let mut batches = vec![batch_of::<Portable>(k, dim)];
        #[cfg(target_arch = "x86_64")]
        if Level::detect() != Level::Baseline {
            batches.push(batch_of::<Avx2>(k, dim));
        }
        batches.extend(batch(k, dim));
        for mut batch in batches {
            let mut operator = |lists: &[&[u32]]| {
                let (mut left, mut right) = (Vec::new(), Vec::new());
                assert!(batch.push_factors(&points, lists, &mut left, &mut right));
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
        let mut sharers: Vec<Box<dyn Sharer>> = vec![Box::new(Columns::<Portable>::new(k, dim))];
        #[cfg(target_arch = "x86_64")]
        if Level::detect() != Level::Baseline {
            sharers.push(Box::new(Columns::<Avx2>::new(k, dim)));
        }
        sharers.extend(sharer(k, dim));
        let width = dim.div_ceil(LANES);
        for mut sharer in sharers {
            let mut shares = vec![Line::default(); LANES * k * width];
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
