//! The mean shape operator after its neighbours, over n, d and k.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use shopca_rs::neighbors::{self, Algorithm, Queries};
use shopca_rs::{Degenerate, Points, Progress, mean};

mod cloud;

fn means(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("mean");
    group.sample_size(10);
    let shapes = [
        (2_000, 4, 11),
        (2_000, 16, 11),
        (8_000, 16, 11),
        (2_000, 36, 11),
        (2_000, 36, 22),
        (2_000, 100, 11),
        (2_000, 400, 11),
        (500, 60, 60),
    ];
    for (rows, dim, k) in shapes {
        let x = cloud::gaussian(rows, dim);
        let (points, progress) = (Points::new(x.view()).unwrap(), Progress::new());
        let found =
            neighbors::search(&points, Queries::All, k, Algorithm::Auto, &progress).unwrap();
        group.throughput(Throughput::Elements(rows as u64));
        for degenerate in [Degenerate::Average, Degenerate::Lapack] {
            if degenerate == Degenerate::Lapack && dim > 100 {
                continue;
            }
            let id = BenchmarkId::new(format!("{degenerate:?}"), format!("n={rows},d={dim},k={k}"));
            group.bench_function(id, |bencher| {
                bencher.iter(|| {
                    let neighbors = black_box(found.indices.view());
                    mean::mean_shape_operator(&points, neighbors, degenerate, &Progress::new())
                });
            });
        }
    }
}

criterion_group!(benches, means);
criterion_main!(benches);
