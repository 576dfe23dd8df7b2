//! VᵀX from the layouts in which V and X are stored.
//!
//! ndarray's matrix product does not use AVX-512 and packs both again: at 400 columns it reaches half of the
//! processor's speed, this nine tenths.

use ndarray::{ArrayViewMut2, Axis};
use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::try_zeros;
use crate::points::Points;
use crate::progress::Progress;
use crate::simd::{CacheLine, LANES, Vector, Work, flat, vectorized};

use super::stripe::Stripe;

/// Lines side by side in a panel of X: as many as a register tile has.
const PANEL: usize = 3;

/// Rows of V and X taken at a time: a panel of them stays in the L1 cache.
const ROWS: usize = 128;

/// Parts of the product for each thread. Every part reads all of V.
const PARTS_PER_THREAD: usize = 3;

/// sum = Vᵀ(X − c).
pub(super) fn multiply(
    stripes: &[Stripe],
    points: &Points,
    centre: &[f64],
    sum: ArrayViewMut2<f64>,
    progress: &Progress,
) -> Result<()> {
    let panels = points.dim().div_ceil(PANEL * LANES);
    // Where the parts end does not change the order of any sum. They differ by one panel at most.
    let count = (PARTS_PER_THREAD * rayon::current_num_threads()).min(panels);
    let column = |part: usize| (part * panels / count * PANEL * LANES).min(points.dim());
    let mut parts = Vec::new();
    let mut rest = sum;
    for part in 0..count {
        let (first, end) = (column(part), column(part + 1));
        let (own, others) = rest.split_at(Axis(1), end - first);
        parts.push((first, own));
        rest = others;
    }
    parts
        .into_par_iter()
        .try_for_each(|(first, sum)| multiply_part(stripes, points, centre, first, sum, progress))
}

/// sum = Vᵀ(X − c) for the columns of X from `first` on, as many as `sum` has.
fn multiply_part(
    stripes: &[Stripe],
    points: &Points,
    centre: &[f64],
    first: usize,
    mut sum: ArrayViewMut2<f64>,
    progress: &Progress,
) -> Result<()> {
    let columns = sum.ncols();
    let width = columns.div_ceil(PANEL * LANES) * PANEL;
    let height: usize = stripes.iter().map(|stripe| stripe.width * LANES).sum();
    let mut packed = try_zeros(ROWS * width)?;
    let mut product = try_zeros::<CacheLine>(height * width)?;
    vectorized(Product {
        stripes,
        points,
        centre: &centre[first..first + columns],
        first,
        packed: &mut packed,
        width,
        product: &mut product,
        progress,
    });
    progress.check()?;
    for (mut out, row) in sum.rows_mut().into_iter().zip(product.chunks_exact(width)) {
        for (out, value) in out.iter_mut().zip(row.iter().flat_map(|line| &line.0)) {
            *out = *value;
        }
    }
    Ok(())
}

struct Product<'a> {
    stripes: &'a [Stripe],
    points: &'a Points<'a>,
    centre: &'a [f64],
    first: usize,
    /// Some rows of X, by panels.
    packed: &'a mut [CacheLine],
    /// Lines in a row of `product`.
    width: usize,
    /// Its rows are the columns of V.
    product: &'a mut [CacheLine],
    /// A cancelled product is left unfinished.
    progress: &'a Progress,
}

impl Work for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let packed = CacheLine::as_vectors_mut::<V>(self.packed);
        let product = CacheLine::as_vectors_mut::<V>(self.product);
        let mut start = 0;
        while start < self.points.len() && self.progress.check().is_ok() {
            let rows = ROWS.min(self.points.len() - start);
            pack(self.points, start, rows, self.centre, self.first, packed);
            let panels = &packed[..rows * self.width];
            let mut height = 0;
            for stripe in self.stripes {
                let v = CacheLine::as_vectors::<V>(&stripe.values);
                let v = flat(&v[start * stripe.width..(start + rows) * stripe.width]);
                for (panel, x) in panels.chunks_exact(rows * PANEL).enumerate() {
                    for line in 0..stripe.width {
                        let at = (height + line * LANES) * self.width + panel * PANEL;
                        let (v, out) = (&v[line * LANES..], &mut product[at..]);
                        if V::MANY_REGISTERS {
                            add_tile::<V, LANES, PANEL>(v, stripe.width, x, out, self.width);
                            continue;
                        }
                        for half in [0, LANES / 2] {
                            for c in 0..PANEL {
                                let (v, x) = (&v[half..], &x[c..]);
                                let out = &mut out[half * self.width + c..];
                                add_tile::<V, { LANES / 2 }, 1>(
                                    v,
                                    stripe.width,
                                    x,
                                    out,
                                    self.width,
                                );
                            }
                        }
                    }
                }
                height += stripe.width * LANES;
            }
            start += rows;
        }
    }
}

/// Some rows and columns of X − c, panel by panel.
#[inline(always)]
fn pack<V: Vector>(
    points: &Points,
    start: usize,
    rows: usize,
    centre: &[f64],
    first: usize,
    packed: &mut [V],
) {
    let (centre, centre_rest) = centre.as_chunks::<LANES>();
    let columns = centre.len() * LANES + centre_rest.len();
    for i in 0..rows {
        let row = &points.row(start + i)[first..first + columns];
        let (row, rest) = row.as_chunks::<LANES>();
        let at = |line: usize| (line / PANEL * rows + i) * PANEL + line % PANEL;
        for (line, (row, centre)) in row.iter().zip(centre).enumerate() {
            packed[at(line)] = V::load(row) - V::load(centre);
        }
        // What follows the last column in its panel is multiplied into columns that are never read.
        for (lane, (value, centre)) in rest.iter().zip(centre_rest).enumerate() {
            packed[at(row.len())].lanes_mut()[lane] = value - centre;
        }
    }
}

/// out += R columns of V times C lines of X.
#[inline(always)]
fn add_tile<V: Vector, const R: usize, const C: usize>(
    v: &[f64],
    v_width: usize,
    x: &[V],
    out: &mut [V],
    out_width: usize,
) {
    let mut sums = [[V::ZERO; C]; R];
    for (v, x) in v.chunks(v_width * LANES).zip(x.chunks(PANEL)) {
        let (v, x) = (&v[..R], &x[..C]);
        for r in 0..R {
            let factor = V::splat(v[r]);
            for c in 0..C {
                sums[r][c] = sums[r][c].plus(factor, x[c]);
            }
        }
    }
    for r in 0..R {
        for c in 0..C {
            out[r * out_width + c] += sums[r][c];
        }
    }
}
