//! Which way S̄ is computed: every choice between ways that give the same numbers is made here, and nowhere else.
//!
//! n points in d columns, m neighbourhoods of k points each, r = min(k − 1, d) directions. The first row that fits is
//! taken. `docs/routes.md` draws the same map. `cargo bench --bench routes` times both sides of every crossover in the
//! first three choices.
//!
//! | choice | when | way | where |
//! |---|---|---|---|
//! | `solver` | the basis of the eigensolver is asked for | one neighbourhood at a time | [`crate::frame`], [`crate::shape`] |
//! | | min(k, d) > 40 | one neighbourhood at a time | the same |
//! | | k > d | eight at once, a neighbourhood in each lane | `batched::tall` |
//! | | k ≤ d | eight at once, their columns in the lanes | `batched::wide` |
//! | `sum` | not `batched::wide`, or d < 32, or 2 n d ≥ m (k − 1)(d − k) | wide product of thin factors | [`crate::mean`] |
//! | | otherwise | scatter to the neighbours | `scatter` |
//! | `operator` | d ≤ r(r + 1)/2 | A itself | `batched::wide` |
//! | | otherwise | third moments | `batched::third_moments` |
//! | `eigenproblem` | k ≤ d, and no basis of the null space is asked for | ΔΔᵀ, k×k | [`crate::frame`] |
//! | | otherwise | ΔᵀΔ, d×d | [`crate::frame`] |
//! | `hadamard_square` | b(b + 1) r < d (b + r) for b directions | products of pairs, b(b + 1)/2 × d | [`crate::shape`] |
//! | | otherwise | G∘G, d×d | [`crate::shape`] |
//!
//! Three exceptions depend on the data and not on the sizes. A neighbourhood whose squared differences would lose
//! digits to underflow is solved by itself ([`crate::mean`]). Eight neighbourhoods, one of which has a repeated
//! eigenvalue, use third moments, because the formula for A itself does not cover it (`batched::wide`). Points too far
//! from their centre are not scattered, because that would cost digits (`scatter::centre`).
//!
//! The instructions (AVX-512, AVX2 with FMA, or what every processor of the architecture has) change no choice here:
//! `simd` picks them, and the size of the register tiles with them.

use crate::eigenspaces::Degenerate;
use crate::points::Points;

/// How large a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// n, the points.
    pub points: usize,
    /// m, the neighbourhoods.
    pub neighborhoods: usize,
    /// k, the points in each of them.
    pub neighbors: usize,
    /// d, the columns.
    pub columns: usize,
}

impl Sizes {
    pub(crate) fn of(points: &Points, neighborhoods: usize, neighbors: usize) -> Self {
        Self { points: points.len(), neighborhoods, neighbors, columns: points.dim() }
    }
}

/// The way S̄ is computed: the choices that concern all neighbourhoods.
///
/// ```
/// use shopca_rs::Degenerate;
/// use shopca_rs::routes::{Route, Sizes, Solver};
///
/// let sizes = Sizes { points: 2000, neighborhoods: 2000, neighbors: 11, columns: 4 };
/// let route = Route::new(sizes, Degenerate::Average);
/// assert_eq!(route.solver(), Solver::Tall);
/// assert!(Route::all(sizes, Degenerate::Average).contains(&route));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    solver: Solver,
    operator: Operator,
    sum: Sum,
}

impl Route {
    /// The one of the table above.
    pub fn new(sizes: Sizes, degenerate: Degenerate) -> Self {
        let (k, dim) = (sizes.neighbors, sizes.columns);
        Self {
            solver: solver(k, dim, degenerate),
            operator: operator(k.saturating_sub(1), dim),
            sum: sum(sizes, degenerate),
        }
    }

    /// All that give the same S̄, up to rounding.
    pub fn all(sizes: Sizes, degenerate: Degenerate) -> Vec<Self> {
        let table = Self::new(sizes, degenerate);
        let single = Self { solver: Solver::Single, sum: Sum::WideProduct, ..table };
        match table.solver {
            Solver::Single => vec![single],
            Solver::Tall => vec![table, single],
            Solver::Wide => {
                let mut routes = vec![single];
                for operator in [Operator::Dense, Operator::ThirdMoments] {
                    for sum in [Sum::WideProduct, Sum::Scatter] {
                        routes.push(Self { solver: Solver::Wide, operator, sum });
                    }
                }
                routes
            }
        }
    }

    /// From neighbourhoods to operators.
    pub fn solver(&self) -> Solver {
        self.solver
    }

    /// How [`Solver::Wide`] forms them; the others do not ask.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// From operators to their sum.
    pub fn sum(&self) -> Sum {
        self.sum
    }
}

/// The largest eigenproblem solved for eight neighbourhoods at once.
///
/// At k = 30 and at k = 40 eight at once take 0.19 to 0.57 of the time of one at a time, the most with 400 columns.
pub(crate) const LARGEST_BATCHED: usize = 40;

/// The fewest columns that are scattered: at k = 12 scattering takes 0.8 of the time with 32,
/// 0.94 with 24, and the same with 16.
const FEWEST_SCATTERED: usize = 32;

/// From neighbourhoods to frames and shape operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Solver {
    /// One neighbourhood at a time, by the eigensolver that is compiled in.
    Single,
    /// Eight at once: more points than columns.
    Tall,
    /// Eight at once: no more points than columns.
    Wide,
}

/// One LAPACK call for each takes 26 to 38 µs a point at d = 16 to 36, mostly overhead; eight at once take 5.5 to 9 µs
/// (docs/performance.md).
fn solver(k: usize, dim: usize, degenerate: Degenerate) -> Solver {
    match degenerate {
        Degenerate::Lapack => Solver::Single,
        Degenerate::Average if k.min(dim) > LARGEST_BATCHED => Solver::Single,
        Degenerate::Average if k > dim => Solver::Tall,
        Degenerate::Average => Solver::Wide,
    }
}

/// From shape operators to their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    /// Σ Lᵢᵀ Rᵢ as one product of tall matrices for each block of points.
    WideProduct,
    /// Vᵀ X, where V collects what each point gets from all neighbourhoods that it belongs to.
    Scatter,
}

/// Vᵀ X is a product over all rows, however few neighbourhoods there are: 2 n d² operations, against 2 m r d² for the
/// wide product with its r = k − 1 rows for each. The rows count double, as V has to be cleared and X centred, and
/// d − k instead of d stands for the shares, which are written and added.
fn sum(sizes: Sizes, degenerate: Degenerate) -> Sum {
    let Sizes { points, neighborhoods, neighbors: k, columns: dim } = sizes;
    let wide = solver(k, dim, degenerate) == Solver::Wide;
    if wide && dim >= FEWEST_SCATTERED && 2 * points * dim < neighborhoods * (k - 1) * (dim - k) {
        Sum::Scatter
    } else {
        Sum::WideProduct
    }
}

/// From a frame to what A does to its directions, for [`Solver::Wide`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// A, d×d, and its product with the contrasts.
    Dense,
    /// The third moments of the directions and their products with all pairs: nothing is d×d.
    ThirdMoments,
}

/// `directions` in `dim` columns.
///
/// A takes 2 d r operations for a column, third moments r²(r + 1)·2/3, and those of A are faster. At k = 12 A takes
/// 0.71 of the time of third moments for 40 columns and 0.92 for 64; at k = 16 it takes 0.84 for 96.
fn operator(directions: usize, dim: usize) -> Operator {
    if 2 * dim <= directions * (directions + 1) { Operator::Dense } else { Operator::ThirdMoments }
}

/// The matrix whose eigenvectors give the frame of a single neighbourhood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Eigenproblem {
    /// ΔΔᵀ, k×k. It knows nothing of the null space.
    Gram,
    /// ΔᵀΔ, d×d.
    Covariance,
}

/// The smaller of both, unless the basis of the null space is asked for, which only the larger has.
pub(crate) fn eigenproblem(k: usize, dim: usize, degenerate: Degenerate) -> Eigenproblem {
    if degenerate == Degenerate::Average && k <= dim {
        Eigenproblem::Gram
    } else {
        Eigenproblem::Covariance
    }
}

/// W (G∘G) for a single neighbourhood, G = BᵀB over b rows of B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HadamardSquare {
    /// G∘G = KᵀK: the rows of K are the products of two rows of B.
    Pairs,
    /// G, d×d, squared entry by entry.
    Dense,
}

/// b = `size` rows of B and r = `rank` directions in `dim` columns: fewer operations win.
///
/// K has b(b + 1)/2 rows and is multiplied with r directions twice; G takes b d² operations and its product r d².
pub(crate) fn hadamard_square(size: usize, rank: usize, dim: usize) -> HadamardSquare {
    if size * (size + 1) * rank < dim * (size + rank) {
        HadamardSquare::Pairs
    } else {
        HadamardSquare::Dense
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_has_the_solver_of_its_row_in_the_table() {
        let average = Degenerate::Average;
        for (k, dim, expected) in [
            (10, 3, Solver::Tall),
            (1000, 40, Solver::Tall),
            (1000, 41, Solver::Single),
            (10, 10, Solver::Wide),
            (40, 1000, Solver::Wide),
            (41, 1000, Solver::Single),
        ] {
            assert_eq!(solver(k, dim, average), expected, "k {k}, d {dim}");
            assert_eq!(solver(k, dim, Degenerate::Lapack), Solver::Single);
        }
    }

    #[test]
    fn only_wide_neighbourhoods_in_many_columns_and_enough_of_them_are_scattered() {
        let sum = |points, neighborhoods, neighbors, columns| {
            sum(Sizes { points, neighborhoods, neighbors, columns }, Degenerate::Average)
        };
        assert_eq!(sum(400, 400, 9, 80), Sum::Scatter);
        assert_eq!(sum(400, 100, 9, 80), Sum::WideProduct, "few neighbourhoods");
        assert_eq!(sum(400, 400, 9, 31), Sum::WideProduct, "few columns");
        assert_eq!(sum(400, 400, 41, 80), Sum::WideProduct, "not solved eight at once");
        assert_eq!(sum(400, 400, 90, 80), Sum::WideProduct, "tall");
    }

    #[test]
    fn the_operator_is_formed_where_pairs_are_more_than_columns() {
        assert_eq!(operator(11, 66), Operator::Dense);
        assert_eq!(operator(11, 67), Operator::ThirdMoments);
    }
}
