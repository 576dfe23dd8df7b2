//! Eight small symmetric matrices at once → their sorted eigenpairs and eigenspaces.

use std::ops::Range;

use crate::eigenspaces::{for_each_space, rank};
use crate::routes::LARGEST_BATCHED;
use crate::simd::{LANES, Vector};

use super::tridiagonal::Tridiagonal;

/// The workspace, and after a solve the result, for matrices of one size.
pub(super) struct Spectra<V> {
    k: usize,
    size: usize,
    /// The largest possible rank. All further eigenvalues are zero up to rounding errors.
    most: usize,
    /// The matrix to solve, ZZᵀ or ΔᵀΔ; only the upper triangle is read.
    pub(super) matrix: Vec<V>,
    values: Vec<V>,
    vectors: Vec<V>,
    solver: Tridiagonal<V>,
    /// Directions of each lane; `rank` is the largest. A lane's surplus directions are zero.
    pub(super) ranks: [usize; LANES],
    pub(super) rank: usize,
    /// λ of the covariance, descending in each lane.
    pub(super) eigenvalues: Vec<V>,
    /// √((k − 1) λ) from [`Spectra::set_length`] on.
    pub(super) lengths: Vec<V>,
    /// The eigenvectors, rank×size.
    pub(super) eigenvectors: Vec<V>,
    /// Lanes and runs of two or more directions that share an eigenvalue.
    pub(super) spaces: Vec<(usize, Range<usize>)>,
}

impl<V: Vector> Spectra<V> {
    /// For neighbourhoods of k points with at most `most` directions.
    pub(super) fn new(size: usize, k: usize, most: usize) -> Self {
        Self {
            k,
            size,
            most,
            matrix: vec![V::ZERO; size * size],
            values: vec![V::ZERO; size],
            vectors: vec![V::ZERO; size * size],
            solver: Tridiagonal::new(size),
            ranks: [0; LANES],
            rank: 0,
            eigenvalues: Vec::new(),
            lengths: vec![V::ZERO; size],
            eigenvectors: Vec::new(),
            spaces: Vec::new(),
        }
    }

    /// Finds the eigenpairs of `matrix`. Returns false if the eigensolver does not converge.
    #[inline(always)]
    pub(super) fn solve(&mut self) -> bool {
        let traces = self.normalise();
        if !self.solver.solve(&mut self.matrix, self.size, &mut self.values, &mut self.vectors) {
            return false;
        }
        self.sort(traces);
        true
    }

    /// Divides each matrix by its trace, which is returned, and fills its lower triangle.
    #[inline(always)]
    fn normalise(&mut self) -> V {
        let size = self.size;
        let mut trace = V::ZERO;
        for i in 0..size {
            trace += self.matrix[i * size + i];
        }
        // Points that coincide, or whose squared differences underflow, have no direction.
        let empty = V::splat(4.0 * f64::MIN_POSITIVE);
        let divisor = trace.if_at_most(empty, V::ONE, trace);
        let inverse = trace.if_at_most(empty, V::ZERO, V::ONE.over(divisor));
        for i in 0..size {
            for j in i..size {
                let entry = self.matrix[i * size + j] * inverse;
                self.matrix[i * size + j] = entry;
                self.matrix[j * size + i] = entry;
            }
        }
        trace
    }

    /// Sorts the eigenpairs of each lane in descending order and drops those whose eigenvalue is zero.
    #[inline(always)]
    fn sort(&mut self, traces: V) {
        let size = self.size;
        let mut order = [[0_u8; LARGEST_BATCHED]; LANES];
        for i in 0..size {
            // Its place in all lanes: how many are larger, or as large and before it.
            let mut place = V::ZERO;
            for j in 0..i {
                place += self.values[i].if_at_most(self.values[j], V::ONE, V::ZERO);
            }
            for j in i + 1..size {
                place += self.values[i].if_below(self.values[j], V::ONE, V::ZERO);
            }
            for lane in 0..LANES {
                order[lane][place.lanes()[lane] as usize] = i as u8;
            }
        }
        for lane in 0..LANES {
            let order = &order[lane][..size];
            let value = |place: u8| self.values[place as usize].lanes()[lane];
            self.ranks[lane] = rank(size.min(self.most), |at| value(order[at]));
        }
        self.rank = self.ranks.into_iter().max().unwrap_or(0);
        self.eigenvalues.resize(self.rank, V::ZERO);
        self.eigenvalues.fill(V::ZERO);
        self.eigenvectors.resize(self.rank * size, V::ZERO);
        self.eigenvectors.fill(V::ZERO);
        for lane in 0..LANES {
            let scale = traces.lanes()[lane] / (self.k - 1) as f64;
            for j in 0..self.ranks[lane] {
                let place = order[lane][j] as usize;
                self.eigenvalues[j].lanes_mut()[lane] = self.values[place].lanes()[lane] * scale;
                let from = &self.vectors[place * size..(place + 1) * size];
                let to = &mut self.eigenvectors[j * size..(j + 1) * size];
                for (to, from) in to.iter_mut().zip(from) {
                    to.lanes_mut()[lane] = from.lanes()[lane];
                }
            }
        }
    }

    /// Sets the j-th length from λ. Returns its inverse, 0 where there is no direction.
    #[inline(always)]
    pub(super) fn set_length(&mut self, j: usize) -> V {
        let square = self.eigenvalues[j] * V::splat((self.k - 1) as f64);
        self.lengths[j] = square.sqrt();
        inverse_or_zero(self.lengths[j])
    }

    /// Corrects the j-th length and λ. `square` is the squared norm of the j-th direction after its division by the
    /// length of [`Spectra::set_length`]; it is 1 up to the eigensolver's errors. Returns the inverse of that
    /// norm, 0 where there is no direction.
    #[inline(always)]
    pub(super) fn correct_length(&mut self, j: usize, square: V) -> V {
        let left = square.sqrt();
        let length = self.lengths[j] * left;
        self.lengths[j] = length;
        self.eigenvalues[j] = (length * length).over(V::splat((self.k - 1) as f64));
        inverse_or_zero(left)
    }

    /// The runs of two or more equal eigenvalues.
    pub(super) fn find_spaces(&mut self) {
        self.spaces.clear();
        for lane in 0..LANES {
            let values = &self.eigenvalues[..self.ranks[lane]];
            let value = |at: usize| values[at].lanes()[lane];
            for_each_space(values.len(), value, |space| {
                if space.len() > 1 {
                    self.spaces.push((lane, space));
                }
            });
        }
    }

    /// σ = 1/(q + 2) of each lane, q the dimension of its null space in `dim` columns; 0 without one.
    #[inline(always)]
    pub(super) fn null_share(&self, dim: usize) -> V {
        let mut share = V::ZERO;
        for lane in 0..LANES {
            let null = dim - self.ranks[lane];
            if null > 0 {
                share.lanes_mut()[lane] = 1.0 / (null + 2) as f64;
            }
        }
        share
    }
}

/// 1/x where x > 0, else 0.
#[inline(always)]
fn inverse_or_zero<V: Vector>(x: V) -> V {
    let divisor = x.if_at_most(V::ZERO, V::ONE, x);
    x.if_at_most(V::ZERO, V::ZERO, V::ONE.over(divisor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Portable;

    #[test]
    fn equal_eigenvalues_keep_all_their_eigenvectors() {
        let size = 6;
        let mut spectra = Spectra::<Portable>::new(size, size + 1, size);
        for lane in 0..LANES {
            // Pairs of equal eigenvalues, and in the last lane all of them equal.
            let value =
                |i: usize| if lane == LANES - 1 { 1.0 } else { (1 + (i + lane) / 2) as f64 };
            for i in 0..size {
                spectra.matrix[i * size + i].lanes_mut()[lane] = value(i);
            }
        }
        assert!(spectra.solve());
        assert_eq!(spectra.ranks, [size; LANES]);
        for lane in 0..LANES {
            let vector = |j: usize, t: usize| spectra.eigenvectors[j * size + t].lanes()[lane];
            for j in 0..size {
                for l in 0..size {
                    let inner: f64 = (0..size).map(|t| vector(j, t) * vector(l, t)).sum();
                    let expected = f64::from(u8::from(j == l));
                    assert!((inner - expected).abs() < 1e-14, "lane {lane}: {j}, {l}: {inner}");
                }
            }
        }
    }
}
