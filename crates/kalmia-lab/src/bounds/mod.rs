//! The paper's bounds, whole, beside what they bound: cumulative excess risks, convergence times
//! and $\lambda_{\max}(P_t)$ in simulation.

mod curve;
pub(crate) mod eigenvalue;
mod excess;
pub(crate) mod exits;
mod newton;
pub mod phases;
mod run;
pub(crate) mod tau;
#[cfg(test)]
mod tests;
mod theory;
mod track;

pub use curve::{BoundCurve, BoundPoint, Eigenvalues};
pub use excess::local_error;
pub use exits::MeasuredTau;
pub use tau::{EventShare, TauRow, TheoryTau, power};
pub use theory::Theory;

use crate::error::Result;
use crate::kernel::Rule;
use crate::settings::{Settings, checkpoints};
use crate::workers::Workers;
use crate::world::World;
use curve::Statement;
use excess::Excess;
use run::{LongRun, Outcome, marks};
use track::Setup;

/// $\varepsilon$ of Theorem 2; the quadratic loss allows any.
pub const EPSILON_QUADRATIC: f64 = 0.1;
/// $\beta$ of the truncated filter.
pub const BETA: f64 = 0.49;
/// $\delta$ of the bounds and of their convergence times.
pub const DELTA: f64 = 0.05;
/// $\delta$ of the table of convergence times.
pub const DELTAS: [f64; 3] = [DELTA, 0.1, 0.25];
/// Rows of the simulations in multiples of the horizon: the small $\varepsilon$ of Theorem 1 needs
/// many.
const LONGER_QUADRATIC: u64 = 20;
const LONGER_LOGISTIC: u64 = 150;

/// What the figure shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// Theorems 1, 2, 3, 10 and 14, in this order. Those after a convergence time have no points
    /// if it is not reached within the rows.
    pub curves: Vec<BoundCurve>,
    /// $\lambda_{\max}(P_t)$ of the truncated EKF beside Proposition 11.
    pub eigenvalues: Eigenvalues,
    /// Convergence times, measured and by the paper.
    pub taus: Vec<TauRow>,
    /// The event $A_{C_\delta}$ for each $\delta$ of the table.
    pub events: Vec<EventShare>,
    /// The constants of the bounds.
    pub theory: Theory,
}

impl Bounds {
    /// The curve of a theorem.
    pub fn theorem(&self, number: u32) -> Option<&BoundCurve> {
        self.curves.iter().find(|c| c.theorem == number)
    }

    /// A row of the table of convergence times.
    pub fn tau(&self, algorithm: &str, epsilon: f64, delta: f64) -> Option<&TauRow> {
        let matches = |row: &&TauRow| {
            row.algorithm == algorithm && row.epsilon == epsilon && row.delta == delta
        };
        self.taus.iter().find(matches)
    }
}

/// Units of work of [`simulate`] before the convergence times are known.
pub fn units(settings: &Settings) -> u64 {
    let rows = settings.horizon * (LONGER_QUADRATIC + LONGER_LOGISTIC + 1);
    LongRun::units(rows, settings.replicates)
}

/// The radii of the table, the largest first.
fn radii(theory: &Theory) -> Vec<f64> {
    vec![1.0, 0.3, EPSILON_QUADRATIC, theory.epsilon_logistic]
}

/// Runs the simulations. Reports two tasks of progress: the long runs under `task`, and the steps
/// after the convergence times.
pub fn simulate(task: &str, settings: &Settings, workers: &Workers) -> Result<Bounds> {
    let theory = Theory::new()?;
    let radii = radii(&theory);
    let long = |world, longer| {
        let rows = settings.horizon * longer;
        let Settings { replicates, seed, .. } = *settings;
        LongRun { world, rows, replicates, seed, marks: marks(rows) }
    };
    let setup = |world, rule, excess| Setup { world, rule, excess, radii: radii.clone() };
    let weak = World::Weak;
    let kalman = setup(World::Quadratic, Rule::Kalman, Excess::Quadratic);
    let plain = setup(weak, Rule::Ekf, Excess::local(weak));
    let truncated = setup(weak, Rule::Truncated { scale: 1.0, beta: BETA }, Excess::Fresh);

    workers.progress.start(task, units(settings));
    let quadratic = long(World::Quadratic, LONGER_QUADRATIC);
    let logistic = long(weak, LONGER_LOGISTIC);
    let newton_marks = checkpoints(settings.horizon);
    let newton = newton::risk(&theory, &newton_marks, settings.replicates, settings.seed, workers)?;
    let [of_kalman] = &quadratic.run(std::slice::from_ref(&kalman), workers)?[..] else {
        unreachable!("one filter has one outcome")
    };
    let [of_plain, of_truncated] = &logistic.run(&[plain.clone(), truncated], workers)?[..] else {
        unreachable!("two filters have two outcomes")
    };

    let at_radius = |epsilon: f64| radii.iter().position(|&r| r == epsilon).expect("tabulated");
    let tau_2 = of_kalman.tau(at_radius(EPSILON_QUADRATIC), DELTA);
    let tau_1 = of_plain.tau(at_radius(theory.epsilon_logistic), DELTA);
    let tau_10 = of_truncated.tau(at_radius(theory.epsilon_logistic), DELTA);
    let again = |run: &LongRun, tau: MeasuredTau| {
        LongRun::units(tau.tau.map_or(0, |tau| run.rows_after(tau)), settings.replicates)
    };
    workers.progress.finish();
    workers.progress.start(
        &format!("{task}, steps after τ"),
        again(&quadratic, tau_2) + again(&logistic, tau_1),
    );
    let local = |run: &LongRun, setup: &Setup, outcome: &Outcome, tau: MeasuredTau| {
        tau.tau.map(|tau| run.after(setup, tau, outcome, workers)).transpose()
    };
    let after_2 = local(&quadratic, &kalman, of_kalman, tau_2)?;
    let after_1 = local(&logistic, &plain, of_plain, tau_1)?;

    let statement = |theorem, multiple, epsilon, tau| Statement {
        theorem,
        multiple,
        delta: DELTA,
        epsilon,
        tau,
    };
    let (epsilon_14, tau_14) = best_theorem_14(&theory, &radii, of_kalman, settings.horizon)?;
    let curves = vec![
        statement(1, 3, Some(theory.epsilon_logistic), Some(tau_1))
            .local(after_1.as_ref(), |n, p| theory.theorem_1(n, DELTA, p))?,
        statement(2, 5, Some(EPSILON_QUADRATIC), Some(tau_2))
            .local(after_2.as_ref(), |n, p| theory.theorem_2(n, EPSILON_QUADRATIC, DELTA, p))?,
        statement(3, 2, None, None)
            .total(&newton_marks, &newton, |n| theory.theorem_3(n, DELTA).map(Some))?,
        statement(10, 4, Some(theory.epsilon_logistic), Some(tau_10)).total(
            &logistic.marks,
            &of_truncated.totals,
            |n| tau_10.tau.map(|tau| theory.theorem_10(n, DELTA, tau)).transpose(),
        )?,
        statement(14, 6, Some(epsilon_14), Some(tau_14)).total(
            &quadratic.marks,
            &of_kalman.totals,
            |n| tau_14.tau.map(|tau| theory.theorem_14(n, epsilon_14, DELTA, tau)).transpose(),
        )?,
    ];
    let eigenvalues = Eigenvalues::new(&theory, &logistic.marks, &of_truncated.largest)?;
    let events = curve::events(&theory, &logistic.marks, &of_truncated.largest)?;
    let taus = tau_table(&theory, &radii, of_kalman, of_plain, of_truncated)?;
    Ok(Bounds { curves, eigenvalues, taus, events, theory })
}

/// Theorem 14 allows any $\varepsilon$: the tabulated one with the smallest bound at the horizon.
fn best_theorem_14(
    theory: &Theory,
    radii: &[f64],
    outcome: &Outcome,
    n: u64,
) -> Result<(f64, MeasuredTau)> {
    let mut best = (radii[0], outcome.tau(0, DELTA));
    let mut smallest = f64::INFINITY;
    for (k, &epsilon) in radii.iter().enumerate() {
        let measured = outcome.tau(k, DELTA);
        let Some(tau) = measured.tau else { continue };
        let bound = theory.theorem_14(n, epsilon, DELTA, tau)?;
        if bound < smallest {
            smallest = bound;
            best = (epsilon, measured);
        }
    }
    Ok(best)
}

fn tau_table(
    theory: &Theory,
    radii: &[f64],
    kalman: &Outcome,
    plain: &Outcome,
    truncated: &Outcome,
) -> Result<Vec<TauRow>> {
    let mut rows = Vec::new();
    for (setting, algorithm, outcome) in [
        ("quadratic", "kalman", kalman),
        ("logistic", "ekf", plain),
        ("logistic", "truncated", truncated),
    ] {
        for (k, &epsilon) in radii.iter().enumerate() {
            for delta in DELTAS {
                let theory = match algorithm {
                    "kalman" => Some(theory.tau_quadratic(epsilon, delta)?),
                    "truncated" => Some(theory.tau_logistic(epsilon, delta)?),
                    _ => None,
                };
                let measured = outcome.tau(k, delta);
                rows.push(TauRow { setting, algorithm, epsilon, delta, measured, theory });
            }
        }
    }
    Ok(rows)
}
