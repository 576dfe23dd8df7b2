//! Squared distances from a few rows to all, eight of them side by side.

use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::try_zeros;
use crate::points::Points;
use crate::simd::{CacheLine, LANES, Vector, Work, flat, vectorized};

/// Rows in panels of eight, column after column; the last panel is filled up with zeros.
pub(super) struct Panels<'a> {
    points: &'a Points<'a>,
    values: Vec<CacheLine>,
}

impl<'a> Panels<'a> {
    pub(super) fn new(points: &'a Points<'a>) -> Result<Self> {
        let dim = points.dim();
        let panels = points.len().div_ceil(LANES);
        let mut values = try_zeros::<CacheLine>(panels.saturating_mul(dim))?;
        let rows = points.as_slice().par_chunks(LANES * dim);
        values.par_chunks_exact_mut(dim).zip(rows).for_each(|(panel, rows)| {
            for (lane, row) in rows.chunks_exact(dim).enumerate() {
                for (column, value) in panel.iter_mut().zip(row) {
                    column.0[lane] = *value;
                }
            }
        });
        Ok(Self { points, values })
    }
}

/// The distances from each row of a tile to all rows.
pub(super) struct Distances {
    rows: usize,
    lines: Vec<CacheLine>,
}

impl Distances {
    /// Room for a tile of so many of all `rows`.
    pub(super) fn new(rows: usize, tile: usize) -> Result<Self> {
        Ok(Self { rows, lines: try_zeros(rows.div_ceil(LANES).saturating_mul(tile))? })
    }

    /// Squared distances with the bits of [`squared_distance`](crate::neighbors::squared_distance).
    pub(super) fn compute(&mut self, panels: &Panels, rows: &[u32]) {
        vectorized(Tile { panels, rows, out: &mut self.lines });
    }

    /// Those from one row of the tile.
    pub(super) fn line(&self, at: usize) -> &[f64] {
        let panels = self.rows.div_ceil(LANES);
        let line = &self.lines[at * panels..(at + 1) * panels];
        &flat(CacheLine::as_vectors::<crate::simd::Portable>(line))[..self.rows]
    }
}

struct Tile<'a> {
    panels: &'a Panels<'a>,
    rows: &'a [u32],
    out: &'a mut [CacheLine],
}

impl Work for Tile<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let points = self.panels.points;
        let panels = points.len().div_ceil(LANES);
        let values = CacheLine::as_vectors::<V>(&self.panels.values);
        let out = CacheLine::as_vectors_mut::<V>(self.out);
        for (number, panel) in values.chunks_exact(points.dim()).enumerate() {
            for (at, row) in self.rows.iter().enumerate() {
                out[at * panels + number] = squared_distances(points.row(*row as usize), panel);
            }
        }
    }
}

/// From one row to each of a panel: eight interleaved partial sums, as in
/// [`squared_distance`](crate::neighbors::squared_distance).
#[inline(always)]
fn squared_distances<V: Vector>(row: &[f64], panel: &[V]) -> V {
    let mut sums = [V::ZERO; 8];
    let (row_blocks, row_rest) = row.as_chunks::<8>();
    let (panel_blocks, panel_rest) = panel.as_chunks::<8>();
    for (row, panel) in row_blocks.iter().zip(panel_blocks) {
        for at in 0..8 {
            let difference = V::splat(row[at]) - panel[at];
            sums[at] += difference * difference;
        }
    }
    for (at, (value, column)) in row_rest.iter().zip(panel_rest).enumerate() {
        let difference = V::splat(*value) - *column;
        sums[at] += difference * difference;
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::neighbors::squared_distance;

    #[test]
    fn distances_have_the_bits_of_the_one_definition() {
        for (rows, dim) in [(1, 1), (8, 2), (21, 7), (16, 8), (50, 37)] {
            let x = Array2::from_shape_fn((rows, dim), |(i, j)| ((i * 31 + j * 17) as f64).sin());
            let points = Points::new(x.view()).unwrap();
            let mut distances = Distances::new(rows, 3).unwrap();
            let tile = [0, rows as u32 - 1];
            distances.compute(&Panels::new(&points).unwrap(), &tile);
            for (at, row) in tile.into_iter().enumerate() {
                let expected = (0..rows)
                    .map(|other| squared_distance(points.row(row as usize), points.row(other)));
                assert!(distances.line(at).iter().copied().eq(expected), "({rows}, {dim})");
            }
        }
    }
}
