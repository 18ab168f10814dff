//! `kalmia inspect`: what a model file holds.

mod classes;
mod quantiles;

use crate::args::InspectArgs;
use crate::error::Result;
use crate::format::{counted, number};
use crate::output;
use crate::plan::Files;
use crate::report::{self, Table, main_coefficients, scores_text};
use crate::visible::visible_line;
use kalmia::learner::{MemberWeight, WideWeight};
use kalmia::{AnyFamily, AnyLearner, Family, Learner};
use kalmia_data::{Encoder, Kind};
use kalmia_model::{AnyModel, Coefficient, History, Loaded, Model, Run, Scores, Settings};
use serde::Serialize;
use std::fmt::Write;

/// What `--json` prints.
#[derive(Serialize)]
struct Inspection<'a> {
    version: String,
    method: &'static str,
    averaged: bool,
    family: AnyFamily,
    rows: u64,
    /// Rows whose values the file contains.
    kept_rows: usize,
    skipped: u64,
    features: usize,
    target: Option<&'a kalmia_data::Target>,
    columns: Vec<ColumnView<'a>>,
    coefficients: Vec<Coefficient>,
    progressive: Scores,
    mixture: Option<Vec<MemberView>>,
    settings: &'a Settings,
    history: &'a History,
}

#[derive(Serialize)]
struct ColumnView<'a> {
    name: &'a str,
    kind: Option<Kind>,
    levels: Vec<&'a str>,
}

#[derive(Serialize)]
struct MemberView {
    prior_size: f64,
    /// Of a member of auto: whether its prior is that of centered features.
    #[serde(skip_serializing_if = "Option::is_none")]
    centered: Option<bool>,
    /// Of a member of wide: the share of the linear predictor's variance that it believes.
    #[serde(skip_serializing_if = "Option::is_none")]
    variance_share: Option<f64>,
    /// Of a member whose precisions grow as a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    root_rate: Option<f64>,
    process_noise: f64,
    weight: f64,
}

impl MemberView {
    /// What sets the member apart besides its prior size.
    fn kind(&self) -> String {
        match (self.centered, self.variance_share) {
            (Some(true), _) => "centered features".into(),
            (Some(false), _) => "features as they come".into(),
            (None, Some(share)) => match self.root_rate {
                Some(rate) => format!("{} of the variance, root {}", number(share), number(rate)),
                None => format!("{} of the variance", number(share)),
            },
            (None, None) => String::new(),
        }
    }
}

impl From<MemberWeight> for MemberView {
    fn from(member: MemberWeight) -> Self {
        Self {
            prior_size: member.prior_size,
            centered: Some(member.centered),
            variance_share: None,
            root_rate: None,
            process_noise: member.process_noise,
            weight: member.weight,
        }
    }
}

impl From<WideWeight> for MemberView {
    fn from(member: WideWeight) -> Self {
        Self {
            prior_size: member.prior_size,
            centered: None,
            variance_share: Some(member.variance_share),
            root_rate: Some(member.root_rate).filter(|rate| *rate > 0.0),
            process_noise: member.process_noise,
            weight: member.weight,
        }
    }
}

/// Runs the command.
pub fn run(args: &InspectArgs) -> Result<()> {
    Files::default().reads("the model", &args.model).check()?;
    let Loaded { content: model, version } = AnyModel::load(&args.model)?;
    match model {
        AnyModel::Numbers(model) => {
            let view = inspection(&model, version)?;
            if args.json { output::print_json(&view) } else { output::print(&text(&view)) }
        }
        AnyModel::Classes(model) => {
            let view = classes::inspection(&model, version)?;
            if args.json { output::print_json(&view) } else { output::print(&classes::text(&view)) }
        }
        AnyModel::Quantiles(model) => {
            let view = quantiles::inspection(&model, version)?;
            if args.json {
                output::print_json(&view)
            } else {
                output::print(&quantiles::text(&view))
            }
        }
    }
}

fn inspection(model: &Model, version: String) -> Result<Inspection<'_>> {
    let mixture: Option<Vec<MemberView>> = match &model.learner {
        AnyLearner::Auto(auto) => Some(auto.weights().into_iter().map(MemberView::from).collect()),
        AnyLearner::Wide(wide) => Some(wide.weights().into_iter().map(MemberView::from).collect()),
        _ => None,
    };
    Ok(Inspection {
        version,
        method: model.learner.method(),
        averaged: matches!(model.learner, AnyLearner::Averaged(_)),
        family: model.family(),
        rows: model.learner.count(),
        kept_rows: model.learner.kept_rows(),
        skipped: model.encoder.counts().skipped,
        features: model.learner.dim(),
        target: model.encoder.target(),
        columns: columns(&model.encoder),
        coefficients: model.main_coefficients(0.95)?,
        progressive: Scores::new(&model.metrics.progressive),
        mixture,
        settings: &model.settings,
        history: &model.history,
    })
}

fn columns(encoder: &Encoder) -> Vec<ColumnView<'_>> {
    let view = encoder.columns().iter().map(|column| {
        let levels = column.levels.as_slice().iter().map(|level| &*level.name).collect();
        ColumnView { name: &column.name, kind: column.kind, levels }
    });
    view.collect()
}

fn text(view: &Inspection<'_>) -> String {
    let mut out = format!(
        "{} of {} by {}{}, {}, {}, written by kalmia {}\n",
        view.family.name(),
        view.target
            .map_or_else(String::new, |target| report::target(&target.name, target.positive())),
        if view.averaged { "averaged " } else { "" },
        view.method,
        counted(view.rows, "row"),
        counted(view.features as u64, "feature"),
        visible_line(&view.version)
    );
    let _ = write!(
        out,
        "\n{}\n{}",
        column_table(&view.columns),
        main_coefficients(&view.coefficients, view.features)
    );
    if view.progressive.loss.is_finite() {
        let _ = write!(out, "\nprogressive\n{}", scores_text(&view.progressive));
    }
    if let Some(members) = &view.mixture {
        out.push_str(&mixture_table(members));
    }
    out.push_str(&origin_text(view.history, view.kept_rows));
    out
}

fn column_table(columns: &[ColumnView<'_>]) -> String {
    let mut table = Table::new(["column", "kind"]);
    for column in columns {
        let kind = match column.kind {
            Some(Kind::Number) => "number".into(),
            Some(Kind::Boolean) => "boolean".into(),
            Some(Kind::Category) => {
                format!("category of {}", counted(column.levels.len() as u64, "level"))
            }
            Some(Kind::Text) => "text".into(),
            None => "not seen".into(),
        };
        table.row([column.name.into(), kind]);
    }
    table.render()
}

fn mixture_table(members: &[MemberView]) -> String {
    let mut table = Table::new(["mixture: prior size", "belief", "process noise", "weight"]);
    members.iter().for_each(|m| {
        table.row([
            number(m.prior_size),
            m.kind(),
            number(m.process_noise),
            format!("{:.6}", m.weight),
        ]);
    });
    format!("\n{}", table.render())
}

/// Which rows the model has learned, and how many of them its file contains.
fn origin_text(learned: &History, kept_rows: usize) -> String {
    let mut out = "\nrows from\n".to_string();
    history(learned, "  ", &mut out);
    if kept_rows > 0 {
        let rows = counted(kept_rows as u64, "row");
        let _ = writeln!(
            out,
            "\nthe file contains the values of its first {rows}; \
             do not pass it on if they are private"
        );
    }
    out
}

fn history(history: &History, indent: &str, out: &mut String) {
    if let Some(merge) = &history.merged {
        let _ = writeln!(
            out,
            "{indent}two models, merged {}:",
            if merge.exact { "exactly" } else { "approximately" }
        );
        merge.parts.iter().for_each(|part| self::history(part, &format!("{indent}  "), out));
    }
    for (i, run) in history.runs.iter().enumerate() {
        let Run { files, position, finished, .. } = run;
        let names: Vec<_> = files.iter().map(|file| visible_line(&file.name)).collect();
        let verb = if i == 0 && history.merged.is_none() { "fit" } else { "update" };
        let state = if *finished { "" } else { ", not finished" };
        let _ = writeln!(
            out,
            "{indent}{verb}: {} ({} read{state})",
            names.join(", "),
            counted(position.rows, "row")
        );
    }
}
