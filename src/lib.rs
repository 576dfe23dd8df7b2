//! # Shape Operator PCA
//!
//! SHOPCA bends PCA's covariance by the local geometry of the data. This crate computes the part that
//! costs time: the mean shape operator S̄ of a point cloud.
//!
//! Take the k nearest neighbours of every point. Their covariance C = W Λ Wᵀ has the eigenvectors W,
//! the products of the frame's columns form a second fundamental form II = HHᵀ, and S = −II C is the
//! shape operator of the neighbourhood. S̄ is its mean over all points, a d×d matrix that is added to
//! the covariance of all the data before the eigenvectors are taken.
//!
//! ```
//! use ndarray::Array2;
//! use shopca_rs::neighbors::{self, Queries};
//! use shopca_rs::{Algorithm, Degenerate, Points, Progress, mean};
//!
//! // A parabola in the plane.
//! let x = Array2::from_shape_fn((40, 2), |(i, j)| {
//!     let t = i as f64 / 20.0 - 1.0;
//!     if j == 0 { t } else { t * t }
//! });
//! let (points, progress) = (Points::new(x.view())?, Progress::new());
//! let found = neighbors::search(&points, Queries::All, 5, Algorithm::Auto, &progress)?;
//! let s = mean::mean_shape_operator(&points, found.indices.view(), Degenerate::Average, &progress)?;
//! assert_eq!(s.dim(), (2, 2));
//! assert!(s.diag().sum() < 0.0, "every shape operator has eigenvalues ≤ 0");
//! # Ok::<(), shopca_rs::Error>(())
//! ```
//!
//! ## The map
//!
//! Data flows one way: points → neighbours → frames → shape operators → S̄.
//!
//! | module | idea |
//! |---|---|
//! | [`Points`] | the checked input |
//! | [`neighbors`] | exact k nearest neighbours: one rule for ties, several ways to search |
//! | [`frame`] | one neighbourhood → eigenvalues, directions, eigenspaces |
//! | [`shape`] | one frame → shape operator, curvatures, in closed form |
//! | [`mean`] | many frames → S̄, in fixed blocks and an ordered merge |
//! | [`sample`] | some frames, chosen at random → S̄ and its standard error |
//! | [`local`] | many frames → each one's operator or curvatures |
//! | [`dimension`] | neighbourhoods → intrinsic dimension |
//! | [`geometry`] | neighbourhoods → tangent spaces, second fundamental forms and curvatures |
//! | [`quality`] | two clouds → how well the neighbourhoods of one survive in the other |
//! | [`Progress`] | progress and cancellation of all of these |
//!
//! S̄ can be computed in several ways: [`routes`] lists all of them and says which is taken when.
//!
//! ## Threads
//!
//! Everything parallel runs on the current [rayon] pool: call inside `ThreadPool::install` for a pool
//! of your own. The results are the same on any pool, bit for bit.

mod batched;
mod block;
pub mod dimension;
mod eigenspaces;
mod error;
pub mod frame;
pub mod geometry;
pub mod local;
mod matrix;
pub mod mean;
pub mod neighbors;
mod ordered_reduction;
mod points;
mod progress;
#[cfg(feature = "python")]
mod python;
pub mod quality;
pub mod routes;
pub mod sample;
mod scaling;
mod scatter;
pub mod shape;
mod shape_sum;
mod simd;
mod symmetric_eigen;

pub use eigenspaces::Degenerate;
pub use error::{Error, Result};
pub use neighbors::Algorithm;
pub use points::Points;
pub use progress::Progress;
