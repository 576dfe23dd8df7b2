//! Products over the columns of one neighbourhood, a tile of sums in registers at a time.

use crate::simd::Vector;

/// Rows that begin every `stride` vectors.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a, V> {
    pub(super) values: &'a [V],
    pub(super) stride: usize,
}

/// Numbers f_pm = values[p · row + m · column].
#[derive(Clone, Copy)]
pub(super) struct Strided<'a> {
    pub(super) values: &'a [f64],
    pub(super) row: usize,
    pub(super) column: usize,
}

/// Goes through the rows from `$m` to `$count` by tiles of at most `$most`, as equal in size as
/// possible. `$tile` is a macro that handles the given number of rows.
macro_rules! by_tiles {
    ($m:ident, $count:expr, $most:expr, $tile:ident) => {
        while $m < $count {
            let rest = $count - $m;
            let rows = rest.div_ceil(rest.div_ceil($most));
            match rows {
                8 => $tile!(8),
                7 => $tile!(7),
                6 => $tile!(6),
                5 => $tile!(5),
                4 => $tile!(4),
                3 => $tile!(3),
                2 => $tile!(2),
                _ => $tile!(1),
            }
            $m += rows;
        }
    };
}

/// sums_lm += Σ factor ∘ row_l ∘ row_m over `length` vectors for all l ≤ m < count; `fresh` sums are zero before.
#[inline(always)]
pub(super) fn add_triangle<V: Vector>(
    factor: Option<&[V]>,
    rows: Rows<V>,
    count: usize,
    length: usize,
    sums: &mut [V],
    fresh: bool,
) {
    let (columns, corner) = if V::MANY_REGISTERS { (8, 7) } else { (3, 3) };
    let (mut l, mut at) = (0, 0);
    while count - l > corner {
        // Two rows, each from m = l on; the one entry below the diagonal is not kept.
        let (upper, lower) = sums[at..].split_at_mut(count - l);
        let mut m = l;
        macro_rules! tile {
            ($columns:literal) => {{
                let dots = dot_tile::<V, 2, $columns>(factor, rows, l, m, length);
                for i in 0..$columns {
                    add(&mut upper[m + i - l], dots[0][i], fresh);
                    if m + i > l {
                        add(&mut lower[m + i - l - 1], dots[1][i], fresh);
                    }
                }
            }};
        }
        by_tiles!(m, count, columns, tile);
        at += 2 * (count - l) - 1;
        l += 2;
    }
    // The triangle that is left fits into the registers.
    macro_rules! corner {
        ($rows:literal) => {{
            let dots = dot_corner::<V, $rows>(factor, rows, l, length);
            for r in 0..$rows {
                for c in r..$rows {
                    add(&mut sums[at], dots[r][c], fresh);
                    at += 1;
                }
            }
        }};
    }
    match count - l {
        7 => corner!(7),
        6 => corner!(6),
        5 => corner!(5),
        4 => corner!(4),
        3 => corner!(3),
        2 => corner!(2),
        1 => corner!(1),
        _ => {}
    }
}

/// sum += dot, from zero if the sum is fresh.
#[inline(always)]
fn add<V: Vector>(sum: &mut V, dot: V, fresh: bool) {
    *sum = if fresh { dot } else { *sum + dot };
}

/// Σ factor ∘ row_{l+r} ∘ row_{m+c} over `length` vectors.
#[inline(always)]
fn dot_tile<V: Vector, const R: usize, const C: usize>(
    factor: Option<&[V]>,
    rows: Rows<V>,
    l: usize,
    m: usize,
    length: usize,
) -> [[V; C]; R] {
    let mut left: [&[V]; R] = [&[]; R];
    for r in 0..R {
        left[r] = &rows.values[(l + r) * rows.stride..][..length];
    }
    let mut right: [&[V]; C] = [&[]; C];
    for c in 0..C {
        right[c] = &rows.values[(m + c) * rows.stride..][..length];
    }
    let mut sums = [[V::ZERO; C]; R];
    if let Some(factor) = factor {
        let factor = &factor[..length];
        for i in 0..length {
            for r in 0..R {
                let product = left[r][i] * factor[i];
                for c in 0..C {
                    sums[r][c] = sums[r][c].plus(product, right[c][i]);
                }
            }
        }
    } else {
        for i in 0..length {
            for r in 0..R {
                for c in 0..C {
                    sums[r][c] = sums[r][c].plus(left[r][i], right[c][i]);
                }
            }
        }
    }
    sums
}

/// Σ factor ∘ row_{l+r} ∘ row_{l+c} over `length` vectors for r ≤ c; the others are zero.
#[inline(always)]
fn dot_corner<V: Vector, const R: usize>(
    factor: Option<&[V]>,
    rows: Rows<V>,
    l: usize,
    length: usize,
) -> [[V; R]; R] {
    let mut row: [&[V]; R] = [&[]; R];
    for r in 0..R {
        row[r] = &rows.values[(l + r) * rows.stride..][..length];
    }
    let mut sums = [[V::ZERO; R]; R];
    let factor = factor.map(|factor| &factor[..length]);
    for i in 0..length {
        for r in 0..R {
            let left = if let Some(factor) = factor { row[r][i] * factor[i] } else { row[r][i] };
            for c in 0..R {
                if c >= r {
                    sums[r][c] = sums[r][c].plus(left, row[c][i]);
                }
            }
        }
    }
    sums
}

/// out_m = Σₚ factors_pm rowsₚ over C vectors for all p < inner, m < count.
#[inline(always)]
pub(super) fn multiply<V: Vector, const C: usize>(
    factors: Strided,
    rows: Rows<V>,
    inner: usize,
    out: &mut [V],
    out_stride: usize,
    count: usize,
) {
    let mut m = 0;
    macro_rules! tile {
        ($rows:literal) => {{
            let mut sums = [[V::ZERO; C]; $rows];
            let mut columns: [&[f64]; $rows] = [&[]; $rows];
            for r in 0..$rows {
                columns[r] = &factors.values[(m + r) * factors.column..];
            }
            for p in 0..inner {
                let row = &rows.values[p * rows.stride..][..C];
                for r in 0..$rows {
                    let factor = V::splat(columns[r][p * factors.row]);
                    for c in 0..C {
                        sums[r][c] = sums[r][c].plus(factor, row[c]);
                    }
                }
            }
            store(sums, &mut out[m * out_stride..], out_stride);
        }};
    }
    by_tiles!(m, count, 6, tile);
}

/// out_t = factors_t + Σ_{j≤l} factors_jl,t row_j∘row_l over C vectors for all j ≤ l < rank, t < count.
#[inline(always)]
pub(super) fn multiply_pairs<V: Vector, const C: usize>(
    factors: &[f64],
    rows: Rows<V>,
    rank: usize,
    out: &mut [V],
    count: usize,
) {
    let mut t = 0;
    macro_rules! tile {
        ($rows:literal) => {{
            let mut sums = [[V::ZERO; C]; $rows];
            for r in 0..$rows {
                sums[r] = [V::splat(factors[t + r]); C];
            }
            let mut at = t + count;
            for j in 0..rank {
                let mut first = [V::ZERO; C];
                first.copy_from_slice(&rows.values[j * rows.stride..][..C]);
                for l in j..rank {
                    let second = &rows.values[l * rows.stride..][..C];
                    let mut product = first;
                    for c in 0..C {
                        product[c] = first[c] * second[c];
                    }
                    let factors = &factors[at..at + $rows];
                    for r in 0..$rows {
                        let factor = V::splat(factors[r]);
                        for c in 0..C {
                            sums[r][c] = sums[r][c].plus(factor, product[c]);
                        }
                    }
                    at += count;
                }
            }
            store(sums, &mut out[t * C..], C);
        }};
    }
    by_tiles!(t, count, 6, tile);
}

#[inline(always)]
fn store<V: Vector, const R: usize, const C: usize>(
    sums: [[V; C]; R],
    out: &mut [V],
    stride: usize,
) {
    for r in 0..R {
        out[r * stride..][..C].copy_from_slice(&sums[r]);
    }
}
