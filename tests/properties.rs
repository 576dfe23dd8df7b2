//! What must hold for any data: the laws of neighbours and of the mean shape operator.

use ndarray::{Array2, Axis};
use proptest::prelude::*;
use shopca_rs::neighbors::{self, Queries, squared_distance};
use shopca_rs::{Algorithm, Degenerate, Points, Progress, local, mean};

fn mean_of(x: &Array2<f64>, k: usize) -> Array2<f64> {
    mean_with(x, k, Degenerate::Average)
}

fn mean_with(x: &Array2<f64>, k: usize, degenerate: Degenerate) -> Array2<f64> {
    let (points, progress) = (Points::new(x.view()).unwrap(), Progress::new());
    let found = neighbors::search(&points, Queries::All, k, Algorithm::Auto, &progress).unwrap();
    mean::mean_shape_operator(&points, found.indices.view(), degenerate, &progress).unwrap()
}

fn relative_gap(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    let norm = |m: &Array2<f64>| m.iter().map(|v| v * v).sum::<f64>().sqrt();
    norm(&(a - b)) / norm(b).max(f64::MIN_POSITIVE)
}

/// Continuous data: no ties, simple eigenvalues.
fn clouds() -> impl Strategy<Value = (Array2<f64>, usize)> {
    (8_usize..40, 1_usize..12).prop_flat_map(|(n, d)| {
        let values = prop::collection::vec(-10.0..10.0_f64, n * d);
        (values, 3..n.min(14))
            .prop_map(move |(values, k)| (Array2::from_shape_vec((n, d), values).unwrap(), k))
    })
}

/// Gridded data: ties, duplicates, repeated eigenvalues, and exact arithmetic.
fn grids() -> impl Strategy<Value = (Array2<f64>, usize)> {
    (6_usize..40, 1_usize..7).prop_flat_map(|(n, d)| {
        let values = prop::collection::vec(-2..3_i32, n * d);
        (values, 2..n.min(12)).prop_map(move |(values, k)| {
            let values = values.into_iter().map(f64::from).collect();
            (Array2::from_shape_vec((n, d), values).unwrap(), k)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn neighbours_are_the_smallest_by_distance_and_index((x, k) in prop_oneof![clouds(), grids()]) {
        let (points, progress) = (Points::new(x.view()).unwrap(), Progress::new());
        let mut answers = Vec::new();
        for algorithm in [Algorithm::Brute, Algorithm::KdTree] {
            answers.push(neighbors::search(&points, Queries::All, k, algorithm, &progress).unwrap());
        }
        prop_assert_eq!(&answers[0], &answers[1]);
        for i in 0..points.len() {
            let mut all: Vec<(f64, u32)> = (0..points.len())
                .filter(|&j| j != i)
                .map(|j| (squared_distance(points.row(i), points.row(j)), j as u32))
                .collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let expected: Vec<u32> = all.iter().take(k).map(|pair| pair.1).collect();
            prop_assert_eq!(answers[0].indices.row(i).to_vec(), expected);
        }
    }

    #[test]
    fn row_order_does_not_matter((x, k) in clouds(), seed in any::<u64>()) {
        let mut order: Vec<usize> = (0..x.nrows()).collect();
        order.sort_by_key(|&row| (row as u64 + 1).wrapping_mul(seed | 1).rotate_left(17));
        let shuffled = x.select(Axis(0), &order);
        prop_assert!(relative_gap(&mean_of(&shuffled, k), &mean_of(&x, k)) < 1e-12);
    }

    #[test]
    fn a_point_reflection_changes_no_bit((x, k) in prop_oneof![clouds(), grids()]) {
        prop_assert_eq!(mean_of(&(-&x), k), mean_of(&x, k));
    }

    #[test]
    fn column_order_turns_the_operator_with_it((x, k) in clouds()) {
        let order: Vec<usize> = (0..x.ncols()).rev().collect();
        let expected = mean_of(&x, k).select(Axis(0), &order).select(Axis(1), &order);
        prop_assert!(relative_gap(&mean_of(&x.select(Axis(1), &order), k), &expected) < 1e-9);
    }

    #[test]
    fn doubling_the_data_quadruples_the_operator_exactly((x, k) in prop_oneof![clouds(), grids()]) {
        prop_assert_eq!(mean_of(&(&x * 2.0), k), mean_of(&x, k) * 4.0);
    }

    #[test]
    fn a_translation_by_whole_numbers_changes_no_bit_on_a_grid((x, k) in grids()) {
        prop_assert_eq!(mean_of(&(&x + 1e6), k), mean_of(&x, k));
    }

    #[test]
    fn curvatures_are_never_positive_and_sum_to_the_trace((x, k) in prop_oneof![clouds(), grids()]) {
        let (points, progress) = (Points::new(x.view()).unwrap(), Progress::new());
        let found = neighbors::search(&points, Queries::All, k, Algorithm::Auto, &progress).unwrap();
        for degenerate in [Degenerate::Average, Degenerate::Lapack] {
            let principal =
                local::principal_curvatures(&points, found.indices.view(), degenerate, &progress).unwrap();
            prop_assert!(principal.iter().all(|&value| value <= 0.0));
            let mean = mean_with(&x, k, degenerate).diag().sum();
            let trace = principal.sum() / x.nrows() as f64;
            prop_assert!((mean - trace).abs() <= 1e-11 * trace.abs().max(1e-300));
        }
    }

    #[test]
    fn the_mean_is_the_mean_of_the_local_operators((x, k) in prop_oneof![clouds(), grids()]) {
        let (points, progress) = (Points::new(x.view()).unwrap(), Progress::new());
        let found = neighbors::search(&points, Queries::All, k, Algorithm::Auto, &progress).unwrap();
        let local =
            local::shape_operators(&points, found.indices.view(), Degenerate::Average, &progress).unwrap();
        let expected = local.mean_axis(Axis(0)).unwrap();
        prop_assert!(relative_gap(&mean_of(&x, k), &expected) < 1e-12 || expected.iter().all(|v| *v == 0.0));
    }

    #[test]
    fn sums_over_parts_merge_to_the_sum_over_all((x, k) in clouds(), cut in 0.0..1.0_f64) {
        let (points, progress) = (Points::new(x.view()).unwrap(), Progress::new());
        let found = neighbors::search(&points, Queries::All, k, Algorithm::Auto, &progress).unwrap();
        let (head, tail) = found.indices.view().split_at(Axis(0), (cut * x.nrows() as f64) as usize);
        let mut merged = mean::shape_sum(&points, head, Degenerate::Average, &progress).unwrap();
        merged.merge(&mean::shape_sum(&points, tail, Degenerate::Average, &progress).unwrap());
        prop_assert_eq!(merged.count, x.nrows());
        prop_assert!(relative_gap(&merged.mean(), &mean_of(&x, k)) < 1e-12);
    }
}

/// The k nearest rows of a query by looking at every row.
fn nearest_of_all(points: &Points, query: &[f64], own: Option<u32>, k: usize) -> Vec<(u32, f64)> {
    let rows = (0..points.len() as u32).filter(|row| Some(*row) != own);
    let mut all: Vec<(u32, f64)> =
        rows.map(|row| (row, squared_distance(query, points.row(row as usize)))).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    all.truncate(k);
    all
}

#[test]
fn brute_force_over_many_groups_leaves_no_neighbour_out() {
    let (rows, k) = (1100, 9);
    let wave = |i: usize, j: usize| ((i * 31 + j * 17) as f64 * 0.37).sin();
    let cluster = |i: usize, j: usize| ((i * i % 23) * (j + 2) % 7) as f64;
    type Entry<'a> = &'a dyn Fn(usize, usize) -> f64;
    let data: [(usize, Entry); 6] = [
        (1, &|i, _| wave(i, 0)),
        (5, &|i, j| cluster(i, j) + 1e-3 * wave(i, j)),
        (5, &|i, j| 1e7 + cluster(i, j) + 1e-9 * wave(i, j)),
        (3, &|i, j| (3.0 * wave(i, j)).round()),
        (8, &|i, j| if i == 700 { 1e9 } else { wave(i, j).powi(5) * 10_f64.powi(3 - j as i32) }),
        (40, &|i, j| if j < 35 { 0.1 * wave(i, j) } else { cluster(i, j) }),
    ];
    for (number, (dim, entry)) in data.into_iter().enumerate() {
        let x = Array2::from_shape_fn((rows, dim), |(i, j)| entry(i, j));
        let others = Array2::from_shape_fn((50, dim), |(i, j)| entry(7 * i, j) + wave(i, j));
        let points = Points::new(x.view()).unwrap();
        let others = points.queries(others.view()).unwrap();
        let some: Vec<u32> = (0..300).map(|i| (i * i % rows) as u32).collect();
        // The last neighbour and ties with it are within, one before the last, none, or all.
        let bounds: Vec<f64> = (0..others.len())
            .map(|line| {
                let nearest = nearest_of_all(&points, others.row(line), None, k);
                [nearest[k - 1].1, nearest[k - 2].1, nearest[0].1.next_down(), f64::INFINITY]
                    [line % 4]
            })
            .collect();
        for queries in [
            Queries::All,
            Queries::Rows(&some),
            Queries::Points(&others),
            Queries::Within(&others, &bounds),
        ] {
            let progress = Progress::new();
            let found =
                neighbors::search(&points, queries, k, Algorithm::Brute, &progress).unwrap();
            if dim <= 32 {
                let tree = neighbors::search(&points, queries, k, Algorithm::KdTree, &progress);
                assert_eq!(tree.unwrap(), found, "data set {number}, {queries:?}");
            }
            for line in 0..queries.count(&points) {
                let (query, own, bound) = match queries {
                    Queries::All => (points.row(line), Some(line as u32), f64::INFINITY),
                    Queries::Rows(rows) => {
                        (points.row(rows[line] as usize), Some(rows[line]), f64::INFINITY)
                    }
                    Queries::Points(others) => (others.row(line), None, f64::INFINITY),
                    Queries::Within(others, bounds) => (others.row(line), None, bounds[line]),
                };
                let (indices, squared) =
                    (found.indices.row(line), found.squared_distances.row(line));
                let pairs: Vec<(u32, f64)> =
                    indices.iter().copied().zip(squared.iter().copied()).collect();
                let mut expected = nearest_of_all(&points, query, own, k);
                expected.retain(|(_, squared)| *squared <= bound);
                expected.resize(k, (neighbors::MISSING, f64::INFINITY));
                assert_eq!(pairs, expected, "data set {number}, {queries:?}, line {line}");
            }
        }
    }
}

#[test]
fn bounds_of_another_number_of_queries_are_refused() {
    let x = Array2::from_shape_fn((30, 2), |(i, j)| (i * (j + 1)) as f64);
    let points = Points::new(x.view()).unwrap();
    let found = neighbors::search(
        &points,
        Queries::Within(&points, &[1.0; 29]),
        3,
        Algorithm::Auto,
        &Progress::new(),
    );
    assert_eq!(
        found.unwrap_err().to_string(),
        "bounds must hold one squared distance for each of the 30 queries, got 29."
    );
}

#[test]
fn wide_data_gives_the_same_bits_on_any_pool() {
    let x = Array2::from_shape_fn((700, 130), |(i, j)| ((i * 31 + j * 17) as f64 * 0.37).sin());
    let with = |threads: usize, k: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| mean_of(&x, k))
    };
    for k in [9, 60] {
        let one = with(1, k);
        assert!([2, 3, 8].into_iter().all(|threads| with(threads, k) == one));
    }
}

#[test]
fn wide_data_give_the_mean_of_their_local_operators() {
    let wave = |i: usize, j: usize| ((i * 31 + j * 17) as f64 * 0.37).sin();
    let check = |n: usize, d: usize, k: usize, entry: &dyn Fn(usize, usize) -> f64| {
        let x = Array2::from_shape_fn((n, d), |(i, j)| entry(i, j));
        let (points, progress) = (Points::new(x.view()).unwrap(), Progress::new());
        let found =
            neighbors::search(&points, Queries::All, k, Algorithm::Auto, &progress).unwrap();
        let indices = found.indices.view();
        let local =
            local::shape_operators(&points, indices, Degenerate::Average, &progress).unwrap();
        let gap = relative_gap(&mean_of(&x, k), &local.mean_axis(Axis(0)).unwrap());
        assert!(gap < 1e-12, "n {n}, d {d}, k {k}: {gap}");
    };
    for (n, d, k) in [(50, 32, 2), (150, 33, 5), (300, 130, 12), (60, 45, 40)] {
        check(n, d, k, &|i, j| wave(i * i, j) + 1e3);
        check(n, d, k, &|i, j| (3.0 * wave(i * i, j)).round());
        check(n, d, k, &|i, j| wave(i % 7, j));
        check(n, d, k, &|_, _| 1.0);
    }
}
