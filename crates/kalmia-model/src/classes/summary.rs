//! What a model of several classes reports about itself.

use super::{ClassCoefficients, LevelCoefficients};
use crate::coefficients::by_column;
use crate::drift::DriftStatus;
use crate::error::Result;
use crate::family::{CATEGORICAL, ORDINAL};
use crate::model::ClassModel;
use crate::summary::{LEVEL, LastHalfScores};
use kalmia::evaluate::{ClassMetrics, ClassReport};
use serde::Serialize;

/// A model of several classes in numbers, as `fit --json` prints it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClassSummary {
    /// Rows learned in all.
    pub rows: u64,
    /// Rows left out for a missing value.
    pub skipped: u64,
    /// Missing values replaced.
    pub imputed: u64,
    /// `categorical` or `ordinal`.
    pub family: &'static str,
    /// The method's name.
    pub method: &'static str,
    /// The target column.
    pub target: String,
    /// The names of the classes, sorted; of ordered levels the lowest first.
    pub classes: Vec<String>,
    /// The class that coefficients are compared with; `None` for ordered levels.
    pub reference: Option<String>,
    /// Losses of predictions made before each row was learned.
    pub progressive: ClassScores,
    /// Coefficients per class.
    pub features: usize,
    /// The coefficients of the other classes against the reference, with 95 % intervals; of a wide
    /// model the numbers and the 100 others that are the most standard errors from 0.
    pub coefficients: Vec<ClassCoefficients>,
    /// Of ordered levels, in place of `coefficients`: those of all levels, and the cutpoints, with
    /// 95 % intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<LevelCoefficients>,
    /// Weight of the rows of each class by the class that was predicted before they were learned,
    /// in the order of `classes`; `None` for more than 20 classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confusion: Option<Vec<Vec<f64>>>,
    /// Whether the rows seem sorted by their class; what was learned is then poor.
    pub sorted: bool,
    /// What was found about drift, if the method looks for it.
    pub drift: Option<DriftStatus>,
}

/// Averages over rows.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClassScores {
    /// Mean loss: minus the logarithm of the probability of the row's class.
    pub loss: f64,
    /// Mean loss of the constant predictor, which knows how frequent the classes are.
    pub baseline_loss: f64,
    /// Share of the rows whose likeliest class was right.
    pub accuracy: f64,
    /// Share of the rows whose class was among the likeliest 1, 2, 3 and so on, at most 10.
    pub top: Vec<f64>,
    /// Mean squared error of the probabilities, summed over the classes.
    pub brier: f64,
    /// Expected calibration error of the likeliest class.
    pub calibration_error: f64,
    /// The last half of the rows.
    pub last_half: Option<LastHalfScores>,
}

impl ClassScores {
    /// From running sums.
    pub fn new(metrics: &ClassMetrics) -> Self {
        let ClassReport { loss, constant_loss, top, brier, calibration_error, last_half, .. } =
            metrics.report();
        Self {
            loss,
            baseline_loss: constant_loss,
            accuracy: top.first().copied().unwrap_or(f64::NAN),
            top,
            brier,
            calibration_error,
            last_half: last_half.map(LastHalfScores::from),
        }
    }
}

impl ClassSummary {
    /// The summary of a model.
    pub fn new(model: &ClassModel) -> Result<Self> {
        Self::limited(model, usize::MAX)
    }

    /// The same with the coefficients of at most `limit` classes against the reference, the first
    /// by name.
    pub fn limited(model: &ClassModel, limit: usize) -> Result<Self> {
        let counts = model.encoder.counts();
        let sorted = model.sorted_classes();
        let listed = &sorted[..sorted.len().min(limit.saturating_add(1))];
        let name = |class: usize| model.classes()[class].clone();
        Ok(Self {
            rows: model.learner.count(),
            skipped: counts.skipped,
            imputed: counts.imputed,
            family: if model.learner.ordinal().is_some() { ORDINAL } else { CATEGORICAL },
            method: model.learner.method(),
            target: model.target().into(),
            classes: sorted.iter().copied().map(name).collect(),
            reference: model.reference().map(name),
            progressive: ClassScores::new(&model.metrics),
            features: model.learner.dim(),
            coefficients: model.main_class_coefficients_in(listed, LEVEL)?,
            levels: model.level_coefficients(LEVEL)?.map(|found| LevelCoefficients {
                coefficients: by_column(&model.encoder, found.coefficients),
                cutpoints: found.cutpoints,
            }),
            confusion: model.metrics.confusion().map(|table| table.table(&sorted)),
            sorted: model.metrics.is_sorted(),
            drift: DriftStatus::of_classes(&model.learner),
        })
    }
}
