//! Claims on the Online Newton Step, judged over its initial matrix, which the paper does not give.

use super::comparisons::RIVALS;
use super::{
    AtChoice, Claim, OverChoice, Verdict, at_horizon, figure_of, lead, over_choice, panel,
};
use crate::experiment::{Curve, Panel};
use crate::figures::{Finished, LambdaSweep, Sweep};
use crate::number::{scientific, signed};
use crate::settings::Figure;
use crate::statistics::{largest, mean};

const BEST: &str = "The EKF is better than the ONS and averaged SGD.";
const AVERAGE: &str = "Averaging is crucial to obtain a low mean squared error for the ONS.";
const STILL: &str =
    "With θ* the ONS almost does not move, even with the optimistic exp-concavity constant.";
const CONSTANTS: &str =
    "Low exp-concavity constants are responsible for the poor performance of the ONS.";

/// What every claim here rests on.
const ERRATA: &[&str] = &["E14", "E16", "E26", "E28", "E29"];

/// Share of $\|\theta^*\|^2$ by which an ONS that does not move may change its error.
const STANDS_STILL: f64 = 0.01;

const SETTINGS: [&str; 4] =
    ["comparison1", "comparison10_theory", "comparison10_optimistic", "misspecified"];

pub(super) fn claims(figures: &[Finished]) -> Vec<Claim> {
    let lambda = figures.iter().find_map(|f| f.lambda.as_ref());
    let sweep = |name: &str| lambda.and_then(|l: &LambdaSweep| l.of(name));
    let mut all = Vec::new();
    for name in SETTINGS {
        let Some(panel) = panel(figures, name) else { continue };
        all.extend(ekf_is_best(panel, sweep(name)));
        all.extend(match name {
            "comparison1" => stands_still(panel, sweep(name)),
            _ => averaging(panel, sweep(name)),
        });
    }
    if let (Some(low), Some(high)) =
        (panel(figures, "comparison10_theory"), panel(figures, "comparison10_optimistic"))
    {
        let sweeps = sweep("comparison10_theory").zip(sweep("comparison10_optimistic"));
        all.extend(constants(low, high, sweeps));
    }
    all
}

/// The ONS of a sweep at one $\lambda$.
struct Pair<'a> {
    lambda: f64,
    last: &'a Curve,
    average: &'a Curve,
}

fn pairs(sweep: &Sweep) -> Vec<Pair<'_>> {
    let last = sweep.panel.sweep("ons", "lambda");
    let average = sweep.panel.sweep("ons_averaged", "lambda");
    last.into_iter()
        .zip(average)
        .map(|((lambda, last), (_, average))| Pair { lambda, last, average })
        .collect()
}

/// Combines the verdict of the comparison with those of the sweep.
fn judge(
    used: Verdict,
    sweep: Option<&Sweep>,
    at: impl Fn(&Pair) -> Verdict,
) -> (OverChoice, Option<String>) {
    let Some(sweep) = sweep else {
        let note = "The ONS has P₁⁻¹ = I/(γR)² (E28); the figure `lambda` tries others.";
        return (OverChoice { verdict: used, flip: None }, Some(note.into()));
    };
    let others: Vec<AtChoice> = pairs(sweep)
        .iter()
        .map(|pair| AtChoice { value: pair.lambda, verdict: at(pair) })
        .collect();
    let used = AtChoice { value: sweep.default_lambda, verdict: used };
    let judged = over_choice(used, &others);
    (judged, judged.flip.map(|flip| flip_text(flip, used, sweep)))
}

fn flip_text(flip: [AtChoice; 2], used: AtChoice, sweep: &Sweep) -> String {
    let [a, b] = flip;
    format!(
        "the initial matrix λI of the ONS: {} at λ = {}, {} at λ = {}; {} at 1/(γR)² = {} (E28); \
         {} replicates",
        a.verdict.words(),
        scientific(a.value, 1),
        b.verdict.words(),
        scientific(b.value, 1),
        used.verdict.words(),
        scientific(used.value, 1),
        sweep.panel.replicates
    )
}

/// The EKF against every rival, and against the ONS with every $\lambda$.
fn ekf_is_best(panel: &Panel, sweep: Option<&Sweep>) -> Option<Claim> {
    let ekf = panel.curve("ekf")?;
    let rivals: Vec<&Curve> = RIVALS.iter().filter_map(|key| panel.curve(key)).collect();
    let errors: Vec<&[f64]> = rivals.iter().map(|curve| curve.last()).collect();
    let score = lead(ekf.last(), &errors);
    let (judged, choice) = judge(Verdict::from_score(score), sweep, |pair| {
        // The sweep has the first of the same replicates.
        Verdict::from_score(lead(ekf.last(), &[pair.last.last(), pair.average.last()]))
    });
    let closest = rivals.iter().min_by(|a, b| mean(a.last()).total_cmp(&mean(b.last())))?;
    let best = sweep.map_or_else(String::new, best_of_sweep);
    let figure = figure_of(&panel.name);
    let claim = Claim::of_panel(BEST, figure, panel, judged.verdict).resting_on(ERRATA);
    let claim = claim.because(format!(
        "{}, next {}; smallest paired difference {} standard errors{best}",
        at_horizon(ekf),
        at_horizon(closest),
        signed(score, 1)
    ));
    Some(Claim { choice, ..claim })
}

/// The smallest error of the ONS over $\lambda$.
fn best_of_sweep(sweep: &Sweep) -> String {
    let all = pairs(sweep);
    let candidates = all.iter().flat_map(|p| [(p.lambda, p.last), (p.lambda, p.average)]);
    let best = candidates.min_by(|a, b| mean(a.1.last()).total_cmp(&mean(b.1.last())));
    best.map_or_else(String::new, |(_, curve)| {
        format!("; over all λ the best is {}", at_horizon(curve))
    })
}

fn averaging(panel: &Panel, sweep: Option<&Sweep>) -> Option<Claim> {
    let last = panel.curve("ons")?;
    let average = panel.curve("ons_averaged")?;
    let score = lead(average.last(), &[last.last()]);
    let (judged, choice) = judge(Verdict::from_score(score), sweep, |pair| {
        Verdict::from_score(lead(pair.average.last(), &[pair.last.last()]))
    });
    let figure = figure_of(&panel.name);
    let claim = Claim::of_panel(AVERAGE, figure, panel, judged.verdict).resting_on(ERRATA);
    let slow = match score < 0.0 {
        true => ". The mean still holds the early iterates near 0, so with more rows it gains",
        false => "",
    };
    let claim = claim.because(format!(
        "{}, {}; paired difference {} standard errors{slow}",
        at_horizon(average),
        at_horizon(last),
        signed(score, 1)
    ));
    Some(Claim { choice, ..claim })
}

/// Whether no replicate's error leaves $\|\theta^*\|^2$.
fn still(curve: &Curve, norm2: f64) -> (Verdict, f64) {
    let moved = largest(curve.errors.iter().flatten().map(|e| (e / norm2 - 1.0).abs()));
    (if moved < STANDS_STILL { Verdict::Confirmed } else { Verdict::Contradicted }, moved)
}

fn stands_still(panel: &Panel, sweep: Option<&Sweep>) -> Option<Claim> {
    let norm2 = panel.population.norm().powi(2);
    let (used, moved) = still(panel.curve("ons")?, norm2);
    let (mut judged, choice) = judge(used, sweep, |pair| still(pair.last, norm2).0);
    // The matrix was chosen by this very sentence, so under it alone nothing is confirmed.
    if judged.verdict == Verdict::Confirmed {
        judged.verdict = Verdict::Depends;
    }
    let figure = figure_of(&panel.name);
    let claim = Claim::of_panel(STILL, figure, panel, judged.verdict).resting_on(ERRATA);
    let claim = claim.because(format!(
        "the squared error leaves ‖θ*‖² = {} by a share of {} at most. Circular: P₁⁻¹ = I/(γR)² \
         was chosen because it makes this sentence true",
        norm2.round(),
        scientific(moved, 1)
    ));
    Some(Claim { choice, ..claim })
}

fn constants(low: &Panel, high: &Panel, sweeps: Option<(&Sweep, &Sweep)>) -> Option<Claim> {
    let low_curve = low.curve("ons_averaged")?;
    let high_curve = high.curve("ons_averaged")?;
    let score = lead(high_curve.last(), &[low_curve.last()]);
    let used = Verdict::from_score(score);
    let mut evidence = format!(
        "{} with the constant 2.0·10⁻⁴, {} with 2.5·10⁻²; paired difference {} standard errors",
        at_horizon(low_curve),
        at_horizon(high_curve),
        signed(score, 1)
    );
    let mut verdict = used;
    let mut choice = None;
    if let Some((low_sweep, high_sweep)) = sweeps {
        let small = pairs(low_sweep);
        let large = pairs(high_sweep);
        let others: Vec<AtChoice> = small
            .iter()
            .zip(&large)
            .map(|(a, b)| AtChoice {
                value: a.lambda,
                verdict: Verdict::from_score(lead(b.average.last(), &[a.average.last()])),
            })
            .collect();
        let used = AtChoice { value: low_sweep.default_lambda, verdict: used };
        let judged = over_choice(used, &others);
        verdict = judged.verdict;
        choice = judged.flip.map(|flip| flip_text(flip, used, low_sweep));
        evidence += &confounded(&small, low_curve);
    }
    let claim = Claim::of_panel(CONSTANTS, Figure::Lambda, high, verdict).resting_on(ERRATA);
    Some(Claim { choice, ..claim.because(evidence) })
}

/// How much of the gap goes away with another $\lambda$ and the same constant.
fn confounded(small: &[Pair], used: &Curve) -> String {
    let best =
        small.iter().min_by(|a, b| mean(a.average.last()).total_cmp(&mean(b.average.last())));
    best.map_or_else(String::new, |pair| {
        format!(
            ". Confounded with λ: with the same low constant and λ = {} the error is {}, {} times \
             smaller",
            scientific(pair.lambda, 1),
            scientific(mean(pair.average.last()), 1),
            scientific(mean(used.last()) / mean(pair.average.last()), 1)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::testing;

    const LOW: [f64; 4] = [1.0, 1.1, 0.9, 1.0];
    const HIGH: [f64; 4] = [2.0, 2.2, 1.9, 2.1];

    fn sweep(at: &[(f64, [f64; 4], [f64; 4])]) -> Sweep {
        let mut panel = testing::panel("lambda_misspecified", &[]);
        for &(lambda, last, average) in at {
            for (method, errors) in [("ons", last), ("ons_averaged", average)] {
                let mut curve = testing::panel("", &[(method, errors)]).curves.remove(0);
                curve.grid = vec![("lambda".into(), lambda)];
                panel.curves.push(curve);
            }
        }
        Sweep { setting: "misspecified".into(), panel, default_lambda: 1e5 }
    }

    #[test]
    fn averaging_depends_on_the_initial_matrix() {
        let panel = testing::panel("misspecified", &[("ons", LOW), ("ons_averaged", HIGH)]);
        let alone = averaging(&panel, None).unwrap();
        assert_eq!(alone.verdict, Verdict::Contradicted);
        assert!(alone.choice.unwrap().contains("E28"));
        let agree = averaging(&panel, Some(&sweep(&[(1.0, LOW, HIGH)]))).unwrap();
        assert_eq!((agree.verdict, agree.choice), (Verdict::Contradicted, None));
        let flips = averaging(&panel, Some(&sweep(&[(1.0, HIGH, LOW)]))).unwrap();
        assert_eq!(flips.verdict, Verdict::Depends);
        let choice = flips.choice.unwrap();
        assert!(choice.contains("confirmed at λ = 1.0,"), "{choice}");
        assert!(choice.contains("contradicted at λ = 1.0·10⁵"), "{choice}");
        assert_eq!((flips.horizon, flips.replicates), (Some(10), Some(4)));
    }

    #[test]
    fn a_better_initial_matrix_may_beat_the_filter() {
        let curves = [("ekf", LOW), ("ons", HIGH), ("asgd", HIGH)];
        let panel = testing::panel("misspecified", &curves);
        assert_eq!(ekf_is_best(&panel, None).unwrap().verdict, Verdict::Confirmed);
        let best = [0.1, 0.2, 0.1, 0.15];
        let judged = ekf_is_best(&panel, Some(&sweep(&[(1.0, HIGH, best)]))).unwrap();
        assert_eq!(judged.verdict, Verdict::Depends);
        assert!(judged.evidence.contains("over all λ"), "{}", judged.evidence);
    }

    #[test]
    fn an_iterate_that_moves_under_another_matrix_is_no_confirmation() {
        // ‖θ*‖² is 1 in the test panel.
        let panel = testing::panel("comparison1", &[("ons", [1.0; 4])]);
        assert_eq!(stands_still(&panel, None).unwrap().verdict, Verdict::Depends);
        let moved = stands_still(&panel, Some(&sweep(&[(1.0, HIGH, HIGH)]))).unwrap();
        assert_eq!(moved.verdict, Verdict::Depends);
        assert!(moved.evidence.contains("Circular"));
        let panel = testing::panel("comparison1", &[("ons", HIGH)]);
        assert_eq!(stands_still(&panel, None).unwrap().verdict, Verdict::Contradicted);
    }

    #[test]
    fn the_constant_and_the_matrix_are_told_apart() {
        let low = testing::panel("comparison10_theory", &[("ons_averaged", HIGH)]);
        let high = testing::panel("comparison10_optimistic", &[("ons_averaged", LOW)]);
        assert_eq!(constants(&low, &high, None).unwrap().verdict, Verdict::Confirmed);
        let small = sweep(&[(1.0, HIGH, LOW)]);
        let large = sweep(&[(1.0, HIGH, HIGH)]);
        let judged = constants(&low, &high, Some((&small, &large))).unwrap();
        assert_eq!(judged.verdict, Verdict::Depends);
        assert!(judged.evidence.contains("Confounded"), "{}", judged.evidence);
    }
}
