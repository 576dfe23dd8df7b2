//! Whose neighbours are wanted, and the table of answers with one line for each query.

use std::ops::Range;
use std::sync::Mutex;

use ndarray::Array2;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::matrix::{par_zeros, try_zeros};
use crate::points::Points;
use crate::progress::Progress;

use super::candidate::Candidate;

/// In the place of a row number where there is no neighbour; its squared distance is infinite.
pub const MISSING: u32 = u32::MAX;

/// The k nearest rows of each query, nearest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbors {
    /// Row numbers, one line of k per query.
    pub indices: Array2<u32>,
    /// Squared distances, in the same places.
    pub squared_distances: Array2<f64>,
}

impl Neighbors {
    pub(super) fn from_lines(k: usize, indices: Vec<u32>, squared: Vec<f64>) -> Self {
        let (shape, shaped) = ((indices.len() / k, k), "one line of k per query");
        Self {
            indices: Array2::from_shape_vec(shape, indices).expect(shaped),
            squared_distances: Array2::from_shape_vec(shape, squared).expect(shaped),
        }
    }
}

/// Whose neighbours are wanted.
#[derive(Debug, Clone, Copy)]
pub enum Queries<'a> {
    /// Every row's, the row itself left out.
    All,
    /// Those of some rows, the row itself left out.
    Rows(&'a [u32]),
    /// Those of other points, checked by [`Points::queries`]; one equal to a row has that row as a neighbour.
    Points(&'a Points<'a>),
    /// The same among the rows at most a squared distance away, one for each query. There may be fewer than k.
    Within(&'a Points<'a>, &'a [f64]),
}

/// One query.
pub(super) struct Query<'q> {
    pub(super) point: &'q [f64],
    /// The row that is the query itself.
    pub(super) own: Option<u32>,
    /// The largest squared distance of a neighbour.
    pub(super) bound: f64,
}

impl<'a> Queries<'a> {
    /// How many there are over `points`.
    pub fn count(&self, points: &Points) -> usize {
        match self {
            Queries::All => points.len(),
            Queries::Rows(rows) => rows.len(),
            Queries::Points(queries) | Queries::Within(queries, _) => queries.len(),
        }
    }

    /// One query over `points`.
    pub(super) fn get<'q>(&self, points: &'q Points, number: usize) -> Query<'q>
    where
        'a: 'q,
    {
        let row = |row: u32| Query {
            point: points.row(row as usize),
            own: Some(row),
            bound: f64::INFINITY,
        };
        match self {
            Queries::All => row(number as u32),
            Queries::Rows(rows) => row(rows[number]),
            Queries::Points(queries) => {
                Query { point: queries.row(number), own: None, bound: f64::INFINITY }
            }
            Queries::Within(queries, bounds) => {
                Query { point: queries.row(number), own: None, bound: bounds[number] }
            }
        }
    }
}

/// A structure that answers neighbour queries over one set of points.
pub trait NeighborIndex: Sync {
    /// The k nearest rows of every query.
    fn search(&self, queries: Queries, k: usize, progress: &Progress) -> Result<Neighbors>;

    /// The k nearest rows of each of the rows `centres`, itself left out, in ascending order of their numbers:
    /// for callers that need no distances.
    fn lists(&self, centres: &[u32], k: usize, progress: &Progress) -> Result<Array2<u32>> {
        let mut lists = self.search(Queries::Rows(centres), k, progress)?.indices;
        let rows = lists.as_slice_mut().expect("row-major");
        rows.par_chunks_mut(k.max(1)).for_each(<[u32]>::sort_unstable);
        Ok(lists)
    }
}

/// Fills one line per query, in parallel blocks of at most `block` queries.
///
/// `fill` gets the numbers of its queries and the lines to write.
pub(super) fn fill_blocks<F>(
    queries: usize,
    k: usize,
    block: usize,
    progress: &Progress,
    fill: F,
) -> Result<Neighbors>
where
    F: Fn(Range<usize>, &mut [u32], &mut [f64]) -> Result<()> + Sync,
{
    let mut indices: Vec<u32> = par_zeros(queries.saturating_mul(k))?;
    let mut squared: Vec<f64> = par_zeros(queries.saturating_mul(k))?;
    indices
        .par_chunks_mut(block * k)
        .zip(squared.par_chunks_mut(block * k))
        .enumerate()
        .try_for_each(|(number, (indices, squared))| {
            let (first, count) = (number * block, indices.len() / k);
            fill(first..first + count, indices, squared)?;
            progress.advance(count)
        })?;
    Ok(Neighbors::from_lines(k, indices, squared))
}

/// Writes the line of every query, in parallel blocks of at most `block` queries that follow each other in `order`.
///
/// `scratch` makes what a thread needs for any number of blocks. `write` gets it, the number of its block, the numbers
/// of its queries and the lines to write.
pub(super) fn write_in_order<S, M, W>(
    order: &[u32],
    k: usize,
    block: usize,
    scratch: M,
    write: W,
) -> Result<Neighbors>
where
    M: Fn() -> Result<S> + Sync,
    W: Fn(&mut S, usize, &[u32], &mut [u32], &mut [f64]) -> Result<()> + Sync,
{
    let all = order.len().saturating_mul(k);
    let lines: Mutex<(Vec<u32>, Vec<f64>)> = Mutex::new((par_zeros(all)?, par_zeros(all)?));
    let most = block.min(order.len()) * k;
    let buffers = || Ok((scratch()?, try_zeros(most)?, try_zeros(most)?));
    order.par_chunks(block).enumerate().try_for_each_init(
        buffers,
        |buffers, (block, numbers)| {
            let (scratch, indices, squared) =
                buffers.as_mut().map_err(|error: &mut Error| error.clone())?;
            let (indices, squared) =
                (&mut indices[..numbers.len() * k], &mut squared[..numbers.len() * k]);
            write(scratch, block, numbers, indices, squared)?;
            let (all_indices, all_squared) =
                &mut *lines.lock().expect("no thread panics while it copies");
            let found = indices.chunks_exact(k).zip(squared.chunks_exact(k));
            for (number, (indices, squared)) in numbers.iter().zip(found) {
                let line = *number as usize * k..(*number as usize + 1) * k;
                all_indices[line.clone()].copy_from_slice(indices);
                all_squared[line].copy_from_slice(squared);
            }
            Ok(())
        },
    )?;
    let (indices, squared) = lines.into_inner().expect("no thread panics while it copies");
    Ok(Neighbors::from_lines(k, indices, squared))
}

/// The same as [`write_in_order`] for row numbers without distances.
pub(super) fn write_rows_in_order<S, M, W>(
    order: &[u32],
    k: usize,
    block: usize,
    scratch: M,
    write: W,
) -> Result<Array2<u32>>
where
    M: Fn() -> Result<S> + Sync,
    W: Fn(&mut S, &[u32], &mut [u32]) -> Result<()> + Sync,
{
    let lines: Mutex<Vec<u32>> = Mutex::new(par_zeros(order.len().saturating_mul(k))?);
    let most = block.min(order.len()) * k;
    let buffers = || Ok((scratch()?, try_zeros(most)?));
    order.par_chunks(block).try_for_each_init(buffers, |buffers, numbers| {
        let (scratch, rows) = buffers.as_mut().map_err(|error: &mut Error| error.clone())?;
        let rows = &mut rows[..numbers.len() * k];
        write(scratch, numbers, rows)?;
        let lines = &mut *lines.lock().expect("no thread panics while it copies");
        for (number, rows) in numbers.iter().zip(rows.chunks_exact(k)) {
            lines[*number as usize * k..(*number as usize + 1) * k].copy_from_slice(rows);
        }
        Ok(())
    })?;
    let lines = lines.into_inner().expect("no thread panics while it copies");
    Ok(Array2::from_shape_vec((order.len(), k), lines).expect("one line of k per query"))
}

/// Writes sorted candidates, those within the bound, to one line of the result.
pub(super) fn write_line(
    sorted: &[Candidate],
    bound: f64,
    indices: &mut [u32],
    squared: &mut [f64],
) {
    let missing = Candidate { squared: f64::INFINITY, index: MISSING };
    let near = sorted.iter().take_while(|candidate| candidate.squared <= bound);
    let line = near.chain(std::iter::repeat(&missing));
    for ((candidate, index), squared) in line.zip(indices).zip(squared) {
        *index = candidate.index;
        *squared = candidate.squared;
    }
}
