//! Every two of some blocks meet once, on all threads.

use std::sync::Mutex;

use rayon::prelude::*;

use crate::error::Result;
use crate::progress::Progress;

/// Has `meet` called once with every two of the blocks; counts `rows` in all.
///
/// Blocks that lie side by side meet first. The order of the other meetings depends on the threads.
pub(super) fn meet_all<B: Send>(
    blocks: &[Mutex<B>],
    rows: usize,
    progress: &Progress,
    meet: impl Fn(&mut B, &mut B) -> Result<()> + Sync,
) -> Result<()> {
    // Blocks at a distance of 1, 2, … around the circle: every pair meets once.
    let count = blocks.len();
    let mut told = 0;
    for distance in 1..=count / 2 {
        let meetings = if 2 * distance == count { distance } else { count };
        (0..meetings).into_par_iter().try_for_each(|one| {
            progress.check()?;
            let other = (one + distance) % count;
            let (low, high) = (one.min(other), one.max(other));
            let mut low = blocks[low].lock().expect("no thread panics while blocks meet");
            let mut high = blocks[high].lock().expect("no thread panics while blocks meet");
            meet(&mut low, &mut high)
        })?;
        let done = rows * distance / (count / 2);
        progress.advance(done - told)?;
        told = done;
    }
    Ok(())
}
