//! One search and one mean shape operator after the other on one thread, for a profiler: `profile n d k queries seconds`.
//! `benches/profile.py` runs it and says where the time goes.

use std::time::{Duration, Instant};

use shopca_rs::neighbors::{self, Algorithm, Queries};
use shopca_rs::{Degenerate, Points, Progress, mean};

#[path = "../benches/cloud/mod.rs"]
mod cloud;

fn main() {
    let arguments: Vec<usize> = std::env::args()
        .skip(1)
        .map(|argument| argument.parse().expect("whole numbers: n d k queries seconds"))
        .collect();
    let [n, d, k, queries, seconds] = arguments[..] else { panic!("n d k queries seconds") };
    let x = cloud::gaussian(n, d);
    let points = Points::new(x.view()).expect("finite numbers");
    let rows: Vec<u32> = (0..queries).map(|query| (query * n / queries) as u32).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    pool.install(|| {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(seconds as u64) {
            let (queries, progress) = (Queries::Rows(&rows), Progress::new());
            let found =
                neighbors::search(&points, queries, k, Algorithm::Auto, &progress).expect("k");
            let neighbors = found.indices.view();
            mean::mean_shape_operator(&points, neighbors, Degenerate::Average, &progress)
                .expect("S̄");
        }
    });
}
