//! Eight neighbourhoods of foot points at once → II from how their tangent spaces tilt.
//!
//! A first fit has given every point j its foot point P_j on the surface and its tangent T_j. Seen from point
//! i, the tangent at j is tilted by J_j = polar(T_i T_jᵀ) T_j (I − T_iᵀT_i), the sines of the angles between
//! them, which is exactly linear on products of spheres. The tilts are fitted by the gradient of one cubic
//! potential J·u + ½B(u, u) + C(u, u, u), so that B is symmetric by construction. Then T_i turns by the
//! constant J, and II is the normal part of B.

use crate::simd::{Kernel, LANES, Level, Vector, Work, add_multiple, dot};

use super::cholesky::{Cholesky, orthonormalise};
use super::estimate::{FormEstimate, Sizes};
use super::fit::{Fitter, project_out, tilt};
use super::patch::Patch;
use super::polynomial::Polynomial;
use super::row_groups::{GROUP, add_group, add_product};
use super::tiles::TILE;

/// The degree of the potential.
pub(crate) const POTENTIAL: usize = 3;

/// Tangents whose largest angle has a smaller cosine are left out.
const SMALLEST_COSINE: f64 = 0.2;

/// The Newton–Schulz iteration takes 10 rounds from the smallest cosine, 5 from 0.9.
const MOST_ROUNDS: usize = 12;

/// Workspace and result for neighbourhoods of one size.
struct Tilts<'a, V> {
    /// Bases of all tangent spaces, m × d each.
    tangents: &'a [f64],
    dim: usize,
    polynomial: Polynomial,
    patch: Patch<V>,
    /// T_i and one T_j, m × dim.
    basis: Vec<V>,
    other: Vec<V>,
    tilts: Vec<V>,
    u: Vec<V>,
    phi: Vec<V>,
    gradients: Vec<V>,
    /// Up to four rows of the fit: gradients, the same weighted, and tilts.
    rows: usize,
    plain: Vec<V>,
    weighted: Vec<V>,
    right: Vec<V>,
    polar: Polar<V>,
    /// Normal equations without the constant column.
    gram: Vec<V>,
    solver: Cholesky<V>,
    beta: Vec<V>,
    form: Vec<V>,
    half: Vec<V>,
    inverse: Vec<V>,
    full_rank: V,
}

impl<'a, V: Vector> Tilts<'a, V> {
    fn new(sizes: Sizes, tangents: &'a [f64]) -> Self {
        let Sizes { neighbors, dim, intrinsic: m, .. } = sizes;
        let polynomial = Polynomial::new(m, POTENTIAL);
        let (q, pairs) = (polynomial.len(), polynomial.pairs.len());
        let zeros = |length: usize| vec![V::ZERO; length];
        Self {
            tangents,
            dim,
            patch: Patch::new(neighbors, dim),
            basis: zeros(m * dim),
            other: zeros(m * dim),
            tilts: zeros(m * dim),
            u: zeros(m),
            phi: zeros(q),
            gradients: zeros(m * q),
            rows: 0,
            plain: zeros(GROUP * (q - 1)),
            weighted: zeros(GROUP * (q - 1)),
            right: zeros(GROUP * dim),
            polar: Polar::new(m),
            gram: zeros((q - 1) * (q - 1)),
            solver: Cholesky::new(q - 1),
            beta: zeros((q - 1) * dim),
            form: zeros(pairs * dim),
            half: zeros(m * m * dim),
            inverse: zeros(m * m),
            full_rank: V::ONE,
            polynomial,
        }
    }

    #[inline(always)]
    fn solve(&mut self, feet: &[f64], centres: [u32; LANES], lists: [&[u32]; LANES]) {
        let (dim, m) = (self.dim, self.polynomial.variables);
        self.patch.gather(feet, centres, lists);
        gather_bases(&mut self.basis, self.tangents, centres);
        self.gram.fill(V::ZERO);
        self.beta.fill(V::ZERO);
        for row in 0..self.patch.count {
            let mut others = centres;
            if row > 0 {
                for lane in 0..LANES {
                    others[lane] = lists[lane][row - 1];
                }
            }
            gather_bases(&mut self.other, self.tangents, others);
            let kept = self.set_tilts();
            let (y, t) = (&self.patch.y[row / TILE * dim..][..dim], row % TILE);
            for (u, direction) in self.u.iter_mut().zip(self.basis.chunks_exact(dim)) {
                *u = V::ZERO;
                for (entry, y) in direction.iter().zip(y) {
                    *u = u.plus(*entry, y[t]);
                }
            }
            self.add(self.patch.weights[row / TILE][t] * kept);
        }
        if self.rows > 0 {
            self.flush();
        }
        self.full_rank = self.solver.factorise(&self.gram) * self.patch.extended;
        self.solver.solve(&mut self.beta, dim);
        project_out(&mut self.beta, &self.basis, dim);
        for p in 0..self.polynomial.pairs.len() {
            let factor = V::splat(self.polynomial.second_derivative(p));
            for c in 0..dim {
                self.form[p * dim + c] = self.beta[(m + p) * dim + c] * factor;
            }
        }
        for (entry, slope) in self.basis.iter_mut().zip(&self.beta[..m * dim]) {
            *entry += *slope;
        }
        self.full_rank = self.full_rank * orthonormalise(&mut self.basis, &mut self.inverse, dim);
        tilt(&mut self.form, &self.polynomial, &self.inverse, &self.basis, &mut self.half);
    }

    /// J_j from T_i and T_j. Returns 0 for lanes where they are too far apart.
    #[inline(always)]
    fn set_tilts(&mut self) -> V {
        let (dim, m) = (self.dim, self.polynomial.variables);
        for a in 0..m {
            for c in 0..m {
                let (own, other) = (&self.basis[a * dim..][..dim], &self.other[c * dim..][..dim]);
                self.polar.matrix[a * m + c] = dot(own, other);
            }
        }
        let kept = self.polar.solve();
        self.tilts.fill(V::ZERO);
        for a in 0..m {
            let out = &mut self.tilts[a * dim..(a + 1) * dim];
            for c in 0..m {
                let other = &self.other[c * dim..(c + 1) * dim];
                add_multiple(out, self.polar.rotation[a * m + c], other);
            }
        }
        project_out(&mut self.tilts, &self.basis, dim);
        kept
    }

    /// Adds the m rows of one neighbour to the normal equations.
    #[inline(always)]
    fn add(&mut self, weight: V) {
        let (dim, m, q) = (self.dim, self.polynomial.variables, self.polynomial.len());
        self.polynomial.evaluate(&self.u, &mut self.phi);
        self.polynomial.gradients(&self.u, &self.phi, &mut self.gradients);
        let q = q - 1;
        for a in 0..m {
            let at = self.rows;
            let plain = &mut self.plain[at * q..(at + 1) * q];
            plain.copy_from_slice(&self.gradients[a * (q + 1) + 1..(a + 1) * (q + 1)]);
            for (out, entry) in self.weighted[at * q..(at + 1) * q].iter_mut().zip(plain) {
                *out = *entry * weight;
            }
            self.right[at * dim..(at + 1) * dim]
                .copy_from_slice(&self.tilts[a * dim..(a + 1) * dim]);
            self.rows += 1;
            if self.rows == GROUP {
                self.flush();
            }
        }
    }

    /// Adds the rows collected so far, up to four, to the normal equations; missing ones have weight zero.
    #[inline(always)]
    fn flush(&mut self) {
        let q = self.polynomial.len() - 1;
        self.weighted[self.rows * q..].fill(V::ZERO);
        self.rows = 0;
        for i in 0..q {
            let row = &mut self.gram[i * q..i * q + i + 1];
            add_group(row, &self.weighted, q, i, &self.plain, 0);
        }
        add_product(&mut self.beta, &self.weighted, &self.right);
    }
}

/// The orthogonal factor of small matrices M = X H, by the Newton–Schulz iteration X ← ½X(3I − XᵀX) from M,
/// whose singular values are cosines.
struct Polar<V> {
    m: usize,
    matrix: Vec<V>,
    rotation: Vec<V>,
    product: Vec<V>,
    next: Vec<V>,
}

impl<V: Vector> Polar<V> {
    fn new(m: usize) -> Self {
        let zeros = || vec![V::ZERO; m * m];
        Self { m, matrix: zeros(), rotation: zeros(), product: zeros(), next: zeros() }
    }

    /// Finds X. Returns 0 for lanes with a singular value of at most [`SMALLEST_COSINE`].
    #[inline(always)]
    fn solve(&mut self) -> V {
        let m = self.m;
        if m == 2 {
            return self.solve_two();
        }
        self.rotation.copy_from_slice(&self.matrix);
        for _ in 0..MOST_ROUNDS {
            // ½(3I − XᵀX), and how far XᵀX is from I.
            let mut gap = V::ZERO;
            for a in 0..m {
                for b in 0..=a {
                    let mut sum = V::ZERO;
                    for t in 0..m {
                        sum = sum.plus(self.rotation[t * m + a], self.rotation[t * m + b]);
                    }
                    let unit = if a == b { V::ONE } else { V::ZERO };
                    gap = gap.max((sum - unit).abs());
                    let three = if a == b { V::splat(1.5) } else { V::ZERO };
                    let entry = three.plus(V::splat(-0.5), sum);
                    self.product[a * m + b] = entry;
                    self.product[b * m + a] = entry;
                }
            }
            if gap.all_below(V::splat(4.0 * f64::EPSILON)) {
                break;
            }
            for a in 0..m {
                for b in 0..m {
                    let mut sum = V::ZERO;
                    for t in 0..m {
                        sum = sum.plus(self.rotation[a * m + t], self.product[t * m + b]);
                    }
                    self.next[a * m + b] = sum;
                }
            }
            std::mem::swap(&mut self.rotation, &mut self.next);
        }
        self.is_positive()
    }

    /// Of (a b; c d) it is (a + d, b − c; c − b, a + d) or (a − d, b + c; b + c, d − a) at unit length, whichever is
    /// the longer one; their lengths are sum and difference of the singular values.
    #[inline(always)]
    fn solve_two(&mut self) -> V {
        let [a, b, c, d] = [self.matrix[0], self.matrix[1], self.matrix[2], self.matrix[3]];
        let (x, y) = (a + d, b - c);
        let (s, t) = (a - d, b + c);
        let (turn, mirror) = ((x * x).plus(y, y).sqrt(), (s * s).plus(t, t).sqrt());
        let least = V::splat(f64::MIN_POSITIVE);
        let (one, other) = (V::ONE.over(turn.max(least)), V::ONE.over(mirror.max(least)));
        let (x, y, s, t) = (x * one, y * one, s * other, t * other);
        let turned = |yes: V, no: V| mirror.if_at_most(turn, yes, no);
        self.rotation[0] = turned(x, s);
        self.rotation[1] = turned(y, t);
        self.rotation[2] = turned(-y, t);
        self.rotation[3] = turned(x, -s);
        let smallest = (turn - mirror).abs() * V::splat(0.5);
        smallest.if_at_most(V::splat(SMALLEST_COSINE), V::ZERO, V::ONE)
    }

    /// Whether H − cI has a Cholesky factor, H = XᵀM.
    #[inline(always)]
    fn is_positive(&mut self) -> V {
        let m = self.m;
        let mut positive = V::ONE;
        for a in 0..m {
            for b in 0..=a {
                let mut entry = if a == b { V::splat(-SMALLEST_COSINE) } else { V::ZERO };
                for t in 0..m {
                    entry = entry.plus(self.rotation[t * m + a], self.matrix[t * m + b]);
                }
                for t in 0..b {
                    entry -= self.product[a * m + t] * self.product[b * m + t];
                }
                self.product[a * m + b] = if a == b {
                    positive = entry.if_at_most(V::ZERO, V::ZERO, positive);
                    entry.if_at_most(V::ZERO, V::ONE, entry).sqrt()
                } else {
                    entry.over(self.product[b * m + b])
                };
            }
        }
        positive
    }
}

/// The bases numbered `rows`, one in each lane.
#[inline(always)]
fn gather_bases<V: Vector>(out: &mut [V], bases: &[f64], rows: [u32; LANES]) {
    let length = out.len();
    for lane in 0..LANES {
        let basis = &bases[rows[lane] as usize * length..][..length];
        for (out, value) in out.iter_mut().zip(basis) {
            out.lanes_mut()[lane] = *value;
        }
    }
}

/// One call of [`Tilts`].
struct Step<'s, 'a, V> {
    tilts: &'s mut Tilts<'a, V>,
    feet: &'s [f64],
    centres: [u32; LANES],
    lists: [&'s [u32]; LANES],
}

impl<V: Vector> Kernel for Step<'_, '_, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.tilts.solve(self.feet, self.centres, self.lists);
    }
}

impl<V: Vector> Fitter for Tilts<'_, V> {
    /// Fills tangent, form and radius; the errors are those of the first stage.
    fn fit(
        &mut self,
        values: &[f64],
        centres: [u32; LANES],
        lists: [&[u32]; LANES],
        out: &mut [FormEstimate],
    ) -> bool {
        V::vectorize(Step { tilts: self, feet: values, centres, lists });
        for (lane, out) in out.iter_mut().enumerate() {
            let get = |value: &V| value.lanes()[lane];
            out.radius = get(&self.patch.radius);
            out.tangent.clear();
            out.tangent.extend(self.basis.iter().map(get));
            out.form.clear();
            out.form.extend(self.form.iter().map(|entry| get(entry) / out.radius));
            out.valid = get(&self.full_rank) == 1.0 && out.is_finite();
        }
        true
    }
}

/// The solver for neighbourhoods of these sizes among points with these tangents.
pub(crate) fn tilt_fitter<'a>(sizes: Sizes, tangents: &'a [f64]) -> Box<dyn Fitter + 'a> {
    struct Make<'a>(Sizes, &'a [f64]);
    impl<'a> Work for Make<'a> {
        type Output = Box<dyn Fitter + 'a>;

        fn run<V: Vector>(self) -> Box<dyn Fitter + 'a> {
            Box::new(Tilts::<V>::new(self.0, self.1))
        }
    }
    Level::current().dispatch(Make(sizes, tangents))
}
