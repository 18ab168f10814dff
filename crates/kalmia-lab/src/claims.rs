//! The paper's claims about its experiments, each with a verdict computed from the replicates.

use crate::experiment::{Curve, Panel};
use crate::number::{scientific, signed, uncertain};
use crate::statistics::{largest, mean, paired_score, smallest, standard_error};

/// Standard errors that decide a claim: about one false verdict in 370 claims.
const DECISIVE: f64 = 3.0;

/// The outcome of testing a claim on the replicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The replicates show it by at least three standard errors.
    Confirmed,
    /// They show the opposite by at least three standard errors.
    Contradicted,
    /// They show neither, or a value is NaN.
    Undecided,
}

impl Verdict {
    /// The word in the report.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Contradicted => "contradicted",
            Verdict::Undecided => "undecided",
        }
    }

    fn from_score(score: f64) -> Self {
        if score >= DECISIVE {
            Verdict::Confirmed
        } else if score <= -DECISIVE {
            Verdict::Contradicted
        } else {
            Verdict::Undecided
        }
    }
}

/// A claim of the paper with the verdict of one panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The claim in the words of the report.
    pub text: &'static str,
    /// The panel that decides.
    pub panel: &'static str,
    /// The outcome.
    pub verdict: Verdict,
    /// The numbers behind the verdict.
    pub evidence: String,
}

const BEST: &str = "The EKF is better than the ONS and averaged SGD.";
const EKF_AVERAGE: &str =
    "Averaging is useless for the EKF: the EKF performs better than its averaged version.";
const ONS_AVERAGE: &str = "Averaging is crucial to obtain a low mean squared error for the ONS.";
const TRUNCATION_HURTS: &str = "With θ* the truncation deteriorates the performance of the EKF.";
const TRUNCATION_HARMLESS: &str =
    "With the smaller θ* the results of the EKF and of its truncated version are similar.";
const BERCU: &str =
    "With the threshold 10⁻¹⁰/t^0.49 the truncated version almost coincides with the EKF.";
const ONS_STILL: &str =
    "With θ* the ONS almost does not move, even with the optimistic exp-concavity constant.";
const CONSTANTS: &str =
    "Low exp-concavity constants are responsible for the poor performance of the ONS.";

/// Every claim that the given panels can decide.
pub fn claims(panels: &[&Panel]) -> Vec<Claim> {
    let named = |name: &str| panels.iter().copied().find(|p| p.name == name);
    let settings =
        ["comparison1", "comparison10_theory", "comparison10_optimistic", "misspecified"];
    let present: Vec<&Panel> = settings.iter().filter_map(|name| named(name)).collect();
    let mut all: Vec<Claim> = present.iter().filter_map(|p| ekf_is_best(p)).collect();
    all.extend(present.iter().filter_map(|p| better(EKF_AVERAGE, p, "ekf", "ekf_averaged")));
    let moving = present.iter().filter(|p| p.name != "comparison1");
    all.extend(moving.filter_map(|p| ons_averaging(p)));
    if let Some(panel) = named("comparison1") {
        all.extend(better(TRUNCATION_HURTS, panel, "ekf", "truncated"));
        all.extend(ons_stands_still(panel));
    }
    if let Some(panel) = named("comparison10_theory") {
        all.extend(similar(TRUNCATION_HARMLESS, panel, "ekf", "truncated", 0.05));
    }
    all.extend(present.iter().filter_map(|p| similar(BERCU, p, "ekf", "truncated_bercu", 0.01)));
    if let (Some(theory), Some(optimistic)) =
        (named("comparison10_theory"), named("comparison10_optimistic"))
    {
        all.extend(constants_matter(theory, optimistic));
    }
    all
}

/// `mean ± standard error` at the horizon.
fn at_horizon(curve: &Curve) -> String {
    format!("{} {}", curve.label, uncertain(mean(curve.last()), standard_error(curve.last())))
}

/// A verdict on "`good` has a smaller error than `bad`" at the horizon, replicates paired.
fn better(text: &'static str, panel: &Panel, good: &str, bad: &str) -> Option<Claim> {
    let good = panel.curve(good)?;
    let bad = panel.curve(bad)?;
    let score = paired_score(bad.last(), good.last());
    Some(Claim {
        text,
        panel: panel.name,
        verdict: Verdict::from_score(score),
        evidence: format!(
            "{}, {}; paired difference {} standard errors",
            at_horizon(good),
            at_horizon(bad),
            signed(score, 1)
        ),
    })
}

fn ons_averaging(panel: &Panel) -> Option<Claim> {
    let mut claim = better(ONS_AVERAGE, panel, "ons_averaged", "ons")?;
    if claim.verdict == Verdict::Contradicted {
        claim.evidence.push_str(
            "; with so small a constant the iterates approach θ* slowly, and their mean still \
             includes the early ones near 0",
        );
    }
    Some(claim)
}

fn ekf_is_best(panel: &Panel) -> Option<Claim> {
    let ekf = panel.curve("ekf")?;
    let rivals: Vec<&Curve> = ["ons", "ons_averaged", "asgd", "asgd_oracle"]
        .iter()
        .filter_map(|key| panel.curve(key))
        .collect();
    let score =
        |at: usize| smallest(rivals.iter().map(|c| paired_score(&c.errors[at], &ekf.errors[at])));
    let last = panel.checkpoints.len() - 1;
    let since = (0..=last).rev().take_while(|&at| score(at) >= DECISIVE).last();
    let since = since.map_or_else(String::new, |at| {
        format!("; ahead of all at every checkpoint from n = {}", panel.checkpoints[at])
    });
    let closest = rivals.iter().min_by(|a, b| mean(a.last()).total_cmp(&mean(b.last())))?;
    Some(Claim {
        text: BEST,
        panel: panel.name,
        verdict: Verdict::from_score(score(last)),
        evidence: format!(
            "{}, next {}; smallest paired difference {} standard errors{since}",
            at_horizon(ekf),
            at_horizon(closest),
            signed(score(last), 1)
        ),
    })
}

/// A verdict on "the two errors differ by less than `tolerance`, relatively" at the horizon.
fn similar(text: &'static str, panel: &Panel, a: &str, b: &str, tolerance: f64) -> Option<Claim> {
    let a = panel.curve(a)?;
    let b = panel.curve(b)?;
    let gaps: Vec<f64> = a.last().iter().zip(b.last()).map(|(a, b)| b - a).collect();
    let scale = mean(a.last());
    let gap = mean(&gaps) / scale;
    let error = standard_error(&gaps) / scale;
    let verdict = if gap.abs() + DECISIVE * error < tolerance {
        Verdict::Confirmed
    } else if gap.abs() - DECISIVE * error > tolerance {
        Verdict::Contradicted
    } else {
        Verdict::Undecided
    };
    let evidence = format!(
        "{}, {}; relative difference {} ± {}, margin {:.0} %",
        at_horizon(a),
        at_horizon(b),
        scientific(gap, 1),
        scientific(error, 1),
        100.0 * tolerance
    );
    Some(Claim { text, panel: panel.name, verdict, evidence })
}

fn ons_stands_still(panel: &Panel) -> Option<Claim> {
    let ons = panel.curve("ons")?;
    let norm2 = crate::world::THETA.iter().map(|v| v * v).sum::<f64>();
    let moved = largest(ons.errors.iter().flatten().map(|e| (e / norm2 - 1.0).abs()));
    Some(Claim {
        text: ONS_STILL,
        panel: panel.name,
        verdict: if moved < 0.01 { Verdict::Confirmed } else { Verdict::Contradicted },
        evidence: format!(
            "no replicate's squared error ever leaves ‖θ*‖² = {norm2} by more than a share of {}",
            scientific(moved, 1)
        ),
    })
}

fn constants_matter(theory: &Panel, optimistic: &Panel) -> Option<Claim> {
    let low = theory.curve("ons_averaged")?;
    let high = optimistic.curve("ons_averaged")?;
    let score = paired_score(low.last(), high.last());
    Some(Claim {
        text: CONSTANTS,
        panel: optimistic.name,
        verdict: Verdict::from_score(score),
        evidence: format!(
            "{} with the constant 2.0·10⁻⁴, {} with 2.5·10⁻²; paired difference {} standard errors",
            at_horizon(low),
            at_horizon(high),
            signed(score, 1)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(name: &'static str, curves: &[(&'static str, [f64; 4])]) -> Panel {
        let curves = curves.iter().map(|&(key, last)| Curve {
            key,
            label: key,
            errors: vec![last.to_vec()],
        });
        Panel { name, checkpoints: vec![10], curves: curves.collect() }
    }

    #[test]
    fn verdicts_follow_the_paired_differences() {
        let ekf = ("ekf", [1.0, 1.1, 0.9, 1.0]);
        let worse = panel("misspecified", &[ekf, ("ons", [2.0, 2.2, 1.9, 2.1])]);
        assert_eq!(ekf_is_best(&worse).unwrap().verdict, Verdict::Confirmed);
        let better = panel("misspecified", &[ekf, ("ons", [0.2, 0.3, 0.1, 0.2])]);
        assert_eq!(ekf_is_best(&better).unwrap().verdict, Verdict::Contradicted);
        let unclear = panel("misspecified", &[ekf, ("ons", [0.5, 1.8, 0.4, 1.6])]);
        assert_eq!(ekf_is_best(&unclear).unwrap().verdict, Verdict::Undecided);
    }

    #[test]
    fn similarity_needs_precision() {
        let ekf = ("ekf", [1.0, 1.1, 0.9, 1.0]);
        let verdict = |other| {
            similar(BERCU, &panel("comparison1", &[ekf, ("b", other)]), "ekf", "b", 0.05)
                .unwrap()
                .verdict
        };
        assert_eq!(verdict([1.001, 1.1, 0.9, 1.0]), Verdict::Confirmed);
        assert_eq!(verdict([1.5, 1.6, 1.4, 1.5]), Verdict::Contradicted);
        assert_eq!(verdict([0.5, 1.6, 0.4, 1.5]), Verdict::Undecided);
    }
}
