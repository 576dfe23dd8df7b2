//! The errors of this crate.

use thiserror::Error;

/// Every way a call into this crate can fail. Each text says what was expected, what was given and what to do.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// No rows or no columns.
    #[error("{what} must have at least one row and one column, got shape ({rows}, {columns}).")]
    Empty {
        /// Which argument.
        what: &'static str,
        /// Rows given.
        rows: usize,
        /// Columns given.
        columns: usize,
    },

    /// A NaN or an infinity.
    #[error(
        "{what} must hold finite numbers only, got {value} at row {row}, column {column}. \
         Drop or fill such rows first."
    )]
    NotFinite {
        /// Which argument.
        what: &'static str,
        /// The offending entry.
        value: f64,
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },

    /// Squared distances do not fit a double.
    #[error(
        "{what} spans {span:e}: its squared distances overflow double precision. \
         Rescale the columns (for example divide by their standard deviation)."
    )]
    TooLarge {
        /// Which argument.
        what: &'static str,
        /// The largest column range.
        span: f64,
    },

    /// Squared distances vanish in double precision.
    #[error(
        "{what} spans only {span:e}: its squared distances underflow double precision. \
         Rescale the columns (for example divide by their standard deviation)."
    )]
    TooSmall {
        /// Which argument.
        what: &'static str,
        /// The largest column range.
        span: f64,
    },

    /// More rows than a 32-bit index can name.
    #[error(
        "X must have fewer than {} rows, got {rows}. Split the data or take a sample.",
        u32::MAX
    )]
    TooManyRows {
        /// Rows given.
        rows: usize,
    },

    /// Fewer neighbours than a covariance needs.
    #[error("k must be at least 2 (a covariance needs two points), got {k}.")]
    TooFewNeighbors {
        /// Neighbours asked for.
        k: usize,
    },

    /// More neighbours than there are other points.
    #[error("k must be at most n − 1 = {most} (the point itself is not its neighbour), got {k}.")]
    TooManyNeighbors {
        /// Neighbours asked for.
        k: usize,
        /// The largest possible number.
        most: usize,
    },

    /// More neighbours asked of a search with separate queries than there are points.
    #[error("k must be at least 1 and at most n = {most}, the number of rows searched, got {k}.")]
    BadQueryNeighbors {
        /// Neighbours asked for.
        k: usize,
        /// The largest possible number.
        most: usize,
    },

    /// Queries with a different number of columns than the points.
    #[error("queries must have as many columns as X ({expected}), got {given}.")]
    QueryColumns {
        /// Columns of X.
        expected: usize,
        /// Columns of the queries.
        given: usize,
    },

    /// Bounds for a different number of queries.
    #[error(
        "bounds must hold one squared distance for each of the {expected} queries, got {given}."
    )]
    QueryBounds {
        /// Number of queries.
        expected: usize,
        /// Number of bounds.
        given: usize,
    },

    /// A tree over more dimensions than it is compiled for.
    #[error(
        "algorithm \"kd_tree\" takes at most {most} columns, got {columns}. \
         Use \"brute\" or \"auto\"; the neighbours are the same."
    )]
    TooManyColumnsForTree {
        /// Columns given.
        columns: usize,
        /// The largest dimension compiled in.
        most: usize,
    },

    /// Precomputed neighbours of the wrong shape.
    #[error(
        "neighbors must have shape (n, k) = ({rows}, {k}), got ({given_rows}, {given_columns})."
    )]
    NeighborShape {
        /// Rows of X.
        rows: usize,
        /// Neighbours asked for.
        k: usize,
        /// Rows given.
        given_rows: usize,
        /// Columns given.
        given_columns: usize,
    },

    /// A precomputed neighbour, or a chosen point, that is not a row of X.
    #[error("{what} must hold row indices from 0 to n − 1 = {most}, got {index} in row {row}.")]
    IndexOutOfRange {
        /// Which argument.
        what: &'static str,
        /// The offending index.
        index: i64,
        /// The row that holds it.
        row: usize,
        /// The largest valid index.
        most: usize,
    },

    /// A precomputed list that already holds the row that `include_self` adds.
    #[error(
        "neighbors must not hold a row itself with include_self=True, which adds it, got row {row} in its own list. \
         Leave it out of the list, or use include_self=False."
    )]
    OwnNeighbor {
        /// Whose list it is.
        row: usize,
    },

    /// Weights for a different number of neighbourhoods, or none of them positive.
    #[error(
        "weights must hold a finite number of at least 0 for each of the {expected} neighbourhoods, some above 0, \
         got {given} numbers that do not fit."
    )]
    Weights {
        /// Number of neighbourhoods.
        expected: usize,
        /// Number of weights.
        given: usize,
    },

    /// A sample that has no standard error, or more points than there are.
    #[error("a sample must have 2 to n = {most} points, got {given}.")]
    SampleSize {
        /// Points in the sample.
        given: usize,
        /// Points in all.
        most: usize,
    },

    /// An embedding with a different number of rows.
    #[error("Z must have as many rows as X ({expected}), got {given}.")]
    EmbeddingRows {
        /// Rows of X.
        expected: usize,
        /// Rows of Z.
        given: usize,
    },

    /// Neighbourhoods of half of all rows, or of none.
    #[error(
        "n_neighbors must be at least 1 and less than n / 2 = {} for n = {rows} rows, got {k}. \
         Use fewer neighbours or more rows.",
        *rows as f64 / 2.0
    )]
    HalfNeighbors {
        /// Neighbours asked for.
        k: usize,
        /// Rows of X.
        rows: usize,
    },

    /// An intrinsic dimension that leaves no normal direction, or none at all.
    #[error(
        "intrinsic_dim must be from 1 to d − 1 = {}: curvature needs a normal direction; got {given}.",
        columns.saturating_sub(1)
    )]
    IntrinsicDimension {
        /// The dimension asked for.
        given: usize,
        /// Columns of X.
        columns: usize,
    },

    /// A polynomial of a degree that is not offered.
    #[error("order must be 2, 3 or 4, got {given}.")]
    FitOrder {
        /// The degree asked for.
        given: usize,
    },

    /// Fewer points than a local polynomial has coefficients.
    #[error(
        "n_neighbors must be at least {}: a fit of order {order} in {intrinsic} dimensions has {unknowns} unknowns; \
         got {k}. Use more neighbours, a lower order or a smaller intrinsic_dim.",
        unknowns.saturating_sub(1)
    )]
    TooFewForFit {
        /// Neighbours given.
        k: usize,
        /// Coefficients of the polynomial.
        unknowns: usize,
        /// Its variables.
        intrinsic: usize,
        /// Its degree.
        order: usize,
    },

    /// The eigensolver failed on the covariance of a neighbourhood.
    #[error(
        "the eigenproblem of a neighbourhood could not be solved: {reason}. Please report this with the data."
    )]
    NoFrame {
        /// What the solver said.
        reason: String,
    },

    /// An instruction set that is unknown, or that this processor does not have.
    #[error(
        "SHOPCA_SIMD must name instructions that this processor has ({available}), got {given:?}. \
         Unset it to use the best of them."
    )]
    NoSuchInstructions {
        /// What was asked for.
        given: String,
        /// The names of the available ones.
        available: String,
    },

    /// A sum of shape operators that does not fit a double.
    #[error(
        "the sum of the shape operators overflows double precision. \
         Rescale the columns (for example divide by their standard deviation)."
    )]
    SumTooLarge,

    /// An allocation that failed, or that would have left too little for others.
    #[error(
        "out of memory: {bytes} bytes could not be allocated. \
         Use a smaller k, fewer columns, fewer points or a smaller n_jobs."
    )]
    OutOfMemory {
        /// What was asked of the allocator.
        bytes: usize,
    },

    /// [`Progress::cancel`](crate::Progress::cancel) was called.
    #[error("the computation was cancelled.")]
    Cancelled,
}

/// Shorthand for this crate's results.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The QL iteration did not converge, which has not been seen for any finite matrix.
    pub(crate) fn no_convergence() -> Self {
        Error::NoFrame { reason: "QL did not converge".to_owned() }
    }
}
