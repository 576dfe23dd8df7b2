//! Tables of vectors whose rows are kept in tiles of four, column after column, and their products.
//!
//! A table of n columns has n tiles for each four rows. Its products go through the rows once for each block of
//! results, which stays in registers.

use crate::simd::{Vector, add_multiple};

/// Rows in a tile; the rows that fill up the last tile have weight zero.
pub(crate) const TILE: usize = 4;

/// Four entries of one column.
pub(crate) type Tile<V> = [V; TILE];

/// How many tiles a column of `rows` rows has.
pub(crate) fn tiles(rows: usize) -> usize {
    rows.div_ceil(TILE)
}

/// A table of zeros.
pub(crate) fn zeros<V: Vector>(rows: usize, columns: usize) -> Vec<Tile<V>> {
    vec![[V::ZERO; TILE]; tiles(rows) * columns]
}

/// tile · factor, row by row.
#[inline(always)]
pub(crate) fn scaled<V: Vector>(tile: &Tile<V>, factor: &Tile<V>) -> Tile<V> {
    let mut out = *tile;
    for t in 0..TILE {
        out[t] = tile[t] * factor[t];
    }
    out
}

/// The sum of the four entries.
#[inline(always)]
pub(crate) fn total<V: Vector>(tile: &Tile<V>) -> V {
    (tile[0] + tile[1]) + (tile[2] + tile[3])
}

/// Which entries of a product are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Full,
    /// The lower triangle; what is written above it means nothing.
    Lower,
}

/// out = leftᵀ right of tables with `height` and `width` columns.
#[inline(always)]
pub(crate) fn products<V: Vector>(
    left: &[Tile<V>],
    height: usize,
    right: &[Tile<V>],
    width: usize,
    part: Part,
    out: &mut [V],
) {
    if V::MANY_REGISTERS {
        blocks::<V, 4>(left, height, right, width, part, out);
    } else {
        blocks::<V, 2>(left, height, right, width, part, out);
    }
}

/// The same by blocks of B × B results.
#[inline(always)]
fn blocks<V: Vector, const B: usize>(
    left: &[Tile<V>],
    height: usize,
    right: &[Tile<V>],
    width: usize,
    part: Part,
    out: &mut [V],
) {
    for first in (0..height).step_by(B) {
        let last = if part == Part::Lower { width.min(first + B) } else { width };
        // Rows beyond the last repeat it.
        let rows = std::array::from_fn::<_, B, _>(|i| (first + i).min(height - 1));
        for column in (0..last).step_by(B) {
            let at = (left, height, rows, right, width, column);
            match last - column {
                1 => block::<V, B, 1>(at, out),
                2 => block::<V, B, 2>(at, out),
                3 if B > 2 => block::<V, B, 3>(at, out),
                _ => block::<V, B, B>(at, out),
            }
        }
    }
}

/// Tables, their widths, and the columns of a block.
type Place<'a, V, const R: usize> = (&'a [Tile<V>], usize, [usize; R], &'a [Tile<V>], usize, usize);

#[inline(always)]
fn block<V: Vector, const R: usize, const C: usize>(
    (left, height, rows, right, width, column): Place<V, R>,
    out: &mut [V],
) {
    let mut sums = [[V::ZERO; C]; R];
    for (left, right) in left.chunks_exact(height).zip(right.chunks_exact(width)) {
        let left = rows.map(|row| &left[row]);
        let right = &right[column..column + C];
        for t in 0..TILE {
            for i in 0..R {
                for j in 0..C {
                    sums[i][j] = sums[i][j].plus(left[i][t], right[j][t]);
                }
            }
        }
    }
    for (row, sums) in rows.iter().zip(&sums) {
        out[row * width + column..][..C].copy_from_slice(sums);
    }
}

/// out += rows · factors, where `factors` has a row for each column of `rows`.
#[inline(always)]
pub(crate) fn add_combination<V: Vector>(
    out: &mut [Tile<V>],
    rows: &[Tile<V>],
    factors: &[V],
    width: usize,
) {
    let height = factors.len() / width;
    for (rows, out) in rows.chunks_exact(height).zip(out.chunks_exact_mut(width)) {
        // Points in space: their sums stay in registers.
        if let (true, Ok(out)) = (V::MANY_REGISTERS, <&mut [Tile<V>; 3]>::try_from(&mut *out)) {
            let mut sums = *out;
            for (row, factors) in rows.iter().zip(factors.as_chunks::<3>().0) {
                for c in 0..3 {
                    add_multiple(&mut sums[c], factors[c], row);
                }
            }
            *out = sums;
            continue;
        }
        for (c, out) in out.iter_mut().enumerate() {
            let mut sum = *out;
            for (row, factor) in rows.iter().zip(factors[c..].iter().step_by(width)) {
                add_multiple(&mut sum, *factor, row);
            }
            *out = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, Work};

    /// Both products of tables of `height` and `width` columns with 11 rows, against sums one by one, at every level.
    struct Check {
        height: usize,
        width: usize,
    }

    impl Work for Check {
        type Output = ();

        #[inline(always)]
        fn run<V: Vector>(self) {
            let Self { height, width } = self;
            let rows = 11;
            let table = |columns: usize, shift: usize| {
                let mut table = zeros::<V>(rows, columns);
                for row in 0..rows {
                    for c in 0..columns {
                        let entry = ((row * 7 + c * 5 + shift) % 13) as f64 - 6.0;
                        table[row / TILE * columns + c][row % TILE] = V::splat(entry);
                    }
                }
                table
            };
            let entry = |table: &[Tile<V>], columns: usize, row: usize, c: usize| {
                table[row / TILE * columns + c][row % TILE].lanes()[5]
            };
            let (left, right) = (table(height, 0), table(width, 3));
            let mut out = vec![V::ZERO; height * width];
            products(&left, height, &right, width, Part::Full, &mut out);
            let mut lower = vec![V::ZERO; height * height];
            products(&left, height, &left, height, Part::Lower, &mut lower);
            let sum = |a: &[Tile<V>], i, b: &[Tile<V>], width, j| -> f64 {
                (0..rows).map(|row| entry(a, height, row, i) * entry(b, width, row, j)).sum()
            };
            for i in 0..height {
                for j in 0..width {
                    let expected = sum(&left, i, &right, width, j);
                    assert_eq!(out[i * width + j].lanes()[5], expected);
                }
                for j in 0..=i {
                    let expected = sum(&left, i, &left, height, j);
                    assert_eq!(lower[i * height + j].lanes()[5], expected);
                }
            }
            let mut combined = zeros::<V>(rows, width);
            add_combination(&mut combined, &left, &out, width);
            for row in 0..rows {
                for c in 0..width {
                    let expected: f64 = (0..height)
                        .map(|a| entry(&left, height, row, a) * out[a * width + c].lanes()[5])
                        .sum();
                    assert_eq!(entry(&combined, width, row, c), expected);
                }
            }
        }
    }

    #[test]
    fn products_of_any_width_are_sums_over_the_rows() {
        for level in Level::available() {
            for (height, width) in
                [(1, 1), (2, 3), (3, 2), (4, 4), (6, 3), (7, 5), (15, 3), (10, 9)]
            {
                level.vectorized(Check { height, width });
            }
        }
    }
}
