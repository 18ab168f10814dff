//! `kalmia bounds`: the paper's closed forms by name, for one set of constants, along one of them,
//! for a file of cases, or with constants estimated from rows.

mod cases;
mod data;
mod sphere;
mod sweep;
mod words;

use crate::args::BoundsArgs;
use crate::error::{Failure, Result};
use crate::format::brief;
use crate::output;
use crate::progress::Ui;
use crate::report::Table;
use data::{Estimates, Filled};
use kalmia_theory::{Entry, Inputs, RegistryError, Value as Quantity, errata_of, find, registry};
use serde_json::{Map, Value};
use std::fmt::Write;
use sweep::Sweep;
use words::Request;

/// Runs the command.
pub fn run(args: &BoundsArgs, ui: Ui) -> Result<()> {
    let words: Vec<&str> = args.words.iter().map(|word| &**word).collect();
    match &words[..] {
        ["list"] => list(false),
        ["list", "--json"] | ["--json", "list"] => list(true),
        ["evaluate", file] | ["evaluate", file, "--json"] => cases::evaluate(file),
        ["list" | "evaluate", ..] => {
            Err(Failure::usage("give `kalmia bounds list` or `kalmia bounds evaluate FILE.json`"))
        }
        [sphere::NAME, rest @ ..] => sphere::run(rest),
        [name, rest @ ..] => {
            let entry = find(name).map_err(|error| Failure::usage(error.to_string()))?;
            if rest.iter().any(|word| matches!(*word, "--help" | "-h")) {
                return output::print(&describe(entry));
            }
            evaluate(entry, Request::new(entry, rest)?, ui)
        }
        [] => Err(Failure::usage("give `list`, `evaluate FILE.json`, or the name of a bound")),
    }
}

/// Evaluates a bound once or along a sweep, after estimating from data what was not given.
fn evaluate(entry: &'static Entry, mut request: Request, ui: Ui) -> Result<()> {
    let sweep = request.sweep.as_deref().map(|text| Sweep::parse(entry, text)).transpose()?;
    if let Some(sweep) = &sweep
        && request.inputs.get(sweep.parameter).is_some()
    {
        let name = sweep.parameter;
        return Err(Failure::usage(format!(
            "--{name} and --sweep {name}=... contradict each other: give one of the two"
        )));
    }
    let mut estimates = None;
    if !request.data.is_empty() {
        let swept = sweep.as_ref().map(|sweep| sweep.parameter);
        let found = Estimates::read(&request.data, request.plot.as_deref(), ui)?;
        let filled = found.fill(entry, &mut request.inputs, swept)?;
        estimates = Some(filled);
    }
    // if a variant was asked for, only that one is shown
    let both = request.inputs.get("variant").is_none();
    match sweep {
        None => one(entry, &request, both, estimates.as_ref()),
        Some(sweep) => along(entry, &request, &sweep, both, estimates.as_ref()),
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
    let estimate = (sphere::NAME, sphere::SUMMARY);
    let all = entries.iter().map(|entry| (entry.name, entry.summary)).chain([estimate]);
    let mut text = String::new();
    all.for_each(|(name, summary)| text.push_str(&format!("{name:<width$}  {summary}\n")));
    output::print(&text)
}

/// The end of every bound's help.
const OPTIONS: &str = "
options
  --sweep NAME=FROM:TO:COUNT varies one parameter, or --sweep NAME=A,B,C
  --outputs A,B the outputs to list and draw
  --plot FILE draws the sweep as .svg or .png
  --data FILE --target COLUMN estimates d, n, D_X, Lmin, nstar, dist1 and sigma from rows
  --json prints all outputs
";

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
    let mut errata = errata_of(entry.name).peekable();
    if errata.peek().is_some() {
        text.push_str("\nerrata\n");
    }
    for erratum in errata {
        let _ = writeln!(
            text,
            "  {} ({}): {}\n    here: {}",
            erratum.id, erratum.effect, erratum.subject, erratum.decision
        );
    }
    let variants = match entry.has_variants() {
        true => "both are shown, as printed and corrected; --variant chooses one",
        false => "the errata change no number, so there is one value",
    };
    let _ = writeln!(text, "\nvariants: {variants}");
    text.push_str(OPTIONS);
    text
}

/// A description without TeX marks and final full stop.
fn plain(text: &str) -> String {
    let text = text.trim_end_matches('.').replace("{\\rm app}", "app").replace("\\tau", "tau");
    text.replace('$', "").replace('{', "(").replace('}', ")")
}

fn one(entry: &Entry, request: &Request, both: bool, estimates: Option<&Filled>) -> Result<()> {
    let fail = |error: RegistryError| Failure::usage(error.to_string());
    let out = entry.evaluate(&request.inputs).map_err(fail)?;
    let corrected =
        if both { entry.evaluate_corrected(&request.inputs).map_err(fail)? } else { None };
    if request.json {
        let mut object = Map::from_iter([
            ("name".to_owned(), entry.name.into()),
            ("out".to_owned(), value_of(&out)?),
        ]);
        if let Some(corrected) = &corrected {
            object.insert("out_corrected".into(), value_of(corrected)?);
        }
        object.extend(estimates.map(|filled| ("estimated".to_owned(), filled.json())));
        return output::print_json(&object);
    }
    let mut table = match corrected {
        Some(_) => Table::new(["", "as printed", "corrected"]),
        None => Table::new(["", "value"]),
    };
    for (name, value) in out.iter() {
        let other = corrected.as_ref().map(|c| c.get(name).map_or(String::new(), shown));
        table.row([name.to_owned(), shown(value)].into_iter().chain(other));
    }
    output::print(&format!("{}{}", heading(entry, estimates), table.render()))
}

/// What is printed above the values.
fn heading(entry: &Entry, estimates: Option<&Filled>) -> String {
    let estimated = estimates.map_or(String::new(), |filled| format!("\n{}", filled.text()));
    format!("{}\nholds: {}\n{estimated}\n", entry.summary, entry.holds)
}

fn along(
    entry: &Entry,
    request: &Request,
    sweep: &Sweep,
    both: bool,
    estimates: Option<&Filled>,
) -> Result<()> {
    let points = sweep.run(entry, &request.inputs, both)?;
    let Some(first) = points.first() else {
        return Err(Failure::usage("--sweep has no value"));
    };
    let outputs = sweep::chosen(entry, &request.outputs, &first.out)?;
    if let Some(path) = &request.plot {
        sweep::draw(path, entry, sweep::picture(entry, sweep, &points, &outputs))?;
    }
    if request.json {
        let mut object = sweep::json(entry.name, sweep, &points)?;
        if let Some(filled) = estimates {
            object["estimated"] = filled.json();
        }
        return output::print_json(&object);
    }
    let table = sweep::table(sweep, &points, &outputs);
    output::print(&format!("{}{table}", heading(entry, estimates)))
}

/// A value for people: short numbers, and a word for what is outside binary64.
fn shown(value: &Quantity) -> String {
    match value {
        Quantity::Number(x) => brief(*x),
        Quantity::Null => "overflows".into(),
        other => other.to_string(),
    }
}

fn value_of(values: &Inputs) -> Result<Value> {
    serde_json::to_value(values).map_err(|error| Failure::Other(error.to_string()))
}
