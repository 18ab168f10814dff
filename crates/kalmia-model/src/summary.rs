//! What a model reports about itself, as `fit --json` and the service print it.

use crate::certificate::CertificateReport;
use crate::coefficients::Coefficient;
use crate::conformal::ConformalScores;
use crate::drift::DriftStatus;
use crate::error::Result;
use crate::model::Model;
use kalmia::evaluate::{LastHalf, Progressive, Report};
use kalmia::{AnyFamily, AnyLearner, Family, Learner, Predict};
use kalmia_data::Target;
use serde::Serialize;

/// Probability of the coefficients' intervals.
pub(crate) const LEVEL: f64 = 0.95;

/// A model in numbers.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Summary {
    /// Rows learned in all.
    pub rows: u64,
    /// Rows left out for a missing value.
    pub skipped: u64,
    /// Missing values replaced.
    pub imputed: u64,
    /// The family's name.
    pub family: String,
    /// The method's name.
    pub method: String,
    /// Whether the coefficients are the mean of that method's iterates. The scores are then those
    /// of the iterates.
    pub averaged: bool,
    /// The target column.
    pub target: String,
    /// The label that counts as 1, if labels are texts.
    pub positive: Option<String>,
    /// Losses of predictions made before each row was learned.
    pub progressive: Scores,
    /// Number of coefficients.
    pub features: usize,
    /// The coefficients, with 95 % intervals; of a wide model the numbers and the 100 others that
    /// are the most standard errors from 0.
    pub coefficients: Vec<Coefficient>,
    /// Noise variance or dispersion, if the family has one or the method learns one.
    pub dispersion: Option<f64>,
    /// Whether the method learned it; standard errors and intervals then include it.
    pub dispersion_learned: bool,
    /// Counts that vary more than the model assumes.
    pub overdispersion: Option<Overdispersion>,
    /// Whether the rows seem sorted by the target; what was learned is then poor.
    pub sorted: bool,
    /// What was found about drift, if the method looks for it.
    pub drift: Option<DriftStatus>,
    /// The certificate, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateReport>,
    /// Coverage and width of conformal intervals, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conformal: Option<ConformalScores>,
}

/// Averages over rows.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scores {
    /// Mean loss: half the mean deviance.
    pub loss: f64,
    /// Mean loss of the constant predictor.
    pub baseline_loss: f64,
    /// Mean deviance.
    pub deviance: f64,
    /// Labels: share predicted right.
    pub accuracy: Option<f64>,
    /// Labels: area under the ROC curve.
    pub auc: Option<f64>,
    /// Labels: mean squared error of the probability.
    pub brier: Option<f64>,
    /// Labels: expected calibration error.
    pub calibration_error: Option<f64>,
    /// Gaussian: root mean square error.
    pub rmse: Option<f64>,
    /// Gaussian: mean absolute error.
    pub mae: Option<f64>,
    /// Share of rows inside their 95 % interval.
    pub coverage: Option<f64>,
    /// Quantiles: the level.
    pub level: Option<f64>,
    /// Quantiles: share of targets that are at most the prediction, close to the level if the model
    /// is right.
    pub share_below: Option<f64>,
    /// The last half of the rows.
    pub last_half: Option<LastHalfScores>,
}

/// Averages over the last half of the rows, or somewhat more.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LastHalfScores {
    /// Its first row, from 1.
    pub first_row: u64,
    /// Its last row.
    pub last_row: u64,
    /// Whether it is the last half of each of several parts that were merged.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub of_parts: bool,
    /// Mean loss.
    pub loss: f64,
    /// Mean loss of the constant predictor.
    pub baseline_loss: f64,
    /// Share of rows inside their 95 % interval.
    pub coverage: Option<f64>,
    /// Quantiles: share of targets that are at most the prediction.
    pub share_below: Option<f64>,
    /// Pearson's dispersion: the mean of (y - mean)^2 over the family's variance; not for labels.
    pub pearson_dispersion: Option<f64>,
}

impl From<LastHalf> for LastHalfScores {
    fn from(half: LastHalf) -> Self {
        Self {
            first_row: half.first_row,
            last_row: half.last_row,
            of_parts: half.of_parts,
            loss: half.loss,
            baseline_loss: half.constant_loss,
            coverage: half.covered,
            share_below: half.share_below,
            pearson_dispersion: half.dispersion,
        }
    }
}

/// Counts that vary more than a model assumes, so that its standard errors are too small.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Overdispersion {
    /// How many times as much they vary.
    pub factor: f64,
    /// How many times too small the standard errors are: its root.
    pub std_error_factor: f64,
}

impl Overdispersion {
    /// Factors up to this are not reported.
    const MIN_FACTOR: f64 = 1.3;

    /// What the last half of the rows shows, if it is beyond chance and the learner, of dispersion
    /// `assumed`, does not allow for it.
    pub fn find(progressive: &Progressive, assumed: f64) -> Option<Self> {
        let half = progressive.report().last_half?;
        let mean = progressive.constant()?;
        let variance = match progressive.family() {
            AnyFamily::Poisson(_) => mean,
            AnyFamily::Binomial(binomial) => {
                mean * (1.0 - mean / binomial.trials().unwrap_or(1) as f64)
            }
            _ => return None,
        };
        let factor = half.dispersion? / assumed;
        // a squared residual over its variance has the variance 2 + 1 / variance; means differ
        // between rows, hence the 3
        let rows = (half.last_row - half.first_row + 1) as f64;
        let chance = 3.0 * ((2.0 + 3.0 / variance) / rows).sqrt();
        let certain = factor > Self::MIN_FACTOR.max(1.0 + chance);
        certain.then(|| Self { factor, std_error_factor: factor.sqrt() })
    }

    /// What a user should know, and `remedy`, the method that learns the dispersion, if it is
    /// another one.
    pub fn text(&self, family: &str, remedy: Option<&str>) -> String {
        let Self { factor, std_error_factor } = self;
        let what = format!(
            "the counts vary {factor:.1} times as much as {family} allows: standard errors are \
             {std_error_factor:.1} times too small, and intervals too narrow"
        );
        match remedy {
            Some(remedy) => format!("{what}; {remedy} learns the dispersion"),
            None => what,
        }
    }
}

impl Summary {
    /// The summary of a model.
    pub fn new(model: &Model) -> Result<Self> {
        let counts = model.encoder.counts();
        let dispersion = Dispersion::of(&model.learner);
        let progressive = Scores::new(&model.metrics.progressive);
        Ok(Self {
            rows: model.learner.count(),
            skipped: counts.skipped,
            imputed: counts.imputed,
            family: model.family().name().into(),
            method: model.learner.method().into(),
            averaged: matches!(model.learner, AnyLearner::Averaged(_)),
            target: model.target().into(),
            positive: model.encoder.target().and_then(Target::positive).map(String::from),
            features: model.learner.dim(),
            coefficients: model.main_coefficients(LEVEL)?,
            dispersion: dispersion.value,
            dispersion_learned: dispersion.learned,
            overdispersion: Overdispersion::find(
                &model.metrics.progressive,
                dispersion.value.unwrap_or(1.0),
            ),
            sorted: model.metrics.is_sorted(),
            drift: DriftStatus::new(&model.learner, Some(progressive.loss)),
            progressive,
            certificate: match model.metrics.certificate() {
                Some(sums) => CertificateReport::new(&model.learner, sums)?,
                None => None,
            },
            conformal: ConformalScores::of(&model.metrics),
        })
    }
}

impl Scores {
    /// From running sums.
    pub fn new(progressive: &Progressive) -> Self {
        let Report {
            loss,
            constant_loss,
            deviance,
            classification,
            regression,
            coverage,
            below,
            last_half,
            ..
        } = progressive.report();
        Self {
            loss,
            baseline_loss: constant_loss,
            deviance,
            accuracy: classification.as_ref().map(|c| c.accuracy),
            auc: classification.as_ref().map(|c| c.auc),
            brier: classification.as_ref().map(|c| c.brier),
            calibration_error: classification.as_ref().map(|c| c.calibration_error),
            rmse: regression.map(|r| r.rmse),
            mae: regression.map(|r| r.mae),
            coverage: coverage.map(|c| c.covered),
            level: below.map(|below| below.level),
            share_below: below.map(|below| below.share),
            last_half: last_half.map(LastHalfScores::from),
        }
    }
}

/// The dispersion that a learner uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dispersion {
    /// `None` if it is 1 by definition.
    pub value: Option<f64>,
    /// Whether it was learned.
    pub learned: bool,
}

impl Dispersion {
    /// That of a learner.
    pub fn of(learner: &AnyLearner) -> Self {
        let of_family = match learner.family() {
            AnyFamily::NegativeBinomial(family) => Some(family.dispersion()),
            AnyFamily::Quantile(family) => Some(family.scale()),
            AnyFamily::Student(family) => Some(family.scale()),
            family => family.dispersion(),
        };
        match learner {
            AnyLearner::Auto(auto) => {
                let learned = of_family.is_some() || auto.dispersion() != 1.0;
                Self { value: learned.then(|| auto.dispersion()), learned }
            }
            AnyLearner::Wide(wide) => {
                let learned = of_family.is_some() || wide.dispersion() != 1.0;
                Self { value: learned.then(|| wide.dispersion()), learned }
            }
            AnyLearner::Averaged(averaged) => Self::of(averaged.inner()),
            _ => Self { value: of_family, learned: false },
        }
    }
}
