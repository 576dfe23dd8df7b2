//! Exact search in one to three columns: the queries of one leaf go through a k-d tree together.
//!
//! Queries that lie side by side visit the same leaves, so they share the descent. A leaf holds [`LEAF`] rows column
//! after column, and a query's distances to all of them are taken at once, in double precision and with the additions
//! of [`squared_distance`](super::squared_distance): what is compared is already the exact distance.
//!
//! kiddo answers one query at a time and fixes no order of summation, so this tree is our own.
//!
//! Boxes need no slack. Subtraction, squaring and addition round monotonically, so the squared gap between a query and
//! a box, added up in the same order, never exceeds the squared distance computed for a row inside.

use std::ops::Add;

use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::{try_copied, try_filled};
use crate::points::Points;
use crate::progress::Progress;

use super::spatial_order::arrange;

/// Columns up to which there are such trees.
pub(super) const MOST_COLUMNS: usize = 3;

/// Rows in a leaf, and queries that are answered together.
pub(super) const LEAF: usize = 32;

/// The largest share of leaves, one in so many, whose rows all coincide. Beyond it a tree over distinct rows is faster.
const MOST_SINGLE_POINTS: usize = 20;

/// The sum of the squares in the order of [`squared_distance`](super::squared_distance).
#[inline(always)]
pub(super) fn sum<T: Copy + Add<Output = T>, const D: usize>(squares: [T; D]) -> T {
    match D {
        1 => squares[0],
        2 => squares[0] + squares[1],
        _ => (squares[0] + squares[2]) + squares[1],
    }
}

/// The sides of a box, column after column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sides<const D: usize> {
    pub(super) low: [f64; D],
    pub(super) high: [f64; D],
}

impl<const D: usize> Sides<D> {
    pub(super) const EMPTY: Self = Self { low: [f64::INFINITY; D], high: [f64::NEG_INFINITY; D] };

    /// The box around both.
    fn and(&self, other: &Self) -> Self {
        Self {
            low: std::array::from_fn(|column| self.low[column].min(other.low[column])),
            high: std::array::from_fn(|column| self.high[column].max(other.high[column])),
        }
    }

    /// The box around the first `count` points of a leaf.
    pub(super) fn around(coordinates: &[[f64; LEAF]; D], count: usize) -> Self {
        let over = |column: &[f64; LEAF], start, larger: fn(f64, f64) -> f64| {
            column[..count].iter().copied().fold(start, larger)
        };
        Self {
            low: coordinates.each_ref().map(|column| over(column, f64::INFINITY, f64::min)),
            high: coordinates.each_ref().map(|column| over(column, f64::NEG_INFINITY, f64::max)),
        }
    }

    /// The squared distance between two boxes.
    #[inline(always)]
    pub(super) fn squared_gap(&self, other: &Self) -> f64 {
        sum::<_, D>(std::array::from_fn(|column| {
            let gap = larger(
                self.low[column] - other.high[column],
                other.low[column] - self.high[column],
            );
            let gap = larger(gap, 0.0);
            gap * gap
        }))
    }
}

/// One instruction, unlike [`f64::max`], which minds NaN.
#[inline(always)]
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The rows of a leaf, column after column, and their numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf<const D: usize> {
    /// Infinity where the last leaf has no more rows.
    pub(super) columns: [[f64; LEAF]; D],
    /// Doubles, which hold them exactly, so that they move through the same registers as the distances.
    pub(super) rows: [f64; LEAF],
}

impl<const D: usize> Leaf<D> {
    const EMPTY: Self = Self { columns: [[f64::INFINITY; LEAF]; D], rows: [0.0; LEAF] };

    /// Whether all of its rows are the same point.
    fn coincides(&self) -> bool {
        self.columns.iter().all(|column| column.iter().all(|value| *value == column[0]))
    }
}

/// Consecutive leaves under one node of the tree. Nodes are numbered in preorder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) number: usize,
    pub(super) first: usize,
    pub(super) leaves: usize,
}

impl Node {
    /// The halves, as [`arrange`] makes them.
    pub(super) fn children(self) -> [Self; 2] {
        let half = self.leaves / 2;
        [
            Self { number: self.number + 1, first: self.first, leaves: half },
            Self {
                number: self.number + 2 * half,
                first: self.first + half,
                leaves: self.leaves - half,
            },
        ]
    }
}

/// A k-d tree over rows of D columns.
#[derive(Debug)]
pub(super) struct Leaves<'a, const D: usize> {
    pub(super) points: &'a Points<'a>,
    /// The row at each place.
    pub(super) order: Vec<u32>,
    pub(super) leaves: Vec<Leaf<D>>,
    /// The box of each node.
    pub(super) boxes: Vec<Sides<D>>,
}

impl<'a, const D: usize> Leaves<'a, D> {
    /// Arranges the rows and puts boxes around them.
    pub(super) fn new(points: &'a Points<'a>, progress: &Progress) -> Result<Self> {
        let rows = points.as_slice().as_chunks::<D>().0;
        let mut items = try_copied(rows.iter().copied().zip(0..rows.len() as u32))?;
        arrange(&mut items, D, &|item, column| item.0[column], LEAF, progress)?;
        let mut leaves = try_filled(items.len().div_ceil(LEAF), Leaf::EMPTY)?;
        leaves.par_iter_mut().zip(items.par_chunks(LEAF)).for_each(|(leaf, items)| {
            for (lane, (row, number)) in items.iter().enumerate() {
                for column in 0..D {
                    leaf.columns[column][lane] = row[column];
                }
                leaf.rows[lane] = f64::from(*number);
            }
        });
        let order = try_copied(items.iter().map(|item| item.1))?;
        let mut boxes = try_filled(2 * leaves.len() - 1, Sides::EMPTY)?;
        let root = Node { number: 0, first: 0, leaves: leaves.len() };
        surround(&leaves, points.len(), root, &mut boxes);
        Ok(Self { points, order, leaves, boxes })
    }

    /// Whether too many leaves are single points.
    pub(super) fn coincides(&self) -> bool {
        let singles = self.leaves.iter().filter(|leaf| leaf.coincides()).count();
        MOST_SINGLE_POINTS * singles > self.leaves.len()
    }

    /// The node of all leaves.
    pub(super) fn root(&self) -> Node {
        Node { number: 0, first: 0, leaves: self.leaves.len() }
    }

    /// How many rows a node has.
    pub(super) fn rows(&self, node: Node) -> usize {
        self.order.len().min((node.first + node.leaves) * LEAF) - node.first * LEAF
    }
}

/// Writes the boxes of a node and all nodes below it to `boxes`, and returns that of the node.
fn surround<const D: usize>(
    leaves: &[Leaf<D>],
    rows: usize,
    node: Node,
    boxes: &mut [Sides<D>],
) -> Sides<D> {
    boxes[0] = if node.leaves == 1 {
        Sides::around(&leaves[node.first].columns, LEAF.min(rows - node.first * LEAF))
    } else {
        let [left, right] = node.children();
        let (low, high) = boxes[1..].split_at_mut(right.number - left.number);
        let halves = rayon::join(
            || surround(leaves, rows, left, low),
            || surround(leaves, rows, right, high),
        );
        halves.0.and(&halves.1)
    };
    boxes[0]
}
