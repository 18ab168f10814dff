//! Why encoders cannot become one.

use super::excerpt;

/// Why encoders cannot be united, or a row of one cannot be written as a row of another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnionProblem {
    /// No encoder was given.
    #[error("there is no encoder to unite; give at least one")]
    Nothing,
    /// An encoder has no features yet.
    #[error("an encoder that has read no rows cannot be united with others; leave it out")]
    NotSettled,
    /// An encoder has sparse rows, whose indices mean the same in every encoder.
    #[error("an encoder with sparse rows is not united with others; merge wide models as they are")]
    Wide,
    /// An option differs.
    #[error(
        "the option `{option}` is {first} in one part and {other} in another; learn all parts \
         with the same options"
    )]
    Option {
        /// The option, as it is named in [`crate::EncoderOptions`].
        option: String,
        /// Its value in one encoder.
        first: String,
        /// Its value in another.
        other: String,
    },
    /// One encoder reads libsvm, another named columns.
    #[error("one encoder reads libsvm and another named columns; read all parts in one format")]
    Mixed,
    /// A column is not in every encoder.
    #[error(
        "column `{}` is a feature column of one encoder only; learn all parts from the same \
         columns, or name the feature columns",
        excerpt(.column.as_bytes())
    )]
    Column {
        /// The column.
        column: String,
    },
    /// A column has another kind.
    #[error(
        "column `{}` is read as {first} by one encoder and as {other} by another; read it as \
         categorical in all parts, or start them from one template",
        excerpt(.column.as_bytes())
    )]
    Kind {
        /// The column.
        column: String,
        /// Its kind in one encoder.
        first: &'static str,
        /// Its kind in another.
        other: &'static str,
    },
    /// The target is coded otherwise.
    #[error(
        "target `{}` is coded as {first} by one encoder and as {other} by another; declare the \
         same labels for all parts",
        excerpt(.column.as_bytes())
    )]
    Target {
        /// The target column.
        column: String,
        /// Its coding in one encoder.
        first: String,
        /// Its coding in another.
        other: String,
    },
    /// A category has two baselines, and no intercept makes up for the difference.
    #[error(
        "the baseline level of column `{}` is `{}` in one part and `{}` in another, which \
         takes an intercept to align; learn with an intercept, or start all parts from one \
         template",
        excerpt(.column.as_bytes()), excerpt(.first.as_bytes()), excerpt(.other.as_bytes())
    )]
    Baseline {
        /// The column.
        column: String,
        /// The baseline in one encoder.
        first: String,
        /// The baseline in another.
        other: String,
    },
    /// All features together exceed [`crate::EncoderOptions::max_features`].
    #[error(
        "the encoders have {found} features together, more than {limit}; exclude columns with many \
         levels, or raise the limit"
    )]
    TooManyFeatures {
        /// Features of the union.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// All classes of the target together are more than a target may have.
    #[error(
        "the target has {found} classes in all parts together, more than {limit}; merge rare ones, \
         or learn it as a number"
    )]
    TooManyClasses {
        /// Classes of the union.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// An encoder did not start as a copy of the template.
    #[error(
        "the encoder did not start from this template: {what} differ; unite it without a template"
    )]
    OtherTemplate {
        /// What of the template is not in the encoder: `features`, `levels` or `counts`.
        what: &'static str,
    },
    /// The whole does not know something that its part knows.
    #[error(
        "the united encoder does not know the feature or level `{}`; align with the union of all \
         parts",
        excerpt(.name.as_bytes())
    )]
    NotInWhole {
        /// The feature, or `column=level` of a baseline level.
        name: String,
    },
}
