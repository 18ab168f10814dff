//! `kalmia bounds evaluate`: a file of cases, filled in.

use crate::error::{Failure, Result};
use crate::output;
use crate::plan::Files;
use kalmia_theory::{Entry, Inputs, find};
use serde_json::Value;
use std::path::Path;

/// Problems of a file that one message lists.
const LISTED: usize = 20;

/// Fills in `out` (and `out_corrected`) of every case of a file. All cases that cannot be evaluated
/// are reported together.
pub fn evaluate(file: &str) -> Result<()> {
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
