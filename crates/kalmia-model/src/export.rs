//! Models for other programs: ONNX graphs and JSON.

mod onnx;
mod proto;

pub use onnx::{class_onnx, onnx, quantile_onnx};

use crate::error::{Error, Result};
use crate::model::{ClassModel, Model, QuantileModel};
use crate::model_learner::ModelLearner;
use kalmia::{AnyFamily, AnyLearner, Learner, Predict};
use serde_json::{Value, json};

/// How the linear predictor becomes a mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    /// As it is.
    Identity,
    /// $1/(1+e^{-u})$.
    Logit,
    /// $e^u$.
    Log,
}

impl Link {
    fn of(family: &AnyFamily) -> Self {
        match family {
            AnyFamily::Gaussian(_) | AnyFamily::Quantile(_) | AnyFamily::Student(_) => {
                Self::Identity
            }
            AnyFamily::Bernoulli(_) | AnyFamily::Binomial(_) => Self::Logit,
            AnyFamily::Poisson(_) | AnyFamily::Gamma(_) | AnyFamily::NegativeBinomial(_) => {
                Self::Log
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Logit => "logit",
            Self::Log => "log",
        }
    }
}

/// What goes beside the models into an export.
#[derive(Debug, Clone, Copy)]
pub struct ExportOptions<'a> {
    /// The version of kalmia to name in the export.
    pub version: &'a str,
    /// The class of each model, if there are several, each against the rest.
    pub classes: &'a [Value],
    /// Whether an ONNX graph has a second input, `offset`, which is added to the linear predictor.
    pub offset: bool,
}

/// Everything that a program needs to predict, and the covariance for its uncertainty. Several
/// models become a list beside their classes.
pub fn json_export(models: &[Model], options: &ExportOptions<'_>) -> Result<Value> {
    match models {
        [] => Err(Error::NoModel),
        [only] => json_model(only, options.version),
        several => {
            let models = several.iter().map(|model| json_model(model, options.version));
            Ok(json!({
                "kalmia": options.version,
                "classes": options.classes,
                "models": models.collect::<Result<Vec<_>>>()?,
            }))
        }
    }
}

fn json_model(model: &Model, version: &str) -> Result<Value> {
    let dim = model.learner.dim();
    let row = |i: usize| {
        (0..dim).map(|j| model.learner.covariance_entry(i, j)).collect::<Option<Vec<f64>>>()
    };
    // the covariance of a wide model would be nearly all zeros
    let covariance = match model.learner {
        AnyLearner::Wide(_) => None,
        _ => (0..dim).map(row).collect::<Option<Vec<_>>>(),
    };
    let family = model.family();
    let degrees = model.learner.degrees_of_freedom();
    Ok(json!({
        "kalmia": version,
        "family": family,
        "link": Link::of(&family).name(),
        "method": model.learner.method(),
        "rows": model.learner.count(),
        "target": model.encoder.target(),
        "columns": model.encoder.columns(),
        "features": model.encoder.features(),
        "coefficients": model.coefficients(0.95)?,
        "covariance": covariance,
        "degrees_of_freedom": degrees.is_finite().then_some(degrees),
    }))
}

/// The same for a model of several classes, given by code and label in the order in which they are
/// written: coefficients of each class against the first. Their covariance is left out: classes
/// have one for each pair. Ordered levels have one list of coefficients, the cutpoints, and the
/// covariance of both.
pub fn class_json_export(
    model: &ClassModel,
    classes: &[(usize, Value)],
    version: &str,
) -> Result<Value> {
    let codes: Vec<usize> = classes.iter().map(|(code, _)| *code).collect();
    let labels: Vec<&Value> = classes.iter().map(|(_, label)| label).collect();
    if let (Some(learner), Some(levels)) =
        (model.learner.ordinal(), model.level_coefficients(0.95)?)
    {
        let estimate = learner.estimate();
        let size = levels.coefficients.len() + levels.cutpoints.len();
        return Ok(json!({
            "kalmia": version,
            "family": "ordinal",
            "link": "cumulative logit",
            "method": model.learner.method(),
            "rows": model.learner.count(),
            "target": model.target(),
            "classes": labels,
            "columns": model.encoder.columns(),
            "features": model.encoder.features(),
            "coefficients": levels.coefficients,
            "cutpoints": levels.cutpoints,
            "covariance": estimate.covariance().chunks(size).collect::<Vec<_>>(),
        }));
    }
    Ok(json!({
        "kalmia": version,
        "family": "categorical",
        "link": "softmax",
        "method": model.learner.method(),
        "rows": model.learner.count(),
        "target": model.target(),
        "classes": labels,
        "reference": labels.first(),
        "columns": model.encoder.columns(),
        "features": model.encoder.features(),
        "coefficients": model.class_coefficients_in(&codes, 0.95)?,
    }))
}

/// The same for a model of several quantiles: coefficients of each level with their covariance. A
/// prediction is the sorted list of the products of all levels.
pub fn quantile_json_export(model: &QuantileModel, version: &str) -> Result<Value> {
    let dim = model.learner.dim();
    let mut levels = Vec::new();
    for (learner, coefficients) in
        model.learner.learners().iter().zip(model.quantile_coefficients(0.95)?)
    {
        let row = |i: usize| (0..dim).map(|j| learner.covariance_entry(i, j)).collect();
        let covariance = (0..dim).map(row).collect::<Option<Vec<Vec<f64>>>>();
        let degrees = learner.degrees_of_freedom();
        levels.push(json!({
            "level": learner.family().tau(),
            "coefficients": coefficients,
            "covariance": covariance,
            "degrees_of_freedom": degrees.is_finite().then_some(degrees),
        }));
    }
    Ok(json!({
        "kalmia": version,
        "family": "quantile",
        "link": "identity",
        "method": model.learner.method(),
        "rows": model.learner.count(),
        "target": model.encoder.target(),
        "columns": model.encoder.columns(),
        "features": model.encoder.features(),
        "levels": levels,
    }))
}
