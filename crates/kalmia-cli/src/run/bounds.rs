//! `kalmia bounds`: the paper's closed forms by name, for one set of constants or for a file of
//! cases.

use crate::args::BoundsArgs;
use crate::error::{Failure, Result};
use crate::output;
use crate::plan::Files;
use crate::report::Table;
use kalmia_theory::{Entry, Inputs, RegistryError, find, registry};
use serde_json::{Map, Value};
use std::fmt::Write;
use std::path::Path;

/// Runs the command.
pub fn run(args: &BoundsArgs) -> Result<()> {
    let json = args.words.iter().any(|word| word == "--json");
    let words: Vec<&str> =
        args.words.iter().map(|word| &**word).filter(|word| *word != "--json").collect();
    match &words[..] {
        ["list"] => list(json),
        ["evaluate", file] => evaluate(file),
        ["list" | "evaluate", ..] => {
            Err(Failure::usage("give `kalmia bounds list` or `kalmia bounds evaluate FILE.json`"))
        }
        [name, rest @ ..] => {
            let entry = find(name).map_err(|error| Failure::usage(error.to_string()))?;
            if rest.iter().any(|word| matches!(*word, "--help" | "-h")) {
                return output::print(&describe(entry));
            }
            one(entry, &parameters(rest)?, json)
        }
        [] => Err(Failure::usage("give `list`, `evaluate FILE.json`, or the name of a bound")),
    }
}

fn list(json: bool) -> Result<()> {
    let entries = registry();
    if json {
        let view = |entry: &Entry| {
            serde_json::json!({
                "name": entry.name,
                "summary": entry.summary,
                "label": entry.label,
                "holds": entry.holds,
            })
        };
        return output::print_json(&entries.iter().map(view).collect::<Vec<_>>());
    }
    let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    entries
        .iter()
        .for_each(|entry| text.push_str(&format!("{:<width$}  {}\n", entry.name, entry.summary)));
    output::print(&text)
}

fn describe(entry: &Entry) -> String {
    let mut text = format!(
        "{}: {}\nin the paper: {}\nholds: {}\n\nparameters\n",
        entry.name, entry.summary, entry.label, entry.holds
    );
    for parameter in entry.parameters {
        let default =
            parameter.default.map_or(String::new(), |value| format!(" [default: {value}]"));
        let _ = writeln!(
            text,
            "  --{} {}; {}{default}",
            parameter.name,
            plain(parameter.description()),
            parameter.domain.phrase()
        );
    }
    text
}

/// A description without TeX marks and final full stop.
fn plain(text: &str) -> String {
    let text = text.trim_end_matches('.').replace("{\\rm app}", "app").replace("\\tau", "tau");
    text.replace('$', "").replace('{', "(").replace('}', ")")
}

/// `--name value` and `--name=value`, in any order. A name may have hyphens for its underscores.
fn parameters(words: &[&str]) -> Result<Inputs> {
    let mut inputs = Inputs::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let name = word
            .strip_prefix("--")
            .ok_or_else(|| Failure::usage(format!("`{word}`: give parameters as --name value")))?;
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, value),
            None => (
                name,
                *rest.next().ok_or_else(|| Failure::usage(format!("--{name} has no value")))?,
            ),
        };
        inputs = inputs.with(name.replace('-', "_"), value.to_owned());
    }
    Ok(inputs)
}

fn one(entry: &Entry, inputs: &Inputs, json: bool) -> Result<()> {
    let fail = |error: RegistryError| Failure::usage(error.to_string());
    let out = entry.evaluate(inputs).map_err(fail)?;
    // if a variant was asked for, only that one is shown
    let asked = inputs.iter().any(|(name, _)| name == "variant");
    let corrected = if asked { None } else { entry.evaluate_corrected(inputs).map_err(fail)? };
    if json {
        let mut object = Map::from_iter([
            ("name".to_owned(), entry.name.into()),
            ("out".to_owned(), value_of(&out)?),
        ]);
        if let Some(corrected) = &corrected {
            object.insert("out_corrected".into(), value_of(corrected)?);
        }
        return output::print_json(&object);
    }
    let mut table = match corrected {
        Some(_) => Table::new(["", "as printed", "corrected"]),
        None => Table::new(["", "value"]),
    };
    for (name, value) in out.iter() {
        let other = corrected.as_ref().map(|c| {
            c.iter().find(|(n, _)| *n == name).map_or(String::new(), |(_, v)| v.to_string())
        });
        table.row([name.to_owned(), value.to_string()].into_iter().chain(other));
    }
    output::print(&format!("{}\nholds: {}\n\n{}", entry.summary, entry.holds, table.render()))
}

fn value_of(values: &Inputs) -> Result<Value> {
    serde_json::to_value(values).map_err(|error| Failure::Other(error.to_string()))
}

/// Problems of a file that one message lists.
const LISTED: usize = 20;

/// Fills in `out` (and `out_corrected`) of every case of a file. All cases that cannot be evaluated
/// are reported together.
fn evaluate(file: &str) -> Result<()> {
    Files::default().reads("the input", Path::new(file)).check()?;
    let bad = |reason: String| Failure::usage(format!("{file}: {reason}"));
    let text = std::fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
    let mut document: Value =
        serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    let functions =
        document.get_mut("functions").and_then(Value::as_object_mut).ok_or_else(|| {
            bad("there is no object `functions`; `kalmia bounds --help` shows the format".into())
        })?;
    let mut problems = Vec::new();
    for (name, function) in functions {
        if let Err(problem) = fill_function(name, function, &mut problems) {
            problems.push(problem);
        }
    }
    if problems.is_empty() {
        return output::print_json(&document);
    }
    let rest = problems.len().saturating_sub(LISTED);
    problems.truncate(LISTED);
    if rest > 0 {
        problems.push(format!("and {rest} more"));
    }
    Err(bad(problems.join("\n")))
}

/// Fills in the cases of one bound; what is wrong with a case joins `problems`.
fn fill_function(
    name: &str,
    function: &mut Value,
    problems: &mut Vec<String>,
) -> std::result::Result<(), String> {
    let entry = find(name).map_err(|error| error.to_string())?;
    let cases = function.get_mut("cases").and_then(Value::as_array_mut);
    let cases = cases.ok_or_else(|| format!("`{name}` has no array `cases`"))?;
    for (i, case) in cases.iter_mut().enumerate() {
        if let Err(reason) = fill_case(entry, case) {
            let label = case
                .get("name")
                .and_then(Value::as_str)
                .map_or(format!("number {}", i + 1), |label| format!("`{label}`"));
            problems.push(format!("`{name}`, case {label}: {reason}"));
        }
    }
    Ok(())
}

fn fill_case(entry: &Entry, case: &mut Value) -> std::result::Result<(), String> {
    let case = case.as_object_mut().ok_or("it is not a JSON object")?;
    let input = case.get("in").cloned().ok_or("there is no `in`, the object of its parameters")?;
    let inputs: Inputs = serde_json::from_value(input).map_err(|error| error.to_string())?;
    let out = entry.evaluate(&inputs).map_err(|error| error.to_string())?;
    let corrected = entry.evaluate_corrected(&inputs).map_err(|error| error.to_string())?;
    let json = |values: &Inputs| serde_json::to_value(values).map_err(|error| error.to_string());
    case.insert("out".into(), json(&out)?);
    if let Some(corrected) = corrected {
        case.insert("out_corrected".into(), json(&corrected)?);
    }
    Ok(())
}
