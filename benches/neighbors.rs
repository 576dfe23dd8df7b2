//! Neighbour search over n and d: brute force against the tree.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use shopca_rs::neighbors::{self, Algorithm, Queries};
use shopca_rs::{Points, Progress};

mod cloud;

fn search(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("neighbors");
    group.sample_size(10);
    for rows in [2_000, 20_000] {
        for dim in [2, 4, 6, 8, 12, 16, 64] {
            let k = (rows as f64).log2().round() as usize;
            let x = cloud::gaussian(rows, dim);
            let points = Points::new(x.view()).unwrap();
            group.throughput(Throughput::Elements(rows as u64));
            for algorithm in [Algorithm::Brute, Algorithm::KdTree] {
                if algorithm == Algorithm::KdTree && dim > 16 {
                    continue;
                }
                let id = BenchmarkId::new(format!("{algorithm:?}/n={rows},k={k}"), dim);
                group.bench_function(id, |bencher| {
                    bencher.iter(|| {
                        let progress = Progress::new();
                        neighbors::search(black_box(&points), Queries::All, k, algorithm, &progress)
                    });
                });
            }
        }
    }
}

criterion_group!(benches, search);
criterion_main!(benches);
