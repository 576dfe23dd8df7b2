//! Both sides of every crossover in `routes`: `cargo bench --bench routes` prints the table of docs/routes.md.
//!
//! The two ways take turns on the same neighbourhoods in one process; the table has the medians and their ratio.

#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use ndarray::ArrayView2;
use shopca_rs::neighbors::{self, Algorithm, Queries};
use shopca_rs::routes::{Operator, Route, Sizes, Solver, Sum};
use shopca_rs::{Degenerate, Points, Progress, mean};

mod cloud;

const POINTS: usize = 4000;
const ROUNDS: usize = 7;

/// A way by its name and by a test of the routes that take it.
type Way = (&'static str, fn(&Route) -> bool);

/// A choice between two ways.
struct Choice {
    name: &'static str,
    ways: [Way; 2],
    /// k and d.
    sizes: &'static [(usize, usize)],
}

const CHOICES: [Choice; 3] = [
    Choice {
        name: "solver",
        ways: [
            ("eight at once", |route| {
                route.solver() != Solver::Single && route.sum() == Sum::WideProduct
            }),
            ("one at a time", |route| route.solver() == Solver::Single),
        ],
        sizes: &[(12, 8), (30, 20), (40, 20), (12, 36), (30, 100), (40, 100), (30, 400), (40, 400)],
    },
    Choice {
        name: "operator",
        ways: [
            ("A itself", |route| {
                route.operator() == Operator::Dense && route.solver() == Solver::Wide
            }),
            ("third moments", |route| {
                route.operator() == Operator::ThirdMoments && route.solver() == Solver::Wide
            }),
        ],
        sizes: &[(12, 24), (12, 40), (12, 64), (12, 100), (16, 96), (16, 120), (16, 200)],
    },
    Choice {
        name: "sum",
        ways: [
            ("scatter", |route| route.sum() == Sum::Scatter),
            ("wide product", |route| {
                route.sum() == Sum::WideProduct && route.solver() == Solver::Wide
            }),
        ],
        sizes: &[(12, 16), (12, 24), (12, 32), (12, 64), (12, 200), (30, 36), (30, 64)],
    },
];

/// The route that differs from the table's in this choice only, as far as it can.
fn route(sizes: Sizes, way: fn(&Route) -> bool) -> Route {
    let table = Route::new(sizes, Degenerate::Average);
    let alike = |route: &Route| {
        [route.operator() == table.operator(), route.sum() == table.sum()]
            .into_iter()
            .filter(|same| *same)
            .count()
    };
    Route::all(sizes, Degenerate::Average)
        .into_iter()
        .filter(way)
        .max_by_key(alike)
        .expect("a route")
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn time(points: &Points, neighbors: ArrayView2<u32>, route: Route) -> Duration {
    let start = Instant::now();
    mean::mean_by_route(points, neighbors, Degenerate::Average, route, &Progress::new())
        .expect("a mean");
    start.elapsed()
}

fn main() {
    println!("| choice | k | d | first way | ms | second way | ms | ratio | taken |");
    println!("|---|---:|---:|---|---:|---|---:|---:|---|");
    for Choice { name, ways, sizes } in CHOICES {
        for &(k, dim) in sizes {
            let x = cloud::gaussian(POINTS, dim);
            let points = Points::new(x.view()).expect("points");
            let found =
                neighbors::search(&points, Queries::All, k, Algorithm::Auto, &Progress::new())
                    .expect("neighbours");
            let sizes = Sizes { points: POINTS, neighborhoods: POINTS, neighbors: k, columns: dim };
            let routes = ways.map(|(_, way)| route(sizes, way));
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                for (route, times) in routes.iter().zip(&mut times) {
                    times.push(time(&points, found.indices.view(), *route));
                }
            }
            let [first, second] = times.map(median);
            let taken = Route::new(sizes, Degenerate::Average);
            let (taken, _) = ways.into_iter().find(|(_, way)| way(&taken)).unwrap_or(ways[0]);
            println!(
                "| {name} | {k} | {dim} | {} | {first:.1} | {} | {second:.1} | {:.2} | {taken} |",
                ways[0].0,
                ways[1].0,
                first / second,
            );
        }
    }
}
