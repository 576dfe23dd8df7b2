//! Neighbours and row numbers that come from outside, checked before they are used.

use ndarray::{Array2, ArrayView2};

use crate::error::{Error, Result};
use crate::matrix::{try_copied, try_with_capacity};
use crate::points::Points;

use super::queries::Queries;

/// Neighbours somebody else found, used as they are once every one is a row of `points`.
pub fn as_given(points: &Points, k: usize, given: ArrayView2<i64>) -> Result<Array2<u32>> {
    check_shape(points, k, given)?;
    row_numbers("neighbors", given, points.len())
}

/// The same for some rows only; all of `given` is checked, only those rows are copied.
pub fn as_given_rows(
    points: &Points,
    rows: &[u32],
    k: usize,
    given: ArrayView2<i64>,
) -> Result<Array2<u32>> {
    check_shape(points, k, given)?;
    check_rows("neighbors", given, points.len())?;
    let mut indices = try_with_capacity(rows.len().saturating_mul(k))?;
    for row in rows {
        indices.extend(given.row(*row as usize).iter().map(|index| *index as u32));
    }
    Ok(Array2::from_shape_vec((rows.len(), k), indices).expect("k for each row"))
}

/// Every list with the own row of its query in front: patches of k + 1 points.
///
/// A list that has that row already is refused, because the point would count twice.
pub fn with_own_rows(lists: ArrayView2<u32>, queries: Queries) -> Result<Array2<u32>> {
    let (count, k) = lists.dim();
    let mut patches = try_with_capacity(count.saturating_mul(k + 1))?;
    for (number, list) in lists.outer_iter().enumerate() {
        let own = match queries {
            Queries::Rows(rows) => rows[number],
            _ => number as u32,
        };
        if list.iter().any(|&neighbor| neighbor == own) {
            return Err(Error::OwnNeighbor { row: own as usize });
        }
        patches.push(own);
        patches.extend(list);
    }
    Ok(Array2::from_shape_vec((count, k + 1), patches).expect("k + 1 for each query"))
}

/// There must be a line of k for each point.
fn check_shape(points: &Points, k: usize, given: ArrayView2<i64>) -> Result<()> {
    check_k(k, points.len())?;
    let (given_rows, given_columns) = given.dim();
    if (given_rows, given_columns) != (points.len(), k) {
        return Err(Error::NeighborShape { rows: points.len(), k, given_rows, given_columns });
    }
    Ok(())
}

/// The entries of the argument `what`, once every one numbers one of `rows` rows.
pub(crate) fn row_numbers(
    what: &'static str,
    given: ArrayView2<i64>,
    rows: usize,
) -> Result<Array2<u32>> {
    check_rows(what, given, rows)?;
    let indices = try_copied(given.iter().map(|index| *index as u32))?;
    Ok(Array2::from_shape_vec(given.raw_dim(), indices).expect("as many as given"))
}

fn check_rows(what: &'static str, given: ArrayView2<i64>, rows: usize) -> Result<()> {
    let most = rows - 1;
    match given.indexed_iter().find(|(_, index)| !(0..rows as i64).contains(index)) {
        Some(((row, _), &index)) => Err(Error::IndexOutOfRange { what, index, row, most }),
        None => Ok(()),
    }
}

/// Lists of neighbours must have two or more, all of them rows of `points`.
pub(crate) fn check_neighborhoods(points: &Points, neighbors: ArrayView2<u32>) -> Result<()> {
    let (k, rows) = (neighbors.ncols(), points.len());
    if k < 2 {
        return Err(Error::TooFewNeighbors { k });
    }
    match neighbors.indexed_iter().find(|(_, index)| **index as usize >= rows) {
        Some(((row, _), &index)) => {
            let (what, index, most) = ("neighbors", i64::from(index), rows - 1);
            Err(Error::IndexOutOfRange { what, index, row, most })
        }
        None => Ok(()),
    }
}

/// Queries whose targets are ranked must be rows, each with a line of other rows.
pub(super) fn check_targets(
    points: &Points,
    queries: Queries,
    targets: ArrayView2<u32>,
) -> Result<()> {
    let (count, most) = (queries.count(points), points.len() - 1);
    let (given_rows, given_columns) = targets.dim();
    if given_rows != count || matches!(queries, Queries::Points(_) | Queries::Within(..)) {
        let (rows, k) = (count, given_columns);
        return Err(Error::NeighborShape { rows, k, given_rows, given_columns });
    }
    for (row, line) in targets.outer_iter().enumerate() {
        let own = queries.get(points, row).own;
        if let Some(&index) = line.iter().find(|at| **at as usize > most || Some(**at) == own) {
            let (what, index) = ("targets", i64::from(index));
            return Err(Error::IndexOutOfRange { what, index, row, most });
        }
    }
    Ok(())
}

/// k must leave a covariance, and there must be that many other points.
pub(super) fn check_k(k: usize, rows: usize) -> Result<()> {
    if k < 2 {
        return Err(Error::TooFewNeighbors { k });
    }
    if k > rows - 1 {
        return Err(Error::TooManyNeighbors { k, most: rows - 1 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_rows_come_first_and_never_twice() {
        let lists = ndarray::array![[1_u32, 2], [0, 2], [1, 0]];
        let all = with_own_rows(lists.view(), Queries::All).unwrap();
        assert_eq!(all, ndarray::array![[0, 1, 2], [1, 0, 2], [2, 1, 0]]);
        let some = with_own_rows(lists.view(), Queries::Rows(&[4, 3, 4])).unwrap();
        assert_eq!(some.column(0).to_vec(), [4, 3, 4]);
        let twice = with_own_rows(lists.view(), Queries::Rows(&[0, 2, 2]));
        assert_eq!(twice.unwrap_err(), Error::OwnNeighbor { row: 2 });
    }
}
