//! Brute force over all rows at half the product: a block of pairs serves both of its sides.
//!
//! The filter's accumulator of query i and row j, s = |c_j|² − 2 q_i·c_j, is that of query j and row i once the
//! norms are exchanged, s + |c_i|² − |c_j|². So each pair of blocks is multiplied once, and a sum is offered to
//! the shortlists of both. The two additions count as two more steps of the accumulation; [`super::filter`] allows
//! for d + 8 and takes d + 5 at most.
//!
//! The candidates of all rows are open at once, n × k of them. Blocks that lie side by side meet first, which
//! soon tells how near a neighbour must be. Whether a pair passes depends on the order in which threads take
//! the blocks, the neighbours do not.

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::{try_with_capacity, try_zeros};
use crate::progress::Progress;
use crate::simd::Level;

use super::brute::{Brute, Scan, patience};
use super::filter::pack;
use super::filter_kernel::{Found, MOST_ROWS, PANEL_ROWS, first_passing, ones, rows_per_tile};
use super::meetings::meet_all;
use super::pair_kernel::{Limits, Met, first_meeting};
use super::queries::{Neighbors, Queries, write_in_order};
use super::shortlist::Shortlist;

/// Rows in a block: whole panels, and whole tiles on every level.
const BLOCK: usize = 192;

/// Bytes of panels that all tiles of a block visit while they are in cache.
const BYTES_IN_CACHE: usize = 256 * 1024;

/// Fewest columns and rows for which one product for both sides is faster (`benches/half_product.py`); also half as
/// many columns as neighbours, since each candidate costs the same work in any number of columns.
const FEWEST_COLUMNS: usize = 32;
const FEWEST_ROWS: usize = 8 * BLOCK;

/// Columns below which the candidates of all rows take more memory than the rows themselves, and the bytes up to which
/// they may still be open at once.
const MANY_COLUMNS: usize = 64;
const MOST_BYTES: usize = 64 << 20;

/// Tiles of queries that are sent through all groups, and the least share of groups they must visit: where boxes rule
/// out more than the other side of a pair saves, every query goes its own way.
const SAMPLED_TILES: usize = 6;
const LEAST_VISITED: f64 = 0.7;

/// Rows that lie side by side, as queries and as rows.
struct Block<'b> {
    first: usize,
    scans: Vec<Scan<'b, 'b>>,
    /// What [`pack`] returns for each tile.
    packed: Vec<Vec<f32>>,
    /// The thresholds of the scans, and the largest s + |c_i|² of a neighbour for each; −∞ for missing rows.
    thresholds: [f32; BLOCK],
    limits: [f32; BLOCK],
    /// |c_i|² of each row, NaN for missing ones.
    norms: [f32; BLOCK],
}

/// Whether all neighbours are found sooner with one product for both sides of a pair.
pub(super) fn pays(brute: &Brute, k: usize, progress: &Progress) -> Result<bool> {
    let (rows, columns) = (brute.order.len(), brute.points.dim());
    if columns < FEWEST_COLUMNS.max(k / 2) || rows < FEWEST_ROWS || !brute.filter.bound.is_finite()
    {
        return Ok(false);
    }
    let candidates = Shortlist::room(patience(k)) * (size_of::<f32>() + size_of::<u32>());
    let bytes = rows.saturating_mul(candidates + size_of::<Scan>());
    if columns < MANY_COLUMNS && bytes > MOST_BYTES {
        return Ok(false);
    }
    let tile = rows_per_tile(Level::current());
    let (mut indices, mut squared) = (try_zeros(tile * k)?, try_zeros(tile * k)?);
    let mut visited = 0;
    for sample in 0..SAMPLED_TILES {
        let numbers = &brute.order[rows / SAMPLED_TILES * sample..][..tile];
        let queries = numbers.iter().map(|number| Queries::All.get(brute.points, *number as usize));
        visited += brute.fill(k, queries, progress, &mut indices, &mut squared)?;
    }
    let groups = SAMPLED_TILES * brute.norms.len().div_ceil(brute.group);
    Ok(visited as f64 >= LEAST_VISITED * groups as f64)
}

/// The k nearest rows of every row.
pub(super) fn search(
    brute: &Brute,
    level: Level,
    k: usize,
    progress: &Progress,
) -> Result<Neighbors> {
    let rows = brute.order.len();
    let room = Shortlist::room(patience(k));
    let padded = rows.next_multiple_of(BLOCK).saturating_mul(room);
    let (mut sums, mut places) = (try_zeros(padded)?, try_zeros(padded)?);
    let buffers = sums.par_chunks_mut(BLOCK * room).zip(places.par_chunks_mut(BLOCK * room));
    let blocks: Vec<Mutex<Block>> = buffers
        .zip(brute.order.par_chunks(BLOCK))
        .enumerate()
        .map(|(number, ((sums, places), order))| {
            let mut block = Block::new(brute, level, k, number * BLOCK, order, sums, places)?;
            block.meet_itself(brute, level)?;
            progress.check()?;
            Ok(Mutex::new(block))
        })
        .collect::<Result<_>>()?;

    meet_all(&blocks, rows, progress, |one, other| one.meet(other, brute, level))?;

    write_in_order(
        &brute.order,
        k,
        BLOCK,
        || Ok(()),
        |(), number, _, indices, squared| {
            progress.check()?;
            let mut block = blocks[number].lock().expect("no thread panics while it writes");
            brute.finish(level, &mut block.scans, indices, squared)
        },
    )
}

impl<'b> Block<'b> {
    fn new(
        brute: &'b Brute,
        level: Level,
        k: usize,
        first: usize,
        order: &[u32],
        sums: &'b mut [f32],
        places: &'b mut [u32],
    ) -> Result<Self> {
        let room = Shortlist::room(patience(k));
        let buffers = sums.chunks_exact_mut(room).zip(places.chunks_exact_mut(room));
        let mut scans = try_with_capacity(order.len())?;
        scans.extend(order.iter().zip(buffers).map(|(number, (sums, places))| {
            let query = Queries::All.get(brute.points, *number as usize);
            let gauge = brute.filter.product(query.point);
            brute.scan(query, gauge, k, Shortlist::new(sums, places))
        }));
        let mut packed = try_with_capacity(BLOCK / rows_per_tile(level))?;
        for scans in scans.chunks(rows_per_tile(level)) {
            let mut rounded = try_with_capacity(scans.len() * brute.points.dim())?;
            for scan in scans {
                rounded.extend(brute.filter.round(scan.query.point));
            }
            packed.push(pack(level, &rounded, scans.iter().map(|scan| scan.gauge.lowered_norm()))?);
        }
        let mut block = Self {
            first,
            scans,
            packed,
            thresholds: [f32::NEG_INFINITY; BLOCK],
            limits: [f32::NEG_INFINITY; BLOCK],
            norms: [f32::NAN; BLOCK],
        };
        for at in 0..block.scans.len() {
            block.norms[at] = brute.norms[first + at];
            block.look_again(at);
        }
        Ok(block)
    }

    /// Takes over what a scan has learnt.
    fn look_again(&mut self, at: usize) {
        let threshold = self.scans[at].threshold;
        self.thresholds[at] = threshold;
        let limit = f64::from(threshold) + f64::from(self.norms[at]);
        self.limits[at] = (limit as f32).next_up();
    }

    fn thin_out_if_full(&mut self, brute: &Brute, level: Level, at: usize) -> Result<()> {
        if self.scans[at].is_full() {
            brute.thin_out(level, &mut self.scans[at])?;
            self.look_again(at);
        }
        Ok(())
    }

    /// Offers the rows of this block to each other.
    fn meet_itself(&mut self, brute: &Brute, level: Level) -> Result<()> {
        let (dim, rows) = (brute.points.dim(), rows_per_tile(level));
        let end = (self.first + BLOCK).min(brute.norms.len());
        let mut found = Found::default();
        for tile in 0..self.packed.len() {
            let mut thresholds = of_tile(level, tile, &self.thresholds, f32::NEG_INFINITY);
            let mut first = self.first;
            loop {
                let (panels, norms) =
                    (&brute.panels[first * dim..end * dim], &brute.norms[first..end]);
                let packed = &self.packed[tile];
                let Some(panel) =
                    first_passing(level, packed, panels, norms, &thresholds, &mut found)
                else {
                    break;
                };
                first += panel * PANEL_ROWS;
                for q in ones(found.rows.into()) {
                    let at = tile * rows + q;
                    let (sums, passed) = (&found.sums[q], found.passed[q]);
                    self.scans[at].shortlist.append(level, sums, passed, first as u32);
                    self.thin_out_if_full(brute, level, at)?;
                    thresholds[q] = self.thresholds[at];
                }
                first += PANEL_ROWS;
            }
        }
        Ok(())
    }

    /// Offers the rows of two blocks to each other.
    fn meet(&mut self, other: &mut Self, brute: &Brute, level: Level) -> Result<()> {
        let affordable = BYTES_IN_CACHE / (brute.points.dim() * size_of::<f32>());
        let step = affordable.next_multiple_of(PANEL_ROWS).min(BLOCK);
        let mut met = Met::default();
        for start in (0..other.scans.len()).step_by(step) {
            for tile in 0..self.packed.len() {
                let places = start..(start + step).min(BLOCK);
                self.offer(tile, other, places, brute, level, &mut met)?;
            }
        }
        Ok(())
    }

    /// Offers some rows of the other block to a tile of queries of this one, and the queries to those rows.
    fn offer(
        &mut self,
        tile: usize,
        other: &mut Self,
        mut places: Range<usize>,
        brute: &Brute,
        level: Level,
        met: &mut Met,
    ) -> Result<()> {
        let (dim, rows) = (brute.points.dim(), rows_per_tile(level));
        places.end = places.end.min(brute.norms.len() - other.first);
        let mut thresholds = of_tile(level, tile, &self.thresholds, f32::NEG_INFINITY);
        let norms = of_tile(level, tile, &self.norms, f32::NAN);
        loop {
            let (first, end) = (other.first + places.start, other.first + places.end);
            let limits =
                Limits { queries: &thresholds, added: &norms, rows: &other.limits[places.clone()] };
            let (panels, starts) =
                (&brute.panels[first * dim..end * dim], &brute.norms[first..end]);
            let packed = &self.packed[tile];
            let Some(panel) = first_meeting(level, packed, panels, starts, &limits, met) else {
                return Ok(());
            };
            let place = places.start + panel * PANEL_ROWS;
            for q in ones(met.queries.into()) {
                let (at, sums) = (tile * rows + q, &met.sums[q]);
                if met.passed[q] != 0 {
                    let first = (other.first + place) as u32;
                    self.scans[at].shortlist.append(level, sums, met.passed[q], first);
                    self.thin_out_if_full(brute, level, at)?;
                    thresholds[q] = self.thresholds[at];
                }
                for lane in ones(met.wanted[q]) {
                    let row = place + lane;
                    let sum = sums[lane] + norms[q] - other.norms[row];
                    other.scans[row].shortlist.push(sum, (self.first + at) as u32);
                    other.thin_out_if_full(brute, level, row)?;
                }
            }
            places.start = place + PANEL_ROWS;
        }
    }
}

/// What belongs to the queries of a tile; `missing` to those there are not.
fn of_tile(level: Level, tile: usize, values: &[f32; BLOCK], missing: f32) -> [f32; MOST_ROWS] {
    let rows = rows_per_tile(level);
    let mut found = [missing; MOST_ROWS];
    found[..rows].copy_from_slice(&values[tile * rows..][..rows]);
    found
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::super::NeighborIndex;
    use super::*;
    use crate::points::Points;

    #[test]
    fn both_sides_of_a_pair_find_what_each_finds_alone() {
        let progress = Progress::new();
        // One block, an even and an odd number of them, the last one full or not;
        // distances that are equal or all different.
        for (rows, levels) in [(190, 5), (2 * BLOCK, 1000), (2 * BLOCK + 1, 3), (5 * BLOCK - 7, 9)]
        {
            let x = Array2::from_shape_fn((rows, 11), |(i, j)| {
                ((i * 7919 + j * 104_729 + i * i * 31) % 100_003 * levels / 100_003) as f64
            });
            let points = Points::new(x.view()).unwrap();
            let brute = Brute::new(&points, &progress).unwrap();
            let all: Vec<u32> = (0..rows as u32).collect();
            for k in [2, 40, 189] {
                let expected = brute.search(Queries::Rows(&all), k, &progress).unwrap();
                for level in Level::available() {
                    let found = search(&brute, level, k, &progress).unwrap();
                    assert_eq!(found, expected, "{rows} rows, {levels} levels, k = {k}");
                }
            }
        }
    }

    #[test]
    fn progress_counts_every_row_once_and_a_cancelled_search_stops() {
        let x = Array2::from_shape_fn((700, 5), |(i, j)| ((i * 37 + j * 101) as f64 * 0.7).sin());
        let points = Points::new(x.view()).unwrap();
        let brute = Brute::new(&points, &Progress::new()).unwrap();
        let progress = Progress::new();
        search(&brute, Level::current(), 3, &progress).unwrap();
        assert_eq!(progress.counts().0, 700);
        progress.cancel();
        assert!(search(&brute, Level::current(), 3, &progress).is_err());
    }

    #[test]
    fn clusters_that_boxes_tell_apart_are_searched_one_side_at_a_time() {
        let entry = |apart: f64| {
            move |(i, j): (usize, usize)| {
                let mixed = (i * 7919 + j * 104_729 + i * j * 31 + i * i * 17) % 100_003;
                apart * (i % 16) as f64 + mixed as f64 / 100_003.0
            }
        };
        for (apart, expected) in [(0.0, true), (1e3, false)] {
            let x = Array2::from_shape_fn((FEWEST_ROWS, FEWEST_COLUMNS), entry(apart));
            let points = Points::new(x.view()).unwrap();
            let brute = Brute::new(&points, &Progress::new()).unwrap();
            assert_eq!(pays(&brute, 5, &Progress::new()).unwrap(), expected, "{apart}");
        }
    }
}
