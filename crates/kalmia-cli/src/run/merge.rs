//! `kalmia merge`: one model of two that learned from different rows.

use crate::args::MergeArgs;
use crate::error::{Failure, Result};
use crate::format::counted;
use crate::output;
use crate::plan::Files;
use crate::progress::Ui;
use kalmia::Learner;
use kalmia::evaluate::Metrics;
use kalmia_data::Encoder;
use kalmia_model::{History, Merge, Model};
use std::path::Path;

/// Runs the command.
pub fn run(args: &MergeArgs, ui: Ui) -> Result<()> {
    Files::default()
        .reads("the model", &args.a)
        .reads("the model", &args.b)
        .writes("-o", Some(&args.output))
        .check()?;
    let a = Model::load(&args.a)?.content;
    let b = Model::load(&args.b)?.content;
    for (model, path) in [(&a, &args.a), (&b, &args.b)] {
        if model.history.runs.iter().any(|run| !run.finished) {
            let path = path.display();
            return Err(Failure::usage(format!(
                "{path} is a checkpoint that did not finish; finish it first"
            )));
        }
    }
    same_features(&a.encoder, &b.encoder, &args.a, &args.b)?;
    for file in a.history.files_in_both(&b.history) {
        ui.note(&format!("note: both models learned from {}; its rows count twice", file.name));
    }
    let merged = a.learner.merge(&b.learner)?;
    let exact = merged.is_exact();
    let learner = merged.into_inner();
    let rows = learner.count();
    let model = Model {
        learner,
        encoder: a.encoder,
        settings: a.settings,
        weights: a.weights.merged(&b.weights),
        // each model predicted its own rows only; the merged one has predicted nothing yet
        metrics: Metrics::new(*a.metrics.progressive.family())?,
        history: History {
            runs: Vec::new(),
            merged: Some(Merge { exact, parts: vec![a.history, b.history] }),
        },
        // an entry that only one of them has may not hold for both
        metadata: a
            .metadata
            .into_iter()
            .filter(|(key, value)| b.metadata.get(key) == Some(value))
            .collect(),
    };
    model.save(&args.output)?;
    if args.json {
        return output::print_json(&serde_json::json!({ "exact": exact, "rows": rows }));
    }
    let quality = match exact {
        true => "exact: equal, to rounding, to one model that learned all rows",
        false => {
            "approximate: close to one model that learned all rows, but not equal to it; the \
             information of both is added, and the prior counts once"
        }
    };
    let path = args.output.display();
    output::print(&format!("{quality}\n{}, written to {path}\n", counted(rows, "row")))
}

/// Refuses models whose coordinates mean different things.
fn same_features(a: &Encoder, b: &Encoder, a_path: &Path, b_path: &Path) -> Result<()> {
    let refuse = |reason: String| {
        Err(Failure::usage(format!(
            "{} and {} cannot be merged: {reason}",
            a_path.display(),
            b_path.display()
        )))
    };
    let coding = |encoder: &Encoder| {
        encoder.target().map(|target| (target.name.clone(), target.coding.clone()))
    };
    if coding(a) != coding(b) {
        return refuse(
            "their targets differ, or are coded differently (give both fits the same --positive)"
                .into(),
        );
    }
    let one = a.features();
    let two = b.features();
    if let Some((x, y)) =
        one.iter().zip(two).find(|(x, y)| x.name != y.name || x.meaning != y.meaning)
    {
        return refuse(format!(
            "feature `{}` of one is at the place of `{}` of the other; levels must appear in the \
             same order",
            x.name, y.name
        ));
    }
    match one.len() == two.len() {
        true => Ok(()),
        false => refuse(format!("one has {} features, the other {}", one.len(), two.len())),
    }
}
