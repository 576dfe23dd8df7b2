//! Every two of some blocks meet once, on all threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::Result;
use crate::progress::Progress;

/// Most blocks in a group, which meet those of another group one after the other while both are in cache, and fewest
/// groups for each thread.
const BLOCKS_PER_GROUP: usize = 16;
const GROUPS_PER_THREAD: usize = 8;

/// Has `meet` called once with every two of the blocks; counts `rows` in all.
///
/// Blocks that lie side by side meet first. The order of the other meetings depends on the threads.
pub(super) fn meet_all<B: Send>(
    blocks: &[Mutex<B>],
    rows: usize,
    progress: &Progress,
    meet: impl Fn(&mut B, &mut B) -> Result<()> + Sync,
) -> Result<()> {
    let affordable = blocks.len() / (GROUPS_PER_THREAD * rayon::current_num_threads());
    let groups: Vec<&[Mutex<B>]> = blocks.chunks(affordable.clamp(1, BLOCKS_PER_GROUP)).collect();
    let meet = |one: &Mutex<B>, other: &Mutex<B>| {
        progress.check()?;
        let mut one = one.lock().expect("no thread panics while blocks meet");
        let mut other = other.lock().expect("no thread panics while blocks meet");
        meet(&mut one, &mut other)
    };
    let (meetings, done) = (blocks.len() * blocks.len().saturating_sub(1) / 2, AtomicUsize::new(0));
    if meetings == 0 {
        return progress.advance(rows);
    }
    let told = |met: usize| (rows as u128 * met as u128 / meetings as u128) as usize;
    let count = |more: usize| {
        let met = done.fetch_add(more, Ordering::Relaxed);
        progress.advance(told(met + more) - told(met))
    };
    groups.par_iter().try_for_each(|group| {
        for (number, one) in group.iter().enumerate() {
            group[number + 1..].iter().try_for_each(|other| meet(one, other))?;
        }
        count(group.len() * (group.len() - 1) / 2)
    })?;
    pairs(groups.len()).par_bridge().try_for_each(|[low, high]| {
        for one in groups[low] {
            groups[high].iter().try_for_each(|other| meet(one, other))?;
        }
        count(groups[low].len() * groups[high].len())
    })
}

/// Every two of some numbers, the smaller one first: those at a distance of 1 around a circle, of 2, and so on. Pairs
/// that follow each other seldom have a number in common, for which one thread would wait.
fn pairs(count: usize) -> impl Iterator<Item = [usize; 2]> + Send {
    (1..=count / 2).flat_map(move |distance| {
        let starts = if 2 * distance == count { distance } else { count };
        let every_other = move |odd| (0..starts).filter(move |start| start / distance % 2 == odd);
        every_other(0).chain(every_other(1)).map(move |start| {
            let other = (start + distance) % count;
            [start.min(other), start.max(other)]
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_two_numbers_are_one_pair() {
        for count in 0..20 {
            let found: Vec<_> = pairs(count).collect();
            assert_eq!(found.len(), count * count.saturating_sub(1) / 2);
            assert_eq!(found.iter().collect::<HashSet<_>>().len(), found.len());
            assert!(found.iter().all(|[low, high]| low < high && *high < count));
        }
    }

    #[test]
    fn every_two_blocks_meet_once_and_all_rows_are_counted() {
        for count in [0, 1, 2, 3, 17, 100] {
            let blocks: Vec<_> =
                (0..count).map(|number| Mutex::new((number, Vec::new()))).collect();
            let progress = Progress::new();
            meet_all(&blocks, 12_345, &progress, |(one, met_by_one), (other, met_by_other)| {
                met_by_one.push(*other);
                met_by_other.push(*one);
                Ok(())
            })
            .unwrap();
            assert_eq!(progress.counts().0, 12_345);
            for block in blocks {
                let (number, mut met) = block.into_inner().unwrap();
                met.sort_unstable();
                assert!(met.into_iter().eq((0..count).filter(|other| *other != number)));
            }
        }
    }
}
