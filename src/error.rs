//! What can be wrong with the input, in sentences.

use thiserror::Error;

/// Every way a call into this crate can fail. Each text says what was expected, what came and what to do.
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
        "{what} spans {span:e}, whose square overflows double precision. \
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
        "X spans only {span:e}, whose square underflows double precision. \
         Rescale the columns (for example divide by their standard deviation)."
    )]
    TooSmall {
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

    /// Queries that live in another space than the points.
    #[error("queries must have as many columns as X ({expected}), got {given}.")]
    QueryColumns {
        /// Columns of X.
        expected: usize,
        /// Columns of the queries.
        given: usize,
    },

    /// Bounds on the distances of another number of queries.
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
        /// Where it stands.
        row: usize,
        /// The largest valid index.
        most: usize,
    },

    /// A sample that has no standard error, or more points than there are.
    #[error("a sample must have 2 to n = {most} points, got {given}.")]
    SampleSize {
        /// Points in the sample.
        given: usize,
        /// Points in all.
        most: usize,
    },

    /// An eigensolver gave up on the covariance of a neighbourhood.
    #[error("a neighbourhood has no eigen frame: {reason}. Please report the data that did this.")]
    NoFrame {
        /// What the solver said.
        reason: String,
    },

    /// A result too big for this machine.
    #[error(
        "the result needs {bytes} bytes, more than this machine gives. Use a smaller k, fewer columns or fewer points."
    )]
    OutOfMemory {
        /// What was asked of the allocator.
        bytes: usize,
    },

    /// Somebody called [`Task::cancel`](crate::Task::cancel).
    #[error("the computation was cancelled.")]
    Cancelled,
}

/// Shorthand for this crate's results.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// QL without an end, which no finite matrix has shown yet.
    pub(crate) fn no_convergence() -> Self {
        Error::NoFrame { reason: "QL did not converge".to_owned() }
    }
}
