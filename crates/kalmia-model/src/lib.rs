//! The application layer, written once for the command, the Python package and the service.
//!
//! | question | answer |
//! |---|---|
//! | Which algorithm, parameters, defaults? | [`Method`], [`Algorithm`], [`Parameters`] |
//! | Where do the coefficients start? | [`Start`] |
//! | Which family does the target ask for? | [`FamilyChoice`] |
//! | What is a model? | [`Model`]: learner, encoder, metrics, settings and history |
//! | What is a model of several classes? | [`ClassModel`], [`ClassSummary`] |
//! | What is a model of several quantiles? | [`QuantileModel`], [`QuantileSummary`] |
//! | What holds a model of any kind? | [`AnyModel`], [`AnySummary`] |
//! | Which model do the first rows ask for? | [`FirstRows`] |
//! | How is a table learned, as one transaction? | [`ModelOf::learn_table`] |
//! | What does a front end show of a prediction? | [`Forecast`], [`Forecaster`], [`Forecasts`] |
//! | Which candidate does a draw from the belief choose? | [`Model::choose_table`] |
//! | Who writes the file? | [`Model::save`], [`Model::load`] |
//! | How do other programs get a model? | [`onnx`], [`json_export`] |
//! | What do weights mean? | [`WeightKind`], [`Weights`] |
//! | What do the coefficients say? | [`Model::coefficients`], [`Summary`] |
//! | What does Lemma 6 of the paper say of the fit? | [`CertificateReport`] |
//! | Was there a drift, and is it followed? | [`DriftStatus`] |
//! | What does a second pass give? | [`Polishing`], [`SumsPass`] |
//! | How do several workers fit one model? | [`Template`], [`Shard`], [`Part`] |
//! | How do several models become one? | [`Model::merge_many`] |
//! | Is there memory for so many features? | [`check_memory`] |
//! | Which row of which file is at fault? | [`RowError`] |
//!
//! Front ends translate: options in, text out. They add no decision of their own.

mod any_forecast;
mod any_model;
mod any_summary;
mod certificate;
mod choose;
mod classes;
mod coefficients;
mod conformal;
mod drift;
mod error;
mod export;
mod family;
mod file;
mod first;
mod forecast;
mod history;
mod memory;
mod merge;
mod merging;
mod method;
mod model;
mod model_learner;
mod parameters;
mod polish;
mod quantiles;
mod settings;
mod shards;
mod start;
mod summary;
mod table;
mod weights;

pub use any_forecast::{ClassForecasts, Forecasts, QuantileForecasts};
pub use any_model::AnyModel;
pub use any_summary::AnySummary;
pub use certificate::CertificateReport;
pub use choose::Choice;
pub use classes::{
    ClassCoefficients, ClassErrors, ClassScores, ClassSummary, LevelCoefficients,
    contrast_coefficients, level_coefficients, likeliest, ordinal_learner,
    wide_learner as wide_class_learner,
};
pub use coefficients::{Coefficient, coefficients};
pub use conformal::{ConformalIntervals, ConformalScores, ConformalSums, with_conformal};
pub use drift::DriftStatus;
pub use error::{Error, Result, RowError, number_text};
pub use export::{
    ExportOptions, class_json_export, class_onnx, json_export, onnx, quantile_json_export,
    quantile_onnx,
};
pub use family::{FamilyChoice, FamilyHint, InferredFamily, parse_family};
pub use file::{CLASS_MODEL, FileContent, Loaded, MODEL, MODEL_SET, QUANTILE_MODEL, save_set};
pub use first::FirstRows;
pub use forecast::{Forecast, Forecaster, IntervalOf, LabelNames};
pub use history::{History, Merge, Repeat, Run};
pub use memory::{Footprint, check_copy_memory, check_memory};
pub use merging::{InformationCounts, MergeLearner, PartMap};
pub use method::{Algorithm, Method, MethodName, NewtonConstants};
pub use model::{ClassModel, Model, ModelOf, QuantileModel};
pub use model_learner::ModelLearner;
pub use parameters::{Parameter, Parameters, parse_scale};
pub use polish::{
    Law, PassSums, PolishLearner, PolishPrior, PolishStart, Polishing, SumsPass, sums_from_bytes,
    sums_to_bytes,
};
pub use quantiles::{QuantileLevel, QuantileLevelScores, QuantileScores, QuantileSummary};
pub use settings::{Difference, Settings, SourceFormat};
pub use shards::{
    AnyMerged, AnyPart, AnyShard, AnyTemplate, ClassPart, ClassShard, ClassTemplate,
    MergedClassModel, MergedModel, MergedOf, Part, PartOf, Shard, ShardOf, Template, TemplateOf,
};
pub use start::{Spread, Start};
pub use summary::{Dispersion, LastHalfScores, Overdispersion, Scores, Summary};
pub use table::{LearnScratch, LearnedRows, WaitingRows};
pub use weights::{WeightKind, Weights};
