//! Claims on the filters in the paper's comparisons.

use super::{Claim, DECISIVE, Gap, Verdict, at, at_horizon, figure_of, lead, panel};
use crate::experiment::{Curve, Panel};
use crate::figures::Finished;
use crate::number::{count, scientific, signed};
use crate::settings::Figure;
use crate::statistics::mean;

const EKF_AVERAGE: &str =
    "Averaging is useless for the EKF: the EKF performs better than its averaged version.";
const TRUNCATION_HURTS: &str = "With θ* the truncation deteriorates the performance of the EKF.";
const TRUNCATION_HARMLESS: &str =
    "With the smaller θ* the results of the EKF and of its truncated version are similar.";
const BERCU: &str =
    "With the threshold 10⁻¹⁰/t^0.49 the truncated version almost coincides with the EKF.";
const EARLY: &str = "The EKF is ahead of its rivals from the first rows on. (The paper says that \
    it is better, without a number of rows.)";
const INITIAL: &str = "The initialization has no impact on the leading terms. Tested as: from P₁ = \
    I the EKF reaches the efficient limit within 25 %.";
const RIDGE: &str = "The Kalman filter is ridge regression (Proposition 5).";

/// The rivals of the EKF.
pub(super) const RIVALS: [&str; 4] = ["ons", "ons_averaged", "asgd", "asgd_oracle"];

/// Rows after which the early claim is judged.
const EARLY_ROWS: u64 = 32;

pub(super) fn claims(figures: &[Finished]) -> Vec<Claim> {
    let mut all = Vec::new();
    // Both panels of comparison10 have the same curves of the filters, so one of them counts.
    for name in ["comparison1", "comparison10_theory", "misspecified"] {
        let Some(panel) = panel(figures, name) else { continue };
        all.extend(better(EKF_AVERAGE, panel, "ekf", "ekf_averaged"));
        all.extend(
            similar(BERCU, panel, "ekf", "truncated_bercu", 0.01).map(|c| c.resting_on(&["E27"])),
        );
        all.extend(match name {
            "comparison1" => better(TRUNCATION_HURTS, panel, "ekf", "truncated"),
            "misspecified" => early(panel),
            _ => similar(TRUNCATION_HARMLESS, panel, "ekf", "truncated", 0.05),
        });
    }
    let limits = ["beyond", "beyond10"].into_iter().filter_map(|name| panel(figures, name));
    all.extend(limits.filter_map(initialization));
    all.extend(panel(figures, "quadratic").and_then(ridge));
    all
}

/// A verdict on "`good` has a smaller error than `bad`" at the horizon, replicates paired.
fn better(text: &'static str, panel: &Panel, good: &str, bad: &str) -> Option<Claim> {
    let good = panel.curve(good)?;
    let bad = panel.curve(bad)?;
    let score = lead(good.last(), &[bad.last()]);
    let claim = Claim::of_panel(text, figure_of(&panel.name), panel, Verdict::from_score(score));
    Some(claim.because(format!(
        "{}, {}; paired difference {} standard errors",
        at_horizon(good),
        at_horizon(bad),
        signed(score, 1)
    )))
}

/// A verdict on "the two errors differ by less than `tolerance`, relatively" at the horizon.
fn similar(text: &'static str, panel: &Panel, a: &str, b: &str, tolerance: f64) -> Option<Claim> {
    let a = panel.curve(a)?;
    let b = panel.curve(b)?;
    let gap = Gap::between(a.last(), b.last());
    let claim = Claim::of_panel(text, figure_of(&panel.name), panel, gap.within(tolerance));
    Some(claim.because(format!(
        "{}, {}; relative difference {} ± {}, margin {:.0} %",
        at_horizon(a),
        at_horizon(b),
        scientific(gap.value, 1),
        scientific(gap.error, 1),
        100.0 * tolerance
    )))
}

/// The EKF against its rivals after few rows.
fn early(panel: &Panel) -> Option<Claim> {
    let at_rows = panel.at(EARLY_ROWS)?;
    let ekf = panel.curve("ekf")?;
    let rivals: Vec<&Curve> = RIVALS.iter().filter_map(|key| panel.curve(key)).collect();
    let score = |checkpoint: usize| {
        let errors: Vec<&[f64]> = rivals.iter().map(|c| &*c.errors[checkpoint]).collect();
        lead(&ekf.errors[checkpoint], &errors)
    };
    let ahead = (0..panel.checkpoints.len()).rev().take_while(|&k| score(k) >= DECISIVE).last();
    let since = ahead.map_or_else(
        || "not ahead of all at any checkpoint to the end".into(),
        |k| format!("ahead of all from n = {} on", count(panel.checkpoints[k])),
    );
    let best = rivals
        .iter()
        .min_by(|a, b| mean(&a.errors[at_rows]).total_cmp(&mean(&b.errors[at_rows])))?;
    let verdict = Verdict::from_score(score(at_rows));
    let mut claim = Claim::of_panel(EARLY, figure_of(&panel.name), panel, verdict);
    claim.horizon = Some(EARLY_ROWS);
    Some(claim.because(format!(
        "{}, {}; smallest paired difference {} standard errors; {since}",
        at(ekf, at_rows),
        at(best, at_rows),
        signed(score(at_rows), 1)
    )))
}

/// The EKF against the best that is possible in the limit.
fn initialization(panel: &Panel) -> Option<Claim> {
    let ekf = panel.curve("ekf")?;
    let limit = panel.population.efficient / panel.horizon() as f64;
    let gap = Gap::from_known(ekf.last(), limit);
    let batch = panel.curve("maximum_likelihood").filter(|c| mean(c.last()).is_finite());
    let batch = batch.map_or_else(String::new, |curve| format!(", {}", at_horizon(curve)));
    let claim = Claim::of_panel(INITIAL, Figure::Beyond, panel, gap.within(0.25));
    Some(claim.because(format!(
        "{}{batch}, efficient limit {}",
        at_horizon(ekf),
        scientific(limit, 2)
    )))
}

/// The filter and the batch solution on the same rows.
fn ridge(panel: &Panel) -> Option<Claim> {
    let filter = panel.curve("kalman")?;
    let batch = panel.curve("ridge")?;
    let pairs = filter.errors.iter().flatten().zip(batch.errors.iter().flatten());
    let largest = crate::statistics::largest(pairs.map(|(a, b)| (a / b - 1.0).abs()));
    let verdict = if largest < 1e-6 { Verdict::Confirmed } else { Verdict::Contradicted };
    let claim = Claim::of_panel(RIDGE, Figure::Quadratic, panel, verdict);
    Some(claim.resting_on(&["E2"]).because(format!(
        "over all replicates and checkpoints the squared errors differ by a share of {} at most",
        scientific(largest, 1)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::testing::panel;

    #[test]
    fn numbers_that_flip_the_verdicts() {
        let verdict = |ekf: [f64; 4], averaged: [f64; 4]| {
            let panel = panel("comparison1", &[("ekf", ekf), ("ekf_averaged", averaged)]);
            better(EKF_AVERAGE, &panel, "ekf", "ekf_averaged").unwrap().verdict
        };
        let low = [1.0, 1.1, 0.9, 1.0];
        let high = [2.0, 2.2, 1.9, 2.1];
        assert_eq!(verdict(low, high), Verdict::Confirmed);
        assert_eq!(verdict(high, low), Verdict::Contradicted);
        assert_eq!(verdict(low, [1.0, 1.0, 1.0, 1.0]), Verdict::Undecided);
    }

    #[test]
    fn the_limit_and_ridge_regression_decide() {
        let verdict = |errors: [f64; 4]| {
            // The limit of the test panel is 1 at its 10 rows.
            initialization(&panel("beyond", &[("ekf", errors)])).unwrap().verdict
        };
        assert_eq!(verdict([1.0, 1.01, 0.99, 1.0]), Verdict::Confirmed);
        assert_eq!(verdict([5.0, 5.1, 4.9, 5.0]), Verdict::Contradicted);
        let same = |batch: [f64; 4]| {
            let kalman = ("kalman", [1.0, 2.0, 3.0, 4.0]);
            ridge(&panel("quadratic", &[kalman, ("ridge", batch)])).unwrap().verdict
        };
        assert_eq!(same([1.0, 2.0, 3.0, 4.0]), Verdict::Confirmed);
        assert_eq!(same([1.0, 2.0, 3.1, 4.0]), Verdict::Contradicted);
        assert_eq!(same([1.0, 2.0, f64::NAN, 4.0]), Verdict::Contradicted);
    }
}
