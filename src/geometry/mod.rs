//! The second fundamental form of a point cloud, for any intrinsic dimension m and any number of columns d.
//!
//! Around a point p with its k neighbours, at the scale of the farthest, weights fall off with the distance and
//! T, the leading directions of the weighted covariance, is a first tangent space. What is normal to it is fitted by a
//! polynomial in the tangential coordinates u, with a constant and slopes, because the point need not lie on the
//! surface nor T be its tangent space; the slopes correct T, and the second derivatives are II. `fit` has the formulas.
//!
//! | module | idea |
//! |---|---|
//! | `tiles`, `row_groups` | the rows of eight neighbourhoods, four at a time, and sums over them |
//! | `patch` | a neighbourhood at unit scale, its weights and its leading directions |
//! | `polynomial`, `cholesky`, `design` | the weighted least squares fit and its rank |
//! | `osculating` | the higher terms that follow from II itself |
//! | `fit` | all of these: one neighbourhood in each SIMD lane |
//! | `tilts`, `two_stage` | for noisy points: a second fit, to the tilts of the tangents of the first |
//! | `scales` | the error of II for each k, estimated from the points alone |
//! | `estimate` | the sizes and the result of one fit |
//! | `records`, `visits`, `invariants` | many neighbourhoods → forms or curvatures |
//! | `search` | neighbourhoods in batches, so that not all lists are in memory at once |

mod cholesky;
mod design;
mod estimate;
mod fit;
mod invariants;
mod osculating;
mod patch;
mod polynomial;
mod records;
mod row_groups;
mod scales;
mod search;
mod tiles;
mod tilts;
mod two_stage;
mod visits;

pub use estimate::Sizes;
pub use polynomial::unknowns;
pub use records::{HEAD, Output, second_forms};
pub use scales::{Scale, candidates, scale_fits, scales, scales_of_fits};
pub use search::rows_near;
pub use two_stage::{TwoStage, foot_points, second_stage, two_stage_forms};
