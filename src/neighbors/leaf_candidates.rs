//! The candidates of queries that [`super::leaf_search`] answers together, and the best k of each.
//!
//! Which k are best is found by counting: an interval of squared distances is narrowed until as many candidates lie
//! below its upper end as are wanted. That reads the distances in order, eight at a time, where a selection or a sort
//! moves them about by comparisons that cannot be predicted.

use crate::error::Result;
use crate::matrix::try_zeros;
use crate::simd::{LANES, Vector};

use super::leaves::LEAF;
use super::queries::MISSING;

/// Steps after which the interval is narrow enough, or distances are equal.
const MOST_STEPS: usize = 40;

/// Neighbours up to which the place of each in the order is counted, at the cost of their square; more are sorted.
const MOST_COUNTED: usize = 128;

/// A row number below its squared distance, so that the order of keys is the order of neighbours.
type Key = u128;

/// What each of [`LEAF`] queries has found.
pub(super) struct Candidates {
    k: usize,
    /// Numbers for each query: whole vectors, and one more, because whole vectors are written.
    room: usize,
    squared: Vec<f64>,
    rows: Vec<f64>,
    found: [usize; LEAF],
    /// Where candidates are sorted.
    keys: Vec<Key>,
}

impl Candidates {
    pub(super) fn new(k: usize) -> Result<Self> {
        // A leaf may be added to a list that is almost full.
        let room = (2 * k + 2 * LEAF).next_multiple_of(LANES) + LANES;
        Ok(Self {
            k,
            room,
            squared: try_zeros(room * LEAF)?,
            rows: try_zeros(room * LEAF)?,
            found: [0; LEAF],
            keys: try_zeros(room)?,
        })
    }

    pub(super) fn clear(&mut self) {
        self.found = [0; LEAF];
    }

    /// Adds the candidates whose bits are set.
    #[inline(always)]
    pub(super) fn append<V: Vector>(&mut self, lane: usize, squared: V, rows: V, passed: u32) {
        let at = lane * self.room + self.found[lane];
        squared.compress(passed, lanes_mut(&mut self.squared[at..]));
        rows.compress(passed, lanes_mut(&mut self.rows[at..]));
        self.found[lane] += passed.count_ones() as usize;
    }

    /// Whether there may be no room for another leaf.
    #[inline(always)]
    pub(super) fn is_full(&self, lane: usize) -> bool {
        self.found[lane] + LEAF + LANES > self.room
    }

    /// Drops candidates that k others beat, but for a few. Returns the largest squared distance that one of the best k
    /// may have, or none while there are fewer than k.
    #[inline(always)]
    pub(super) fn thin_out<V: Vector>(&mut self, lane: usize) -> Option<f64> {
        (self.found[lane] >= self.k).then(|| self.keep::<V>(lane, self.k / 8))
    }

    /// Drops all but the best k, and `spare` more at most. Returns a bound on the squared distances that are left.
    #[inline(always)]
    fn keep<V: Vector>(&mut self, lane: usize, spare: usize) -> f64 {
        let (start, found, k) = (lane * self.room, self.found[lane], self.k);
        let bound = bound::<V>(self.padded(lane), found, k, spare);
        let mut kept = 0;
        for from in (start..start + found).step_by(LANES) {
            let squared = V::load(lanes_mut(&mut self.squared[from..]));
            let rows = V::load(lanes_mut(&mut self.rows[from..]));
            let near = squared.at_most(V::splat(bound));
            // What has been kept ends at `from` or before it: nothing unread is overwritten.
            squared.compress(near, lanes_mut(&mut self.squared[start + kept..]));
            rows.compress(near, lanes_mut(&mut self.rows[start + kept..]));
            kept += near.count_ones() as usize;
        }
        self.found[lane] = kept;
        if kept <= k + spare { bound } else { self.select(lane) }
    }

    /// The squared distances of a query in whole vectors, the last one filled up with infinity.
    #[inline(always)]
    fn padded(&mut self, lane: usize) -> &[[f64; LANES]] {
        let (start, found) = (lane * self.room, self.found[lane]);
        let end = found.next_multiple_of(LANES);
        self.squared[start + found..start + end].fill(f64::INFINITY);
        self.squared[start..start + end].as_chunks().0
    }

    /// Drops all but the best k where distances are equal. Returns their largest squared distance.
    #[cold]
    #[inline(never)]
    fn select(&mut self, lane: usize) -> f64 {
        let (k, start) = (self.k, lane * self.room);
        self.fill_keys(lane);
        let worst = *self.keys[..self.found[lane]].select_nth_unstable(k - 1).1;
        for (at, key) in self.keys[..k].iter().enumerate() {
            self.squared[start + at] = squared_of(*key);
            self.rows[start + at] = f64::from(*key as u32);
        }
        self.found[lane] = k;
        squared_of(worst)
    }

    fn fill_keys(&mut self, lane: usize) {
        let (start, found) = (lane * self.room, self.found[lane]);
        let numbers = self.squared[start..].iter().zip(&self.rows[start..]);
        for (key, (squared, row)) in self.keys[..found].iter_mut().zip(numbers) {
            // Bits of positive numbers are ordered like the numbers.
            *key = Key::from(squared.to_bits()) << u32::BITS | Key::from(*row as u32);
        }
    }

    /// Writes the rows of the best k, of a query that has so many, in any order.
    #[inline(always)]
    pub(super) fn write_rows<V: Vector>(&mut self, lane: usize, rows: &mut [u32]) {
        self.keep::<V>(lane, 0);
        for (to, row) in rows.iter_mut().zip(&self.rows[lane * self.room..]) {
            *to = *row as u32;
        }
    }

    /// Writes a line of the best k, nearest first, filled up where there are fewer.
    #[inline(always)]
    pub(super) fn write<V: Vector>(
        &mut self,
        lane: usize,
        indices: &mut [u32],
        squared: &mut [f64],
    ) {
        self.thin_out::<V>(lane);
        if self.k > MOST_COUNTED || !self.write_by_counting::<V>(lane, indices, squared) {
            self.write_sorted(lane, indices, squared);
        }
        let count = self.found[lane].min(self.k);
        indices[count..].fill(MISSING);
        squared[count..].fill(f64::INFINITY);
    }

    /// Writes each candidate to the place that the number of smaller distances tells; false if some are equal.
    #[inline(always)]
    fn write_by_counting<V: Vector>(
        &mut self,
        lane: usize,
        indices: &mut [u32],
        squared: &mut [f64],
    ) -> bool {
        let (start, found, k) = (lane * self.room, self.found[lane], self.k);
        self.padded(lane);
        let numbers = &self.squared[start..];
        let mut all = 0.0;
        for from in (0..found).step_by(LANES) {
            let values = V::load(&numbers[from..].as_chunks().0[0]);
            let mut places = V::ZERO;
            for other in &numbers[..found] {
                places += V::splat(*other).if_below(values, V::ONE, V::ZERO);
            }
            let count = LANES.min(found - from);
            for (at, place) in places.lanes()[..count].iter().enumerate() {
                all += place;
                let place = *place as usize;
                if place < k {
                    indices[place] = self.rows[start + from + at] as u32;
                    squared[place] = numbers[from + at];
                }
            }
        }
        // Equal distances count the same places twice.
        all as usize == found * found.saturating_sub(1) / 2
    }

    #[cold]
    #[inline(never)]
    fn write_sorted(&mut self, lane: usize, indices: &mut [u32], squared: &mut [f64]) {
        self.fill_keys(lane);
        let keys = &mut self.keys[..self.found[lane]];
        keys.sort_unstable();
        for ((key, index), squared) in keys.iter().zip(indices).zip(squared) {
            *index = *key as u32;
            *squared = squared_of(*key);
        }
    }
}

fn squared_of(key: Key) -> f64 {
    f64::from_bits((key >> u32::BITS) as u64)
}

#[inline(always)]
fn lanes_mut(numbers: &mut [f64]) -> &mut [f64; LANES] {
    numbers.first_chunk_mut().expect("there is room for one vector more")
}

/// A number that `count` of the distances do not exceed, and at most `spare` more unless some are equal.
#[inline(always)]
fn bound<V: Vector>(squared: &[[f64; LANES]], found: usize, count: usize, spare: usize) -> f64 {
    let mut most = V::ZERO;
    for block in squared {
        let values = V::load(block);
        most = most.max(values.if_below(V::splat(f64::INFINITY), values, V::ZERO));
    }
    let (mut low, mut high) = (0.0, most.largest());
    let (mut below_low, mut below_high) = (0, found);
    for step in 0..MOST_STEPS {
        if below_high <= count + spare {
            break;
        }
        // On a surface the number of candidates is about proportional to the squared distance.
        let wanted = (count - below_low) as f64 + 0.5 * (spare + 1) as f64;
        let share = if step % 3 == 2 { 0.5 } else { wanted / (below_high - below_low) as f64 };
        let middle = low + (high - low) * share;
        let below = squared
            .iter()
            .map(|block| V::load(block).at_most(V::splat(middle)).count_ones() as usize)
            .sum::<usize>();
        if below < count {
            (low, below_low) = (middle, below);
        } else {
            (high, below_high) = (middle, below);
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, Work};

    /// Offers numbers eight at a time and returns the best k, in any order and in theirs.
    struct Best<'n> {
        numbers: &'n [f64],
        k: usize,
    }

    impl Work for Best<'_> {
        type Output = (Vec<u32>, Vec<u32>, Vec<f64>);

        #[inline(always)]
        fn run<V: Vector>(self) -> Self::Output {
            let lane = 3;
            let mut some = [Candidates::new(self.k).unwrap(), Candidates::new(self.k).unwrap()];
            for candidates in &mut some {
                for (block, numbers) in self.numbers.chunks(LANES).enumerate() {
                    let (mut squared, mut rows) = ([f64::INFINITY; LANES], [0.0; LANES]);
                    squared[..numbers.len()].copy_from_slice(numbers);
                    for at in 0..LANES {
                        rows[at] = (block * LANES + at) as f64;
                    }
                    let squared = V::load(&squared);
                    let passed = squared.below(V::splat(f64::INFINITY));
                    candidates.append(lane, squared, V::load(&rows), passed);
                    if candidates.is_full(lane) {
                        candidates.thin_out::<V>(lane);
                    }
                }
            }
            let (mut any, mut rows) = (vec![0; self.k], vec![0; self.k]);
            let mut squared = vec![0.0; self.k];
            some[0].write_rows::<V>(lane, &mut any);
            some[1].write::<V>(lane, &mut rows, &mut squared);
            (any, rows, squared)
        }
    }

    #[test]
    fn the_best_are_those_of_a_sort_with_and_without_equal_distances() {
        let pattern = |at: usize| ((at * 7919 + at * at * 31) % 100_003) as f64;
        let kinds: [fn(f64) -> f64; 5] =
            [|x| x, |x| (x / 2e4).floor(), |_| 0.0, |x| 1e300 / (x + 1.0), |x| x.powi(40) * 1e-190];
        for kind in kinds {
            let numbers: Vec<f64> = (0..1100).map(|at| kind(pattern(at))).collect();
            let mut expected: Vec<u32> = (0..numbers.len() as u32).collect();
            let at = |row: &u32| numbers[*row as usize];
            expected.sort_by(|a, b| at(a).total_cmp(&at(b)).then(a.cmp(b)));
            for level in Level::available() {
                for k in [1, 2, 7, 8, 30, 127, 128, 129, 500] {
                    let (mut any, rows, squared) = level.vectorized(Best { numbers: &numbers, k });
                    assert_eq!(rows, expected[..k], "k = {k}");
                    assert!(rows.iter().map(at).eq(squared), "k = {k}");
                    any.sort_by(|a, b| at(a).total_cmp(&at(b)).then(a.cmp(b)));
                    assert_eq!(any, expected[..k], "k = {k}");
                }
            }
        }
    }

    #[test]
    fn a_line_is_filled_up_where_there_are_too_few() {
        struct Few;
        impl Work for Few {
            type Output = ([u32; 4], [f64; 4]);

            #[inline(always)]
            fn run<V: Vector>(self) -> Self::Output {
                let mut candidates = Candidates::new(4).unwrap();
                candidates.append(0, V::splat(2.0), V::splat(9.0), 0b100);
                candidates.append(0, V::splat(1.0), V::splat(5.0), 0b1);
                let (mut rows, mut squared) = ([0; 4], [0.0; 4]);
                candidates.write::<V>(0, &mut rows, &mut squared);
                (rows, squared)
            }
        }
        for level in Level::available() {
            let (rows, squared) = level.vectorized(Few);
            assert_eq!(rows, [5, 9, MISSING, MISSING]);
            assert_eq!(squared, [1.0, 2.0, f64::INFINITY, f64::INFINITY]);
        }
    }
}
