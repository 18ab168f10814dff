//! The paper's claims, each with a verdict, the numbers behind it and what it rests on.

mod comparisons;
mod facts;
mod newton;
mod theorems;
mod verdict;

pub use verdict::{
    AtChoice, DECISIVE, Gap, OverChoice, Verdict, at_most_quadratic, exponent, holds_with, lead,
    mode_at, over_choice, rounds_to,
};

use crate::experiment::{Curve, Panel};
use crate::figures::Finished;
use crate::number::uncertain;
use crate::settings::Figure;
use crate::statistics::{mean, standard_error};

/// A claim with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The claim in the words of the report.
    pub text: &'static str,
    /// The panel or part of a figure that decides.
    pub panel: String,
    /// The figure that shows it.
    pub figure: Figure,
    /// The outcome.
    pub verdict: Verdict,
    /// The choice that the paper does not give and where it flips the verdict, if it does.
    pub choice: Option<String>,
    /// The numbers behind the verdict.
    pub evidence: String,
    /// Rows of each replicate, if the claim was simulated.
    pub horizon: Option<u64>,
    /// Replicates, if the claim was simulated.
    pub replicates: Option<usize>,
    /// Numbers of the errata that it rests on.
    pub errata: &'static [&'static str],
}

impl Claim {
    /// A claim that a panel decides.
    fn of_panel(text: &'static str, figure: Figure, panel: &Panel, verdict: Verdict) -> Self {
        Self {
            text,
            panel: panel.name.clone(),
            figure,
            verdict,
            choice: None,
            evidence: String::new(),
            horizon: Some(panel.horizon()),
            replicates: Some(panel.replicates),
            errata: &[],
        }
    }

    /// A claim that needs no simulation.
    fn of_numbers(text: &'static str, figure: Figure, part: &str, verdict: Verdict) -> Self {
        Self {
            text,
            panel: part.into(),
            figure,
            verdict,
            choice: None,
            evidence: String::new(),
            horizon: None,
            replicates: None,
            errata: &[],
        }
    }

    fn because(self, evidence: String) -> Self {
        Self { evidence, ..self }
    }

    fn resting_on(self, errata: &'static [&'static str]) -> Self {
        Self { errata, ..self }
    }
}

/// Every claim that the finished figures can decide.
pub fn claims(figures: &[Finished]) -> Vec<Claim> {
    let mut all = comparisons::claims(figures);
    all.extend(newton::claims(figures));
    all.extend(facts::claims(figures));
    all.extend(theorems::claims(figures));
    // Claims with the same words stand together.
    let order = |claim: &Claim| all.iter().position(|other| other.text == claim.text);
    let mut sorted: Vec<(Option<usize>, Claim)> =
        all.iter().map(|claim| (order(claim), claim.clone())).collect();
    sorted.sort_by_key(|(first, _)| *first);
    sorted.into_iter().map(|(_, claim)| claim).collect()
}

/// A panel by name.
fn panel<'a>(figures: &'a [Finished], name: &str) -> Option<&'a Panel> {
    figures.iter().flat_map(|f| &f.panels).find(|p| p.name == name)
}

/// The figure that a comparison is in.
fn figure_of(panel: &str) -> Figure {
    match panel {
        "comparison1" => Figure::Comparison1,
        "misspecified" => Figure::Misspecified,
        _ => Figure::Comparison10,
    }
}

/// `label mean ± standard error` at a checkpoint.
fn at(curve: &Curve, checkpoint: usize) -> String {
    let errors = &curve.errors[checkpoint];
    format!("{} {}", curve.label, uncertain(mean(errors), standard_error(errors)))
}

/// The same at the horizon.
fn at_horizon(curve: &Curve) -> String {
    at(curve, curve.errors.len() - 1)
}

#[cfg(test)]
mod testing {
    use crate::experiment::{Curve, Panel, Population};

    /// A panel of one checkpoint, 10 rows, with these last errors; its efficient limit is 1 there.
    pub fn panel(name: &str, curves: &[(&str, [f64; 4])]) -> Panel {
        let curve = |(key, last): &(&str, [f64; 4])| Curve {
            key: (*key).into(),
            label: (*key).into(),
            method: (*key).into(),
            grid: Vec::new(),
            errors: vec![last.to_vec()],
            risk_errors: Vec::new(),
            coverage: Vec::new(),
        };
        Panel {
            name: name.into(),
            title: name.into(),
            checkpoints: vec![10],
            replicates: 4,
            curves: curves.iter().map(curve).collect(),
            population: Population {
                star: vec![1.0],
                efficient: 10.0,
                hessian: vec![1.0],
                efficient_risk: 1.0,
                estimated: false,
            },
        }
    }
}
