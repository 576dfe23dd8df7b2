//! An order of rows in which consecutive ones are near each other.
//!
//! The rows are halved again and again at the median of the column that varies most among them. A search that goes
//! through them in this order, from a query's own neighbourhood outwards, soon knows how near a neighbour must be.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::{try_copied, try_zeros};
use crate::points::Points;
use crate::progress::Progress;

use super::queries::Queries;

/// Rows looked at for the column that varies most.
const SAMPLE: usize = 64;

/// The numbers of the rows, near ones near each other; halves are multiples of the first of `groups` rows, down to one
/// group, whose halves are multiples of the next.
pub(super) fn nearby(points: &Points, groups: &[usize], progress: &Progress) -> Result<Vec<u32>> {
    let mut rows = try_copied(0..points.len() as u32)?;
    let coordinate = |row: &u32, column: usize| points.row(*row as usize)[column];
    let mut parts = rows.len().max(1);
    for group in groups {
        rows.par_chunks_mut(parts)
            .try_for_each(|rows| arrange(rows, points.dim(), &coordinate, *group, progress))?;
        parts = *group;
    }
    Ok(rows)
}

/// The numbers of the queries, near ones near each other, where the points themselves lie in `order`.
pub(super) fn queries_nearby<'o>(
    order: &'o [u32],
    queries: Queries,
    group: usize,
    progress: &Progress,
) -> Result<Cow<'o, [u32]>> {
    Ok(match queries {
        Queries::All => Cow::Borrowed(order),
        Queries::Rows(rows) => {
            let mut places = try_zeros::<u32>(order.len())?;
            for (place, row) in order.iter().enumerate() {
                places[*row as usize] = place as u32;
            }
            let mut numbers = try_copied(0..rows.len() as u32)?;
            numbers
                .sort_unstable_by_key(|number| (places[rows[*number as usize] as usize], *number));
            Cow::Owned(numbers)
        }
        Queries::Points(queries) | Queries::Within(queries, _) => {
            Cow::Owned(nearby(queries, &[group], progress)?)
        }
    })
}

/// Arranges `items`, points of `dim` coordinates.
pub(super) fn arrange<T: Send>(
    items: &mut [T],
    dim: usize,
    coordinate: &(impl Fn(&T, usize) -> f64 + Sync),
    group: usize,
    progress: &Progress,
) -> Result<()> {
    if items.len() <= group {
        return Ok(());
    }
    progress.check()?;
    let column = widest_column(items, dim, coordinate);
    let middle = items.len().div_ceil(group) / 2 * group;
    items.select_nth_unstable_by(middle, |a, b| {
        coordinate(a, column).total_cmp(&coordinate(b, column))
    });
    let (low, high) = items.split_at_mut(middle);
    let halves = rayon::join(
        || arrange(low, dim, coordinate, group, progress),
        || arrange(high, dim, coordinate, group, progress),
    );
    halves.0.and(halves.1)
}

/// The column with the largest variance among a sample of the items.
fn widest_column<T>(items: &[T], dim: usize, coordinate: &impl Fn(&T, usize) -> f64) -> usize {
    let sample = || items.iter().step_by(items.len().div_ceil(SAMPLE));
    let share = 1.0 / sample().count() as f64;
    let mut means = vec![0.0; dim];
    for item in sample() {
        for (column, mean) in means.iter_mut().enumerate() {
            *mean += coordinate(item, column) * share;
        }
    }
    let mut variances = vec![0.0; dim];
    for item in sample() {
        for (column, (variance, mean)) in variances.iter_mut().zip(&means).enumerate() {
            let deviation = coordinate(item, column) - mean;
            *variance += deviation * deviation;
        }
    }
    let widest = variances.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    widest.expect("there is a column").0
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn every_row_has_one_place_beside_its_like() {
        // Eight far clusters of different sizes, one after the other in no order.
        let x = Array2::from_shape_fn((500, 3), |(i, j)| {
            let cluster = i * i % 8;
            100.0 * (cluster >> j & 1) as f64 + ((i * 31 + j * 17) % 101) as f64 / 101.0
        });
        let points = Points::new(x.view()).unwrap();
        let order = nearby(&points, &[1], &Progress::new()).unwrap();
        let mut rows = order.clone();
        rows.sort_unstable();
        assert!(rows.into_iter().eq(0..500));
        let cluster = |row: u32| x.row(row as usize).mapv(|value| value >= 50.0);
        let changes = order.windows(2).filter(|pair| cluster(pair[0]) != cluster(pair[1])).count();
        assert!(changes <= 2 * 8, "{changes}");
    }

    #[test]
    fn equal_rows_are_halved_like_any_others() {
        let x = Array2::from_elem((100, 2), 3.0);
        let order = nearby(&Points::new(x.view()).unwrap(), &[16], &Progress::new()).unwrap();
        assert_eq!(order.len(), 100);
    }

    #[test]
    fn cancelled_work_is_not_put_in_order() {
        let x = Array2::from_elem((100, 2), 3.0);
        let progress = Progress::new();
        progress.cancel();
        assert!(nearby(&Points::new(x.view()).unwrap(), &[16], &progress).is_err());
    }
}
