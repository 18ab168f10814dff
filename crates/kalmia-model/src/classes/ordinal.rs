//! Models of ordered levels: what they refuse, and their coefficients and cutpoints.

use crate::coefficients::Coefficient;
use crate::error::{Error, Result};
use crate::method::Algorithm;
use crate::model::ClassModel;
use crate::settings::Settings;
use kalmia::{DriftMode, Ordinal};
use kalmia_data::{Encoder, Meaning};
use serde::Serialize;

/// The coefficients of ordered levels, as log odds. A level below a cutpoint has the probability
/// `1 / (1 + exp(linear - cutpoint))`, where `linear` is the sum of the coefficients times the
/// features.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LevelCoefficients {
    /// By how much a unit of each feature raises the logarithm of the odds of a higher level, in
    /// the order of the features.
    pub coefficients: Vec<Coefficient>,
    /// The cutpoints between neighboring levels, ascending; one between `low` and `high` has the
    /// name `low|high`.
    pub cutpoints: Vec<Coefficient>,
}

/// What to do instead of looking for a drift.
pub(crate) const NO_DRIFT: &str = "follow no drift and look for none: leave drift out, or use the \
                                   family categorical, which looks for one";

/// Refuses settings and columns that ordered levels do not take.
pub(super) fn check(settings: &Settings, encoder: &Encoder) -> Result<()> {
    let refuse = |problem: &'static str| Err(Error::Ordinal { problem });
    match settings.method.algorithm {
        Algorithm::Auto { drift: DriftMode::Adapt, .. } => refuse(NO_DRIFT),
        Algorithm::Auto { .. } if encoder.is_wide() => refuse(
            "take dense rows: leave out text, hashed features and columns of very many levels, or \
             use the family categorical",
        ),
        Algorithm::Auto { .. } if encoder.options().offset.is_some() => {
            refuse("take no offset: leave it out")
        }
        Algorithm::Auto { .. } => Ok(()),
        _ => refuse("are learned by the method auto alone: leave the method out"),
    }
}

/// Coefficients and cutpoints of a learner with intervals of probability `level`; `features` are
/// the names of the features without the constant, `levels` those of the levels.
pub fn level_coefficients(
    learner: &Ordinal,
    features: impl Iterator<Item = String>,
    levels: &[String],
    level: f64,
) -> Result<LevelCoefficients> {
    let estimate = learner.estimate();
    let line = |name: String, value: &f64, error: f64| {
        Coefficient::new(name, *value, Some(error), f64::INFINITY, level)
    };
    let slopes = estimate.coefficients().iter().zip(estimate.coefficient_errors());
    let coefficients = features.zip(slopes).map(|(name, (value, error))| line(name, value, error));
    let cuts = estimate.cutpoints().iter().zip(estimate.cutpoint_errors());
    let cutpoints = levels
        .windows(2)
        .zip(cuts)
        .map(|(pair, (value, error))| line(format!("{}|{}", pair[0], pair[1]), value, error));
    Ok(LevelCoefficients {
        coefficients: coefficients.collect::<Result<_>>()?,
        cutpoints: cutpoints.collect::<Result<_>>()?,
    })
}

impl ClassModel {
    /// The coefficients and cutpoints of ordered levels, with intervals of probability `level`;
    /// `None` for classes without an order.
    pub fn level_coefficients(&self, level: f64) -> Result<Option<LevelCoefficients>> {
        let Some(learner) = self.learner.ordinal() else { return Ok(None) };
        let features = self.encoder.features().iter();
        let features = features.filter(|feature| feature.meaning != Meaning::Intercept);
        let names = features.map(|feature| feature.name.clone());
        level_coefficients(learner, names, self.classes(), level).map(Some)
    }
}
