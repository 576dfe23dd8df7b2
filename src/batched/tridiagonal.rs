//! Eight small symmetric eigenproblems at once, one in each SIMD lane.
//!
//! Householder reflections to tridiagonal form, then implicit QL, as in EISPACK's tred2 and tql2 and LAPACK's
//! dsyev. The lanes run in lockstep: a lane that needs fewer steps does nothing in the others. LAPACK solves one
//! problem per call, and at these sizes most of its time is overhead, hence this solver; docs/performance.md has
//! the numbers.

use crate::simd::{Vector, add_multiple, dot};

/// QL needs about two steps for an eigenvalue; LAPACK allows thirty.
const MOST_STEPS: usize = 60;

/// Squares below this may have lost digits to underflow, and are negligible beside a norm of 1.
const NO_SQUARE: f64 = 1e-200;
const NO_LENGTH: f64 = 1e-100;

/// Workspace for matrices of one size.
#[derive(Debug)]
pub(crate) struct Tridiagonal<V> {
    diagonal: Vec<V>,
    /// beside[i] couples i and i + 1.
    beside: Vec<V>,
    reflector: Vec<V>,
    product: Vec<V>,
    factors: Vec<V>,
    /// Column j holds, below the diagonal, the j-th reflector.
    reflectors: Vec<V>,
}

impl<V: Vector> Tridiagonal<V> {
    pub(crate) fn new(size: usize) -> Self {
        let zeros = || vec![V::ZERO; size];
        Self {
            diagonal: zeros(),
            beside: zeros(),
            reflector: zeros(),
            product: zeros(),
            factors: zeros(),
            reflectors: vec![V::ZERO; size * size],
        }
    }

    /// Solves the problems in `matrix` (size × size, both triangles; destroyed). Leaves the eigenvalues, in no
    /// particular order, in `values` and the eigenvectors as the rows of `vectors`.
    ///
    /// Each matrix must have norm about 1. Returns false if a lane does not converge.
    #[inline(always)]
    pub(crate) fn solve(
        &mut self,
        matrix: &mut [V],
        size: usize,
        values: &mut [V],
        vectors: &mut [V],
    ) -> bool {
        self.beside[size - 1] = V::ZERO;
        self.reduce(matrix, size);
        self.accumulate(size, vectors);
        let converged = self.iterate(size, vectors);
        values[..size].copy_from_slice(&self.diagonal);
        converged
    }

    /// Aₙ₊₁ = H A H with H = I − τ v vᵀ, one column at a time.
    #[inline(always)]
    fn reduce(&mut self, a: &mut [V], size: usize) {
        for j in 0..size.saturating_sub(1) {
            self.diagonal[j] = a[j * size + j];
            let first = a[j * size + j + 1];
            let mut rest = V::ZERO;
            for i in j + 2..size {
                rest = rest.plus(a[j * size + i], a[j * size + i]);
            }
            // β = −sign(α) ‖x‖, τ = (β − α) / β, v = x / (α − β) with v₀ = 1; no reflection if only x₀ is left.
            let length = (first * first + rest).sqrt();
            let beta = -length.copysign(first);
            let done = |yes: V, no: V| rest.if_at_most(V::splat(NO_SQUARE), yes, no);
            let tau = done(V::ZERO, (beta - first).over(done(V::ONE, beta)));
            let scale = done(V::ZERO, V::ONE.over(done(V::ONE, first - beta)));
            self.beside[j] = done(first, beta);
            self.factors[j] = tau;
            let v = &mut self.reflector;
            v[j + 1] = V::ONE;
            for i in j + 2..size {
                v[i] = a[j * size + i] * scale;
            }
            self.reflectors[j * size + j + 1..(j + 1) * size].copy_from_slice(&v[j + 1..size]);
            // p = τ A v, w = p − ½ τ (pᵀv) v, A −= v wᵀ + w vᵀ.
            let v = &self.reflector[j + 1..size];
            let w = &mut self.product[j + 1..size];
            let mut inner = V::ZERO;
            for (i, w) in w.iter_mut().enumerate() {
                let row = &a[(i + j + 1) * size + j + 1..(i + j + 2) * size];
                *w = dot(row, v) * tau;
                inner = inner.plus(*w, v[i]);
            }
            let shift = V::splat(-0.5) * tau * inner;
            add_multiple(w, shift, v);
            let w = &self.product[j + 1..size];
            for i in 0..v.len() {
                let row = &mut a[(i + j + 1) * size + j + 1..(i + j + 2) * size];
                let (minus_v, minus_w) = (-v[i], -w[i]);
                for (entry, (v, w)) in row.iter_mut().zip(v.iter().zip(w)) {
                    *entry = entry.plus(minus_v, *w).plus(minus_w, *v);
                }
            }
        }
        self.diagonal[size - 1] = a[size * size - 1];
    }

    /// vectors = Qᵀ, Q = H₀ H₁ …: each row times the reflectors from the last to the first.
    #[inline(always)]
    fn accumulate(&self, size: usize, vectors: &mut [V]) {
        vectors[..size * size].fill(V::ZERO);
        for i in 0..size {
            vectors[i * size + i] = V::ONE;
        }
        for j in (0..size.saturating_sub(2)).rev() {
            let v = &self.reflectors[j * size + j + 1..(j + 1) * size];
            for i in j + 1..size {
                let row = &mut vectors[i * size + j + 1..(i + 1) * size];
                let inner = -(dot(row, v) * self.factors[j]);
                add_multiple(row, inner, v);
            }
        }
    }

    /// Implicit QL on the tridiagonal matrix, rotating the rows of `vectors` along.
    #[inline(always)]
    fn iterate(&mut self, size: usize, vectors: &mut [V]) -> bool {
        let (d, e) = (&mut self.diagonal[..size], &mut self.beside[..size]);
        for l in 0..size - 1 {
            let mut steps = 0;
            loop {
                // A lane that is done at l does one more step, harmless by its shift, until all are.
                let done = negligible(d, l);
                if !done.any_below(e[l].abs()) {
                    break;
                }
                steps += 1;
                if steps > MOST_STEPS {
                    return false;
                }
                // Where each lane's block that starts at l ends: the first negligible coupling.
                let last = V::splat((size - 1) as f64);
                let mut end = last;
                for i in (l + 1..size - 1).rev() {
                    end = e[i].abs().if_at_most(negligible(d, i), V::splat(i as f64), end);
                }
                // Wilkinson's shift from the block's first two rows.
                let coupling = e[l].abs().if_at_most(done, V::ONE, e[l]);
                let square = coupling * coupling;
                let half = V::splat(0.5) * (d[l + 1] - d[l]);
                let root = square.plus(half, half).sqrt().copysign(half);
                let below = square.over(half + root);
                let shift = d[l] - e[l].abs().if_at_most(done, V::ZERO, below);
                let mut chase = Chase::new(shift, end);
                let mut i = size - 1;
                if end.any_below(last) {
                    i = end.largest() as usize;
                } else {
                    while i > l && chase.turn_all(i - 1, i == size - 1, d, e, vectors) {
                        i -= 1;
                    }
                }
                for i in (l..i).rev() {
                    chase.turn_some(i, d, e, vectors);
                }
                d[l] = chase.broken.if_at_most(V::ZERO, d[l] - chase.p, d[l]);
                e[l] = chase.broken.if_at_most(V::ZERO, chase.g, e[l]);
            }
        }
        true
    }
}

/// The largest coupling of i and i + 1 that can be dropped with a backward error below LAPACK's own.
#[inline(always)]
fn negligible<V: Vector>(d: &[V], i: usize) -> V {
    let around = d[i].abs() + d[i + 1].abs();
    (V::splat(f64::EPSILON) * around).max(V::splat(f64::EPSILON / 16.0))
}

/// One step of QL: a rotation that is chased through a block, from its end to its start.
struct Chase<V> {
    shift: V,
    /// Where each lane's block ends, and where the lane starts.
    end: V,
    s: V,
    c: V,
    p: V,
    g: V,
    /// 1 once a lane has met an underflow and must wait for the next step.
    broken: V,
}

impl<V: Vector> Chase<V> {
    #[inline(always)]
    fn new(shift: V, end: V) -> Self {
        Self { shift, end, s: V::ONE, c: V::ONE, p: V::ZERO, g: V::ZERO, broken: V::ZERO }
    }

    /// Rotates rows i and i + 1 in all lanes, which start together. Does nothing and returns false if one cannot.
    #[inline(always)]
    fn turn_all(
        &mut self,
        i: usize,
        first: bool,
        d: &mut [V],
        e: &mut [V],
        vectors: &mut [V],
    ) -> bool {
        let g = if first { d[i + 1] - self.shift } else { self.g };
        let f = self.s * e[i];
        let b = self.c * e[i];
        let square = f * f + g * g;
        if !V::splat(NO_SQUARE).all_below(square) {
            return false;
        }
        let inverse = square.inverse_sqrt();
        let (sine, cosine) = (f * inverse, g * inverse);
        e[i + 1] = if first { V::ZERO } else { square * inverse };
        let moved = d[i + 1] - self.p;
        let q = (cosine * (b + b)).plus(d[i] - moved, sine);
        self.p = sine * q;
        d[i + 1] = moved + self.p;
        self.g = (-b).plus(cosine, q);
        (self.s, self.c) = (sine, cosine);
        rotate(vectors, d.len(), i, sine, cosine);
        true
    }

    /// The same where lanes start at different rows, or stop early.
    #[inline(always)]
    fn turn_some(&mut self, i: usize, d: &mut [V], e: &mut [V], vectors: &mut [V]) {
        let (end, broken) = (self.end, self.broken);
        let here = V::splat(i as f64);
        let next = V::splat((i + 1) as f64);
        let starts = |yes: V, no: V| end.if_at_most(next, next.if_at_most(end, yes, no), no);
        let g = starts(d[i + 1] - self.shift, self.g);
        let works = |yes: V, no: V| {
            // i < end, and not broken.
            here.if_below(end, broken.if_at_most(V::ZERO, yes, no), no)
        };
        let f = self.s * e[i];
        let b = self.c * e[i];
        let r = (f * f + g * g).sqrt();
        let underflow = |yes: V, no: V| r.if_at_most(V::splat(NO_LENGTH), yes, no);
        let inverse = V::ONE.over(underflow(V::ONE, r));
        let sine = underflow(V::ZERO, f * inverse);
        let cosine = underflow(V::ONE, g * inverse);
        // starts() leaves e[end] = 0, as the chase ends with it.
        e[i + 1] = works(starts(V::ZERO, r), e[i + 1]);
        let moved = d[i + 1] - self.p;
        let q = ((cosine + cosine) * b).plus(d[i] - moved, sine);
        let carried = sine * q;
        d[i + 1] = works(underflow(moved, moved + carried), d[i + 1]);
        self.g = works((-b).plus(cosine, q), g);
        self.p = works(underflow(V::ZERO, carried), self.p);
        self.s = works(sine, self.s);
        self.c = works(cosine, self.c);
        self.broken = works(underflow(V::ONE, V::ZERO), broken);
        rotate(vectors, d.len(), i, works(sine, V::ZERO), works(cosine, V::ONE));
    }
}

/// Rotates rows i and i + 1.
#[inline(always)]
fn rotate<V: Vector>(vectors: &mut [V], size: usize, i: usize, sine: V, cosine: V) {
    let (upper, lower) = vectors.split_at_mut((i + 1) * size);
    let minus = -sine;
    for (x, y) in upper[i * size..].iter_mut().zip(&mut lower[..size]) {
        let (before, after) = (*x, *y);
        *y = (cosine * after).plus(sine, before);
        *x = (cosine * before).plus(minus, after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{LANES, Level, Work};

    /// Solves eight matrices given as functions of (lane, row, column) at every level: V A Vᵀ = D and V Vᵀ = I.
    fn check(size: usize, entry: impl Fn(usize, usize, usize) -> f64) {
        for level in Level::available() {
            level.vectorized(Check { size, entry: &entry });
        }
    }

    struct Check<'a, E> {
        size: usize,
        entry: &'a E,
    }

    impl<E: Fn(usize, usize, usize) -> f64> Work for Check<'_, E> {
        type Output = ();

        #[inline(always)]
        fn run<V: Vector>(self) {
            let (size, entry) = (self.size, self.entry);
            let mut original = vec![V::ZERO; size * size];
            for (at, lanes) in original.iter_mut().enumerate() {
                let (i, j) = (at / size, at % size);
                *lanes.lanes_mut() = std::array::from_fn(|lane| entry(lane, i.min(j), i.max(j)));
            }
            let mut matrix = original.clone();
            let mut values = vec![V::ZERO; size];
            let mut vectors = vec![V::ZERO; size * size];
            let mut solver = Tridiagonal::new(size);
            assert!(solver.solve(&mut matrix, size, &mut values, &mut vectors), "size {size}");
            for lane in 0..LANES {
                let a = |i: usize, j: usize| original[i * size + j].lanes()[lane];
                let v = |i: usize, j: usize| vectors[i * size + j].lanes()[lane];
                for i in 0..size {
                    for j in 0..size {
                        let turned: f64 = (0..size)
                            .map(|s| v(i, s) * (0..size).map(|t| a(s, t) * v(j, t)).sum::<f64>())
                            .sum();
                        let unit: f64 = (0..size).map(|s| v(i, s) * v(j, s)).sum();
                        let (value, one) =
                            if i == j { (values[i].lanes()[lane], 1.0) } else { (0.0, 0.0) };
                        let bound = 1e-15 * (size as f64 + 4.0);
                        let gap = (turned - value).abs().max((unit - one).abs());
                        assert!(gap < bound, "size {size} lane {lane}: {gap}");
                    }
                }
            }
        }
    }

    fn pseudo_random(seed: usize) -> f64 {
        let mixed = (seed as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }

    #[test]
    fn random_matrices_are_diagonalised() {
        for size in [1, 2, 3, 4, 7, 13, 24, 32] {
            check(size, |lane, i, j| pseudo_random((lane * 64 + i) * 64 + j) / size as f64);
        }
    }

    #[test]
    fn each_lane_may_be_another_hard_case() {
        for size in [2, 3, 5, 12] {
            let n = size as f64;
            check(size, |lane, i, j| match lane {
                0 => 0.0,
                1 => f64::from(i == j) / n,
                2 => 1.0 / n,
                3 => f64::from(i == j) * (i + 1) as f64 / n,
                4 => f64::from(i + 1 == j) / n,
                5 => f64::from(i == j) * 10.0_f64.powi(-8 * i as i32),
                6 => pseudo_random(i) * pseudo_random(j),
                _ => 10.0_f64.powi(-4 * (i + j) as i32),
            });
        }
    }

    #[test]
    fn couplings_whose_squares_underflow_turn_nothing() {
        for size in [3, 6, 11] {
            check(size, |lane, i, j| {
                let tiny = 10.0_f64.powi(-152 - 2 * lane as i32);
                let own = f64::from(u8::from(i == j)) * (i % 3) as f64 / size as f64;
                own + tiny * pseudo_random(i.min(j) * 16 + i.max(j))
            });
        }
    }

    #[test]
    fn tiny_couplings_do_not_stall_a_lane() {
        check(6, |lane, i, j| {
            let tiny = 10.0_f64.powi(-20 * lane as i32 - 10);
            if i == j { 1.0 / (1 + i / 2) as f64 } else { tiny * pseudo_random(i * 8 + j) }
        });
    }
}
