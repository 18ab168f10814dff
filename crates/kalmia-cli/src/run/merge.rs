//! `kalmia merge`: one model of several that learned from different rows.

use crate::args::MergeArgs;
use crate::error::{Failure, Result};
use crate::format::{counted, number};
use crate::output;
use crate::plan::Files;
use crate::progress::Ui;
use crate::report::heterogeneity_note;
use kalmia::AnyLearner;
use kalmia::learner::AnyCategorical;
use kalmia_data::Error as DataError;
use kalmia_model::{AnyModel, Error as ModelError, MergeLearner, MergedOf, ModelOf};

/// Runs the command.
pub fn run(args: &MergeArgs, ui: Ui) -> Result<()> {
    let files = Files::default();
    let files = args.models.iter().fold(files, |files, path| files.reads("the model", path));
    files.writes("-o", Some(&args.output)).check()?;
    match AnyModel::load(&args.models[0])?.content {
        AnyModel::Classes(_) => merge::<AnyCategorical>(args, ui),
        _ => merge::<AnyLearner>(args, ui),
    }
}

/// Merges models of one kind.
fn merge<L: MergeLearner>(args: &MergeArgs, ui: Ui) -> Result<()> {
    let mut models = Vec::with_capacity(args.models.len());
    for path in &args.models {
        let model = ModelOf::<L>::load(path)?.content;
        if model.history.runs.iter().any(|run| !run.finished) {
            let path = path.display();
            return Err(Failure::usage(format!(
                "{path} is a checkpoint that did not finish; finish it first"
            )));
        }
        models.push(model);
    }
    for (i, one) in models.iter().enumerate() {
        for other in &models[i + 1..] {
            for file in one.history.files_in_both(&other.history) {
                let name = &file.name;
                ui.note(&format!("note: two models learned from {name}; its rows count twice"));
            }
        }
    }
    let MergedOf { model, heterogeneity, shards, exact } =
        ModelOf::merge_many(models).map_err(misfit)?;
    let rows = model.learner.count();
    model.save(&args.output)?;
    if args.json {
        return output::print_json(&serde_json::json!({
            "exact": exact,
            "rows": rows,
            "models": shards,
            "heterogeneity": heterogeneity,
        }));
    }
    if let Some(note) = heterogeneity_note("models", &heterogeneity) {
        ui.note(&note);
    }
    let quality = match exact {
        true => "exact: equal, to rounding, to one model that learned all rows",
        false => {
            "approximate: close to one model that learned all rows, but not equal to it; `kalmia \
             polish` closes the gap"
        }
    };
    let agreement = match heterogeneity.degrees {
        0 => String::new(),
        degrees => format!(
            "agreement: Q = {} on {} degrees of freedom, p = {}\n",
            number(heterogeneity.q),
            degrees,
            number(heterogeneity.p_value)
        ),
    };
    let path = args.output.display();
    let rows = counted(rows, "row");
    output::print(&format!("{quality}\n{agreement}{rows}, written to {path}\n"))
}

/// A refusal of models whose columns differ, which the arguments decide.
fn misfit(error: ModelError) -> Failure {
    match error {
        ModelError::Data(cause @ DataError::Union(_)) => {
            Failure::usage(format!("the models cannot be merged: {cause}"))
        }
        other => other.into(),
    }
}
