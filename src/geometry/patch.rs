//! Eight neighbourhoods at unit scale, with their weights, and their tangent spaces.

use crate::batched::tridiagonal::Tridiagonal;
use crate::simd::{LANES, Vector, add_multiple};

use super::cholesky::orthonormalise;
use super::tiles::{Part, TILE, Tile, products, total, zeros};

/// The weights vanish at this multiple of the radius, so that the farthest neighbour still counts.
const SUPPORT: f64 = 1.05;

/// One neighbourhood for each lane: centre and neighbours, as differences from the centre divided by the radius.
#[derive(Debug)]
pub(crate) struct Patch<V> {
    /// Points in a neighbourhood, the centre included.
    pub(crate) count: usize,
    pub(crate) dim: usize,
    /// The rows, dim columns; the first is the centre.
    pub(crate) y: Vec<Tile<V>>,
    pub(crate) weights: Vec<Tile<V>>,
    /// √w.
    pub(crate) roots: Vec<Tile<V>>,
    /// h, the distance of the farthest neighbour.
    pub(crate) radius: V,
    /// 1 where the neighbours do not all coincide with the centre.
    pub(crate) extended: V,
}

impl<V: Vector> Patch<V> {
    pub(crate) fn new(neighbors: usize, dim: usize) -> Self {
        let count = neighbors + 1;
        Self {
            count,
            dim,
            y: zeros(count, dim),
            weights: zeros(count, 1),
            roots: zeros(count, 1),
            radius: V::ONE,
            extended: V::ONE,
        }
    }

    /// Takes the neighbourhoods of the rows `centres` of `values`, row after row.
    #[inline(always)]
    pub(crate) fn gather(&mut self, values: &[f64], centres: [u32; LANES], lists: [&[u32]; LANES]) {
        let (dim, count) = (self.dim, self.count);
        let mut origins = [&values[..0]; LANES];
        for lane in 0..LANES {
            origins[lane] = row(values, dim, centres[lane]);
        }
        // The rows that fill up the last tile are the centre, too.
        for (tile, out) in self.y.chunks_exact_mut(dim).enumerate() {
            for t in 0..TILE {
                let mut rows = origins;
                let number = tile * TILE + t;
                if (1..count).contains(&number) {
                    for lane in 0..LANES {
                        rows[lane] = row(values, dim, lists[lane][number - 1]);
                    }
                }
                for (c, out) in out.iter_mut().enumerate() {
                    for lane in 0..LANES {
                        out[t].lanes_mut()[lane] = rows[lane][c];
                    }
                }
            }
        }
        self.scale();
    }

    /// Subtracts the centre, divides by the radius, and sets the weights.
    #[inline(always)]
    fn scale(&mut self) {
        // The largest entry first, so that no square overflows or vanishes.
        let mut largest = [V::ZERO; TILE];
        for c in 0..self.dim {
            let centre = self.y[c][0];
            for tile in self.y[c..].iter_mut().step_by(self.dim) {
                for t in 0..TILE {
                    tile[t] -= centre;
                    largest[t] = largest[t].max(tile[t].abs());
                }
            }
        }
        let largest = largest.into_iter().fold(V::ZERO, V::max);
        let limit = V::splat(1e-290);
        self.extended = largest.if_at_most(limit, V::ZERO, V::ONE);
        let unit = largest.if_at_most(limit, V::ONE, largest);
        let inverse = largest.if_at_most(limit, V::ZERO, V::ONE.over(unit));
        let mut farthest = [V::ZERO; TILE];
        for (rows, squares) in self.y.chunks_exact_mut(self.dim).zip(&mut self.weights) {
            *squares = [V::ZERO; TILE];
            for tile in rows {
                for t in 0..TILE {
                    tile[t] = tile[t] * inverse;
                    squares[t] = squares[t].plus(tile[t], tile[t]);
                }
            }
            for t in 0..TILE {
                farthest[t] = farthest[t].max(squares[t]);
            }
        }
        let farthest = farthest.into_iter().fold(V::ZERO, V::max);
        let farthest = farthest.if_at_most(V::ZERO, V::ONE, farthest);
        let length = farthest.sqrt();
        let shrink = V::ONE.over(length);
        self.radius = unit * length;
        // (1 − (|y| / 1.05)³)³
        let step = shrink * V::splat(1.0 / SUPPORT);
        let rows = self.y.chunks_exact_mut(self.dim).zip(&mut self.weights);
        for ((rows, weights), roots) in rows.zip(&mut self.roots) {
            for tile in rows {
                for t in 0..TILE {
                    tile[t] = tile[t] * shrink;
                }
            }
            for t in 0..TILE {
                let near = weights[t].sqrt() * step;
                let rest = V::ONE - near * near * near;
                weights[t] = rest * rest * rest;
                roots[t] = rest * rest.sqrt();
            }
        }
        let filled = (self.count - 1) % TILE + 1;
        for tile in [self.weights.last_mut(), self.roots.last_mut()].into_iter().flatten() {
            tile[filled..].fill(V::ZERO);
        }
    }
}

#[inline(always)]
fn row(values: &[f64], dim: usize, index: u32) -> &[f64] {
    &values[index as usize * dim..][..dim]
}

/// The m leading eigenvectors of the weighted, centred covariance of a patch.
#[derive(Debug)]
pub(crate) struct Tangent<V> {
    variables: usize,
    /// The size of the eigenproblem: ZᵀZ with few columns, ZZᵀ with few points.
    size: usize,
    gram: bool,
    /// √w (y − mean), dim columns.
    pub(crate) z: Vec<Tile<V>>,
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
            z: zeros(count, dim),
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
        let mut sum = [V::ZERO; TILE];
        for weights in &patch.weights {
            for t in 0..TILE {
                sum[t] += weights[t];
            }
        }
        let share = V::ONE.over(total(&sum));
        products(&patch.weights, 1, &patch.y, dim, Part::Full, &mut self.mean);
        for mean in &mut self.mean {
            *mean = *mean * share;
        }
        let rows = patch.y.chunks_exact(dim).zip(&patch.roots);
        for ((rows, roots), out) in rows.zip(self.z.chunks_exact_mut(dim)) {
            for ((out, tile), mean) in out.iter_mut().zip(rows).zip(&self.mean) {
                for t in 0..TILE {
                    out[t] = (tile[t] - *mean) * roots[t];
                }
            }
        }
    }

    /// The lower triangle of ZᵀZ.
    #[inline(always)]
    fn fill_covariance(&mut self, patch: &Patch<V>) {
        let dim = patch.dim;
        products(&self.z, dim, &self.z, dim, Part::Lower, &mut self.matrix);
    }

    /// The lower triangle of ZZᵀ, four rows with four rows.
    #[inline(always)]
    fn fill_gram(&mut self, patch: &Patch<V>) {
        let (dim, size) = (patch.dim, self.size);
        for (i, rows) in self.z.chunks_exact(dim).enumerate() {
            for (j, others) in self.z.chunks_exact(dim).enumerate().take(i + 1) {
                let mut sums = [[V::ZERO; TILE]; TILE];
                for (row, other) in rows.iter().zip(others) {
                    for s in 0..TILE {
                        add_multiple(&mut sums[s], row[s], other);
                    }
                }
                let width = TILE.min(size - j * TILE);
                for (s, sums) in sums.iter().enumerate().take(size - i * TILE) {
                    let start = (i * TILE + s) * size + j * TILE;
                    self.matrix[start..start + width].copy_from_slice(&sums[..width]);
                }
            }
        }
    }

    /// Divides each matrix by its trace and fills its upper triangle.
    #[inline(always)]
    fn normalise(&mut self) {
        let size = self.size;
        let mut trace = V::ZERO;
        for i in 0..size {
            trace += self.matrix[i * size + i];
        }
        let inverse = trace.if_at_most(V::ZERO, V::ZERO, V::ONE.over(trace));
        for i in 0..size {
            for j in 0..=i {
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
                    let rows = &self.z[t / TILE * dim..][..dim];
                    for (out, tile) in basis.iter_mut().zip(rows) {
                        *out = out.plus(entry, tile[t % TILE]);
                    }
                } else {
                    basis[t] = entry;
                }
            }
        }
    }
}
