//! Tangent and II at one point → the numbers that do not depend on a basis.

use super::estimate::FormEstimate;

/// More sweeps of Jacobi rotations than any small matrix takes.
const MOST_SWEEPS: usize = 30;

/// Tangent dimensions up to which a shape operator needs no allocation.
const SMALL: usize = 4;

/// The numbers of II that do not depend on a basis.
pub(crate) struct Invariants {
    dim: usize,
    m: usize,
    /// |H| = |tr II| / m.
    pub(crate) mean: f64,
    /// |II|² less what noise adds to it.
    pub(crate) squared_norm: f64,
    /// |tr II|² − |II|², each less what noise adds to it.
    pub(crate) scalar: f64,
}

impl Invariants {
    pub(crate) fn new(estimate: &FormEstimate, dim: usize, m: usize) -> Self {
        let (mut square, mut traced) = (0.0, 0.0);
        for c in 0..dim {
            let mut trace = 0.0;
            let mut entries = estimate.form[c..].iter().step_by(dim);
            for a in 0..m {
                for (b, entry) in (a..m).zip(&mut entries) {
                    square += if a == b { entry * entry } else { 2.0 * entry * entry };
                    if a == b {
                        trace += entry;
                    }
                }
            }
            traced += trace * trace;
        }
        // Without degrees of freedom the noise is not known, and nothing is subtracted.
        let known = |variance: f64| if variance.is_finite() { variance } else { 0.0 };
        let squared_norm = square - known(estimate.form_variance);
        let scalar = traced - known(estimate.trace_variance) - squared_norm;
        Self { dim, m, mean: traced.sqrt() / m as f64, squared_norm, scalar }
    }

    /// With one normal direction: the eigenvalues of ⟨II, ν⟩, ascending, and ν.
    pub(crate) fn write_principal(
        &self,
        estimate: &FormEstimate,
        principal: &mut [f64],
        normal: &mut [f64],
    ) {
        let (dim, m) = (self.dim, self.m);
        unit_normal(&estimate.tangent, dim, normal);
        let (mut small, mut large) = ([0.0; SMALL * SMALL], Vec::new());
        let shape = if m <= SMALL {
            &mut small[..m * m]
        } else {
            large.resize(m * m, 0.0);
            &mut large[..]
        };
        let mut forms = estimate.form.chunks_exact(dim);
        for a in 0..m {
            for (b, form) in (a..m).zip(&mut forms) {
                let entry = normal.iter().zip(form).map(|(a, b)| a * b).sum();
                shape[a * m + b] = entry;
                shape[b * m + a] = entry;
            }
        }
        // ⟨tr II, ν⟩.
        if (0..m).map(|a| shape[a * m + a]).sum::<f64>() < 0.0 {
            normal.iter_mut().chain(&mut *shape).for_each(|entry| *entry = -*entry);
        }
        eigenvalues(shape, m);
        for a in 0..m {
            principal[a] = shape[a * m + a];
        }
        principal.sort_unstable_by(f64::total_cmp);
    }
}

/// The unit vector normal to the d − 1 orthonormal rows of `tangent`: the normal part of the coordinate axis
/// whose normal part is the longest.
fn unit_normal(tangent: &[f64], dim: usize, normal: &mut [f64]) {
    let left =
        |axis: usize| 1.0 - tangent.chunks_exact(dim).map(|row| row[axis] * row[axis]).sum::<f64>();
    let axis = (0..dim).fold(0, |best, axis| if left(axis) > left(best) { axis } else { best });
    normal.fill(0.0);
    normal[axis] = 1.0;
    // Twice, because once leaves rounding errors along the rows.
    for _ in 0..2 {
        for row in tangent.chunks_exact(dim) {
            let part: f64 = row.iter().zip(normal.iter()).map(|(a, b)| a * b).sum();
            for (entry, value) in normal.iter_mut().zip(row) {
                *entry -= part * value;
            }
        }
        let length = normal.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
        normal.iter_mut().for_each(|entry| *entry /= length);
    }
}

/// Leaves the eigenvalues of a symmetric matrix on its diagonal, by cyclic Jacobi rotations.
fn eigenvalues(matrix: &mut [f64], size: usize) {
    for _ in 0..MOST_SWEEPS {
        let scale: f64 = (0..size).map(|i| matrix[i * size + i].abs()).sum();
        let mut rotated = false;
        for i in 0..size {
            for j in i + 1..size {
                let beside = matrix[i * size + j];
                if beside.abs() <= f64::EPSILON * 0.125 * scale || beside == 0.0 {
                    continue;
                }
                rotated = true;
                let half = 0.5 * (matrix[j * size + j] - matrix[i * size + i]) / beside;
                let tangent = half.signum() / (half.abs() + (half * half + 1.0).sqrt());
                let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
                let sine = tangent * cosine;
                for t in 0..size {
                    let (x, y) = (matrix[t * size + i], matrix[t * size + j]);
                    matrix[t * size + i] = cosine * x - sine * y;
                    matrix[t * size + j] = sine * x + cosine * y;
                }
                for t in 0..size {
                    let (x, y) = (matrix[i * size + t], matrix[j * size + t]);
                    matrix[i * size + t] = cosine * x - sine * y;
                    matrix[j * size + t] = sine * x + cosine * y;
                }
            }
        }
        if !rotated {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principal_curvatures_of_a_known_form_and_their_signs() {
        // Tangent e₁, e₃ in R³; II = (1, 2; 2, −5) times −e₂, so that tr II points along e₂.
        let estimate = FormEstimate {
            valid: true,
            tangent: vec![1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            form: vec![0.0, -1.0, 0.0, 0.0, -2.0, 0.0, 0.0, 5.0, 0.0],
            form_variance: 2.0,
            trace_variance: 1.0,
            ..FormEstimate::default()
        };
        let invariants = Invariants::new(&estimate, 3, 2);
        let (mut principal, mut normal) = ([0.0; 2], [0.0; 3]);
        invariants.write_principal(&estimate, &mut principal, &mut normal);
        let root = 13.0_f64.sqrt();
        assert!((principal[0] - (2.0 - root)).abs() < 1e-14);
        assert!((principal[1] - (2.0 + root)).abs() < 1e-14);
        assert_eq!(normal, [0.0, 1.0, 0.0]);
        assert_eq!((invariants.mean, invariants.squared_norm), (2.0, 34.0 - 2.0));
        assert_eq!(invariants.scalar, 16.0 - 1.0 - 32.0);
    }

    #[test]
    fn jacobi_finds_the_eigenvalues_of_a_path() {
        // 2 on the diagonal, −1 beside it: 2 − 2 cos(πj/(n + 1)).
        let size = 6;
        let mut matrix = vec![0.0; size * size];
        for i in 0..size {
            matrix[i * size + i] = 2.0;
            if i + 1 < size {
                matrix[i * size + i + 1] = -1.0;
                matrix[(i + 1) * size + i] = -1.0;
            }
        }
        eigenvalues(&mut matrix, size);
        let mut found: Vec<f64> = (0..size).map(|i| matrix[i * size + i]).collect();
        found.sort_unstable_by(f64::total_cmp);
        for (j, value) in found.iter().enumerate() {
            let expected = 2.0 - 2.0 * (std::f64::consts::PI * (j + 1) as f64 / 7.0).cos();
            assert!((value - expected).abs() < 1e-14);
        }
    }
}
