//! `kalmia bounds sphere_minimum`: the optimistic exp-concavity constant of the experiments, as the
//! distribution that it is.

use super::words::options;
use crate::error::{Failure, Result};
use crate::format::{brief, grouped};
use crate::output;
use crate::report::Table;
use kalmia_theory::{SphereMinima, SphereStudy};
use serde_json::json;

/// The name by which it is called.
pub const NAME: &str = "sphere_minimum";
/// One line on what it gives.
pub const SUMMARY: &str =
    "Minimum of the exp-concavity constant of the logistic risk over random points of a sphere.";

const HELP: &str = "\
in the paper: sec:experiments, the optimistic constants 1.5e-14 and 2.5e-2
holds: it is an estimate, and random: other points give another minimum

X = (1, Z) with Z uniform on the unit cube, and labels of the logistic model theta. Each repeat
draws new points and new rows, and gives one minimum.

parameters
  --theta the coefficients, the first one for the constant feature: --theta=-0.9,0,0.3
  --radius radius of the sphere [default: 1.1 times the norm of theta]
  --points points of the sphere per minimum [default: 1000]
  --draws draws of X that stand for its law [default: 10000]
  --repeats how many minima to draw [default: 10]
  --seed where the random numbers start [default: 1]

errata
  E26 (changes an algorithm or experiment): the paper does not say of what the minimum is; this is
    the constant of the risk, 1/(grad L' Hess L^-1 grad L)
";

/// Runs it on the words after its name.
pub fn run(words: &[&str]) -> Result<()> {
    if words.iter().any(|word| matches!(*word, "--help" | "-h")) {
        return output::print(&format!("{NAME}: {SUMMARY}\n{HELP}"));
    }
    let json = words.contains(&"--json");
    let words: Vec<&str> = words.iter().copied().filter(|word| *word != "--json").collect();
    let study = study(&words)?;
    let minima = study.run().map_err(|error| Failure::usage(error.to_string()))?;
    if json {
        return output::print_json(&json!({
            "name": NAME,
            "points": study.points,
            "draws": study.draws,
            "repeats": study.repeats,
            "seed": study.seed,
            "radius": minima.radius,
            "ln_minima": minima.ln_minima,
            "ln_median": minima.ln_median(),
            "ln_proved": minima.ln_proved,
        }));
    }
    output::print(&text(&study, &minima))
}

fn study(words: &[&str]) -> Result<SphereStudy> {
    let mut theta = None;
    let mut study = SphereStudy::new(Vec::new());
    for (name, value) in options(words)? {
        match name {
            "theta" => theta = Some(coefficients(value)?),
            "radius" => study.radius = Some(number(name, value)?),
            "points" => study.points = number(name, value)?,
            "draws" => study.draws = number(name, value)?,
            "repeats" => study.repeats = number(name, value)?,
            "seed" => study.seed = number(name, value)?,
            _ => {
                return Err(Failure::usage(format!(
                    "`{NAME}` has no parameter `{name}`; it takes theta, radius, points, draws, \
                     repeats and seed"
                )));
            }
        }
    }
    study.theta = theta.ok_or_else(|| {
        Failure::usage(format!("`{NAME}` needs the parameter `theta`, such as --theta=-0.9,0,0.3"))
    })?;
    Ok(study)
}

fn coefficients(text: &str) -> Result<Vec<f64>> {
    text.split(',').map(|part| number("theta", part.trim())).collect()
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T> {
    let expected = if name == "theta" || name == "radius" { "a number" } else { "a whole number" };
    value.parse().map_err(|_| {
        Failure::usage(format!("parameter `{name}` of `{NAME}` is {value}: expected {expected}"))
    })
}

fn text(study: &SphereStudy, minima: &SphereMinima) -> String {
    let mut table = Table::new(["", "constant", "logarithm"]);
    let mut row = |label: &str, ln: f64| table.row([label.to_owned(), brief(ln.exp()), brief(ln)]);
    let ends = [minima.ln_minima.first(), minima.ln_minima.last()];
    if let [Some(&low), Some(&high)] = ends {
        row("smallest minimum", low);
        row("median minimum", minima.ln_median());
        row("largest minimum", high);
    }
    row("proved on the ball", minima.ln_proved);
    format!(
        "{SUMMARY}\nradius {}, {} points, {} draws of X, {} minima\n\n{}\nA minimum over random \
         points depends on the points: more points make it smaller. It is no proved constant.\n",
        brief(minima.radius),
        grouped(study.points as u64),
        grouped(study.draws as u64),
        grouped(study.repeats as u64),
        table.render()
    )
}
