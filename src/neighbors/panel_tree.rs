//! A tree of bounding boxes over the panels of [`Brute`], for rows that lie near a surface of few dimensions.
//!
//! A product compares a tile of queries with all rows of a group, though the box of the group meets few of the queries.
//! Where boxes rule out most pairs it is faster to ask for each panel which queries need it ([`super::panel_search`]).
//!
//! Boxes lie around the rounded rows and need no slack. Subtraction, squaring and addition round monotonically,
//! so the squared gap between a rounded query and a box, added up in the order of the columns, never exceeds
//! the sum computed for a row inside.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::{try_filled, try_zeros};

use super::brute::{Brute, CLUSTER_ROWS};
use super::filter_kernel::PANEL_ROWS;
use super::leaves::Node;
use super::panel_kernel::{CLUSTER, Sides};

/// Rows laid out for the product, and the boxes of the tree. Its leaves are clusters of panels, and each node halves
/// its clusters as the order of the rows does.
#[derive(Debug)]
pub(super) struct PanelTree<'a> {
    pub(super) brute: Brute<'a>,
    /// The low and the high sides of all panels of a cluster side by side, column after column.
    clusters: Vec<Sides>,
    /// The low and then the high sides of each node, in preorder.
    nodes: Vec<f32>,
}

impl<'a> PanelTree<'a> {
    /// Boxes around all panels.
    pub(super) fn new(brute: Brute<'a>) -> Result<Self> {
        let dim = brute.points.dim();
        let count = brute.order.len().div_ceil(CLUSTER_ROWS);
        let mut clusters = try_filled(count * dim, Sides::EMPTY)?;
        clusters
            .par_chunks_exact_mut(dim)
            .zip(brute.panels.par_chunks(CLUSTER_ROWS * dim))
            .for_each(|(sides, panels)| {
                let columns = panels.as_chunks::<PANEL_ROWS>().0;
                for (at, values) in columns.iter().enumerate() {
                    let (sides, panel) = (&mut sides[at % dim], at / dim);
                    sides.low[panel] = values.iter().copied().fold(f32::INFINITY, f32::min);
                    sides.high[panel] = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                }
            });
        let mut nodes = try_zeros((2 * count - 1) * 2 * dim)?;
        surround(&clusters, dim, Node { number: 0, first: 0, leaves: count }, &mut nodes);
        Ok(Self { brute, clusters, nodes })
    }

    /// The node of all clusters.
    pub(super) fn root(&self) -> Node {
        Node { number: 0, first: 0, leaves: self.clusters.len() / self.brute.points.dim() }
    }

    /// How many panels there are.
    pub(super) fn panels(&self) -> usize {
        self.brute.norms.len() / PANEL_ROWS
    }

    /// The panels of some clusters.
    pub(super) fn panels_of(&self, node: Node) -> Range<usize> {
        node.first * CLUSTER..((node.first + node.leaves) * CLUSTER).min(self.panels())
    }

    /// How many rows some panels have.
    pub(super) fn rows(&self, panels: &Range<usize>) -> usize {
        self.brute.order.len().min(panels.end * PANEL_ROWS) - panels.start * PANEL_ROWS
    }

    /// The low and the high sides of a node.
    #[inline(always)]
    pub(super) fn node(&self, node: Node) -> (&[f32], &[f32]) {
        let dim = self.brute.points.dim();
        self.nodes[node.number * 2 * dim..][..2 * dim].split_at(dim)
    }

    /// The sides of a cluster's panels, column after column.
    #[inline(always)]
    pub(super) fn cluster(&self, number: usize) -> &[Sides] {
        let dim = self.brute.points.dim();
        &self.clusters[number * dim..(number + 1) * dim]
    }

    /// The entries of a panel, column after column.
    #[inline(always)]
    pub(super) fn panel(&self, number: usize) -> &[[f32; PANEL_ROWS]] {
        let dim = self.brute.points.dim();
        &self.brute.panels.as_chunks().0[number * dim..(number + 1) * dim]
    }

    /// Bit r: the panel has a row in place r.
    #[inline(always)]
    pub(super) fn present(&self, number: usize) -> u32 {
        let rows = (self.brute.order.len() - number * PANEL_ROWS).min(PANEL_ROWS);
        u32::MAX >> (PANEL_ROWS - rows)
    }
}

/// Writes the boxes of a node and all nodes below it.
fn surround(clusters: &[Sides], dim: usize, node: Node, nodes: &mut [f32]) {
    let (own, below) = nodes.split_at_mut(2 * dim);
    if node.leaves == 1 {
        for (column, sides) in clusters[node.first * dim..][..dim].iter().enumerate() {
            own[column] = sides.low.iter().copied().fold(f32::INFINITY, f32::min);
            own[dim + column] = sides.high.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        }
        return;
    }
    let [left, right] = node.children();
    let (low, high) = below.split_at_mut((right.number - left.number) * 2 * dim);
    rayon::join(|| surround(clusters, dim, left, low), || surround(clusters, dim, right, high));
    for column in 0..dim {
        own[column] = low[column].min(high[column]);
        own[dim + column] = low[dim + column].max(high[dim + column]);
    }
}
