//! One neighbourhood at a time: its eigen frame and its shape operator, over k and d.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use shopca_rs::frame::{Degenerate, Frame};
use shopca_rs::shape::{principal_curvatures, shape_operator};

mod cloud;

fn frames(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frame");
    for (k, dim) in [(7, 4), (13, 16), (13, 36), (11, 100), (40, 25), (60, 60)] {
        let x = cloud::gaussian(k, dim);
        for degenerate in [Degenerate::Average, Degenerate::Lapack] {
            group.bench_function(
                BenchmarkId::new(format!("{degenerate:?}"), format!("k={k},d={dim}")),
                |b| {
                    b.iter(|| Frame::new(black_box(x.view()), degenerate).unwrap());
                },
            );
        }
        let frame = Frame::new(x.view(), Degenerate::Average).unwrap();
        group.bench_function(BenchmarkId::new("shape_operator", format!("k={k},d={dim}")), |b| {
            b.iter(|| shape_operator(black_box(&frame)));
        });
        group.bench_function(BenchmarkId::new("curvatures", format!("k={k},d={dim}")), |b| {
            b.iter(|| principal_curvatures(black_box(&frame)).unwrap());
        });
    }
}

criterion_group!(benches, frames);
criterion_main!(benches);
