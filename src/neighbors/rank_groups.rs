//! Ranks from any queries: a tile of them goes through all groups of rows.
//!
//! Boxes decide groups that are nearer or farther than all targets of a query as a whole, first around several groups,
//! then around one. The others are compared row by row.

use std::ops::Range;

use crate::error::Result;
use crate::matrix::{try_with_capacity, try_zeros};
use crate::progress::Progress;
use crate::simd::Level;

use super::bounding_boxes::{BoundingBoxes, Probe};
use super::brute::{BYTES_PER_GROUP, Brute, ROWS_PER_GROUP};
use super::filter::pack;
use super::filter_kernel::{MOST_ROWS, PANEL_ROWS, all_sums, rows_per_tile};
use super::rankings::{Rankings, places};

/// Groups with one box around them, at most.
const MOST_TOGETHER: usize = 8;

/// So many targets are compared with all rows of a group sooner than boxes tell which of them need it.
pub(super) const FEW_TARGETS: usize = 8;

/// All rows in groups, and in several groups together.
pub(super) struct Groups<'b> {
    brute: &'b Brute<'b>,
    together: usize,
    boxes: BoundingBoxes,
}

impl<'b> Groups<'b> {
    pub(super) fn new(brute: &'b Brute<'b>) -> Result<Self> {
        let bytes = brute.group * brute.points.dim() * size_of::<f32>();
        let together = (BYTES_PER_GROUP / bytes).clamp(1, MOST_TOGETHER);
        Ok(Self { brute, together, boxes: brute.boxes.merged(together)? })
    }

    pub(super) fn len(&self) -> usize {
        self.brute.norms.len().div_ceil(self.brute.group)
    }

    /// Goes through all rows for a block of queries; returns how many groups of rows their tiles have visited.
    pub(super) fn count(&self, rankings: &mut Rankings, progress: &Progress) -> Result<usize> {
        let (brute, level) = (self.brute, Level::current());
        let mut marks = Marks::new(brute, rankings)?;
        let mut tiles = Vec::new();
        for first in (0..rankings.len()).step_by(rows_per_tile(level)) {
            let queries = first..(first + rows_per_tile(level)).min(rankings.len());
            tiles.push(Tile::new(brute, level, rankings, &marks, queries)?);
        }
        let mut sums = [[0.0; ROWS_PER_GROUP]; MOST_ROWS];
        let mut visited = 0;
        for (number, first) in (0..self.len()).step_by(self.together).enumerate() {
            progress.check()?;
            let groups = first..(first + self.together).min(self.len());
            for tile in &tiles {
                let spans = self.boxes.spans(level, number, &tile.probe);
                if spans.open == 0 {
                    marks.hold(tile, spans.held, self.rows(groups.clone()));
                    continue;
                }
                for group in groups.clone() {
                    let visit = self.visit(level, group, tile, &mut marks, rankings, &mut sums);
                    visited += usize::from(visit);
                }
            }
        }
        rankings.settle(brute);
        marks.add_to(rankings);
        Ok(visited)
    }

    /// The rows in some groups.
    fn rows(&self, groups: Range<usize>) -> usize {
        let (size, all) = (self.brute.group, self.brute.points.len());
        (groups.end * size).min(all) - groups.start * size
    }

    /// Counts the rows of a group for the queries of a tile; says whether any had to be looked at.
    fn visit(
        &self,
        level: Level,
        group: usize,
        tile: &Tile,
        marks: &mut Marks,
        rankings: &mut Rankings,
        sums: &mut [[f32; ROWS_PER_GROUP]; MOST_ROWS],
    ) -> bool {
        let (brute, rows) = (self.brute, self.rows(group..group + 1));
        let spans = brute.boxes.spans(level, group, &tile.probe);
        marks.hold(tile, spans.held, rows);
        if spans.open == 0 {
            return false;
        }
        let (dim, first) = (brute.points.dim(), group * brute.group);
        let end = (first + brute.group).min(brute.norms.len());
        let (panels, norms) = (&brute.panels[first * dim..end * dim], &brute.norms[first..end]);
        all_sums(level, &tile.packed, panels, norms, &tile.added, sums);
        for q in places(&[u32::from(spans.open)]) {
            let query = tile.first + q;
            let targets = rankings.places(query);
            let open = marks.decide(targets, spans.nearest[q], spans.farthest[q], rows);
            if !open.is_empty() {
                let (sums, panels) = (&sums[q..q + 1], (end - first) / PANEL_ROWS);
                rankings.count(brute, level, open, sums, panels, first);
            }
        }
        true
    }
}

/// What the boxes have to say of a block of queries, for each target in ascending order.
struct Marks {
    k: usize,
    /// Boxes whose nearest point is farther away than this have no row that counts.
    reach: Vec<f32>,
    /// Boxes whose farthest point is nearer than this have only rows that count.
    within: Vec<f32>,
    /// Rows of groups that are nearer than a target and those after it, but not than the one before it.
    whole: Vec<u32>,
}

impl Marks {
    fn new(brute: &Brute, rankings: &Rankings) -> Result<Self> {
        let count = rankings.targets.len();
        let mut marks = Self {
            k: rankings.k,
            reach: try_with_capacity(count)?,
            within: try_with_capacity(count)?,
            whole: try_zeros(count)?,
        };
        for (query, norm) in rankings.lowered_norms.iter().enumerate() {
            // Boxes in single precision do not see a query for which the filter has no bound.
            let seen = *norm > f64::NEG_INFINITY;
            for target in &rankings.targets[rankings.places(query)] {
                let [least, most] = brute.filter.about(target.squared);
                marks.reach.push(if seen { brute.boxes.reach(most) } else { f32::INFINITY });
                let within = if seen { brute.boxes.within(least) } else { f32::NEG_INFINITY };
                marks.within.push(within);
            }
        }
        Ok(marks)
    }

    /// Counts rows that are nearer than all targets of some queries of a tile, which are given as bits.
    fn hold(&mut self, tile: &Tile, held: u16, rows: usize) {
        for q in places(&[u32::from(held)]) {
            self.whole[(tile.first + q) * self.k] += rows as u32;
        }
    }

    /// Decides a group of rows for as many of the targets of one query as its box allows; returns the others.
    fn decide(
        &mut self,
        targets: Range<usize>,
        nearest: f32,
        farthest: f32,
        rows: usize,
    ) -> Range<usize> {
        if targets.len() <= FEW_TARGETS {
            return targets;
        }
        let (reach, within) = (&self.reach[targets.clone()], &self.within[targets.clone()]);
        let (mut start, mut end) = (targets.start, targets.end);
        if nearest > reach[0] {
            start += reach.partition_point(|reach| *reach < nearest);
        }
        if farthest < within[within.len() - 1] {
            end = targets.start + within.partition_point(|within| *within <= farthest);
            self.whole[end] += rows as u32;
        }
        start..end
    }

    /// Adds the rows of whole groups to the counts.
    fn add_to(&self, rankings: &mut Rankings) {
        let whole = self.whole.chunks_exact(rankings.k);
        for (counts, whole) in rankings.counts.chunks_exact_mut(rankings.k).zip(whole) {
            let mut nearer = 0;
            for (count, whole) in counts.iter_mut().zip(whole) {
                nearer += whole;
                *count += nearer;
            }
        }
    }
}

/// Queries that go through the kernel together.
struct Tile {
    first: usize,
    /// What [`pack`] returns.
    packed: Vec<f32>,
    added: [f32; MOST_ROWS],
    probe: Probe,
}

impl Tile {
    fn new(
        brute: &Brute,
        level: Level,
        rankings: &Rankings,
        marks: &Marks,
        queries: Range<usize>,
    ) -> Result<Self> {
        let dim = brute.points.dim();
        let mut rounded = try_with_capacity(queries.len() * dim)?;
        for query in &rankings.queries[queries.clone()] {
            rounded.extend(brute.filter.round(query.point));
        }
        let lowered = rankings.lowered_norms[queries.clone()].iter().copied();
        let packed = pack(level, &rounded, lowered)?;
        let mut probe = brute.boxes.probe(rounded.chunks_exact(dim));
        let mut added = [0.0; MOST_ROWS];
        for (q, query) in queries.clone().enumerate() {
            let targets = rankings.places(query);
            added[q] = rankings.added(query);
            probe.reach[q] = marks.reach[targets.end - 1];
            probe.within[q] = marks.within[targets.start];
        }
        Ok(Self { first: queries.start, packed, added, probe })
    }
}
