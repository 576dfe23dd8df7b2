//! Eight neighbourhoods at unit scale, with their weights, and their tangent spaces.

use crate::batched::tridiagonal::Tridiagonal;
use crate::simd::{LANES, Vector, add_multiple, dot, dot_4};

use super::cholesky::orthonormalise;

/// The weights vanish at this multiple of the radius, so that the farthest neighbour still counts.
const SUPPORT: f64 = 1.05;

/// Rows are handled four at a time; the rows that fill up the last four have weight zero.
pub(crate) const GROUP: usize = 4;

/// One neighbourhood for each lane: centre and neighbours, as differences from the centre divided by the radius.
#[derive(Debug)]
pub(crate) struct Patch<V> {
    /// Points in a neighbourhood, the centre included.
    pub(crate) count: usize,
    /// The same, rounded up to a full group.
    pub(crate) rows: usize,
    pub(crate) dim: usize,
    /// rows × dim; the first is the centre.
    pub(crate) y: Vec<V>,
    pub(crate) weights: Vec<V>,
    /// h, the distance of the farthest neighbour.
    pub(crate) radius: V,
    /// 1 where the neighbours do not all coincide with the centre.
    pub(crate) extended: V,
}

impl<V: Vector> Patch<V> {
    pub(crate) fn new(neighbors: usize, dim: usize) -> Self {
        let count = neighbors + 1;
        let rows = count.next_multiple_of(GROUP);
        Self {
            count,
            rows,
            dim,
            y: vec![V::ZERO; rows * dim],
            weights: vec![V::ZERO; rows],
            radius: V::ONE,
            extended: V::ONE,
        }
    }

    /// Takes the neighbourhoods of the rows `centres` of `values`, row after row.
    #[inline(always)]
    pub(crate) fn gather(&mut self, values: &[f64], centres: [u32; LANES], lists: [&[u32]; LANES]) {
        let dim = self.dim;
        let row = |index: u32| &values[index as usize * dim..(index as usize + 1) * dim];
        self.y[..dim].fill(V::ZERO);
        self.y[self.count * dim..].fill(V::ZERO);
        for lane in 0..LANES {
            let centre = row(centres[lane]);
            for (index, out) in lists[lane].iter().zip(self.y.chunks_exact_mut(dim).skip(1)) {
                for ((out, value), origin) in out.iter_mut().zip(row(*index)).zip(centre) {
                    out.lanes_mut()[lane] = value - origin;
                }
            }
        }
        // The largest entry first, so that no square overflows or vanishes.
        let mut largest = V::ZERO;
        for entry in &self.y {
            largest = largest.max(entry.abs());
        }
        let limit = V::splat(1e-290);
        self.extended = largest.if_at_most(limit, V::ZERO, V::ONE);
        let unit = largest.if_at_most(limit, V::ONE, largest);
        let inverse = largest.if_at_most(limit, V::ZERO, V::ONE.over(unit));
        let mut farthest = V::ZERO;
        for (row, square) in self.y.chunks_exact_mut(dim).zip(&mut self.weights) {
            for entry in row.iter_mut() {
                *entry = *entry * inverse;
            }
            *square = dot(row, row);
            farthest = farthest.max(*square);
        }
        let farthest = farthest.if_at_most(V::ZERO, V::ONE, farthest);
        let shrink = V::ONE.over(farthest.sqrt());
        self.radius = unit * farthest.sqrt();
        // (1 − (|y| / 1.05)³)³
        let step = shrink * V::splat(1.0 / SUPPORT);
        for (row, weight) in self.y.chunks_exact_mut(dim).zip(&mut self.weights) {
            for entry in row {
                *entry = *entry * shrink;
            }
            let t = weight.sqrt() * step;
            let rest = V::ONE - t * t * t;
            *weight = rest * rest * rest;
        }
        self.weights[self.count..].fill(V::ZERO);
    }
}

/// The m leading eigenvectors of the weighted, centred covariance of a patch.
#[derive(Debug)]
pub(crate) struct Tangent<V> {
    variables: usize,
    /// The size of the eigenproblem: ZᵀZ with few columns, ZZᵀ with few points.
    size: usize,
    gram: bool,
    /// √w (y − mean), rows × dim.
    z: Vec<V>,
    mean: Vec<V>,
    matrix: Vec<V>,
    values: Vec<V>,
    vectors: Vec<V>,
    solver: Tridiagonal<V>,
    /// T as rows, m × dim.
    pub(crate) basis: Vec<V>,
    /// L⁻¹ of the last step that made the basis orthonormal, m × m.
    pub(crate) inverse: Vec<V>,
}

impl<V: Vector> Tangent<V> {
    pub(crate) fn new(neighbors: usize, dim: usize, variables: usize) -> Self {
        let count = neighbors + 1;
        let (gram, size) = (count < dim, count.min(dim));
        Self {
            variables,
            size,
            gram,
            z: vec![V::ZERO; count.next_multiple_of(GROUP) * dim],
            mean: vec![V::ZERO; dim],
            matrix: vec![V::ZERO; size * size],
            values: vec![V::ZERO; size],
            vectors: vec![V::ZERO; size * size],
            solver: Tridiagonal::new(size),
            basis: vec![V::ZERO; variables * dim],
            inverse: vec![V::ZERO; variables * variables],
        }
    }

    /// Finds the basis. Returns 0 for lanes that have none; None if the eigensolver does not converge.
    #[inline(always)]
    pub(crate) fn solve(&mut self, patch: &Patch<V>) -> Option<V> {
        self.centre(patch);
        if self.gram {
            self.fill_gram(patch)
        } else {
            self.fill_covariance(patch)
        }
        self.normalise();
        if !self.solver.solve(&mut self.matrix, self.size, &mut self.values, &mut self.vectors) {
            return None;
        }
        self.take_leading(patch);
        Some(orthonormalise(&mut self.basis, &mut self.inverse, patch.dim))
    }

    #[inline(always)]
    fn centre(&mut self, patch: &Patch<V>) {
        let dim = patch.dim;
        self.mean.fill(V::ZERO);
        let mut total = V::ZERO;
        for (row, weight) in patch.y.chunks_exact(dim).zip(&patch.weights) {
            add_multiple(&mut self.mean, *weight, row);
            total += *weight;
        }
        let share = V::ONE.over(total);
        for mean in &mut self.mean {
            *mean = *mean * share;
        }
        let rows = patch.y.chunks_exact(dim).zip(&patch.weights);
        for ((row, weight), out) in rows.zip(self.z.chunks_exact_mut(dim)) {
            let root = weight.sqrt();
            for ((out, value), mean) in out.iter_mut().zip(row).zip(&self.mean) {
                *out = (*value - *mean) * root;
            }
        }
    }

    /// The upper triangle of ZᵀZ.
    #[inline(always)]
    fn fill_covariance(&mut self, patch: &Patch<V>) {
        let dim = patch.dim;
        self.matrix.fill(V::ZERO);
        for group in self.z.chunks_exact(GROUP * dim) {
            for a in 0..dim {
                let row = &mut self.matrix[a * dim..(a + 1) * dim];
                add_group(&mut row[a..], group, dim, a, group, a);
            }
        }
    }

    /// The upper triangle of ZZᵀ.
    #[inline(always)]
    fn fill_gram(&mut self, patch: &Patch<V>) {
        let (dim, size) = (patch.dim, self.size);
        let row = |i: usize| &self.z[i * dim..(i + 1) * dim];
        for i in 0..size {
            for j in (i..size).step_by(4) {
                let last = size - 1;
                let others = [j, j + 1, j + 2, j + 3].map(|j| row(j.min(last)));
                let sums = dot_4(row(i), others);
                for (offset, sum) in sums.into_iter().enumerate().take(size - j) {
                    self.matrix[i * size + j + offset] = sum;
                }
            }
        }
    }

    /// Divides each matrix by its trace and fills its lower triangle.
    #[inline(always)]
    fn normalise(&mut self) {
        let size = self.size;
        let mut trace = V::ZERO;
        for i in 0..size {
            trace += self.matrix[i * size + i];
        }
        let inverse = trace.if_at_most(V::ZERO, V::ZERO, V::ONE.over(trace));
        for i in 0..size {
            for j in i..size {
                let entry = trace.if_at_most(V::ZERO, V::ZERO, self.matrix[i * size + j] * inverse);
                self.matrix[i * size + j] = entry;
                self.matrix[j * size + i] = entry;
            }
        }
    }

    /// The eigenvectors of the m largest eigenvalues of each lane; with ZZᵀ = UΛUᵀ they are Zᵀu.
    #[inline(always)]
    fn take_leading(&mut self, patch: &Patch<V>) {
        let (size, dim) = (self.size, patch.dim);
        self.basis.fill(V::ZERO);
        for a in 0..self.variables {
            let mut chosen = [0; LANES];
            for lane in 0..LANES {
                let value = |i: usize| self.values[i].lanes()[lane];
                let best =
                    (0..size).fold(0, |best, i| if value(i) > value(best) { i } else { best });
                chosen[lane] = best;
                self.values[best].lanes_mut()[lane] = f64::NEG_INFINITY;
            }
            let basis = &mut self.basis[a * dim..(a + 1) * dim];
            for t in 0..size {
                let mut entry = V::ZERO;
                for lane in 0..LANES {
                    let from = &self.vectors[chosen[lane] * size + t];
                    entry.lanes_mut()[lane] = from.lanes()[lane];
                }
                if self.gram {
                    add_multiple(basis, entry, &self.z[t * dim..(t + 1) * dim]);
                } else {
                    basis[t] = entry;
                }
            }
        }
    }
}

/// out += Σ_t left[t][at] · right[t][from..] over the four rows of a group.
#[inline(always)]
pub(crate) fn add_group<V: Vector>(
    out: &mut [V],
    left: &[V],
    left_width: usize,
    at: usize,
    right: &[V],
    from: usize,
) {
    let (width, length) = (right.len() / GROUP, out.len());
    let factors =
        [left[at], left[left_width + at], left[2 * left_width + at], left[3 * left_width + at]];
    let rows = [
        &right[from..][..length],
        &right[width + from..][..length],
        &right[2 * width + from..][..length],
        &right[3 * width + from..][..length],
    ];
    for b in 0..length {
        out[b] = out[b]
            .plus(factors[0], rows[0][b])
            .plus(factors[1], rows[1][b])
            .plus(factors[2], rows[2][b])
            .plus(factors[3], rows[3][b]);
    }
}

/// out += leftᵀ right over the four rows of a group.
#[inline(always)]
pub(crate) fn add_product<V: Vector>(out: &mut [V], left: &[V], right: &[V]) {
    let (height, width) = (left.len() / GROUP, right.len() / GROUP);
    // Points in space, and the pairs of two variables: the right factor stays in registers.
    if let (3, Ok(right)) = (width, <&[V; GROUP * 3]>::try_from(right)) {
        let right = *right;
        for (a, out) in out.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            for t in 0..GROUP {
                let factor = left[t * height + a];
                for c in 0..3 {
                    out[c] = out[c].plus(factor, right[t * 3 + c]);
                }
            }
        }
        return;
    }
    for (a, out) in out.chunks_exact_mut(width).enumerate() {
        add_group(out, left, height, a, right, 0);
    }
}

/// out −= left · right, for the four rows of `left` and of `out`.
#[inline(always)]
pub(crate) fn subtract_group<V: Vector>(out: &mut [V], left: &[V], right: &[V], dim: usize) {
    let width = left.len() / GROUP;
    let (first, rest) = left.split_at(width);
    let (second, rest) = rest.split_at(width);
    let (third, fourth) = rest.split_at(width);
    for c in 0..dim {
        let mut sums = [V::ZERO; GROUP];
        let factors = first.iter().zip(second).zip(third).zip(fourth);
        for ((((a, b), c), d), row) in factors.zip(right[c..].iter().step_by(dim)) {
            sums[0] = sums[0].plus(*a, *row);
            sums[1] = sums[1].plus(*b, *row);
            sums[2] = sums[2].plus(*c, *row);
            sums[3] = sums[3].plus(*d, *row);
        }
        for t in 0..GROUP {
            out[t * dim + c] -= sums[t];
        }
    }
}
