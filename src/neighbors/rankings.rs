//! Some queries with their targets, and how many rows are at least as near as each of those.

use std::ops::Range;

use crate::error::Result;
use crate::matrix::{try_with_capacity, try_zeros};
use crate::simd::Level;

use super::bands::{Bands, key, scale_for};
use super::brute::Brute;
use super::candidate::{Candidate, squared_distance};
use super::filter::single;
use super::filter_kernel::{MOST_ROWS, PANEL_ROWS, ones};
use super::queries::Query;
use super::tally::tally_queries;

/// Panels whose sums are compared together, at most.
pub(super) const MOST_PANELS: usize = 6;

/// Rows that wait for their exact distance, at most.
const MOST_CLOSE: usize = 64;

/// One query with k targets in any order.
pub(super) type Line<'q> = (Query<'q>, Vec<Candidate>);

/// Queries that are taken together. Numbers of targets follow each other, k for each query.
pub(super) struct Rankings<'q> {
    pub(super) k: usize,
    pub(super) queries: Vec<Query<'q>>,
    pub(super) lowered_norms: Vec<f64>,
    /// Nearest first, and the place of each in the line as it was given.
    pub(super) targets: Vec<Candidate>,
    slots: Vec<u32>,
    /// The bands of the targets: below one a row counts, above it does not.
    pub(super) scales: Vec<f32>,
    pub(super) lows: Vec<u16>,
    pub(super) highs: Vec<u16>,
    /// Rows that count for each target, the query itself among them.
    pub(super) counts: Vec<u32>,
    /// Rows that wait for their exact distance.
    close: Vec<Close>,
    /// Which sums of some queries are close; room for [`Rankings::count`].
    bits: [[u32; MOST_PANELS]; MOST_ROWS],
}

/// A row that may lie in a band of some targets of one query.
struct Close {
    /// The first target and the one after the last.
    targets: [u32; 2],
    row: u32,
    sum: f32,
    squared: f64,
}

impl<'q> Rankings<'q> {
    pub(super) fn new(
        brute: &Brute,
        k: usize,
        lines: impl ExactSizeIterator<Item = Result<Line<'q>>>,
    ) -> Result<Self> {
        let count = lines.len();
        let mut rankings = Self {
            k,
            queries: try_with_capacity(count)?,
            lowered_norms: try_with_capacity(count)?,
            targets: try_with_capacity(count * k)?,
            slots: try_with_capacity(count * k)?,
            scales: try_with_capacity(count)?,
            lows: try_with_capacity(count * k)?,
            highs: try_with_capacity(count * k)?,
            counts: try_zeros(count * k)?,
            close: try_with_capacity(MOST_CLOSE)?,
            bits: [[0; MOST_PANELS]; MOST_ROWS],
        };
        let mut sorted: Vec<(Candidate, u32)> = try_with_capacity(k)?;
        for line in lines {
            let (query, targets) = line?;
            sorted.clear();
            sorted.extend(targets.into_iter().zip(0..));
            sorted.sort_unstable_by_key(|(target, _)| *target);
            rankings.push(brute, query, &sorted);
        }
        Ok(rankings)
    }

    fn push(&mut self, brute: &Brute, query: Query<'q>, sorted: &[(Candidate, u32)]) {
        let filter = &brute.filter;
        let norm = filter.lowered_query(query.point);
        let band = |target: &Candidate| filter.band(filter.about(target.squared), norm);
        if norm > f64::NEG_INFINITY {
            let scale = sorted.last().map_or(0.0, |(target, _)| scale_for(band(target)[1]));
            self.scales.push(scale);
            for (target, _) in sorted {
                let ends = band(target).map(|end| key(end, scale));
                self.lows.push(ends[0]);
                self.highs.push(ends[1]);
            }
        } else {
            // The filter says nothing of this query: every row is close.
            self.scales.push(0.0);
            self.lows.extend(sorted.iter().map(|_| 0));
            self.highs.extend(sorted.iter().map(|_| u16::MAX));
        }
        self.queries.push(query);
        self.lowered_norms.push(norm);
        self.targets.extend(sorted.iter().map(|(target, _)| *target));
        self.slots.extend(sorted.iter().map(|(_, slot)| *slot));
    }

    pub(super) fn len(&self) -> usize {
        self.queries.len()
    }

    /// The places of a query's targets.
    pub(super) fn places(&self, query: usize) -> Range<usize> {
        query * self.k..(query + 1) * self.k
    }

    /// What is added to the accumulators of a query before they are compared with its bands.
    pub(super) fn added(&self, query: usize) -> f32 {
        if self.scales[query] > 0.0 { single(self.lowered_norms[query]) } else { 0.0 }
    }

    /// Compares the sums of some queries, the first panels of each line, with the bands of their targets, or those of
    /// one query with the bands of some of its targets. The first sum is that of the row at the given place.
    #[inline]
    pub(super) fn count<const PLACES: usize>(
        &mut self,
        brute: &Brute,
        level: Level,
        targets: Range<usize>,
        sums: &[[f32; PLACES]],
        panels: usize,
        place: usize,
    ) {
        let queries = targets.start / self.k..targets.end.div_ceil(self.k);
        let (count, close) = (targets.len() / queries.len(), &mut self.bits[..queries.len()]);
        let bands = Bands {
            count,
            scales: &self.scales[queries],
            lows: &self.lows[targets.clone()],
            highs: &self.highs[targets.clone()],
        };
        if !tally_queries(level, sums, panels, bands, &mut self.counts[targets.clone()], close) {
            return;
        }
        for (query, sums) in sums.iter().enumerate() {
            let targets = targets.start + query * count..targets.start + (query + 1) * count;
            let close = self.bits[query];
            for at in places(&close) {
                // Beyond the last row a query of which the filter says nothing is close to the padding.
                if let Some(index) = brute.order.get(place + at) {
                    self.add_close(brute, targets.clone(), *index, sums[at]);
                }
            }
        }
    }

    /// Counts a row that may lie in a band of some targets of one query, now or by [`Rankings::settle`].
    pub(super) fn add_close(&mut self, brute: &Brute, targets: Range<usize>, row: u32, sum: f32) {
        let targets = [targets.start as u32, targets.end as u32];
        self.close.push(Close { targets, row, sum, squared: 0.0 });
        if self.close.len() == MOST_CLOSE {
            self.settle(brute);
        }
    }

    /// Counts the rows that wait for their exact distance, each for the targets that it is not known to be nearer than.
    pub(super) fn settle(&mut self, brute: &Brute) {
        // A loop of its own, so that the processor waits for several rows at once.
        for Close { targets, row, squared, .. } in &mut self.close {
            let known = &self.targets[targets[0] as usize..targets[1] as usize];
            *squared = match known.iter().find(|target| target.index == *row) {
                Some(target) => target.squared,
                None => {
                    let query = &self.queries[targets[0] as usize / self.k];
                    squared_distance(query.point, brute.points.row(*row as usize))
                }
            };
        }
        for Close { targets, row, sum, squared } in self.close.drain(..) {
            let query = targets[0] as usize / self.k;
            let itself = self.queries[query].own == Some(row);
            let (candidate, key) =
                (Candidate { squared, index: row }, key(sum, self.scales[query]));
            for target in targets[0] as usize..targets[1] as usize {
                // The query itself is always counted, and taken off in the end.
                let counts = itself || candidate <= self.targets[target];
                self.counts[target] += u32::from(key >= self.lows[target] && counts);
            }
        }
    }

    /// Writes the ranks of a query in the order in which its targets were given.
    pub(super) fn write(&self, query: usize, ranks: &mut [u32]) {
        let itself = u32::from(self.queries[query].own.is_some());
        for target in self.places(query) {
            ranks[self.slots[target] as usize] = self.counts[target] - itself;
        }
    }
}

/// The places of the bits that are set.
pub(super) fn places(bits: &[u32]) -> impl Iterator<Item = usize> {
    let lanes =
        |(panel, bits): (usize, &u32)| ones(*bits).map(move |lane| panel * PANEL_ROWS + lane);
    bits.iter().enumerate().flat_map(lanes)
}
