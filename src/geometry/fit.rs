//! Eight neighbourhoods at once → tangent, second fundamental form and their errors, by one weighted polynomial fit.
//!
//! With T the leading directions of the patch and u = Ty, the normal part of y is fitted by a polynomial in u: constant c,
//! slopes J, second derivatives B. A quadratic fit turns T to T + J first. At the end, with E = T + J and E Eᵀ = LLᵀ,
//! T' = L⁻¹E and II is the part of L⁻¹BL⁻ᵀ normal to T', divided by the radius of the patch.

use crate::simd::{Kernel, LANES, Level, Vector, Work, add_multiple, dot};

use super::cholesky::orthonormalise;
use super::design::{Design, Shares};
use super::estimate::{FormEstimate, Sizes};
use super::osculating::Osculating;
use super::patch::{GROUP, Patch, Tangent, add_product, subtract_group};
use super::polynomial::Polynomial;

/// How often B is solved for again after [`Osculating`] has corrected the normal parts.
const CORRECTIONS: usize = 3;

/// The largest change by all corrections together, as a share of the first B.
const LARGEST_CORRECTION: f64 = 0.5;

/// Fewer degrees of freedom than this are rounding errors.
const NO_FREEDOM: f64 = 1e-9;

/// A solver for up to eight neighbourhoods, with any instruction set.
pub(crate) trait Fitter: Send {
    /// Fits the neighbourhoods `lists` of the rows `centres` of `values`. Returns false if the eigensolver does not
    /// converge.
    #[must_use]
    fn fit(
        &mut self,
        values: &[f64],
        centres: &[u32],
        lists: &[&[u32]],
        out: &mut [FormEstimate],
    ) -> bool;
}

/// Workspace and result for neighbourhoods of one size.
#[derive(Debug)]
pub(crate) struct Fit<V> {
    sizes: Sizes,
    patch: Patch<V>,
    tangent: Tangent<V>,
    /// The quadratic fit that turns the tangent, and the last one.
    first: Design<V>,
    last: Design<V>,
    /// Tangential coordinates, rows × m.
    u: Vec<V>,
    osculating: Osculating<V>,
    /// B_p and, for the corrections, its predecessor, pairs × dim.
    form: Vec<V>,
    previous: Vec<V>,
    /// c(v) − c(u) of every row, rows × pairs.
    changes: Vec<V>,
    /// ΦᵀW(c(v) − c(u)), q × pairs, then that times B, q × dim.
    moments: Vec<V>,
    step: Vec<V>,
    start: Vec<V>,
    /// Residuals of four rows.
    residual: Vec<V>,
    /// L⁻¹B, m × m × dim.
    half: Vec<V>,
    /// 1 for lanes where nothing was rank-deficient.
    full_rank: V,
    /// Σ w|r|².
    scatter: V,
    shares: Shares<V>,
}

impl<V: Vector> Fit<V> {
    pub(crate) fn new(sizes: Sizes) -> Self {
        let Sizes { neighbors, dim, intrinsic: m, order } = sizes;
        let patch = Patch::new(neighbors, dim);
        let (first, last) = (Design::new(m, 2, dim), Design::<V>::new(m, order, dim));
        let (rows, pairs, q) = (patch.rows, last.polynomial.pairs.len(), last.polynomial.len());
        Self {
            sizes,
            tangent: Tangent::new(neighbors, dim, m),
            u: vec![V::ZERO; rows * m],
            osculating: Osculating::new(&last.polynomial),
            form: vec![V::ZERO; pairs * dim],
            previous: vec![V::ZERO; pairs * dim],
            changes: vec![V::ZERO; rows * pairs],
            moments: vec![V::ZERO; q * pairs],
            step: vec![V::ZERO; q * dim],
            start: vec![V::ZERO; q * dim],
            residual: vec![V::ZERO; GROUP * dim],
            half: vec![V::ZERO; m * m * dim],
            full_rank: V::ONE,
            scatter: V::ZERO,
            shares: Shares { freedom: V::ONE, form: V::ZERO, trace: V::ZERO },
            patch,
            first,
            last,
        }
    }

    #[inline(always)]
    fn solve(&mut self, values: &[f64], centres: [u32; LANES], lists: [&[u32]; LANES]) -> bool {
        self.patch.gather(values, centres, lists);
        let Some(found) = self.tangent.solve(&self.patch) else { return false };
        self.full_rank = found * self.patch.extended;
        self.set_coordinates();
        self.full_rank = self.full_rank * self.first.solve(&self.patch, &self.u, false);
        self.project(true);
        self.full_rank = self.full_rank * self.turn(true);
        self.set_coordinates();
        self.remove_tangential_part();
        self.full_rank = self.full_rank * self.last.solve(&self.patch, &self.u, true);
        let limited = self.correct();
        self.refine(limited);
        self.shares = self.last.shares(&self.patch.weights);
        self.full_rank = self.full_rank * self.turn(false);
        tilt(
            &mut self.form,
            &self.last.polynomial,
            &self.tangent.inverse,
            &self.tangent.basis,
            &mut self.half,
        );
        true
    }

    /// u = Ty.
    #[inline(always)]
    fn set_coordinates(&mut self) {
        let (dim, m) = (self.sizes.dim, self.sizes.intrinsic);
        for (row, u) in self.patch.y.chunks_exact(dim).zip(self.u.chunks_exact_mut(m)) {
            for (a, u) in u.iter_mut().enumerate() {
                *u = dot(&self.tangent.basis[a * dim..(a + 1) * dim], row);
            }
        }
    }

    /// Replaces y by y − Tᵀu.
    #[inline(always)]
    fn remove_tangential_part(&mut self) {
        let (dim, m) = (self.sizes.dim, self.sizes.intrinsic);
        for (row, u) in self.patch.y.chunks_exact_mut(dim).zip(self.u.chunks_exact(m)) {
            for a in 0..m {
                add_multiple(row, -u[a], &self.tangent.basis[a * dim..(a + 1) * dim]);
            }
        }
    }

    /// Removes the tangential part from the coefficients of the first fit or of the last one.
    #[inline(always)]
    fn project(&mut self, first: bool) {
        let dim = self.sizes.dim;
        let beta = if first { &mut self.first.beta } else { &mut self.last.beta };
        project_out(beta, &self.tangent.basis, dim);
    }

    /// T becomes T + J, orthonormal. Returns 0 for lanes where that fails.
    #[inline(always)]
    fn turn(&mut self, first: bool) -> V {
        let (dim, m) = (self.sizes.dim, self.sizes.intrinsic);
        let beta = if first { &self.first.beta } else { &self.last.beta };
        for (entry, slope) in self.tangent.basis.iter_mut().zip(&beta[dim..(1 + m) * dim]) {
            *entry += *slope;
        }
        orthonormalise(&mut self.tangent.basis, &mut self.tangent.inverse, dim)
    }

    /// Solves again with the osculating part subtracted: β = β₀ − G⁻¹ ΦᵀW(c(v) − c(u)) B. Returns 1 for lanes where the
    /// change of B was too large and was cut.
    #[inline(always)]
    fn correct(&mut self) -> V {
        let (dim, m) = (self.sizes.dim, self.sizes.intrinsic);
        let last = &mut self.last;
        let pairs = last.polynomial.pairs.len();
        self.start.copy_from_slice(&last.beta);
        last.second_derivatives(dim, &mut self.form);
        let size = self.osculating.take(&last.polynomial, &self.form, dim);
        for _ in 0..CORRECTIONS {
            self.moments.fill(V::ZERO);
            let groups = self.changes.chunks_exact_mut(GROUP * pairs).enumerate();
            for (group, changes) in groups {
                last.evaluate(&self.u, &self.patch.weights, group * GROUP);
                for t in 0..GROUP {
                    let u = &self.u[(group * GROUP + t) * m..(group * GROUP + t + 1) * m];
                    let out = &mut changes[t * pairs..(t + 1) * pairs];
                    self.osculating.change(u, out);
                }
                add_product(&mut self.moments, &last.weighted, changes);
            }
            self.step.fill(V::ZERO);
            for (row, moments) in
                self.step.chunks_exact_mut(dim).zip(self.moments.chunks_exact(pairs))
            {
                for p in 0..pairs {
                    add_multiple(row, moments[p], &self.form[p * dim..(p + 1) * dim]);
                }
            }
            last.solver.solve(&mut self.step, dim);
            for ((beta, start), step) in last.beta.iter_mut().zip(&self.start).zip(&self.step) {
                *beta = *start - *step;
            }
            std::mem::swap(&mut self.previous, &mut self.form);
            last.second_derivatives(dim, &mut self.form);
            self.osculating.take(&last.polynomial, &self.form, dim);
        }
        // B − B₀ is the step's part in the pairs.
        let first = last.polynomial.first_pair();
        let mut moved = V::ZERO;
        for p in 0..pairs {
            let factor = V::splat(last.polynomial.square_factor(p));
            let row = &self.step[(first + p) * dim..(first + p + 1) * dim];
            moved = moved.plus(factor, dot(row, row));
        }
        let allowed = size.sqrt() * V::splat(LARGEST_CORRECTION);
        let moved = moved.sqrt();
        let within = |yes: V, no: V| moved.if_below(allowed, yes, no);
        let share = within(V::ONE, allowed.over(moved.max(V::splat(f64::MIN_POSITIVE))));
        for ((beta, start), step) in last.beta.iter_mut().zip(&self.start).zip(&self.step) {
            *beta = within(*beta, *start - *step * share);
        }
        within(V::ZERO, V::ONE)
    }

    /// Residuals r of the last fit: Σ w|r|², and one step of iterative refinement, which gives back the digits that the
    /// normal equations cost. Lanes that were cut keep their coefficients, and their residuals are those without correction.
    #[inline(always)]
    fn refine(&mut self, limited: V) {
        let dim = self.sizes.dim;
        let last = &mut self.last;
        let pairs = last.polynomial.pairs.len();
        let used = V::ONE - limited;
        self.scatter = V::ZERO;
        self.step.fill(V::ZERO);
        for (group, rows) in self.patch.y.chunks_exact(GROUP * dim).enumerate() {
            last.evaluate(&self.u, &self.patch.weights, group * GROUP);
            let changes = &mut self.changes[group * GROUP * pairs..(group + 1) * GROUP * pairs];
            for change in changes.iter_mut() {
                *change = *change * used;
            }
            self.residual.copy_from_slice(rows);
            subtract_group(&mut self.residual, &last.phi, &last.beta, dim);
            subtract_group(&mut self.residual, changes, &self.previous, dim);
            for (row, weight) in
                self.residual.chunks_exact(dim).zip(&self.patch.weights[group * GROUP..])
            {
                self.scatter = self.scatter.plus(*weight, dot(row, row));
            }
            add_product(&mut self.step, &last.weighted, &self.residual);
        }
        last.solver.solve(&mut self.step, dim);
        for (beta, step) in last.beta.iter_mut().zip(&self.step) {
            *beta = beta.plus(used, *step);
        }
        self.project(false);
        self.last.second_derivatives(dim, &mut self.form);
    }

    fn write(&self, lane: usize, out: &mut FormEstimate) {
        let (dim, m) = (self.sizes.dim, self.sizes.intrinsic);
        let get = |value: &V| value.lanes()[lane];
        let radius = get(&self.patch.radius);
        let copy = |out: &mut Vec<f64>, from: &[V], factor: f64| {
            out.clear();
            out.extend(from.iter().map(|value| get(value) * factor));
        };
        copy(&mut out.tangent, &self.tangent.basis, 1.0);
        copy(&mut out.form, &self.form, 1.0 / radius);
        copy(&mut out.offset, &self.last.beta[..dim], radius);
        out.radius = radius;
        // Without degrees of freedom the residuals are rounding errors and say nothing about the noise.
        let freedom = get(&self.shares.freedom);
        let free = self.sizes.neighbors + 1 > self.last.polynomial.len() && freedom > NO_FREEDOM;
        let noise = if free { get(&self.scatter) / freedom } else { f64::INFINITY };
        out.noise_variance = noise / (dim - m) as f64 * radius * radius;
        out.form_variance = noise * get(&self.shares.form) / radius / radius;
        out.trace_variance = noise * get(&self.shares.trace) / radius / radius;
        out.valid = get(&self.full_rank) == 1.0 && out.is_finite();
    }
}

/// The form becomes L⁻¹BL⁻ᵀ, its part normal to the turned tangent.
#[inline(always)]
pub(crate) fn tilt<V: Vector>(
    form: &mut [V],
    polynomial: &Polynomial,
    inverse: &[V],
    basis: &[V],
    half: &mut [V],
) {
    let m = polynomial.variables;
    let dim = basis.len() / m;
    // L⁻¹B, m × m × dim, then times L⁻ᵀ.
    half.fill(V::ZERO);
    for a in 0..m {
        for j in 0..m {
            let out = &mut half[(a * m + j) * dim..(a * m + j + 1) * dim];
            for i in 0..=a {
                let p = polynomial.pair(i, j);
                add_multiple(out, inverse[a * m + i], &form[p * dim..(p + 1) * dim]);
            }
        }
    }
    form.fill(V::ZERO);
    for (p, &(a, b)) in polynomial.pairs.iter().enumerate() {
        let out = &mut form[p * dim..(p + 1) * dim];
        for j in 0..=b {
            let from = &half[(a * m + j) * dim..(a * m + j + 1) * dim];
            add_multiple(out, inverse[b * m + j], from);
        }
    }
    project_out(form, basis, dim);
}

/// Subtracts from each row of `rows` its projection onto the span of the orthonormal rows of `basis`.
#[inline(always)]
pub(crate) fn project_out<V: Vector>(rows: &mut [V], basis: &[V], dim: usize) {
    for row in rows.chunks_exact_mut(dim) {
        for direction in basis.chunks_exact(dim) {
            let part = -dot(row, direction);
            add_multiple(row, part, direction);
        }
    }
}

/// One call of a [`Fit`].
struct Step<'a, V> {
    fit: &'a mut Fit<V>,
    values: &'a [f64],
    centres: [u32; LANES],
    lists: [&'a [u32]; LANES],
}

impl<V: Vector> Kernel for Step<'_, V> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.fit.solve(self.values, self.centres, self.lists)
    }
}

impl<V: Vector> Fitter for Fit<V> {
    fn fit(
        &mut self,
        values: &[f64],
        centres: &[u32],
        lists: &[&[u32]],
        out: &mut [FormEstimate],
    ) -> bool {
        let (centres, lists) = fill_lanes(centres, lists);
        let converged = V::vectorize(Step { fit: self, values, centres, lists });
        for (lane, out) in out.iter_mut().enumerate() {
            self.write(lane, out);
        }
        converged
    }
}

/// A centre and its list for every lane. Missing ones repeat the first, and their lanes are never read.
pub(crate) fn fill_lanes<'a>(
    centres: &[u32],
    lists: &[&'a [u32]],
) -> ([u32; LANES], [&'a [u32]; LANES]) {
    let own = |lane: usize| if lane < centres.len() { lane } else { 0 };
    (std::array::from_fn(|lane| centres[own(lane)]), std::array::from_fn(|lane| lists[own(lane)]))
}

/// The solver for neighbourhoods of these sizes.
pub(crate) fn fitter(sizes: Sizes) -> Box<dyn Fitter> {
    struct Make(Sizes);
    impl Work for Make {
        type Output = Box<dyn Fitter>;

        fn run<V: Vector>(self) -> Box<dyn Fitter> {
            Box::new(Fit::<V>::new(self.0))
        }
    }
    Level::current().dispatch(Make(sizes))
}
