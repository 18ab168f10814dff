//! `kalmia export`: a model for other programs.

mod onnx;
mod proto;

use crate::args::{ExportArgs, ExportFormat};
use crate::error::{Failure, Result};
use crate::output;
use crate::plan::Files;
use kalmia::{AnyFamily, Learner, Predict};
use kalmia_model::{Loaded, Model};
use std::io::IsTerminal;

/// How the linear predictor becomes a mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
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
            AnyFamily::Gaussian(_) => Self::Identity,
            AnyFamily::Bernoulli(_) | AnyFamily::Binomial(_) => Self::Logit,
            AnyFamily::Poisson(_) | AnyFamily::Gamma(_) => Self::Log,
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

/// Runs the command.
pub fn run(args: &ExportArgs) -> Result<()> {
    let output = args.output.as_deref();
    Files::default().reads("the model", &args.model).writes("-o", output).check()?;
    let Loaded { content: model, version } = Model::load(&args.model)?;
    let bytes = match args.format {
        ExportFormat::Json => json(&model, &version)?.into_bytes(),
        ExportFormat::Onnx => onnx::encode(&model, &version),
    };
    match &args.output {
        Some(path) => output::write_file(path, &bytes),
        None if args.format == ExportFormat::Onnx && std::io::stdout().is_terminal() => {
            Err(Failure::usage("an ONNX file is not for a terminal: give -o FILE.onnx"))
        }
        None => output::print_bytes(&bytes),
    }
}

/// Everything that a program needs to predict, and the covariance for its uncertainty.
fn json(model: &Model, version: &str) -> Result<String> {
    let dim = model.learner.dim();
    let row = |i: usize| {
        (0..dim).map(|j| model.learner.covariance_entry(i, j)).collect::<Option<Vec<f64>>>()
    };
    let family = model.family();
    let degrees = model.learner.degrees_of_freedom();
    output::json_line(&serde_json::json!({
        "kalmia": version,
        "family": family,
        "link": Link::of(&family).name(),
        "method": model.learner.method(),
        "rows": model.learner.count(),
        "target": model.encoder.target(),
        "columns": model.encoder.columns(),
        "features": model.encoder.features(),
        "coefficients": model.coefficients(0.95)?,
        "covariance": (0..dim).map(row).collect::<Option<Vec<_>>>(),
        "degrees_of_freedom": degrees.is_finite().then_some(degrees),
    }))
}
