//! What can go wrong with a model, and which row of which file is at fault.

use crate::method::MethodName;
use crate::parameters::Parameter;
use kalmia::Error as LearnerError;
use kalmia::file::FileError;
use kalmia_data::{Block, Encoder, Error as DataError, Location};
use std::fmt;

/// The result of every fallible call of the crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A model, a method or a row that is refused; what was there before is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data cannot be read or encoded.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A row cannot be learned or predicted.
    #[error(transparent)]
    Row(#[from] Box<RowError>),
    /// The library refused something that no row is to blame for.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// A model file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// No method has this name.
    #[error(
        "no method is named `{name}`; the methods are auto, wide, ekf, truncated, implicit, \
         moment, ons and asgd"
    )]
    UnknownMethod {
        /// The name given.
        name: String,
    },
    /// A parameter was given to a method that does not take it.
    #[error("method {method} takes no {}; {}", .parameter.name(), takes(*.method))]
    ParameterNotTaken {
        /// The parameter.
        parameter: Parameter,
        /// The method.
        method: MethodName,
    },
    /// Two parameters were given that decide the same thing.
    #[error(
        "method {method} got both {} and {}: each decides {what}, so give one",
        .one.name(),
        .other.name()
    )]
    Conflict {
        /// The method.
        method: MethodName,
        /// One parameter.
        one: Parameter,
        /// The other.
        other: Parameter,
        /// What both decide.
        what: &'static str,
    },
    /// No scale has this name.
    #[error("the scale of truncated is a number, `paper` (1) or `bercu` (1e-10), not `{given}`")]
    Scale {
        /// The text given.
        given: String,
    },
    /// Sparse rows were given to a method that keeps a matrix of all features.
    #[error(
        "method {method} takes no text and no hashed features; use auto or wide, not \
             averaged and without outliers=downweight"
    )]
    NotWide {
        /// The method.
        method: MethodName,
    },
    /// Sparse rows were given to a family whose loss they can make worse than a constant's.
    #[error(
        "family {family} takes no text, no hashed features and no very many columns or levels: \
         leave such columns out, or use gaussian"
    )]
    WideFamily {
        /// The family.
        family: String,
    },
    /// The start of the coefficients does not fit.
    #[error("the start {problem}")]
    Start {
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// A start was given to a method that takes none.
    #[error("method {method} takes no start; ekf, truncated, implicit, moment and ons take one")]
    StartNotTaken {
        /// The method.
        method: MethodName,
    },
    /// The certificate was asked of a method that has none.
    #[error("method {method} has no certificate; ekf, truncated, implicit and moment have one")]
    NoCertificate {
        /// The method.
        method: MethodName,
    },
    /// Conformal intervals were asked of a family that has none.
    #[error(
        "family {family} has no conformal intervals: gaussian, student, quantile, poisson, \
         negative-binomial, gamma and binomial:TRIALS have them; labels and proportions do not"
    )]
    NoConformal {
        /// The family.
        family: String,
    },
    /// Conformal intervals were asked of a model that was fitted without them.
    #[error("the model was fitted without conformal intervals; fit it with conformal")]
    NotConformal,
    /// The probability of a conformal interval is out of range.
    #[error(
        "level {level}: give a probability above 0 and at most 0.99, the widest conformal \
         interval that is learned"
    )]
    ConformalLevel {
        /// The value given.
        level: f64,
    },
    /// The family's dispersion was given to a method that learns it.
    #[error(
        "`{family}` fixes the dispersion, which methods auto and wide learn from the rows: leave \
         the number out, or use a method that takes it, such as ekf"
    )]
    DispersionNotTaken {
        /// The family as given.
        family: String,
    },
    /// No family has this name, or its parameter is outside its domain.
    #[error("family `{given}`: {problem}")]
    Family {
        /// The family as given.
        given: String,
        /// What is wrong with it, and what is legal.
        problem: String,
    },
    /// No kind of weights has this name.
    #[error("weights are \"frequency\" or \"precision\", not `{name}`")]
    UnknownWeightKind {
        /// The name given.
        name: String,
    },
    /// Every row has the weight 0.
    #[error("every row has the weight 0, so nothing can be learned")]
    NoWeight,
    /// Averaged SGD was built without the number of rows.
    #[error("method asgd needs the horizon, the number of rows to come")]
    NeedsHorizon,
    /// The target has two values, and nothing says which one counts as 1.
    #[error("target `{target}` has the two values {low} and {high}; say which one counts as 1")]
    TwoValues {
        /// The target column.
        target: String,
        /// The smaller value.
        low: f64,
        /// The larger value.
        high: f64,
    },
    /// Several classes were given to something that learns numbers or two labels.
    #[error(
        "target `{target}` has several classes; `kalmia fit` learns them, and \
         LogisticRegression in Python"
    )]
    SeveralClasses {
        /// The target column.
        target: String,
    },
    /// Several classes were to be learned by another method.
    #[error("method {method} learns no target of several classes; auto and wide do")]
    ClassMethod {
        /// The method.
        method: MethodName,
    },
    /// Several classes were to be learned by a mean of iterates.
    #[error("several classes are learned by auto as it is, not averaged")]
    ClassAveraged,
    /// A family that outliers hardly move was to count them less.
    #[error(
        "outliers hardly move family {family}, so they are never counted less: leave the option out"
    )]
    FamilyOutliers {
        /// The family.
        family: String,
    },
    /// Several classes were to be learned with outliers that count less.
    #[error("a target of several classes has no outliers: leave the option out")]
    ClassOutliers,
    /// Several classes were to be learned with an offset.
    #[error("a target of several classes takes no offset: all classes would share it")]
    ClassOffset,
    /// Ordered levels were asked of something that does not learn them.
    #[error("ordered levels {problem}")]
    Ordinal {
        /// What is wrong, and what to do.
        problem: &'static str,
    },
    /// Several quantiles were asked of something that does not learn them.
    #[error("several quantiles {problem}")]
    Quantiles {
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A model of several classes or quantiles was to do what one of numbers or two labels can.
    #[error("a model of {kind} {what}: use a model of numbers or of two labels")]
    NumbersOnly {
        /// What it cannot do, as a predicate.
        what: &'static str,
        /// What it is a model of.
        kind: &'static str,
    },
    /// An interval was asked of a model of several classes or quantiles.
    #[error("a model of {kind} has no intervals: {instead}")]
    NoInterval {
        /// What it is a model of.
        kind: &'static str,
        /// What it has, and what to do.
        instead: &'static str,
    },
    /// A model of several classes was to predict before it knew one.
    #[error("the model knows no class yet: learn rows first, or declare the classes")]
    NoClasses,
    /// There is no target column.
    #[error("no column is chosen as the target: name one")]
    NoTarget,
    /// A wide model was to be written as an ONNX graph.
    #[error(
        "a wide model has no ONNX graph: its features are words and hashed values, not columns of \
         numbers; export it as JSON"
    )]
    NoOnnx,
    /// The probability of an interval is out of range.
    #[error("level {level}: give a probability strictly between 0 and 1")]
    Level {
        /// The value given.
        level: f64,
    },
    /// No row is left to choose.
    #[error("there is no candidate to choose: every row lacks a value")]
    NoCandidate,
    /// A coefficient without a maximum of the likelihood.
    #[error(
        "the likelihood has no maximum: the coefficient of `{feature}` grows without bound, \
         because it separates the targets; leave the column out, or fit by a method with a prior, \
         such as moment"
    )]
    Separated {
        /// The feature.
        feature: String,
    },
    /// A coefficient that the rows say nothing of.
    #[error(
        "the rows do not determine the coefficient of `{feature}`, which repeats other columns or \
         separates the targets; leave it out, or fit by a method with a prior, such as moment"
    )]
    Undetermined {
        /// The feature.
        feature: String,
    },
    /// A fit on several workers, or a merge, of a method that cannot be merged.
    #[error(
        "models of method {method} cannot be merged: use auto or a single filter such as moment, \
         without text and hashed features"
    )]
    NotMergeable {
        /// The method.
        method: String,
    },
    /// Models that were fitted in different ways were to be merged.
    #[error(
        "the models cannot be merged: the {what} of models 1 and {number} differ, {one} and \
         {two}; fit all with the same"
    )]
    UnlikeModels {
        /// Which of the models is unlike the first, counted from 1.
        number: usize,
        /// What differs.
        what: &'static str,
        /// That of one model.
        one: String,
        /// That of another.
        two: String,
    },
    /// Wide models of different columns were to be merged.
    #[error(
        "wide models are merged only if all have the same columns and levels, in the same order"
    )]
    WideFeatures,
    /// A fit on several workers was to follow a drift from the first row on.
    #[error(
        "drift `adapt` follows changes over time, but rows on several workers have no common \
         order: use `detect` or `off`"
    )]
    ShardsAdapt,
    /// A model that follows a drift was to be polished.
    #[error(
        "the model follows a drift, so its coefficients describe the last rows; polishing would \
         fit all rows alike: fit with drift `off` first"
    )]
    PolishedDrift,
    /// No prior for polishing has this name.
    #[error("the prior of a polish is \"fitted\" or \"flat\", not `{name}`")]
    UnknownPolishPrior {
        /// The name given.
        name: String,
    },
    /// A wide model was to be polished.
    #[error(
        "a wide model cannot be polished: it has no matrix of all features; use another method, \
         without text and hashed features"
    )]
    NotPolished,
    /// A quantile was to be polished.
    #[error(
        "a quantile cannot be polished: the pinball loss has no curvature for Newton's method; \
         leave the further passes out"
    )]
    QuantilePolished,
    /// A file of models was to be written without a model.
    #[error("there is no model to write")]
    NoModel,
    /// The matrices of so many coefficients would not fit into the memory that is free.
    #[error(
        "method {method} with {dim} coefficients{} needs {} of memory, {}; {} are free, and half \
         of that may be used",
        classes(*.learners),
        kalmia::memory::text(*.needed),
        square(*.learners),
        kalmia::memory::text(*.available)
    )]
    Memory {
        /// The method.
        method: String,
        /// Number of coefficients.
        dim: usize,
        /// Number of learners, one per class.
        learners: usize,
        /// Bytes of all matrices.
        needed: usize,
        /// Bytes that are free.
        available: usize,
    },
    /// A feature appeared after the first rows, and the method cannot grow.
    #[error("feature `{feature}` appears after the first rows: {reason}")]
    LateFeature {
        /// The feature.
        feature: String,
        /// Why the learner cannot take it, and what to use.
        reason: LearnerError,
    },
}

/// Several learners, as a phrase.
fn classes(learners: usize) -> String {
    if learners > 1 { format!(" and {learners} classes") } else { String::new() }
}

/// What so many learners grow with.
fn square(learners: usize) -> &'static str {
    match learners {
        0 | 1 => "the square of their number",
        _ => "the square of the coefficients for each class",
    }
}

/// The parameters of a method, as a phrase.
fn takes(method: MethodName) -> String {
    let names: Vec<_> = method.takes().iter().map(|parameter| parameter.name()).collect();
    format!("it takes {}", names.join(", "))
}

/// A row that a learner refuses, with its place in the data.
#[derive(Debug, Clone, PartialEq)]
pub struct RowError {
    /// File, row and line.
    pub at: Location,
    /// Why; its own row number counts within a batch and means nothing to a user.
    pub cause: LearnerError,
    /// The feature at fault, where it is one.
    pub feature: Option<String>,
    /// The target column.
    pub target: String,
}

impl RowError {
    /// Puts the learner's refusal of a row of `block` in terms of the data. An error that no row
    /// is to blame for stays as it is.
    pub fn locate(cause: LearnerError, block: &Block, encoder: &Encoder) -> Error {
        let Some(row) = cause.row().filter(|&row| row < block.rows()) else {
            return cause.into();
        };
        let feature = match cause {
            LearnerError::Feature { column, .. } => {
                u32::try_from(column).ok().map(|index| encoder.feature_name(index))
            }
            _ => None,
        };
        let target = encoder.target().map_or_else(|| "target".into(), |target| target.name.clone());
        let error = Self { at: block.location(row), cause, feature, target };
        Box::new(error).into()
    }
}

impl std::error::Error for RowError {}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.at)?;
        match &self.cause {
            LearnerError::Feature { value, .. } => {
                let name = self.feature.as_deref().unwrap_or("?");
                let value = number_text(*value);
                write!(f, "feature `{name}` is {value}: must be finite and at most 1e120 in size")
            }
            LearnerError::Target { value, family, expected, .. } => {
                let name = &self.target;
                let value = number_text(*value);
                write!(f, "target `{name}` is {value}, the {family} family takes {expected}")
            }
            LearnerError::RowExtra { name, value, expected, .. } => {
                write!(f, "{name} is {}, expected {expected}", number_text(*value))
            }
            LearnerError::TooManyFeatures { limit, .. } => write!(
                f,
                "more than {limit} features, which is what half of the free memory holds; hash \
                 them into fewer, or leave columns out"
            ),
            LearnerError::Diverged { quantity, value, .. } => {
                write!(f, "the recursion diverged, {quantity} is {value:e}")
            }
            other => other.fmt(f),
        }
    }
}

/// The shortest text that reads back as the same number, with an exponent instead of rows of
/// zeros.
pub fn number_text(value: f64) -> String {
    let size = value.abs();
    if (size >= 1e16 && size.is_finite()) || (size < 1e-5 && size > 0.0) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::number_text;

    #[test]
    fn numbers_are_short_and_read_back() {
        let shown = [0.0, 1.0, 0.1, -1e300, 1e-300].map(number_text);
        assert_eq!(shown, ["0", "1", "0.1", "-1e300", "1e-300"]);
        for value in [f64::MAX, f64::MIN_POSITIVE, std::f64::consts::PI * 1e16] {
            assert_eq!(number_text(value).parse(), Ok(value));
        }
        assert_eq!([f64::INFINITY, f64::NAN].map(number_text), ["inf", "NaN"]);
    }
}
