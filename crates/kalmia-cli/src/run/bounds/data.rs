//! `--data`: the constants of a bound that rows can show, estimated in one pass.

use crate::args::{RoleArgs, SourceArgs};
use crate::error::{Failure, Result};
use crate::format::{brief, counted};
use crate::interrupt;
use crate::learn::{Feed, Next, Start, family, next, report_columns, report_left_out};
use crate::plan::fit::roles;
use crate::plan::{Files, SourcePlan};
use crate::progress::Ui;
use clap::Parser;
use kalmia::{DriftMode, Family};
use kalmia_data::{EncoderOptions, WideRows};
use kalmia_model::{Dispersion, Method, MethodName, Model, Parameters, Settings};
use kalmia_theory::{DesignEstimate, DesignMoments, Entry, Inputs};
use serde_json::{Value, json};
use std::path::Path;

/// The options of `fit` about files and columns.
#[derive(Debug, Parser)]
#[command(name = "kalmia bounds NAME --data", disable_help_flag = true)]
struct DataArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    roles: RoleArgs,
}

/// Below this share of the largest squared norm, the smallest eigenvalue is rounding.
const MIN_EIGENVALUE_SHARE: f64 = 1e-13;

/// What the rows show.
#[derive(Debug)]
pub struct Estimates {
    names: Vec<String>,
    family: String,
    design: DesignEstimate,
    norm: f64,
    sigma: Option<f64>,
}

/// One parameter that the rows gave.
#[derive(Debug)]
struct Estimate {
    parameter: &'static str,
    value: f64,
    how: &'static str,
}

/// The parameters that were filled in.
#[derive(Debug)]
pub struct Filled {
    head: String,
    rows: u64,
    estimates: Vec<Estimate>,
}

impl Estimates {
    /// Reads the rows once: their moments, and a model fitted to them as `fit` would.
    pub fn read(words: &[String], plot: Option<&Path>, ui: Ui) -> Result<Self> {
        let program = std::iter::once("kalmia bounds".to_owned());
        let args = DataArgs::try_parse_from(program.chain(words.iter().cloned()))
            .map_err(|error| Failure::usage(parser_message(&error)))?;
        let source = SourcePlan::new(&args.source)?;
        Files::default().source(&source).writes("--plot", plot).check()?;
        interrupt::catch();
        let columns = roles(&args.roles, &args.source, WideRows::Never);
        let (model, design) = fit(&args, &source, &columns, ui)?;
        let coefficients = model.coefficients(0.95)?;
        let norm = coefficients.iter().map(|one| one.estimate * one.estimate).sum::<f64>().sqrt();
        let gaussian = model.family().name().starts_with("gaussian");
        let sigma = Dispersion::of(&model.learner).value.filter(|_| gaussian).map(f64::sqrt);
        let names = source.inputs.iter().map(|input| input.name().to_owned()).collect();
        Ok(Self { names, family: model.family().name().into(), design, norm, sigma })
    }

    /// Sets the parameters that were not given, except the one that is swept. What remains to be
    /// given is reported with what was estimated.
    pub fn fill(&self, entry: &Entry, inputs: &mut Inputs, swept: Option<&str>) -> Result<Filled> {
        let wanted = |name: &str| {
            let has = entry.parameters.iter().any(|parameter| parameter.name == name);
            has && inputs.get(name).is_none() && swept != Some(name)
        };
        let estimates: Vec<_> = self.all().into_iter().filter(|e| wanted(e.parameter)).collect();
        let collinear = MIN_EIGENVALUE_SHARE * self.design.d_x * self.design.d_x;
        if wanted("Lmin") && self.design.lambda_min <= collinear {
            return Err(Failure::usage(format!(
                "the features of {} are collinear: the smallest eigenvalue of the mean of xx' is \
                 {}; leave a column out with --exclude, or give --Lmin",
                self.names.join(", "),
                brief(self.design.lambda_min)
            )));
        }
        for estimate in &estimates {
            inputs.set(estimate.parameter, estimate.value);
        }
        let filled = Filled { head: self.head(), rows: self.design.rows, estimates };
        let missing: Vec<_> = entry
            .parameters
            .iter()
            .filter(|p| p.default.is_none() && inputs.get(p.name).is_none())
            .filter(|p| swept != Some(p.name))
            .map(|p| format!("--{}", p.name))
            .collect();
        if missing.is_empty() {
            return Ok(filled);
        }
        Err(Failure::usage(format!(
            "`{}` also needs {}, which rows do not show: give a value for each\n{}",
            entry.name,
            missing.join(", "),
            filled.text().trim_end()
        )))
    }

    fn head(&self) -> String {
        format!(
            "estimated from {} of {} ({}, {})",
            counted(self.design.rows, "row"),
            self.names.join(", "),
            self.family,
            counted(self.design.d as u64, "feature")
        )
    }

    fn all(&self) -> Vec<Estimate> {
        let DesignEstimate { rows, d, d_x, lambda_min } = self.design;
        let one = |parameter, value, how| Estimate { parameter, value, how };
        let mut all = vec![
            one("d", d as f64, "features, with the intercept and one per category level"),
            one("n", rows as f64, "rows"),
            one("N", rows as f64, "rows"),
            one("D_X", d_x, "largest norm of a row; the supremum can only be larger"),
            one("Lmin", lambda_min, "smallest eigenvalue of the mean of xx'"),
            one("nstar", self.norm, "norm of the coefficients fitted to the rows"),
            one("dist1", self.norm, "the same, for a start at theta_1 = 0"),
        ];
        all.extend(self.sigma.map(|sigma| one("sigma", sigma, "noise of the fit, not squared")));
        all
    }
}

impl Filled {
    /// The estimates, one per line.
    pub fn text(&self) -> String {
        let width = self.estimates.iter().map(|e| e.parameter.len()).max().unwrap_or(0);
        let lines = self.estimates.iter().map(|Estimate { parameter, value, how }| {
            format!("  {parameter:<width$} = {} ({how})\n", brief(*value))
        });
        format!("{}\n{}", self.head, lines.collect::<String>())
    }

    /// The estimates for programs.
    pub fn json(&self) -> Value {
        let values: serde_json::Map<String, Value> =
            self.estimates.iter().map(|e| (e.parameter.to_owned(), json!(e.value))).collect();
        json!({"rows": self.rows, "values": values})
    }
}

/// The model and the moments of its rows.
fn fit(
    args: &DataArgs,
    source: &SourcePlan,
    columns: &EncoderOptions,
    ui: Ui,
) -> Result<(Model, DesignEstimate)> {
    let Start { mut reader, encoder, mut block } = Start::read(source, columns)?;
    report_columns(&encoder, ui);
    let target = Feed::InOrder(&mut reader).target(&encoder)?;
    let family = family(&args.roles.family, &target, ui)?;
    // one set of coefficients for all rows, as the theorems have
    let still = Parameters { drift: Some(DriftMode::Off), ..Parameters::default() };
    let settings = Settings {
        family: args.roles.family.clone(),
        method: Method::new(MethodName::Auto, &still)?,
        weight_kind: args.roles.weight_kind,
        ..Settings::default()
    };
    let mut model = Model::new(settings, family, encoder)?;
    let mut moments = DesignMoments::default();
    let mut meter = ui.progress(reader.progress());
    loop {
        (0..block.rows()).for_each(|i| moments.add(block.row(i)));
        model.learn(&block, None)?;
        meter.tick(reader.progress(), reader.position().rows, || None);
        match next(&mut reader, &mut model.encoder, &mut block)? {
            Next::Block => {}
            Next::End => break,
            Next::Stop => {
                return Err(Failure::Interrupted(
                    "interrupted while the rows were read; nothing was evaluated".into(),
                ));
            }
        }
    }
    meter.finish();
    report_left_out(&reader, ui);
    model.check_weights()?;
    let design = moments.estimate().ok_or_else(|| Failure::no_rows(model.encoder.counts()))?;
    Ok((model, design))
}

/// The parser's reason alone, without usage lines of a command that does not exist.
fn parser_message(error: &clap::Error) -> String {
    let text = error.to_string();
    let reason = text.split("\n\n").next().unwrap_or(&text);
    format!(
        "{}; beside the bound's parameters, --data takes the options of `kalmia fit` about files \
         and columns",
        reason.trim_start_matches("error: ").trim_end()
    )
}
