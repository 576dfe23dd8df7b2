//! Ranks from all rows at half the product: a block of pairs serves both of its sides.
//!
//! With both norms added, the filter's accumulator |c_i|² + |c_j|² − 2 c_i·c_j is the same from row i and from row j.
//! So each pair of blocks is multiplied once, and the sums are compared with the bands of both. Adding the second norm
//! counts as one more step of the accumulation; [`super::filter`] allows for d + 8 and takes d + 2.
//!
//! Counts are whole numbers: the order in which threads take the blocks does not matter.

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::try_with_capacity;
use crate::progress::Progress;
use crate::simd::Level;

use super::bands::{Bands, PanelBands};
use super::brute::Brute;
use super::filter::pack;
use super::filter_kernel::{MOST_ROWS, PANEL_ROWS, all_sums, rows_per_tile};
use super::meetings::meet_all;
use super::rankings::{Line, MOST_PANELS, Rankings, places};
use super::tally::tally_panel;

/// Rows in a block, and of one that meet a tile at once: whole panels, and whole tiles on every level.
const BLOCK: usize = 4 * STRIPE;
const STRIPE: usize = MOST_PANELS * PANEL_ROWS;

/// Fewest blocks for each thread: threads that wait for each other's blocks gain nothing.
const BLOCKS_PER_THREAD: usize = 4;

/// Bytes of panels that all tiles of a block visit while they are in cache.
const BYTES_IN_CACHE: usize = 256 * 1024;

/// Blocks that may be met before the counts of sixteen bits overflow.
const MOST_MEETINGS: usize = u16::MAX as usize / BLOCK;

/// Rows that lie side by side, as queries and as rows.
pub(super) struct Block<'b> {
    first: usize,
    rankings: Rankings<'b>,
    /// For each tile what [`pack`] returns, and the norms of its rows.
    tiles: Vec<(Vec<f32>, [f32; MOST_ROWS])>,
    /// The bands once more, for each panel of rows.
    panels: Vec<PanelBands>,
    /// Blocks met since the counts of the panels were added to those of the rankings.
    met: usize,
}

/// Whether so many rows are blocks enough for all threads.
pub(super) fn enough(rows: usize) -> bool {
    rows >= BLOCKS_PER_THREAD * rayon::current_num_threads() * BLOCK
}

/// Counts for the k targets of every row; `write` gets the numbers of some rows and what was counted for them.
pub(super) fn count<'b>(
    brute: &Brute,
    level: Level,
    k: usize,
    progress: &Progress,
    line: impl Fn(usize) -> Result<Line<'b>> + Sync,
    write: impl Fn(&[u32], &Rankings),
) -> Result<()> {
    let blocks: Vec<Mutex<Block>> = brute
        .order
        .par_chunks(BLOCK)
        .enumerate()
        .map(|(number, order)| {
            progress.check()?;
            let lines = order.iter().map(|row| line(*row as usize));
            let rankings = Rankings::new(brute, k, lines)?;
            let mut block = Block::new(brute, level, number * BLOCK, rankings)?;
            block.meet_itself(brute, level);
            Ok(Mutex::new(block))
        })
        .collect::<Result<_>>()?;
    meet_all(&blocks, brute.order.len(), progress, |one, other| {
        one.meet(other, brute, level);
        Ok(())
    })?;
    for (block, order) in blocks.into_iter().zip(brute.order.chunks(BLOCK)) {
        let mut block = block.into_inner().expect("no thread panics while blocks meet");
        block.add_up();
        block.rankings.settle(brute);
        write(order, &block.rankings);
    }
    Ok(())
}

impl<'b> Block<'b> {
    fn new(brute: &Brute, level: Level, first: usize, rankings: Rankings<'b>) -> Result<Self> {
        let (k, rows, dim) = (rankings.k, rows_per_tile(level), brute.points.dim());
        let mut tiles = try_with_capacity(BLOCK / rows)?;
        for at in (0..rankings.len()).step_by(rows) {
            let end = (at + rows).min(rankings.len());
            let mut rounded = try_with_capacity((end - at) * dim)?;
            let mut norms = [0.0; MOST_ROWS];
            for row in at..end {
                rounded.extend(brute.filter.round(rankings.queries[row].point));
                norms[row - at] = rankings.added(row);
            }
            let lowered = rankings.lowered_norms[at..end].iter().copied();
            tiles.push((pack(level, &rounded, lowered)?, norms));
        }
        let mut panels = try_with_capacity(BLOCK / PANEL_ROWS)?;
        let ends = rankings.lows.chunks(PANEL_ROWS * k).zip(rankings.highs.chunks(PANEL_ROWS * k));
        for (scales, (lows, highs)) in rankings.scales.chunks(PANEL_ROWS).zip(ends) {
            panels.push(PanelBands::new(Bands { count: k, scales, lows, highs })?);
        }
        Ok(Self { first, rankings, tiles, panels, met: 0 })
    }

    /// Adds the counts of the panels to those of the rankings.
    fn add_up(&mut self) {
        let counts = self.rankings.counts.chunks_mut(PANEL_ROWS * self.rankings.k);
        for (panel, counts) in self.panels.iter_mut().zip(counts) {
            panel.drain_to(counts);
        }
        self.met = 0;
    }

    /// Counts the rows of this block for each other.
    fn meet_itself(&mut self, brute: &Brute, level: Level) {
        let mut sums = [[0.0; STRIPE]; MOST_ROWS];
        for place in (self.first..self.first + self.rankings.len()).step_by(STRIPE) {
            for tile in 0..self.tiles.len() {
                self.count_rows(brute, level, tile, place, MOST_PANELS, &mut sums);
            }
        }
    }

    /// Counts the rows of two blocks for each other.
    fn meet(&mut self, other: &mut Self, brute: &Brute, level: Level) {
        let mut sums = [[0.0; STRIPE]; MOST_ROWS];
        let affordable = BYTES_IN_CACHE / (brute.points.dim() * size_of::<f32>() * PANEL_ROWS);
        let step = affordable.clamp(1, MOST_PANELS);
        for start in (0..other.panels.len()).step_by(step) {
            let place = other.first + start * PANEL_ROWS;
            for tile in 0..self.tiles.len() {
                let rows = self.count_rows(brute, level, tile, place, step, &mut sums);
                let panels = start..(start + step).min(other.panels.len());
                other.count_columns(
                    brute,
                    level,
                    self.first + rows.start,
                    panels,
                    &sums[..rows.len()],
                );
            }
        }
        other.met += 1;
        if other.met == MOST_MEETINGS {
            other.add_up();
        }
    }

    /// Multiplies a tile with at most `most` panels from a place on, and counts their rows for
    /// those of the tile, which it returns.
    fn count_rows(
        &mut self,
        brute: &Brute,
        level: Level,
        tile: usize,
        place: usize,
        most: usize,
        sums: &mut [[f32; STRIPE]; MOST_ROWS],
    ) -> Range<usize> {
        let (dim, end) = (brute.points.dim(), (place + most * PANEL_ROWS).min(brute.norms.len()));
        let (packed, norms) = &self.tiles[tile];
        let panels = &brute.panels[place * dim..end * dim];
        all_sums(level, packed, panels, &brute.norms[place..end], norms, sums);
        let (start, k) = (tile * rows_per_tile(level), self.rankings.k);
        let rows = start..(start + rows_per_tile(level)).min(self.rankings.len());
        let (targets, sums) = (rows.start * k..rows.end * k, &sums[..rows.len()]);
        let panels = (end - place) / PANEL_ROWS;
        self.rankings.count(brute, level, targets, sums, panels, place);
        rows
    }

    /// Counts some rows, the first of which has the given place, for those of some panels of this block.
    fn count_columns(
        &mut self,
        brute: &Brute,
        level: Level,
        place: usize,
        panels: Range<usize>,
        sums: &[[f32; STRIPE]],
    ) {
        let mut close = [0; MOST_ROWS];
        for (first, panel) in (0..).step_by(PANEL_ROWS).zip(panels) {
            if !tally_panel(level, sums, first, &mut self.panels[panel], &mut close) {
                continue;
            }
            for (row, (sums, close)) in sums.iter().zip(close).enumerate() {
                for lane in places(&[close]) {
                    let targets = self.rankings.places(panel * PANEL_ROWS + lane);
                    let (index, sum) = (brute.order[place + row], sums[first + lane]);
                    self.rankings.add_close(brute, targets, index, sum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::super::Queries;
    use super::super::candidate::{Candidate, squared_distance};
    use super::super::rank_groups::Groups;
    use super::*;
    use crate::points::Points;

    /// Whole numbers below `levels`: the fewer, the more distances are equal.
    fn cloud(rows: usize, columns: usize, levels: usize) -> Array2<f64> {
        Array2::from_shape_fn((rows, columns), |(i, j)| {
            ((i * 7919 + j * 104_729 + i * i * 31) % 100_003 * levels / 100_003) as f64
        })
    }

    #[test]
    fn both_rows_of_a_pair_count_what_each_counts_alone() {
        let progress = Progress::new();
        // One block, an even and an odd number of them, the last one full or not; all rows equal, few distances, many.
        for (rows, levels) in [(190, 5), (2 * BLOCK, 100_000), (2 * BLOCK + 1, 1), (1900, 9)] {
            let x = cloud(rows, 11, levels);
            let points = Points::new(x.view()).unwrap();
            let brute = Brute::new(&points, &progress).unwrap();
            for k in [1, 5, 19] {
                let line = |row: usize| {
                    let query = Queries::All.get(&points, row);
                    let target = |at: usize| {
                        let index = (row + 1 + (row * 31 + at * 977) % (rows - 1)) % rows;
                        let squared = squared_distance(query.point, points.row(index));
                        Candidate { squared, index: index as u32 }
                    };
                    let targets = (0..k).map(target).collect();
                    Ok((query, targets))
                };
                let lines = (0..rows).map(line);
                let mut expected = Rankings::new(&brute, k, lines).unwrap();
                Groups::new(&brute).unwrap().count(&mut expected, &progress).unwrap();
                let (mut ranks, mut own) = (vec![0; k], vec![0; k]);
                for level in Level::available() {
                    let found = Mutex::new(vec![0; rows * k]);
                    count(&brute, level, k, &progress, line, |numbers, rankings| {
                        let mut found = found.lock().unwrap();
                        for (at, number) in numbers.iter().enumerate() {
                            let first = *number as usize * k;
                            rankings.write(at, &mut found[first..first + k]);
                        }
                    })
                    .unwrap();
                    let found = found.into_inner().unwrap();
                    for row in 0..rows {
                        expected.write(row, &mut ranks);
                        own.copy_from_slice(&found[row * k..(row + 1) * k]);
                        assert_eq!(own, ranks, "{rows} rows, {levels} levels, k = {k}, row {row}");
                    }
                }
            }
        }
    }
}
