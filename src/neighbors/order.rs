//! An order of rows in which consecutive ones are near each other.
//!
//! The rows are halved again and again at the median of the column that varies most among them. A search that goes
//! through them in this order, from a query's own neighbourhood outwards, soon knows how near a neighbour must be.

use crate::error::Result;
use crate::points::Points;
use crate::task::Task;

/// Rows looked at for the column that varies most.
const SAMPLE: usize = 64;

/// The numbers of the rows, near ones near each other; halves are multiples of `group` rows, down to one group.
pub(super) fn nearby(points: &Points, group: usize, task: &Task) -> Result<Vec<u32>> {
    let mut rows: Vec<u32> = (0..points.len() as u32).collect();
    arrange(points, &mut rows, group, task)?;
    Ok(rows)
}

fn arrange(points: &Points, rows: &mut [u32], group: usize, task: &Task) -> Result<()> {
    if rows.len() <= group {
        return Ok(());
    }
    task.check()?;
    let column = widest_column(points, rows);
    let value = |row: u32| points.row(row as usize)[column];
    let middle = rows.len().div_ceil(group) / 2 * group;
    rows.select_nth_unstable_by(middle, |a, b| value(*a).total_cmp(&value(*b)));
    let (low, high) = rows.split_at_mut(middle);
    let halves =
        rayon::join(|| arrange(points, low, group, task), || arrange(points, high, group, task));
    halves.0.and(halves.1)
}

/// The column with the largest variance among a sample of the rows.
fn widest_column(points: &Points, rows: &[u32]) -> usize {
    let sample =
        || rows.iter().step_by(rows.len().div_ceil(SAMPLE)).map(|row| points.row(*row as usize));
    let share = 1.0 / sample().count() as f64;
    let mut means = vec![0.0; points.dim()];
    for row in sample() {
        for (mean, value) in means.iter_mut().zip(row) {
            *mean += value * share;
        }
    }
    let mut variances = vec![0.0; points.dim()];
    for row in sample() {
        for ((variance, value), mean) in variances.iter_mut().zip(row).zip(&means) {
            *variance += (value - mean) * (value - mean);
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
        let order = nearby(&points, 1, &Task::new()).unwrap();
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
        let order = nearby(&Points::new(x.view()).unwrap(), 16, &Task::new()).unwrap();
        assert_eq!(order.len(), 100);
    }

    #[test]
    fn a_cancelled_task_is_not_put_in_order() {
        let x = Array2::from_elem((100, 2), 3.0);
        let task = Task::new();
        task.cancel();
        assert!(nearby(&Points::new(x.view()).unwrap(), 16, &task).is_err());
    }
}
