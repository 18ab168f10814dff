//! What a model of any kind reports about itself.

use crate::any_model::AnyModel;
use crate::classes::ClassSummary;
use crate::error::Result;
use crate::quantiles::QuantileSummary;
use crate::summary::Summary;
use serde::Serialize;

/// A model of any kind in numbers, with the names that `fit --json` prints.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AnySummary {
    /// Of numbers or of two labels.
    Numbers(Box<Summary>),
    /// Of several classes.
    Classes(Box<ClassSummary>),
    /// Of several quantiles.
    Quantiles(Box<QuantileSummary>),
}

impl AnySummary {
    /// The summary of a model. Of several classes at most `classes` are listed with their
    /// coefficients.
    pub fn new(model: &AnyModel, classes: usize) -> Result<Self> {
        Ok(match model {
            AnyModel::Numbers(model) => Self::Numbers(Box::new(Summary::new(model)?)),
            AnyModel::Classes(model) => {
                Self::Classes(Box::new(ClassSummary::limited(model, classes)?))
            }
            AnyModel::Quantiles(model) => Self::Quantiles(Box::new(QuantileSummary::new(model)?)),
        })
    }

    /// What there is to say about a drift, of several quantiles for each level. `adapt` is how this
    /// front end asks to follow one.
    pub fn drift_note(&self, adapt: &str) -> Option<String> {
        match self {
            Self::Numbers(summary) => summary.drift.as_ref()?.note(adapt),
            Self::Classes(summary) => summary.drift.as_ref()?.note(adapt),
            Self::Quantiles(summary) => {
                let note = |level: &crate::QuantileLevel| {
                    let note = level.drift.note(adapt)?;
                    Some(format!("level {}: {note}", level.level))
                };
                let notes: Vec<String> = summary.levels.iter().filter_map(note).collect();
                (!notes.is_empty()).then(|| notes.join("; "))
            }
        }
    }
}
