//! Sums over four rows of two tables, row after row.

use crate::simd::Vector;

/// Rows are handled four at a time.
pub(crate) const GROUP: usize = 4;

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
