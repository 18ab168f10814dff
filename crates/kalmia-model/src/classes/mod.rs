//! Models of several classes: how one is made, what it predicts and what its coefficients say.

mod ordinal;
mod robust;
mod summary;

pub(crate) use ordinal::NO_DRIFT;
pub use ordinal::{LevelCoefficients, level_coefficients};
pub use robust::ClassErrors;
pub use summary::{ClassScores, ClassSummary};

use crate::coefficients::{Coefficient, by_column};
use crate::error::{Error, Result, RowError};
use crate::family::{CATEGORICAL, ORDINAL};
use crate::history::History;
use crate::memory::check_memory;
use crate::method::{Algorithm, MAX_WIDE_NUMBERS};
use crate::model::{ClassModel, LISTED, ModelOf, inputs_of, sparse_inputs_of};
use crate::model_learner::ModelLearner;
use crate::settings::Settings;
use crate::weights::Weights;
use kalmia::evaluate::ClassMetrics;
use kalmia::file::Metadata;
use kalmia::learner::{AnyCategorical, ContrastTable};
use kalmia::{Categorical, DriftMode, Ordinal, Outliers, WideCategorical};
use kalmia_data::{Block, ClassNames, Encoder, Target};
use serde::Serialize;
use serde_json::Value;

/// The coefficients of one class against the reference class: by how much each raises the logarithm
/// of the odds between the two.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClassCoefficients {
    /// The class.
    pub class: String,
    /// The coefficients, in the order of the features.
    pub coefficients: Vec<Coefficient>,
}

impl ClassModel {
    /// A model that has learned nothing, for the columns and classes that `encoder` knows. Classes
    /// that come later are added at their first row. Refuses methods other than auto and wide, and
    /// for ordered levels all but auto.
    pub fn new(settings: Settings, encoder: Encoder) -> Result<Self> {
        settings.check()?;
        if encoder.target().is_some_and(Target::is_ordered) {
            ordinal::check(&settings, &encoder)?;
        }
        let algorithm = settings.method.algorithm;
        let drift = match algorithm {
            Algorithm::Auto { drift, .. } | Algorithm::Wide { drift } => drift,
            _ => return Err(Error::ClassMethod { method: settings.method.name() }),
        };
        if settings.conformal {
            let family = if settings.family.is_ordinal() { ORDINAL } else { CATEGORICAL };
            return Err(Error::NoConformal { family: family.into() });
        }
        if matches!(algorithm, Algorithm::Auto { outliers: Outliers::Downweight, .. }) {
            return Err(Error::ClassOutliers);
        }
        if settings.method.averaged {
            return Err(Error::ClassAveraged);
        }
        if encoder.options().offset.is_some() {
            return Err(Error::ClassOffset);
        }
        let names = encoder.target().and_then(Target::classes);
        let known = names.map_or(0, ClassNames::len).max(1);
        let intercept = encoder.options().intercept;
        let learner = match encoder.is_wide() {
            true => wide_learner(known, encoder.number_features(), intercept, drift)?,
            false if encoder.target().is_some_and(Target::is_ordered) => {
                ordinal_learner(known, encoder.dim(), intercept)?
            }
            false => dense_learner(known, encoder.dim(), intercept, drift)?,
        };
        Ok(ModelOf {
            learner,
            encoder,
            metrics: ClassMetrics::default(),
            settings,
            weights: Weights::default(),
            history: History::default(),
            metadata: Metadata::default(),
        })
    }

    /// The names of the classes, by their code.
    pub fn classes(&self) -> &[String] {
        self.encoder.target().and_then(Target::classes).map_or(&[], ClassNames::as_slice)
    }

    /// The codes of the classes that were learned, in the order in which people expect the names;
    /// ordered levels in theirs.
    pub fn sorted_classes(&self) -> Vec<usize> {
        if let Some(ordinal) = self.learner.ordinal() {
            return (0..ordinal.levels()).collect();
        }
        let names = self.encoder.target().and_then(Target::classes);
        let mut sorted = names.map_or(Vec::new(), ClassNames::sorted);
        sorted.retain(|&class| class < self.learner.classes());
        sorted
    }

    /// Calls `take(i, probabilities)` with the probabilities of the classes, by their code, for
    /// each row of a block. Targets are not used. An error names the row in the data.
    pub fn predict_classes(
        &self,
        block: &Block,
        take: &mut dyn FnMut(usize, &[f64]) -> kalmia::Result<()>,
    ) -> Result<()> {
        let mut predict = || match &block.sparse {
            Some(sparse) => self.learner.predict_sparse(sparse_inputs_of(sparse, block)?, take),
            None => self.learner.predict_many(inputs_of(block)?, take),
        };
        predict().map_err(|cause| RowError::locate(cause, block, &self.encoder))
    }

    /// The class that coefficients are compared with: the first by name. Ordered levels have none.
    pub fn reference(&self) -> Option<usize> {
        if self.learner.ordinal().is_some() {
            return None;
        }
        self.sorted_classes().first().copied()
    }

    /// The classes in the order of their names, for an export.
    pub fn labels(&self) -> Vec<(usize, Value)> {
        let label = |code: usize| (code, Value::from(self.classes()[code].as_str()));
        self.sorted_classes().into_iter().map(label).collect()
    }

    /// The coefficients of each class against the reference class, with intervals of probability
    /// `level`. Rows determine such differences only. Ordered levels have none of them, but
    /// [`level_coefficients`](Self::level_coefficients).
    pub fn class_coefficients(&self, level: f64) -> Result<Vec<ClassCoefficients>> {
        self.class_coefficients_in(&self.sorted_classes(), level)
    }

    /// The same for classes in another order, against the first of them.
    pub fn class_coefficients_in(
        &self,
        codes: &[usize],
        level: f64,
    ) -> Result<Vec<ClassCoefficients>> {
        self.contrasts(codes, level, usize::MAX)
    }

    /// The coefficients that a summary lists: all, column by column, or of a wide model the numbers
    /// and the 100 others that are the most standard errors from 0, the strongest first.
    pub fn main_class_coefficients(&self, level: f64) -> Result<Vec<ClassCoefficients>> {
        self.main_class_coefficients_in(&self.sorted_classes(), level)
    }

    /// The same for classes in another order, against the first of them.
    pub fn main_class_coefficients_in(
        &self,
        codes: &[usize],
        level: f64,
    ) -> Result<Vec<ClassCoefficients>> {
        let mut tables = self.contrasts(codes, level, LISTED)?;
        if self.learner.wide().is_none() {
            for ClassCoefficients { coefficients, .. } in &mut tables {
                *coefficients = by_column(&self.encoder, std::mem::take(coefficients));
            }
        }
        Ok(tables)
    }

    /// Of a wide model at most `others` besides the numbers.
    fn contrasts(
        &self,
        codes: &[usize],
        level: f64,
        others: usize,
    ) -> Result<Vec<ClassCoefficients>> {
        let Some((&reference, rivals)) = codes.split_first() else { return Ok(Vec::new()) };
        if self.learner.ordinal().is_some() {
            return Ok(Vec::new());
        }
        let one = |&class: &usize| -> Result<ClassCoefficients> {
            let contrast = self.learner.contrast_table(class, reference)?;
            let coefficients = match self.learner.wide() {
                Some(wide) => {
                    let chosen = strongest(&contrast, wide.numbers(), others);
                    let features = wide.features();
                    let name = |j: usize| self.encoder.feature_name(features[j]);
                    named_coefficients(&contrast, chosen.into_iter().map(|j| (j, name(j))), level)
                }
                None => {
                    let names = self.encoder.features().iter().map(|feature| feature.name.clone());
                    named_coefficients(&contrast, names.enumerate(), level)
                }
            };
            let class = self.classes()[class].clone();
            Ok(ClassCoefficients { class, coefficients: coefficients? })
        };
        rivals.iter().map(one).collect()
    }
}

/// The learner of dense rows.
fn dense_learner(
    classes: usize,
    dim: usize,
    intercept: bool,
    drift: DriftMode,
) -> Result<AnyCategorical> {
    let build = |dim: usize| -> Result<AnyCategorical> {
        let builder = Categorical::builder(classes, dim).drift(drift);
        Ok(AnyCategorical::from(builder.with_intercept(intercept).build()?))
    };
    check_memory(&build(1)?, dim)?;
    build(dim)
}

/// The learner of ordered levels.
pub fn ordinal_learner(levels: usize, dim: usize, intercept: bool) -> Result<AnyCategorical> {
    let build = |dim: usize| -> Result<AnyCategorical> {
        Ok(AnyCategorical::from(Ordinal::builder(levels, dim).with_intercept(intercept).build()?))
    };
    check_memory(&build(1)?, dim)?;
    build(dim)
}

/// The learner of sparse rows whose first `numbers` features, the constant included, are numbers.
pub fn wide_learner(
    classes: usize,
    numbers: usize,
    intercept: bool,
    drift: DriftMode,
) -> Result<AnyCategorical> {
    let numbers = numbers.saturating_sub(usize::from(intercept)).min(MAX_WIDE_NUMBERS);
    let builder = WideCategorical::builder(classes).with_intercept(intercept).drift(drift);
    Ok(AnyCategorical::from(builder.numbers(numbers).build()?).limited())
}

/// The numbers, and of the other coefficients at most `others`: those that are the most standard
/// errors from 0, the strongest first. All in their order if that is no limit.
fn strongest(contrast: &ContrastTable, numbers: usize, others: usize) -> Vec<usize> {
    let len = contrast.coefficients.len();
    if others >= len {
        return (0..len).collect();
    }
    let z = |j: &usize| (contrast.coefficients[*j] / contrast.standard_errors[*j]).abs();
    let mut rest: Vec<usize> = (numbers..len).collect();
    rest.sort_by(|a, b| z(b).total_cmp(&z(a)));
    rest.truncate(others);
    (0..numbers).chain(rest).collect()
}

/// The coefficients of one class against another, named in order, with intervals of probability
/// `level`.
pub fn contrast_coefficients(
    contrast: &ContrastTable,
    names: impl Iterator<Item = String>,
    level: f64,
) -> Result<Vec<Coefficient>> {
    named_coefficients(contrast, names.enumerate(), level)
}

/// The same of chosen coefficients, each with its name.
fn named_coefficients(
    contrast: &ContrastTable,
    chosen: impl Iterator<Item = (usize, String)>,
    level: f64,
) -> Result<Vec<Coefficient>> {
    let ContrastTable { coefficients, standard_errors } = contrast;
    let line = |(j, name): (usize, String)| {
        Coefficient::new(name, coefficients[j], Some(standard_errors[j]), f64::INFINITY, level)
    };
    chosen.map(line).collect()
}

/// The class of the highest probability, the first of several.
pub fn likeliest(probabilities: &[f64]) -> usize {
    let mut best = 0;
    for (class, &p) in probabilities.iter().enumerate() {
        if p > probabilities[best] {
            best = class;
        }
    }
    best
}
