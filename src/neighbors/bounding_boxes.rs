//! Groups of rows ruled out by the box around them.
//!
//! No row inside a box is nearer to q than Σ gapⱼ², gapⱼ = max(lowⱼ − qⱼ, qⱼ − highⱼ, 0). Boxes are rounded outwards
//! and queries both ways, so that a gap in single precision is at most 1 + u times the true one, and a sum over d
//! columns at most about 1 + (d + 3) u times; [`BoundingBoxes::reach`] allows for twice that.

use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::{try_with_capacity, try_zeros};
use crate::simd::Level;

use super::filter_kernel::{MOST_ROWS, PANEL_ROWS};

/// Queries side by side, the last ones missing.
const SIDE_BY_SIDE: usize = MOST_ROWS.next_multiple_of(16);

/// Columns a box has sides in. A sum over some columns is a bound as well; one over many costs more than it saves.
const MOST_COLUMNS: usize = 32;

/// One box for each group of rows.
#[derive(Debug)]
pub(super) struct BoundingBoxes {
    columns: Vec<usize>,
    /// Whether there are other columns, in which rows may be any distance apart.
    partial: bool,
    /// The low and the high side in each of the columns, box after box.
    sides: Vec<[f32; 2]>,
}

/// A tile of queries, as the boxes see it.
pub(super) struct Probe {
    count: usize,
    /// The queries rounded down and up, column after column.
    low: Vec<[f32; SIDE_BY_SIDE]>,
    high: Vec<[f32; SIDE_BY_SIDE]>,
    /// How far each query looks, by [`BoundingBoxes::reach`]; missing ones do not look.
    pub(super) reach: [f32; SIDE_BY_SIDE],
    /// How near all points of a box must be to need no look, by [`BoundingBoxes::within`].
    pub(super) within: [f32; SIDE_BY_SIDE],
}

/// How far a box is from each query of a tile.
pub(super) struct Spans {
    pub(super) nearest: [f32; SIDE_BY_SIDE],
    pub(super) farthest: [f32; SIDE_BY_SIDE],
    /// Bit q: all of the box is nearer to query q than its `within`.
    pub(super) held: u16,
    /// Bit q: the box is neither that near nor beyond the reach of query q.
    pub(super) open: u16,
}

impl BoundingBoxes {
    /// Boxes around each `group` of rows in panels of `dim` columns.
    pub(super) fn new(panels: &[f32], dim: usize, group: usize) -> Result<Self> {
        let groups = panels.par_chunks(group * dim);
        let mut sides = try_zeros::<[f32; 2]>(groups.len() * dim)?;
        sides.par_chunks_exact_mut(dim).zip(groups).for_each(|(sides, panels)| {
            for (column, out) in sides.iter_mut().enumerate() {
                *out = side(panels, dim, column);
            }
        });
        let columns = narrowest_columns(&sides, dim);
        if columns.len() < dim {
            for number in 0..sides.len() / dim {
                for (at, column) in columns.iter().enumerate() {
                    sides[number * columns.len() + at] = sides[number * dim + column];
                }
            }
            sides.truncate(sides.len() / dim * columns.len());
            sides.shrink_to_fit();
        }
        Ok(Self { partial: columns.len() < dim, columns, sides })
    }

    /// Larger boxes, each around so many of these.
    pub(super) fn merged(&self, count: usize) -> Result<Self> {
        let columns = self.columns.len();
        let parts = self.sides.chunks(count * columns);
        let mut sides = try_with_capacity(parts.len() * columns)?;
        for part in parts {
            let first = sides.len();
            sides.extend_from_slice(&part[..columns]);
            for (at, side) in part.iter().enumerate() {
                let around = &mut sides[first + at % columns];
                *around = [smaller(around[0], side[0]), larger(around[1], side[1])];
            }
        }
        Ok(Self { columns: self.columns.clone(), partial: self.partial, sides })
    }

    /// What boxes need to know of a tile of queries, each rounded to the nearest.
    pub(super) fn probe<'q>(&self, queries: impl Iterator<Item = &'q [f32]>) -> Probe {
        let mut low = vec![[0.0; SIDE_BY_SIDE]; self.columns.len()];
        let mut high = low.clone();
        let mut reach = [f32::NEG_INFINITY; SIDE_BY_SIDE];
        let mut count = 0;
        for (q, query) in queries.enumerate() {
            count += 1;
            reach[q] = f32::INFINITY;
            for (at, column) in self.columns.iter().enumerate() {
                low[at][q] = query[*column].next_down();
                high[at][q] = query[*column].next_up();
            }
        }
        Probe { count, low, high, reach, within: [f32::NEG_INFINITY; SIDE_BY_SIDE] }
    }

    /// The reach of a query that looks for rows at most this squared distance away.
    pub(super) fn reach(&self, squared: f64) -> f32 {
        let slack = 1.0 + (self.columns.len() + 8) as f64 * f64::from(f32::EPSILON);
        ((squared * slack) as f32).next_up()
    }

    /// Whether any query of the tile reaches into the box.
    #[inline]
    pub(super) fn meets(&self, level: Level, number: usize, probe: &Probe) -> bool {
        let sides = &self.sides[number * self.columns.len()..(number + 1) * self.columns.len()];
        match level {
            // SAFETY: the level proves that the processor has them.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => unsafe { meets_avx512(sides, probe) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => unsafe { meets_avx2(sides, probe) },
            Level::Portable => meets::<4>(sides, probe),
        }
    }

    /// The bound for [`Spans::farthest`]: where that is smaller, all rows of the box are
    /// nearer than this squared distance.
    pub(super) fn within(&self, squared: f64) -> f32 {
        let slack = 1.0 - (self.columns.len() + 8) as f64 * f64::from(f32::EPSILON);
        ((squared * slack) as f32).next_down()
    }

    /// The squared distances of the nearest and the farthest point of a box from each query of the tile, up to
    /// rounding: [`BoundingBoxes::reach`] and [`BoundingBoxes::within`] return bounds for them that allow for it.
    pub(super) fn spans(&self, level: Level, number: usize, probe: &Probe) -> Spans {
        let sides = &self.sides[number * self.columns.len()..(number + 1) * self.columns.len()];
        let partial = self.partial;
        match level {
            // SAFETY: the level proves that the processor has them.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => unsafe { spans_avx512(sides, partial, probe) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => unsafe { spans_avx2(sides, partial, probe) },
            Level::Portable => spans::<4>(sides, partial, probe),
        }
    }

    /// The boxes' numbers, by the squared distance of their middles to the middle of all queries, which comes first.
    pub(super) fn nearest_first(&self, probes: &[Probe]) -> Result<Vec<(f32, u32)>> {
        let mut around = vec![[f32::INFINITY, f32::NEG_INFINITY]; self.columns.len()];
        for probe in probes {
            for (at, side) in around.iter_mut().enumerate() {
                for q in 0..probe.count {
                    *side =
                        [smaller(side[0], probe.low[at][q]), larger(side[1], probe.high[at][q])];
                }
            }
        }
        let middle = |side: &[f32; 2]| 0.5 * side[0] + 0.5 * side[1];
        let boxes = self.sides.chunks_exact(self.columns.len());
        let mut apart: Vec<(f32, u32)> = try_with_capacity(boxes.len())?;
        apart.extend(boxes.zip(0..).map(|(sides, number)| {
            let sides = sides.iter().zip(&around);
            (sides.map(|(a, b)| (middle(a) - middle(b)).powi(2)).sum(), number)
        }));
        apart.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Ok(apart)
    }
}

/// The range of one column in some panels, rounded outwards.
fn side(panels: &[f32], dim: usize, column: usize) -> [f32; 2] {
    let (mut low, mut high) = ([f32::INFINITY; PANEL_ROWS], [f32::NEG_INFINITY; PANEL_ROWS]);
    let (columns, _) = panels.as_chunks::<PANEL_ROWS>();
    for values in columns.iter().skip(column).step_by(dim) {
        for lane in 0..PANEL_ROWS {
            low[lane] = smaller(low[lane], values[lane]);
            high[lane] = larger(high[lane], values[lane]);
        }
    }
    let low = low.into_iter().fold(f32::INFINITY, smaller);
    [low.next_down(), high.into_iter().fold(f32::NEG_INFINITY, larger).next_up()]
}

/// At most MOST_COLUMNS of `dim` columns, ascending: those in which boxes are narrow against all of them together.
fn narrowest_columns(sides: &[[f32; 2]], dim: usize) -> Vec<usize> {
    let mut around = vec![[f32::INFINITY, f32::NEG_INFINITY]; dim];
    let mut widths = vec![0.0; dim];
    for sides in sides.chunks_exact(dim) {
        for ((around, width), side) in around.iter_mut().zip(&mut widths).zip(sides) {
            *around = [smaller(around[0], side[0]), larger(around[1], side[1])];
            *width += side[1] - side[0];
        }
    }
    let boxes = (sides.len() / dim) as f32;
    let spare = |column: usize| boxes * (around[column][1] - around[column][0]) - widths[column];
    let mut columns: Vec<usize> = (0..dim).collect();
    columns.sort_by(|a, b| spare(*b).total_cmp(&spare(*a)));
    columns.truncate(MOST_COLUMNS);
    columns.sort_unstable();
    columns
}

/// One instruction each, unlike [`f32::min`] and [`f32::max`], which mind NaN.
#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline(always)]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn meets<const WIDTH: usize>(sides: &[[f32; 2]], probe: &Probe) -> bool {
    let mut any = false;
    for first in (0..probe.count).step_by(WIDTH) {
        let mut sums = [0.0_f32; WIDTH];
        for ((side, low), high) in sides.iter().zip(&probe.low).zip(&probe.high) {
            let (low, high) = (&low[first..first + WIDTH], &high[first..first + WIDTH]);
            for q in 0..WIDTH {
                let gap = larger(larger(side[0] - high[q], low[q] - side[1]), 0.0);
                sums[q] += gap * gap;
            }
        }
        for q in 0..WIDTH {
            any |= sums[q] <= probe.reach[first + q];
        }
    }
    any
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn meets_avx512(sides: &[[f32; 2]], probe: &Probe) -> bool {
    meets::<16>(sides, probe)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn meets_avx2(sides: &[[f32; 2]], probe: &Probe) -> bool {
    meets::<8>(sides, probe)
}

#[inline(always)]
fn spans<const WIDTH: usize>(sides: &[[f32; 2]], partial: bool, probe: &Probe) -> Spans {
    let mut nearest = [0.0; SIDE_BY_SIDE];
    let mut farthest = [f32::INFINITY; SIDE_BY_SIDE];
    for part in 0..probe.count.div_ceil(WIDTH) {
        let (mut near, mut far) = ([0.0_f32; WIDTH], [0.0_f32; WIDTH]);
        for ((side, low), high) in sides.iter().zip(&probe.low).zip(&probe.high) {
            // Copies, so that a register holds each of them.
            let low: [f32; WIDTH] = low.as_chunks().0[part];
            let high: [f32; WIDTH] = high.as_chunks().0[part];
            for q in 0..WIDTH {
                let gap = larger(larger(side[0] - high[q], low[q] - side[1]), 0.0);
                let reach = larger(side[1] - low[q], high[q] - side[0]);
                near[q] += gap * gap;
                far[q] += reach * reach;
            }
        }
        nearest.as_chunks_mut().0[part] = near;
        if !partial {
            farthest.as_chunks_mut().0[part] = far;
        }
    }
    let (mut held, mut met) = (0, 0);
    for q in 0..SIDE_BY_SIDE {
        held |= u16::from(farthest[q] < probe.within[q]) << q;
        met |= u16::from(nearest[q] <= probe.reach[q]) << q;
    }
    Spans { nearest, farthest, held, open: met & !held }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn spans_avx512(sides: &[[f32; 2]], partial: bool, probe: &Probe) -> Spans {
    spans::<16>(sides, partial, probe)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn spans_avx2(sides: &[[f32; 2]], partial: bool, probe: &Probe) -> Spans {
    spans::<8>(sides, partial, probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panels of rows on a line through the origin, each entry of row i being i.
    fn diagonal(rows: usize, dim: usize) -> Vec<f32> {
        let row = |at: usize| at / (dim * PANEL_ROWS) * PANEL_ROWS + at % PANEL_ROWS;
        (0..rows * dim).map(|at| row(at) as f32).collect()
    }

    #[test]
    fn a_box_is_met_by_queries_that_reach_it_and_by_no_others() {
        let dim = 5;
        let boxes =
            BoundingBoxes::new(&diagonal(4 * PANEL_ROWS, dim), dim, 2 * PANEL_ROWS).unwrap();
        for level in Level::available() {
            for q in 0..3 {
                // Three below the first box in every column, 3 + 64 below the second.
                let mut queries = [[-1e6; 5]; 3];
                queries[q] = [-3.0; 5];
                let mut probe = boxes.probe(queries.iter().map(|query| &query[..]));
                for (number, gap) in [(0, 3.0_f64), (1, 67.0)] {
                    let squared = 5.0 * gap * gap;
                    probe.reach[..3].fill(boxes.reach(squared));
                    assert!(boxes.meets(level, number, &probe));
                    probe.reach[..3].fill(boxes.reach(squared * (1.0 - 1e-5)));
                    assert!(!boxes.meets(level, number, &probe));
                }
            }
        }
    }

    #[test]
    fn the_spans_of_a_box_hold_the_distances_of_all_its_rows() {
        let dim = 5;
        let boxes =
            BoundingBoxes::new(&diagonal(4 * PANEL_ROWS, dim), dim, 2 * PANEL_ROWS).unwrap();
        let queries = [[-3.0; 5], [70.0; 5], [200.0; 5]];
        for level in Level::available() {
            let probe = boxes.probe(queries.iter().map(|query| &query[..]));
            for (number, rows) in [(0, 0..64), (1, 64..128)] {
                let spans = boxes.spans(level, number, &probe);
                for (q, query) in queries.iter().enumerate() {
                    let distances = rows
                        .clone()
                        .map(|row| 5.0 * (f64::from(row) - f64::from(query[0])).powi(2));
                    let (least, most) =
                        distances.fold((f64::INFINITY, 0.0_f64), |(a, b), d| (a.min(d), b.max(d)));
                    assert!(spans.nearest[q] <= boxes.reach(least));
                    assert!(spans.farthest[q] >= boxes.within(most));
                    assert!(spans.farthest[q] < boxes.within(most * (1.0 + 1e-5)));
                    let inside = rows.contains(&(query[0] as i32));
                    assert!(inside || spans.nearest[q] > boxes.reach(least * (1.0 - 1e-5)));
                }
            }
        }
    }

    #[test]
    fn boxes_are_held_beyond_reach_or_open_and_merged_ones_as_well() {
        let dim = 5;
        let small = BoundingBoxes::new(&diagonal(8 * PANEL_ROWS, dim), dim, PANEL_ROWS).unwrap();
        let merged = small.merged(3).unwrap();
        assert_eq!(merged.sides.len(), 3 * dim);
        for level in Level::available() {
            let mut probe = small.probe([[0.0; 5], [0.0; 5]].iter().map(|query| &query[..]));
            // From the origin to row 100 and from row 40: all before counts, nothing behind.
            for (q, row) in [100.0_f64, 40.0].into_iter().enumerate() {
                probe.reach[q] = small.reach(5.0 * row * row);
                probe.within[q] = small.within(5.0 * row * row);
            }
            let states = |boxes: &BoundingBoxes, number: usize| {
                let spans = boxes.spans(level, number, &probe);
                (spans.held, spans.open)
            };
            assert_eq!(
                [0, 1, 2, 3, 4].map(|number| states(&small, number)),
                [(0b11, 0b00), (0b01, 0b10), (0b01, 0b00), (0b00, 0b01), (0b00, 0b00),]
            );
            assert_eq!(
                [0, 1, 2].map(|number| states(&merged, number)),
                [(0b01, 0b10), (0b00, 0b01), (0b00, 0b00),]
            );
        }
    }

    #[test]
    fn boxes_in_many_columns_know_the_ones_that_tell_them_apart() {
        let (rows, dim) = (4 * PANEL_ROWS, 3 * MOST_COLUMNS);
        let mut panels = diagonal(rows, dim);
        for (at, value) in panels.iter_mut().enumerate() {
            let column = at / PANEL_ROWS % dim;
            if column != 70 {
                // The same range in every group.
                *value = (*value as usize % PANEL_ROWS) as f32;
            }
        }
        let boxes = BoundingBoxes::new(&panels, dim, PANEL_ROWS).unwrap();
        assert_eq!(boxes.columns.len(), MOST_COLUMNS);
        assert!(boxes.columns.contains(&70));
        assert!(boxes.partial);
        let mut query = vec![5.0; dim];
        query[70] = 100.0;
        let probe = boxes.probe([&query[..]].into_iter());
        let order = boxes.nearest_first(&[probe]).unwrap();
        assert!(order.into_iter().map(|(_, number)| number).eq([3, 2, 1, 0]));
    }
}
