//! Candidates that wait for their exact distance, known by the filter's sums only.

use crate::simd::Level;

use super::filter_kernel::PANEL_ROWS;

/// Sums handled side by side.
const WIDTH: usize = 16;

/// Halvings after which a bound is good enough.
const MOST_STEPS: usize = 20;

/// Sums, and the places of their rows.
pub(super) struct Shortlist<'a> {
    /// Longer than `len`, so that whole registers can be written.
    sums: &'a mut [f32],
    places: &'a mut [u32],
    len: usize,
}

impl<'a> Shortlist<'a> {
    /// The length of the buffers for at most `most` candidates and one panel more.
    pub(super) fn room(most: usize) -> usize {
        (most + PANEL_ROWS).next_multiple_of(WIDTH)
    }

    pub(super) fn new(sums: &'a mut [f32], places: &'a mut [u32]) -> Self {
        Self { sums, places, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn places(&self) -> &[u32] {
        &self.places[..self.len]
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds the sums of a panel whose bits are set in `passed`; its first row has the place `first`.
    #[inline]
    pub(super) fn append(
        &mut self,
        level: Level,
        sums: &[f32; PANEL_ROWS],
        passed: u32,
        first: u32,
    ) {
        match level {
            // SAFETY: the level proves that the processor has them.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => unsafe { self.append_avx512(sums, passed, first) },
            _ => self.append_portable(sums, passed, first),
        }
    }

    /// Adds one sum.
    #[inline]
    pub(super) fn push(&mut self, sum: f32, place: u32) {
        self.sums[self.len] = sum;
        self.places[self.len] = place;
        self.len += 1;
    }

    /// A number that at least `count` of the sums do not exceed, and seldom many more of them.
    pub(super) fn bound(&mut self, level: Level, count: usize) -> f32 {
        let sums = self.padded();
        match level {
            // SAFETY: the level proves that the processor has them.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => unsafe { x86::bound_avx512(sums, count) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => unsafe { x86::bound_avx2(sums, count) },
            Level::Portable => bound(sums, count),
        }
    }

    /// Drops the sums that exceed the threshold.
    pub(super) fn keep(&mut self, level: Level, threshold: f32) {
        match level {
            // SAFETY: the level proves that the processor has them.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => unsafe { self.keep_avx512(threshold) },
            _ => self.keep_portable(threshold),
        }
    }

    /// The sums in whole registers, the last one filled up with infinity.
    fn padded(&mut self) -> &[[f32; WIDTH]] {
        let end = self.len.next_multiple_of(WIDTH);
        self.sums[self.len..end].fill(f32::INFINITY);
        self.sums[..end].as_chunks().0
    }

    fn append_portable(&mut self, sums: &[f32; PANEL_ROWS], passed: u32, first: u32) {
        let mut lanes = passed;
        while lanes != 0 {
            let lane = lanes.trailing_zeros();
            lanes &= lanes - 1;
            self.sums[self.len] = sums[lane as usize];
            self.places[self.len] = first + lane;
            self.len += 1;
        }
    }

    fn keep_portable(&mut self, threshold: f32) {
        let mut kept = 0;
        for at in 0..self.len {
            let sum = self.sums[at];
            self.sums[kept] = sum;
            self.places[kept] = self.places[at];
            kept += usize::from(sum <= threshold);
        }
        self.len = kept;
    }
}

/// Halves an interval whose upper end has at least `count` sums below it.
///
/// Not to the last bit: a bound that some more sums pass is still a bound.
#[inline(always)]
fn bound(sums: &[[f32; WIDTH]], count: usize) -> f32 {
    let smaller = |a: f32, b: f32| if a < b { a } else { b };
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let (mut least, mut most) = ([f32::INFINITY; WIDTH], [f32::NEG_INFINITY; WIDTH]);
    for sums in sums {
        for lane in 0..WIDTH {
            let sum = sums[lane];
            let counted = if sum < f32::INFINITY { sum } else { f32::NEG_INFINITY };
            least[lane] = smaller(sum, least[lane]);
            most[lane] = larger(counted, most[lane]);
        }
    }
    let mut low = least.into_iter().fold(f32::INFINITY, smaller);
    let mut high = most.into_iter().fold(f32::NEG_INFINITY, larger);
    for _ in 0..MOST_STEPS {
        let middle = 0.5 * low + 0.5 * high;
        let mut below = [0_u32; WIDTH];
        for sums in sums {
            for lane in 0..WIDTH {
                below[lane] += u32::from(sums[lane] <= middle);
            }
        }
        let below = below.iter().sum::<u32>() as usize;
        if below < count {
            low = middle;
        } else {
            high = middle;
            if below <= count + count / 8 {
                break;
            }
        }
    }
    high
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{PANEL_ROWS, Shortlist, WIDTH, bound};

    #[target_feature(enable = "avx512f")]
    pub(super) fn bound_avx512(sums: &[[f32; WIDTH]], count: usize) -> f32 {
        bound(sums, count)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn bound_avx2(sums: &[[f32; WIDTH]], count: usize) -> f32 {
        bound(sums, count)
    }

    impl Shortlist<'_> {
        #[target_feature(enable = "avx512f")]
        pub(super) fn append_avx512(&mut self, sums: &[f32; PANEL_ROWS], passed: u32, first: u32) {
            let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            let mut places = _mm512_add_epi32(lanes, _mm512_set1_epi32(first as i32));
            for (number, sums) in sums.as_chunks::<WIDTH>().0.iter().enumerate() {
                // SAFETY: an array of sixteen floats.
                let sums = unsafe { _mm512_loadu_ps(sums.as_ptr()) };
                let passed = (passed >> (number * WIDTH)) as u16;
                self.len += self.write(self.len, passed, sums, places);
                places = _mm512_add_epi32(places, _mm512_set1_epi32(WIDTH as i32));
            }
        }

        #[target_feature(enable = "avx512f")]
        pub(super) fn keep_avx512(&mut self, threshold: f32) {
            let end = self.padded().len() * WIDTH;
            let mut kept = 0;
            for start in (0..end).step_by(WIDTH) {
                let sums = &self.sums[start..start + WIDTH];
                let places = &self.places[start..start + WIDTH];
                // SAFETY: sixteen numbers each.
                let (sums, places) = unsafe {
                    (_mm512_loadu_ps(sums.as_ptr()), _mm512_loadu_si512(places.as_ptr().cast()))
                };
                let below = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(sums, _mm512_set1_ps(threshold));
                // What has been kept ends at `start` or before it: nothing unread is overwritten.
                kept += self.write(kept, below, sums, places);
            }
            self.len = kept;
        }

        /// Writes the chosen lanes from `start` on; returns how many they are.
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn write(&mut self, start: usize, chosen: u16, sums: __m512, places: __m512i) -> usize {
            let to_sums = &mut self.sums[start..start + WIDTH];
            let to_places = &mut self.places[start..start + WIDTH];
            // SAFETY: each slice has the sixteen numbers that are written.
            unsafe {
                let sums = _mm512_maskz_compress_ps(chosen, sums);
                let places = _mm512_maskz_compress_epi32(chosen, places);
                _mm512_storeu_ps(to_sums.as_mut_ptr(), sums);
                _mm512_storeu_si512(to_places.as_mut_ptr().cast(), places);
            }
            chosen.count_ones() as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_waits_until_it_exceeds_a_threshold() {
        for level in Level::available() {
            let room = Shortlist::room(60);
            let (mut sums, mut places) = (vec![0.0; room], vec![0; room]);
            let mut shortlist = Shortlist::new(&mut sums, &mut places);
            let panel: [f32; PANEL_ROWS] =
                std::array::from_fn(|lane| ((lane * 13) % PANEL_ROWS) as f32);
            shortlist.append(level, &panel, 0x8001_8001, 100);
            assert_eq!(shortlist.places(), [100, 115, 116, 131]);
            shortlist.append(level, &panel, u32::MAX, 200);
            shortlist.append(level, &panel, 0, 300);
            assert_eq!(shortlist.len(), 4 + PANEL_ROWS);
            shortlist.keep(level, 2.0);
            let expected: Vec<u32> = [(100, 0x8001_8001_u32), (200, u32::MAX)]
                .into_iter()
                .flat_map(|(first, passed)| {
                    let kept =
                        move |lane: &u32| passed >> lane & 1 == 1 && panel[*lane as usize] <= 2.0;
                    (0..PANEL_ROWS as u32).filter(kept).map(move |lane| first + lane)
                })
                .collect();
            assert_eq!(shortlist.places(), expected);
        }
    }

    #[test]
    fn a_bound_has_as_many_sums_below_it_as_asked_and_few_more() {
        let values: Vec<f32> = (0..57).map(|at| ((at * 7919 % 101) as f32 - 50.0) / 8.0).collect();
        for level in Level::available() {
            let room = Shortlist::room(values.len());
            let mut sums = vec![f32::NAN; room];
            sums[..values.len()].copy_from_slice(&values);
            let mut places = vec![0; room];
            let mut shortlist = Shortlist::new(&mut sums, &mut places);
            shortlist.len = values.len();
            for count in 1..=values.len() {
                let bound = shortlist.bound(level, count);
                let below = values.iter().filter(|value| **value <= bound).count();
                assert!((count..=count + count / 8).contains(&below));
            }
        }
    }

    #[test]
    fn equal_sums_are_bounded_by_themselves() {
        for level in Level::available() {
            for value in [-3.5, 0.0, 1e-30, f32::MAX] {
                let room = Shortlist::room(20);
                let (mut sums, mut places) = (vec![value; room], vec![0; room]);
                let mut shortlist = Shortlist::new(&mut sums, &mut places);
                shortlist.len = 20;
                assert_eq!(shortlist.bound(level, 7), value);
            }
        }
    }
}
