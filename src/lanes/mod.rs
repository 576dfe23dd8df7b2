//! Eight neighbourhoods at once → their directions W and the left factors Y of their shape operators.
//!
//! One neighbourhood is too small a problem for the processor: most of its time goes to calls and half-filled
//! registers. Here each lane of a SIMD register holds another neighbourhood, and all go through the same steps.
//! [`crate::frame`] and [`crate::shape`] do the same for one neighbourhood of any size.

mod frame;
mod shape;
mod tridiagonal;

use crate::points::Points;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{Kernel, LANES, Level, Portable, Vector};

use frame::Frames;
use shape::Shapes;

/// The largest eigenproblem solved here. At k = 30 lanes take 0.4 to 0.8 of the time of one frame at a time; at
/// k = 40 they lose slightly with 100 columns and still win with 400, or with more neighbours than columns.
pub(crate) const LARGEST_PROBLEM: usize = 40;

/// A solver for up to eight neighbourhoods, whatever its instructions are.
pub(crate) trait Batch {
    /// Finds W and Y of up to eight neighbourhoods, each a list of k rows of `points`. Returns false if the
    /// eigensolver does not converge.
    #[must_use]
    fn solve(&mut self, points: &Points, neighborhoods: &[&[u32]]) -> bool;

    /// Appends the rows of one lane's Y to `left` and those of its W to `right`.
    fn push_factors(&self, lane: usize, left: &mut Vec<f64>, right: &mut Vec<f64>);

    /// Mᵀ Y of the first lanes: for every neighbour the d numbers to add to its row of V, so that Σ S = Vᵀ X.
    fn write_shares(&mut self, lanes: usize, shares: &mut [f64]);
}

/// The solver for neighbourhoods of k points in `dim` columns, if they are small enough to gain by it.
pub(crate) fn batch(k: usize, dim: usize) -> Option<Box<dyn Batch>> {
    if k.min(dim) > LARGEST_PROBLEM {
        return None;
    }
    Some(match Level::detect() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => Box::new(Eight::<Avx512>::new(k, dim)),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => Box::new(Eight::<Avx2>::new(k, dim)),
        Level::Baseline => Box::new(Eight::<Portable>::new(k, dim)),
    })
}

/// [`Batch`] over one kind of vector, which must be one the processor has.
struct Eight<V> {
    frames: Frames<V>,
    shapes: Shapes<V>,
}

impl<V: Vector> Eight<V> {
    fn new(k: usize, dim: usize) -> Self {
        Self { frames: Frames::new(k, dim), shapes: Shapes::new() }
    }
}

impl<V: Vector> Batch for Eight<V> {
    fn solve(&mut self, points: &Points, neighborhoods: &[&[u32]]) -> bool {
        // Missing neighbourhoods repeat the first; nobody reads their lanes.
        let chosen =
            std::array::from_fn(|lane| *neighborhoods.get(lane).unwrap_or(&neighborhoods[0]));
        let mut converged = false;
        // SAFETY: `batch` made this for the detected level.
        unsafe { V::vectorize(Solve { eight: self, points, chosen, converged: &mut converged }) };
        converged
    }

    fn push_factors(&self, lane: usize, left: &mut Vec<f64>, right: &mut Vec<f64>) {
        let used = self.frames.ranks[lane] * self.frames.dim;
        left.extend(self.shapes.left[..used].iter().map(|entry| entry.lanes()[lane]));
        right.extend(self.frames.directions[..used].iter().map(|entry| entry.lanes()[lane]));
    }

    fn write_shares(&mut self, lanes: usize, shares: &mut [f64]) {
        debug_assert!(self.frames.gram, "M is only known where the Gram matrix was solved");
        // SAFETY: as in `solve`.
        unsafe { V::vectorize(Share { eight: self, lanes, shares }) };
    }
}

struct Solve<'a, V> {
    eight: &'a mut Eight<V>,
    points: &'a Points<'a>,
    chosen: [&'a [u32]; LANES],
    converged: &'a mut bool,
}

impl<V: Vector> Kernel for Solve<'_, V> {
    #[inline(always)]
    fn run(self) {
        *self.converged = self.eight.frames.solve(self.points, self.chosen);
        if *self.converged {
            self.eight.shapes.fill(&self.eight.frames);
        }
    }
}

struct Share<'a, V> {
    eight: &'a mut Eight<V>,
    lanes: usize,
    shares: &'a mut [f64],
}

impl<V: Vector> Kernel for Share<'_, V> {
    #[inline(always)]
    fn run(self) {
        self.eight.shapes.write_shares(&self.eight.frames, self.lanes, self.shares);
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::frame::{Degenerate, Frame};
    use crate::shape::shape_operator;

    /// S of each neighbourhood by lanes of every kind there is, against one frame at a time.
    fn check(k: usize, dim: usize, entry: impl Fn(usize, usize) -> f64) {
        let table = Array2::from_shape_fn((2 * k + 12, dim), |(i, j)| entry(i, j));
        let points = Points::new(table.view()).unwrap();
        let lists: Vec<Vec<u32>> =
            (0..5).map(|first| (0..k).map(|t| (first * 3 + t * 2) as u32).collect()).collect();
        let lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
        let mut batches: Vec<Box<dyn Batch>> = vec![Box::new(Eight::<Portable>::new(k, dim))];
        #[cfg(target_arch = "x86_64")]
        if Level::detect() != Level::Baseline {
            batches.push(Box::new(Eight::<Avx2>::new(k, dim)));
        }
        batches.extend(batch(k, dim));
        for mut batch in batches {
            assert!(batch.solve(&points, &lists));
            for (lane, list) in lists.iter().enumerate() {
                let rows: Vec<usize> = list.iter().map(|&row| row as usize).collect();
                let neighborhood = table.select(ndarray::Axis(0), &rows);
                let frame = Frame::new(neighborhood.view(), Degenerate::Average).unwrap();
                let expected = shape_operator(&frame);
                let (mut left, mut right) = (Vec::new(), Vec::new());
                batch.push_factors(lane, &mut left, &mut right);
                let rank = left.len() / dim;
                let left = Array2::from_shape_vec((rank, dim), left).unwrap();
                let right = Array2::from_shape_vec((rank, dim), right).unwrap();
                let scale = expected.iter().fold(1e-300_f64, |most, entry| most.max(entry.abs()));
                let worst = (left.t().dot(&right) - &expected)
                    .iter()
                    .fold(0.0_f64, |most, gap| most.max(gap.abs()));
                assert!(worst <= 1e-13 * scale, "k {k}, d {dim}, lane {lane}: {worst} of {scale}");
            }
        }
    }

    fn wave(i: usize, j: usize) -> f64 {
        ((i * 37 + j * 101) as f64 * 0.7).sin() + 0.1 * (j as f64)
    }

    #[test]
    fn lanes_agree_with_one_frame_at_a_time() {
        for (k, dim) in
            [(2, 1), (2, 2), (5, 3), (3, 5), (9, 4), (4, 9), (13, 36), (40, 7), (12, 70)]
        {
            check(k, dim, wave);
        }
    }

    #[test]
    fn lanes_agree_on_equal_points_and_equal_eigenvalues() {
        check(6, 4, |_, _| 1.0);
        check(6, 4, |i, j| f64::from(u8::from(i % 4 == j)));
        check(5, 8, |i, j| ((i / (1 << (j % 3))) % 2) as f64);
        check(9, 3, |i, j| if j == 1 { 2.0 } else { (i % 3) as f64 });
        check(7, 6, |i, j| if i < 9 { 0.0 } else { wave(i, j) });
    }
}
