//! Claims on printed numbers, on densities and on the cost of a row.

use super::{Claim, Verdict, at_most_quadratic, exponent, mode_at, panel, rounds_to};
use crate::density::Density;
use crate::experiment::Panel;
use crate::figures::{Cost, Finished};
use crate::number::scientific;
use crate::settings::Figure;

const PRINTED: &str = "The exp-concavity constants e^(−D√d), as printed.";
const MODES: &str = "The density of the misspecified setting has two modes, at 0.28 and 0.79.";
const DEGENERATE: &str = "With θ* the Bernoulli parameter is almost degenerated on 0, with small \
    mass at 1. Tested as: at least 85 % below 0.1, and 1 to 10 % above 0.9.";
const COST: &str = "A row costs O(d²). Tested as: the time of a row grows at most as d^2.25.";

/// Panel, printed constant and figure.
const CONSTANTS: [(&str, f64, Figure); 3] = [
    ("comparison1", 1.2e-37, Figure::Comparison1),
    ("comparison10_theory", 2.0e-4, Figure::Comparison10),
    ("misspecified", 3.0e-3, Figure::Misspecified),
];

/// The modes as printed.
const PRINTED_MODES: [f64; 2] = [0.28, 0.79];

pub(super) fn claims(figures: &[Finished]) -> Vec<Claim> {
    let mut all = Vec::new();
    for (name, printed, figure) in CONSTANTS {
        all.extend(panel(figures, name).map(|panel| constant(panel, printed, figure)));
    }
    for density in figures.iter().flat_map(|f| &f.densities) {
        match density.name {
            "misspecified" => all.push(modes(density)),
            "theta_star" => all.push(degenerate(density)),
            _ => {}
        }
    }
    all.extend(figures.iter().filter_map(|f| f.scaling.as_ref()).map(|s| cost(&s.cost)));
    all
}

fn constant(panel: &Panel, printed: f64, figure: Figure) -> Claim {
    let value = panel.population.ball_constant();
    let claim = Claim::of_numbers(PRINTED, figure, &panel.name, rounds_to(value, printed, 2));
    let evidence =
        format!("{} with D = 1.1 ‖θ*‖; printed {}", scientific(value, 3), scientific(printed, 1));
    claim.resting_on(&["E16", "E26"]).because(evidence)
}

fn modes(density: &Density) -> Claim {
    let found = density.modes();
    let verdicts = PRINTED_MODES
        .iter()
        .zip(found)
        .map(|(&printed, found)| mode_at(density.around(printed), density.around(found)));
    let contradicted = verdicts.into_iter().any(|v| v == Verdict::Contradicted);
    let verdict = if contradicted { Verdict::Contradicted } else { Verdict::Confirmed };
    let evidence = format!(
        "10⁶ draws: modes near {:.3} and {:.3}; {} draws within 0.025 of 0.28 and {} of the lower \
         mode. 0.28 and 0.79 are the means of the two groups",
        found[0],
        found[1],
        density.around(PRINTED_MODES[0]),
        density.around(found[0])
    );
    let claim = Claim::of_numbers(MODES, Figure::Misspecified, "misspecified_density", verdict);
    claim.resting_on(&["E32"]).because(evidence)
}

fn degenerate(density: &Density) -> Claim {
    let (low, high) = (density.mass(0.0, 0.1), density.mass(0.9, 1.0));
    let holds = low >= 0.85 && (0.01..=0.1).contains(&high);
    let verdict = if holds { Verdict::Confirmed } else { Verdict::Contradicted };
    let evidence =
        format!("10⁶ draws: {:.1} % below 0.1, {:.1} % above 0.9", 100.0 * low, 100.0 * high);
    Claim::of_numbers(DEGENERATE, Figure::Density, "density", verdict).because(evidence)
}

fn cost(measured: &[Cost]) -> Claim {
    let points: Vec<(f64, f64)> = measured.iter().map(|c| (c.dim as f64, c.seconds)).collect();
    let power = exponent(&points);
    let ends = measured.first().zip(measured.last());
    let ends = ends.map_or_else(String::new, |(a, b)| {
        format!(
            "; {:.1} µs at d = {}, {:.1} µs at d = {}",
            1e6 * a.seconds,
            a.dim,
            1e6 * b.seconds,
            b.dim
        )
    });
    let evidence = format!("measured on this machine: time ~ d^{power:.2}{ends}");
    let claim = Claim::of_numbers(COST, Figure::Scaling, "scaling", at_most_quadratic(power));
    claim.because(evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn density(name: &'static str, fill: impl Fn(usize) -> u64) -> Density {
        Density { name, counts: (0..100).map(fill).collect() }
    }

    #[test]
    fn modes_and_masses_decide() {
        let peak = |center: i64, k: usize| {
            10_000u64.saturating_sub(200 * (k as i64 - center).unsigned_abs())
        };
        let moved = density("misspecified", |k| peak(21, k).max(peak(85, k)));
        assert_eq!(modes(&moved).verdict, Verdict::Contradicted);
        let printed = density("misspecified", |k| peak(28, k).max(peak(79, k)));
        assert_eq!(modes(&printed).verdict, Verdict::Confirmed);
        // Out of 10⁶ draws.
        let strong = density("theta_star", |k| {
            if k < 10 {
                90_000
            } else if k >= 90 {
                2_000
            } else {
                1_000
            }
        });
        assert_eq!(degenerate(&strong).verdict, Verdict::Confirmed);
        let flat = density("theta_star", |_| 10_000);
        assert_eq!(degenerate(&flat).verdict, Verdict::Contradicted);
    }

    #[test]
    fn constants_and_costs_decide() {
        let panel = crate::claims::testing::panel("misspecified", &[]);
        // ‖θ*‖ = 1 and d = 1: e^(−1.1) = 0.3329.
        assert_eq!(constant(&panel, 0.33, Figure::Misspecified).verdict, Verdict::Confirmed);
        assert_eq!(constant(&panel, 0.34, Figure::Misspecified).verdict, Verdict::Contradicted);
        let at = |power: f64| -> Vec<Cost> {
            [32, 64, 128].map(|d| Cost { dim: d, seconds: (d as f64).powf(power) }).to_vec()
        };
        assert_eq!(cost(&at(2.0)).verdict, Verdict::Confirmed);
        assert_eq!(cost(&at(3.0)).verdict, Verdict::Contradicted);
    }
}
