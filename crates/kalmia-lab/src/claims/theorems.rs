//! Claims on the theorems, by the simulations of the figure `bounds`.

use super::{Claim, Verdict, holds_with};
use crate::bounds::{BoundCurve, Bounds, EventShare, TauRow, power};
use crate::figures::Finished;
use crate::number::{count, scientific};
use crate::settings::Figure;

const HOLDS: &str = "The whole right-hand side bounds the cumulative excess risk for all n at \
    once, with the probability of the theorem.";
const TIME: &str =
    "The explicit convergence time is large enough (Corollaries 13 and 24, corrected).";
const EVENT: &str = "λ_max(P_t) ≤ C_δ/t^(1−β) for all t with probability 1 − δ (the event A_C).";

pub(super) fn claims(figures: &[Finished]) -> Vec<Claim> {
    let Some(bounds) = figures.iter().find_map(|f| f.bounds.as_ref()) else {
        return Vec::new();
    };
    let mut all: Vec<Claim> = bounds.curves.iter().filter_map(theorem).collect();
    let replicates = replicates(bounds);
    let rows = bounds.taus.iter().filter(|row| shown(row, bounds));
    all.extend(rows.filter_map(|row| time(row, replicates)));
    all.extend(bounds.events.first().map(|event| at_all_times(event, bounds)));
    all
}

/// The radius of each setting's theorem, at the $\delta$ of the bounds.
fn shown(row: &TauRow, bounds: &Bounds) -> bool {
    let used = |curve: &BoundCurve| curve.epsilon == Some(row.epsilon) && curve.delta == row.delta;
    bounds.curves.iter().any(used)
}

fn theorem(curve: &BoundCurve) -> Option<Claim> {
    let smallest = curve.smallest_ratio()?;
    let allowed = 1.0 - curve.probability();
    let verdict = holds_with(curve.exceeding, curve.replicates, allowed);
    let mut claim =
        Claim::of_numbers(HOLDS, Figure::Bounds, &format!("Theorem {}", curve.theorem), verdict);
    claim.horizon = curve.points.last().map(|p| p.n);
    claim.replicates = Some(curve.replicates);
    let after = match (curve.local, curve.tau.and_then(|t| t.tau)) {
        (true, Some(tau)) => format!(" after the measured τ = {tau}"),
        _ => String::new(),
    };
    Some(claim.resting_on(errata_of(curve.theorem)).because(format!(
        "{} of {} replicates exceed it{after}, {:.0} % may; the bound is at least {} times the \
         quantile",
        curve.exceeding,
        curve.replicates,
        100.0 * allowed,
        scientific(smallest, 1)
    )))
}

fn errata_of(theorem: u32) -> &'static [&'static str] {
    match theorem {
        1 => &["E3", "E4", "E5"],
        2 => &["E3", "E4", "E11"],
        3 => &["E14", "E15", "E16"],
        10 => &["E7"],
        _ => &["E11", "E12", "E17"],
    }
}

fn replicates(bounds: &Bounds) -> usize {
    bounds.curves.first().map_or(0, |curve| curve.replicates)
}

/// The measured time against the paper's; nothing where the paper's does not apply.
fn time(row: &TauRow, replicates: usize) -> Option<Claim> {
    let theory = row.theory.filter(|theory| theory.applies)?;
    let verdict = match row.measured_is_smaller() {
        Some(true) => Verdict::Confirmed,
        Some(false) => Verdict::Contradicted,
        None => Verdict::Undecided,
    };
    let part = format!("{}, ε = {}", row.algorithm, scientific(row.epsilon, 1));
    let mut claim = Claim::of_numbers(TIME, Figure::Bounds, &part, verdict);
    claim.horizon = Some(row.measured.rows);
    claim.replicates = Some(replicates);
    Some(claim.resting_on(&["E8", "E9", "E18", "E19", "E20", "E21", "E30"]).because(format!(
        "δ = {}: measured {}, the paper's {} as printed and {} corrected",
        row.delta,
        row.measured,
        power(theory.ln_printed),
        power(theory.ln_corrected)
    )))
}

fn at_all_times(event: &EventShare, bounds: &Bounds) -> Claim {
    let replicates = replicates(bounds);
    let outside = ((1.0 - event.share) * replicates as f64).round() as usize;
    let verdict = holds_with(outside, replicates, event.delta);
    let mut claim = Claim::of_numbers(EVENT, Figure::Bounds, "event A_C", verdict);
    claim.horizon = Some(event.rows);
    claim.replicates = Some(replicates);
    claim.resting_on(&["E31"]).because(format!(
        "δ = {}: it holds in {:.0} % of the replicates over {} rows with C_δ = {}; C = {} would do",
        event.delta,
        100.0 * event.share,
        count(event.rows),
        scientific(event.c_delta, 1),
        scientific(event.c_measured, 1)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::{BoundPoint, MeasuredTau, TheoryTau};

    #[test]
    fn replicates_above_the_bound_flip_the_verdict() {
        let verdict = |exceeding| {
            let point = BoundPoint { n: 5, mean: 1.0, quantile: 2.0, worst: 3.0, bound: Some(8.0) };
            let curve = BoundCurve {
                theorem: 2,
                multiple: 3,
                delta: 0.05,
                epsilon: None,
                tau: None,
                local: false,
                precision: None,
                exceeding,
                replicates: 100,
                points: vec![point],
            };
            theorem(&curve).unwrap().verdict
        };
        assert_eq!(verdict(0), Verdict::Confirmed);
        assert_eq!(verdict(15), Verdict::Undecided);
        assert_eq!(verdict(60), Verdict::Contradicted);
    }

    #[test]
    fn a_time_that_is_measured_larger_flips_the_verdict() {
        let verdict = |tau| {
            let row = TauRow {
                setting: "quadratic",
                algorithm: "kalman",
                epsilon: 0.1,
                delta: 0.05,
                measured: MeasuredTau { tau, rows: 1_000_000 },
                theory: Some(TheoryTau { ln_printed: 9.0, ln_corrected: 10.0, applies: true }),
            };
            time(&row, 100).unwrap().verdict
        };
        assert_eq!(verdict(Some(20_000)), Verdict::Confirmed);
        assert_eq!(verdict(Some(30_000)), Verdict::Contradicted);
        assert_eq!(verdict(None), Verdict::Undecided);
    }
}
