//! Data for the benches: a Gaussian cloud from a small generator, the same on every machine.

use ndarray::Array2;

/// `rows` points of `dim` nearly normal columns (sums of three uniforms).
pub(crate) fn gaussian(rows: usize, dim: usize) -> Array2<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    Array2::from_shape_simple_fn((rows, dim), || 2.0 * (uniform() + uniform() + uniform()))
}
