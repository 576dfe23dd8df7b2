//! One query on its way through the rows: its shortlist by the filter's accumulators, then the exact distances.

use crate::error::Result;
use crate::matrix::try_reserve;
use crate::simd::Level;

use super::brute::Brute;
use super::candidate::{Candidate, Nearest, squared_distance};
use super::filter::{EVERY_ROW, Gauge};
use super::queries::{Query, write_line};
use super::shortlist::Shortlist;

/// How many candidates of a query may wait for their exact distance.
pub(super) fn patience(k: usize) -> usize {
    2 * k + 16
}

/// One query on its way through the panels.
pub(super) struct Scan<'a, 'q> {
    pub(super) query: Query<'q>,
    /// What its accumulators say.
    pub(super) gauge: Gauge,
    /// Candidates that passed the filter, perhaps the query itself among them.
    pub(super) shortlist: Shortlist<'a>,
    /// How many may wait.
    patience: usize,
    /// The largest accumulator of a neighbour, at most, and its reach as the boxes see it.
    pub(super) threshold: f32,
    pub(super) reach: f32,
    /// The best of those whose distance had to be known before the end, and how many those were.
    nearest: Nearest,
    pub(super) measured: usize,
}

impl Scan<'_, '_> {
    pub(super) fn is_full(&self) -> bool {
        self.shortlist.len() >= self.patience
    }

    /// The neighbours, and the query itself if it is a row.
    pub(super) fn wanted(&self) -> usize {
        self.nearest.capacity + usize::from(self.query.own.is_some())
    }
}

impl Brute<'_> {
    /// A query that has met no row yet.
    pub(super) fn scan<'s, 'q>(
        &self,
        query: Query<'q>,
        gauge: Gauge,
        k: usize,
        shortlist: Shortlist<'s>,
    ) -> Scan<'s, 'q> {
        let mut scan = Scan {
            gauge,
            query,
            shortlist,
            patience: patience(k),
            threshold: EVERY_ROW,
            reach: f32::INFINITY,
            nearest: Nearest::new(k),
            measured: 0,
        };
        if gauge != Gauge::Nothing {
            let bound = self.filter.scaled(scan.query.bound);
            self.look_no_farther(&mut scan, bound);
        }
        scan
    }

    /// Writes the line of each query that has met all rows.
    pub(super) fn finish(
        &self,
        level: Level,
        scans: &mut [Scan],
        indices: &mut [u32],
        squared: &mut [f64],
    ) -> Result<()> {
        let Some(k) = scans.first().map(|scan| scan.nearest.capacity) else { return Ok(()) };
        let lines = indices.chunks_exact_mut(k).zip(squared.chunks_exact_mut(k));
        let mut sorted = Vec::new();
        for (scan, (indices, squared)) in scans.iter_mut().zip(lines) {
            if scan.shortlist.len() >= scan.wanted() {
                self.thin_out(level, scan)?;
            }
            sorted.clear();
            try_reserve(&mut sorted, scan.nearest.heap.len() + scan.shortlist.len())?;
            sorted.extend(scan.nearest.heap.drain());
            sorted.extend(self.measured(&scan.query, &scan.shortlist));
            sorted.sort_unstable();
            write_line(&sorted, scan.query.bound, indices, squared);
        }
        Ok(())
    }

    /// Drops the candidates that enough others are sure to beat.
    pub(super) fn thin_out(&self, level: Level, scan: &mut Scan) -> Result<()> {
        if scan.gauge == Gauge::Nothing {
            return self.measure(scan);
        }
        let bound = scan.shortlist.bound(level, scan.wanted());
        self.look_no_farther(scan, self.filter.farthest(bound, scan.gauge));
        scan.shortlist.keep(level, scan.threshold);
        if 2 * scan.shortlist.len() > scan.patience + scan.wanted() {
            // The filter cannot tell these apart: their distances can.
            self.measure(scan)?;
            self.look_no_farther(scan, self.filter.scaled(scan.nearest.worst()));
        }
        Ok(())
    }

    /// Has the query look for rows at most this scaled squared distance away.
    fn look_no_farther(&self, scan: &mut Scan, squared: f64) {
        let squared = squared + self.filter.underflow;
        scan.threshold = scan.threshold.min(self.filter.threshold(squared, scan.gauge));
        scan.reach = scan.reach.min(self.boxes.reach(squared));
    }

    /// Moves the shortlist candidates to the nearest by their exact distances.
    fn measure(&self, scan: &mut Scan) -> Result<()> {
        let Scan { query, shortlist, nearest, measured, .. } = scan;
        nearest.reserve()?;
        *measured += shortlist.len();
        self.measured(query, shortlist).for_each(|candidate| nearest.offer(candidate));
        shortlist.clear();
        Ok(())
    }

    /// The shortlist candidates with their exact distances, the query itself left out.
    fn measured(&self, query: &Query, shortlist: &Shortlist) -> impl Iterator<Item = Candidate> {
        let indices = shortlist.places().iter().map(|place| self.order[*place as usize]);
        indices.filter(|index| Some(*index) != query.own).map(|index| Candidate {
            squared: squared_distance(query.point, self.points.row(index as usize)),
            index,
        })
    }
}
