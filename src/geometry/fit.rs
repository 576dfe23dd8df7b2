//! Eight neighbourhoods at once → tangent, second fundamental form and their errors, by one weighted polynomial fit.
//!
//! With T the leading directions of the patch and u = Ty, the normal part of y is fitted by a polynomial in u: a
//! constant c, slopes J, second derivatives B. A quadratic fit turns T to T + J first. At the end, with E = T + J
//! and E Eᵀ = LLᵀ, T' = L⁻¹E and II is the part of L⁻¹BL⁻ᵀ normal to T', divided by the radius of the patch.

use crate::simd::{Kernel, LANES, Level, Vector, Work, add_multiple, dot};

use super::cholesky::orthonormalise;
use super::design::{Design, Shares};
use super::estimate::{FormEstimate, Sizes};
use super::osculating::Osculating;
use super::patch::{Patch, Tangent};
use super::polynomial::Polynomial;
use super::tiles::{Part, TILE, Tile, add_combination, products, total, zeros};

/// How often B is solved for again after [`Osculating`] has corrected the normal parts.
const CORRECTIONS: usize = 3;

/// The largest change by all corrections together, as a share of the first B.
const LARGEST_CORRECTION: f64 = 0.5;

/// Fewer degrees of freedom than this are rounding errors.
const NO_FREEDOM: f64 = 1e-9;

/// A solver for up to eight neighbourhoods, with any instruction set.
pub(crate) trait Fitter: Send {
    /// Fits the neighbourhoods `lists` of the rows `centres` of `values`, as many of them as `out` has room for.
    /// Returns false if the eigensolver does not converge.
    #[must_use]
    fn fit(
        &mut self,
        values: &[f64],
        centres: [u32; LANES],
        lists: [&[u32]; LANES],
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
    /// Tangential coordinates, m columns.
    u: Vec<Tile<V>>,
    osculating: Osculating<V>,
    /// B_p, and minus the share of it that goes with the changes, pairs × dim.
    form: Vec<V>,
    taken: Vec<V>,
    /// The coefficients of the pairs before any correction and after, and their difference, pairs × dim.
    start: Vec<V>,
    corrected: Vec<V>,
    step: Vec<V>,
    /// √w (c(v) − c(u)) of every row, pairs columns, and what they change in the
    /// coefficients of the pairs, pairs × pairs.
    changes: Vec<Tile<V>>,
    moments: Vec<V>,
    /// √w times the normal parts less their corrections, dim columns.
    residual: Vec<Tile<V>>,
    /// Coefficients of Q, q × dim.
    whitened: Vec<V>,
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
        let rows = patch.count;
        let (first, last) = (Design::new(m, 2, dim, rows), Design::<V>::new(m, order, dim, rows));
        let (pairs, q) = (last.polynomial.pairs.len(), last.polynomial.len());
        Self {
            sizes,
            tangent: Tangent::new(neighbors, dim, m),
            u: zeros(rows, m),
            osculating: Osculating::new(&last.polynomial),
            form: vec![V::ZERO; pairs * dim],
            taken: vec![V::ZERO; pairs * dim],
            start: vec![V::ZERO; pairs * dim],
            corrected: vec![V::ZERO; pairs * dim],
            step: vec![V::ZERO; pairs * dim],
            changes: zeros(rows, pairs),
            moments: vec![V::ZERO; pairs * pairs],
            residual: zeros(rows, dim),
            whitened: vec![V::ZERO; q * dim],
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
        // The constant takes the mean of z; only the slopes of this fit are used.
        let independent = self.first.factorise(&self.u, &self.patch.roots);
        self.first.solve(&self.tangent.z, self.sizes.dim);
        self.full_rank = self.full_rank * independent * self.turn(true);
        self.set_coordinates();
        self.keep_normal_part();
        self.full_rank = self.full_rank * self.last.factorise(&self.u, &self.patch.roots);
        self.last.whiten();
        let (share, used) = self.correct();
        self.finish(share, used);
        self.shares = self.last.shares(&self.patch);
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
        for (y, u) in self.patch.y.chunks_exact(dim).zip(self.u.chunks_exact_mut(m)) {
            for (u, direction) in u.iter_mut().zip(self.tangent.basis.chunks_exact(dim)) {
                let mut sum = [V::ZERO; TILE];
                for (y, entry) in y.iter().zip(direction) {
                    add_multiple(&mut sum, *entry, y);
                }
                *u = sum;
            }
        }
    }

    /// Replaces y by √w (y − Tᵀu).
    #[inline(always)]
    fn keep_normal_part(&mut self) {
        let (dim, m) = (self.sizes.dim, self.sizes.intrinsic);
        let rows = self.patch.y.chunks_exact_mut(dim).zip(self.u.chunks_exact(m));
        for ((y, u), roots) in rows.zip(&self.patch.roots) {
            for (c, y) in y.iter_mut().enumerate() {
                for (u, direction) in u.iter().zip(self.tangent.basis.chunks_exact(dim)) {
                    add_multiple(y, -direction[c], u);
                }
                for t in 0..TILE {
                    y[t] = y[t] * roots[t];
                }
            }
        }
    }

    /// T becomes T + J, J less its tangential part, and orthonormal. Returns 0 for lanes where that fails.
    #[inline(always)]
    fn turn(&mut self, first: bool) -> V {
        let (dim, m) = (self.sizes.dim, self.sizes.intrinsic);
        let beta = if first { &mut self.first.beta } else { &mut self.last.beta };
        let slopes = &mut beta[dim..(1 + m) * dim];
        project_out(slopes, &self.tangent.basis, dim);
        for (entry, slope) in self.tangent.basis.iter_mut().zip(slopes) {
            *entry += *slope;
        }
        orthonormalise(&mut self.tangent.basis, &mut self.tangent.inverse, dim)
    }

    /// Solves again for B with the osculating part subtracted: B = B₀ − S(c(v) − c(u))B. Returns the share of the last
    /// change of B that may stay, and 0 for lanes where that is not all of it.
    #[inline(always)]
    fn correct(&mut self) -> (V, V) {
        let dim = self.sizes.dim;
        let last = &self.last;
        let pairs = last.polynomial.pairs.len();
        products(&last.pairs, pairs, &self.patch.y, dim, Part::Full, &mut self.start);
        last.second_derivatives(&self.start, dim, &mut self.form);
        let size = self.osculating.take(&last.polynomial, &self.form, dim);
        for round in 0..CORRECTIONS {
            if round > 0 {
                last.second_derivatives(&self.corrected, dim, &mut self.form);
                self.osculating.take(&last.polynomial, &self.form, dim);
            }
            self.osculating.changes(&self.u, &self.patch.roots, &mut self.changes);
            products(&last.pairs, pairs, &self.changes, pairs, Part::Full, &mut self.moments);
            self.step.fill(V::ZERO);
            for (row, moments) in
                self.step.chunks_exact_mut(dim).zip(self.moments.chunks_exact(pairs))
            {
                for (moment, form) in moments.iter().zip(self.form.chunks_exact(dim)) {
                    add_multiple(row, *moment, form);
                }
            }
            for ((out, start), step) in self.corrected.iter_mut().zip(&self.start).zip(&self.step) {
                *out = *start - *step;
            }
        }
        let mut moved = V::ZERO;
        for (p, row) in self.step.chunks_exact(dim).enumerate() {
            let factor = V::splat(last.polynomial.square_factor(p));
            moved = moved.plus(factor, dot(row, row));
        }
        let allowed = size.sqrt() * V::splat(LARGEST_CORRECTION);
        let moved = moved.sqrt();
        let within = |yes: V, no: V| moved.if_below(allowed, yes, no);
        let share = within(V::ONE, allowed.over(moved.max(V::splat(f64::MIN_POSITIVE))));
        (share, within(V::ONE, V::ZERO))
    }

    /// The coefficients with `share` of the last correction, the residuals r, Σ w|r|², and one step of iterative
    /// refinement, which gives back the digits that the normal equations cost. Lanes whose correction is not `used` in
    /// full are not refined, and their residuals are those without correction.
    #[inline(always)]
    fn finish(&mut self, share: V, used: V) {
        let dim = self.sizes.dim;
        let q = self.last.polynomial.len();
        self.subtract_changes(share);
        let last = &mut self.last;
        products(&last.columns, q, &self.residual, dim, Part::Full, &mut self.whitened);
        last.beta.copy_from_slice(&self.whitened);
        if used.any_below(V::ONE) {
            self.subtract_changes(used);
        }
        for entry in &mut self.whitened {
            *entry = -*entry;
        }
        let last = &mut self.last;
        add_combination(&mut self.residual, &last.columns, &self.whitened, dim);
        let mut scatter = [V::ZERO; TILE];
        for tile in &self.residual {
            for t in 0..TILE {
                scatter[t] = scatter[t].plus(tile[t], tile[t]);
            }
        }
        self.scatter = total(&scatter);
        products(&last.columns, q, &self.residual, dim, Part::Full, &mut self.whitened);
        add_multiple(&mut last.beta, used, &self.whitened);
        last.solver.solve_upper(&mut last.beta, dim);
        // The slopes follow when T turns.
        project_out(&mut last.beta, &self.tangent.basis, dim);
        let first = last.polynomial.first_pair() * dim;
        last.second_derivatives(&last.beta[first..], dim, &mut self.form);
    }

    /// The residuals become √w times the normal parts less `share` of what the last correction took off.
    #[inline(always)]
    fn subtract_changes(&mut self, share: V) {
        let dim = self.sizes.dim;
        for (out, form) in self.taken.iter_mut().zip(&self.form) {
            *out = -(*form * share);
        }
        self.residual.copy_from_slice(&self.patch.y);
        add_combination(&mut self.residual, &self.changes, &self.taken, dim);
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
        centres: [u32; LANES],
        lists: [&[u32]; LANES],
        out: &mut [FormEstimate],
    ) -> bool {
        let converged = V::vectorize(Step { fit: self, values, centres, lists });
        for (lane, out) in out.iter_mut().enumerate() {
            self.write(lane, out);
        }
        converged
    }
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
