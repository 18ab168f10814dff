//! Models of several classes: how one is made, what it predicts and what its coefficients say.

mod robust;
mod summary;

pub use robust::ClassErrors;
pub use summary::{ClassScores, ClassSummary};

use crate::coefficients::Coefficient;
use crate::error::{Error, Result, RowError};
use crate::family::CATEGORICAL;
use crate::history::History;
use crate::memory::check_memory;
use crate::method::Algorithm;
use crate::model::{ClassModel, ModelOf, inputs_of};
use crate::settings::Settings;
use crate::weights::Weights;
use kalmia::evaluate::ClassMetrics;
use kalmia::file::Metadata;
use kalmia::learner::Contrast;
use kalmia::{Categorical, Outliers};
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
    /// that come later are added at their first row. Refuses methods other than auto, and sparse
    /// columns.
    pub fn new(settings: Settings, encoder: Encoder) -> Result<Self> {
        settings.check()?;
        let Algorithm::Auto { drift, outliers } = settings.method.algorithm else {
            return Err(Error::ClassMethod { method: settings.method.name() });
        };
        if settings.conformal {
            return Err(Error::NoConformal { family: CATEGORICAL.into() });
        }
        if outliers != Outliers::Keep {
            return Err(Error::ClassOutliers);
        }
        if settings.method.averaged {
            return Err(Error::ClassAveraged);
        }
        if encoder.is_wide() {
            return Err(Error::WideClasses);
        }
        if encoder.options().offset.is_some() {
            return Err(Error::ClassOffset);
        }
        let names = encoder.target().and_then(Target::classes);
        let known = names.map_or(0, ClassNames::len).max(1);
        let builder = |dim: usize| {
            let builder = Categorical::builder(known, dim).drift(drift);
            if encoder.options().intercept { builder.intercept() } else { builder }
        };
        check_memory(&builder(1).build()?, encoder.dim())?;
        Ok(ModelOf {
            learner: builder(encoder.dim()).build()?,
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

    /// The codes of the classes that were learned, in the order in which people expect the names.
    pub fn sorted_classes(&self) -> Vec<usize> {
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
        let mut predict = || self.learner.predict_many(inputs_of(block)?, take);
        predict().map_err(|cause| RowError::locate(cause, block, &self.encoder))
    }

    /// The class that coefficients are compared with: the first by name.
    pub fn reference(&self) -> Option<usize> {
        self.sorted_classes().first().copied()
    }

    /// The classes in the order of their names, for an export.
    pub fn labels(&self) -> Vec<(usize, Value)> {
        let label = |code: usize| (code, Value::from(self.classes()[code].as_str()));
        self.sorted_classes().into_iter().map(label).collect()
    }

    /// The coefficients of each class against the reference class, with intervals of probability
    /// `level`. Rows determine such differences only.
    pub fn class_coefficients(&self, level: f64) -> Result<Vec<ClassCoefficients>> {
        self.class_coefficients_in(&self.sorted_classes(), level)
    }

    /// The same for classes in another order, against the first of them.
    pub fn class_coefficients_in(
        &self,
        codes: &[usize],
        level: f64,
    ) -> Result<Vec<ClassCoefficients>> {
        let Some((&reference, others)) = codes.split_first() else { return Ok(Vec::new()) };
        let one = |&class: &usize| -> Result<ClassCoefficients> {
            let contrast = self.learner.contrast(class, reference)?;
            let names = self.encoder.features().iter().map(|feature| feature.name.clone());
            let coefficients = contrast_coefficients(&contrast, names, level)?;
            Ok(ClassCoefficients { class: self.classes()[class].clone(), coefficients })
        };
        others.iter().map(one).collect()
    }
}

/// The coefficients of one class against another, named in order, with intervals of probability
/// `level`.
pub fn contrast_coefficients(
    contrast: &Contrast,
    names: impl Iterator<Item = String>,
    level: f64,
) -> Result<Vec<Coefficient>> {
    let errors = contrast.standard_errors();
    let lines = names.zip(&contrast.coefficients).zip(errors);
    lines
        .map(|((name, &estimate), error)| {
            Coefficient::new(name, estimate, Some(error), f64::INFINITY, level)
        })
        .collect()
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
