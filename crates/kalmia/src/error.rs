//! The errors of the crate, named after the parameter, row or column at fault.

/// The result of every fallible call of the crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A refused input or parameter. The learner that returns it is unchanged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its domain.
    #[error("parameter `{name}` is {value}: {expected}")]
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// The value given.
        value: f64,
        /// What is legal, as a phrase.
        expected: &'static str,
    },
    /// A slice has the wrong length.
    #[error("`{name}` has length {found}, expected {expected}")]
    Length {
        /// The argument's name.
        name: &'static str,
        /// The length expected.
        expected: usize,
        /// The length found.
        found: usize,
    },
    /// A feature is NaN, infinite or above [`crate::rows::MAX_FEATURE`].
    #[error(
        "row {row}, feature {column} is {value}: features must be finite, at most 1e120 in size"
    )]
    Feature {
        /// Row within the call, from 0.
        row: usize,
        /// Feature, from 0.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// An index of a sparse row that is repeated, out of order or too large.
    #[error("row {row}, index {index}: {problem}")]
    SparseIndex {
        /// Row within the call, from 0.
        row: usize,
        /// The index found.
        index: u32,
        /// What is wrong with it, and what to do.
        problem: &'static str,
    },
    /// A row has a feature that no row had, and the learner is full.
    #[error(
        "row {row}: more than {limit} features; raise the limit, hash the features into fewer, \
         or leave some out"
    )]
    TooManyFeatures {
        /// Row within the call, from 0.
        row: usize,
        /// The most features that the learner takes.
        limit: usize,
    },
    /// A target outside the family's domain.
    #[error(
        "row {row}: target {value} is not legal for the {family} family, which takes {expected}"
    )]
    Target {
        /// Row within the call, from 0.
        row: usize,
        /// The value found.
        value: f64,
        /// The family's name.
        family: String,
        /// What the family takes.
        expected: String,
    },
    /// A weight that is negative, NaN or above [`crate::rows::MAX_WEIGHT`], or an offset that is
    /// not finite or above [`crate::rows::MAX_FEATURE`] in size.
    #[error("row {row}: {name} is {value:?}, expected {expected}")]
    RowExtra {
        /// Row within the call, from 0.
        row: usize,
        /// `weight` or `offset`.
        name: &'static str,
        /// The value found.
        value: f64,
        /// What is legal, as a phrase.
        expected: &'static str,
    },
    /// A matrix that must be symmetric positive definite is not.
    #[error("`{name}` is not positive definite: pivot {pivot} is {value}")]
    NotPositiveDefinite {
        /// The matrix's name.
        name: &'static str,
        /// The first pivot that is not positive, from 0.
        pivot: usize,
        /// Its value.
        value: f64,
    },
    /// The recursion left the range of floating-point numbers (a known weakness of
    /// [`crate::rule::Ekf`] on raw features).
    #[error(
        "the recursion diverged at row {row}: {quantity} is {value}; use the implicit or \
         moment-matching rule, or `Auto`"
    )]
    Diverged {
        /// Row within the call, from 0.
        row: usize,
        /// What overflowed.
        quantity: &'static str,
        /// Its value.
        value: f64,
    },
    /// The dense covariance lost its precision to ill-conditioned features, or to a row that
    /// carries far more information than the belief before it.
    #[error(
        "row {row}: the dense covariance has lost its precision (x'Px came out as {value:e}); use \
         the factored form, which keeps it"
    )]
    PrecisionLost {
        /// Row within the call, from 0.
        row: usize,
        /// What was left of $x^\top Px$.
        value: f64,
    },
    /// A row whose numbers are so large that a sum over the rows could overflow.
    #[error(
        "row {row}: {quantity} is {value:e}, too large to be summed; scale its features, target, \
         weight or offset"
    )]
    Overflow {
        /// Row within the call, from 0.
        row: usize,
        /// What is too large.
        quantity: &'static str,
        /// Its value.
        value: f64,
    },
    /// The rows and the prior do not determine a coefficient.
    #[error(
        "the rows do not determine the coefficient of feature {feature}: the features before it \
         leave {left:e} of its information; it is constant, a combination of others, or separates \
         the targets; leave it out, or use a prior"
    )]
    Undetermined {
        /// The first such feature, from 0.
        feature: usize,
        /// The share of its information that the features before it do not explain; NaN if the
        /// information is not finite.
        left: f64,
    },
    /// The likelihood has no maximum: a coefficient grows without bound.
    #[error(
        "the likelihood has no maximum: the coefficient of feature {feature} grows without bound, \
         because it separates the targets; use a prior, or leave the feature out"
    )]
    Separated {
        /// The feature whose standard error grows fastest, from 0.
        feature: usize,
    },
    /// Newton's method used up its passes.
    #[error(
        "not converged after {passes} passes: the last step moved a coefficient by {moved:.3e} \
         standard errors; allow more passes, start closer, or use a prior"
    )]
    NotConverged {
        /// Passes over the rows.
        passes: usize,
        /// The largest move of the last step, in standard errors.
        moved: f64,
    },
    /// A name that is none of the legal ones.
    #[error("`{name}` is \"{value}\", expected {expected}")]
    Choice {
        /// What is chosen by name.
        name: &'static str,
        /// The text given.
        value: String,
        /// What is legal, as a phrase.
        expected: &'static str,
    },
    /// The allocator has not enough memory for the learner's matrices, or for larger ones.
    #[error(
        "{} of memory are needed but not available; matrices grow with the square of the number \
         of features, so leave features out or use `Wide`",
        crate::memory::text(*.bytes)
    )]
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// Two states that cannot be merged, or a state of another kind.
    #[error("{0}")]
    State(String),
}

impl Error {
    /// Whether the data is at fault: the learner is unchanged and can continue with the next row.
    pub fn is_recoverable(&self) -> bool {
        matches!(
            self,
            Error::Length { .. }
                | Error::Feature { .. }
                | Error::SparseIndex { .. }
                | Error::Target { .. }
                | Error::RowExtra { .. }
                | Error::Diverged { .. }
                | Error::Overflow { .. }
        )
    }

    /// The row at fault within the call, if there is one.
    pub fn row(&self) -> Option<usize> {
        match *self {
            Error::Feature { row, .. }
            | Error::SparseIndex { row, .. }
            | Error::TooManyFeatures { row, .. }
            | Error::Target { row, .. }
            | Error::RowExtra { row, .. }
            | Error::Diverged { row, .. }
            | Error::Overflow { row, .. }
            | Error::PrecisionLost { row, .. } => Some(row),
            _ => None,
        }
    }

    /// The same error at another row; unchanged if it has none. For callers that pass on rows one
    /// at a time.
    pub fn at_row(mut self, at: usize) -> Self {
        match &mut self {
            Error::Feature { row, .. }
            | Error::SparseIndex { row, .. }
            | Error::TooManyFeatures { row, .. }
            | Error::Target { row, .. }
            | Error::RowExtra { row, .. }
            | Error::Diverged { row, .. }
            | Error::Overflow { row, .. }
            | Error::PrecisionLost { row, .. } => *row = at,
            _ => {}
        }
        self
    }

    /// The same error with its row counted from `first` rows earlier; unchanged if it has none.
    pub fn after_rows(self, first: usize) -> Self {
        match self.row() {
            Some(row) => self.at_row(first + row),
            None => self,
        }
    }
}

/// Requires `ok`, or names the parameter.
pub(crate) fn require(
    ok: bool,
    name: &'static str,
    value: f64,
    expected: &'static str,
) -> Result<()> {
    if ok { Ok(()) } else { Err(Error::Parameter { name, value, expected }) }
}

/// Largest count of rows that a state may hold: more could overflow as rows are added.
const MAX_COUNT: u64 = u64::MAX / 2;

/// Requires a count that can still grow, or names it.
pub(crate) fn require_count(name: &'static str, count: u64) -> Result<()> {
    require(count <= MAX_COUNT, name, count as f64, "must be at most 9e18")
}

/// Requires a length, or names the slice.
pub(crate) fn require_len(name: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Length { name, expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_whose_message_names_a_row_has_one() {
        let row = 7;
        let value = 0.5;
        let expected = "something";
        let name = "weight";
        for error in [
            Error::Feature { row, column: 1, value },
            Error::SparseIndex { row, index: 3, problem: "is repeated" },
            Error::TooManyFeatures { row, limit: 9 },
            Error::Target { row, value, family: "poisson".into(), expected: expected.into() },
            Error::RowExtra { row, name, value, expected },
            Error::Diverged { row, quantity: "x'Px", value },
            Error::Overflow { row, quantity: "the slope", value },
            Error::PrecisionLost { row, value },
        ] {
            assert!(error.to_string().contains("row 7"), "{error}");
            assert_eq!(error.row(), Some(row), "{error}");
            assert_eq!(error.clone().at_row(3).row(), Some(3), "{error}");
            assert_eq!(error.clone().after_rows(100).row(), Some(107), "{error}");
        }
        let rowless = Error::Parameter { name, value, expected };
        assert_eq!(rowless.row(), None);
        assert_eq!(rowless.clone().at_row(3), rowless);
        assert_eq!(rowless.clone().after_rows(3), rowless);
    }
}
