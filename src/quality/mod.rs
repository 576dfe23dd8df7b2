//! How well the neighbourhoods of X survive in an embedding Z, from ranks alone.
//!
//! Let r(i, j) be the rank of row j among the neighbours of row i in X, and s(i, j) the one in Z, both by (squared
//! distance, row number), the rule of [`crate::neighbors`]. With n rows and neighbourhoods of k < n/2,
//!
//! ```text
//! trustworthiness   T(k) = 1 − 2 / (n k (2n − 3k − 1)) · Σᵢ Σ_{j : s(i, j) ≤ k} max(r(i, j) − k, 0)
//! continuity        C(k) = the same with r and s exchanged
//! overlap        Q_NX(K) = 1 / (n K) · Σᵢ |{j : r(i, j) ≤ K and s(i, j) ≤ K}|
//! rescaled       R_NX(K) = ((n − 1) Q_NX(K) − K) / (n − 1 − K)
//! area               AUC = Σ_K R_NX(K) / K  /  Σ_K 1 / K,   K = 1 … n − 2
//! ```
//!
//! T and C need few ranks, which [`crate::neighbors::ranks`] counts. The curve needs all of them: [`curve`] sorts the
//! rows around each one. Each of these numbers is a mean over rows i. Over a random sample of m of them it has the
//! standard error √((1 − m/n) v/m), v the variance among the rows of the sample.
//!
//! T and C are in J. Venna and S. Kaski, "Neighborhood preservation in nonlinear projection methods",
//! ICANN 2001; the others in J. Lee, D. Peluffo-Ordóñez and M. Verleysen, "Multi-scale similarities in
//! stochastic neighbour embedding", Neurocomputing 2015.

mod curve;
mod distances;
mod estimate;
mod penalty;
mod sorting;

pub use curve::{Counts, Quality, RowCounts, count_distances, count_rows, quality};
pub use estimate::Estimate;
pub use penalty::{continuity, estimate, penalties, trustworthiness};
