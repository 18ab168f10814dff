//! Small runs against plain recursions, row by row, and the closed forms against the paper's text.

use super::*;
use crate::lanes::LANES;
use crate::world::{Block, D};
use eigenvalue::Extremes;
use std::sync::atomic::AtomicBool;

const ROWS: u64 = 3000;
const REPLICATES: usize = 11;
const SEED: u64 = 5;
const RADII: [f64; 3] = [2.0, 1.2, 0.4];

static NEVER: AtomicBool = AtomicBool::new(false);

fn workers() -> Workers<'static> {
    Workers { threads: 2, progress: &(), cancel: &NEVER }
}

fn long(world: World) -> LongRun {
    LongRun { world, rows: ROWS, replicates: REPLICATES, seed: SEED, marks: marks(ROWS) }
}

fn setup(world: World, rule: Rule, excess: Excess) -> Setup {
    Setup { world, rule, excess, radii: RADII.to_vec() }
}

/// One replicate of a plain recursion that keeps the precision matrix and solves for each step.
struct Plain {
    /// Distance to $\theta^*$ before each row.
    distances: Vec<f64>,
    /// Whether the row's weight was truncated.
    truncated: Vec<bool>,
    /// Excess risk at the row's own X, or exact for the quadratic loss.
    excess: Vec<f64>,
    /// $\frac12 e^\top He$.
    second_order: Vec<f64>,
    /// Largest eigenvalue of the precision matrix before each row.
    precision: Vec<f64>,
}

fn plain(world: World, rule: Rule, replicate: usize) -> Plain {
    let star = world.generator();
    let hessian = crate::quadrature::logistic_hessian(&star);
    let mut streams = world.streams(SEED, replicate / LANES);
    let mut block = Block::new(ROWS as usize);
    block.fill(world, &mut streams);
    let mut theta = [0.0; D];
    let mut precision = [[0.0; D]; D];
    (0..D).for_each(|i| precision[i][i] = 1.0);
    let mut out = Plain {
        distances: vec![],
        truncated: vec![],
        excess: vec![],
        second_order: vec![],
        precision: vec![],
    };
    for (t, (x, y)) in (1..).zip(block.x.iter().zip(&block.y)) {
        let x: [f64; D] = x.map(|v| v.0[replicate % LANES]);
        let y = y.0[replicate % LANES];
        let inner = |a: &[f64; D], b: &[f64; D]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let error: [f64; D] = std::array::from_fn(|j| theta[j] - star[j]);
        let m = inner(&theta, &x);
        let m_star = inner(&star, &x);
        out.distances.push(inner(&error, &error).sqrt());
        let form = |a: &[[f64; D]; D]| 0.5 * inner(&error, &a.map(|row| inner(&row, &error)));
        out.second_order.push(form(&hessian));
        let second = 1.0 / ((1.0 + m.exp()) * (1.0 + (-m).exp()));
        let softplus = |u: f64| u.max(0.0) + (-u.abs()).exp().ln_1p();
        let (alpha, slope, excess) = match rule {
            Rule::Kalman => {
                // Var Z_j = 1/12 and E X = (1, 1/2, ...)
                let line = error[0] + 0.5 * error[1..].iter().sum::<f64>();
                let squares: f64 = error[1..].iter().map(|e| e * e).sum();
                (1.0, y - m, 0.5 * (line * line + squares / 12.0))
            }
            _ => {
                let p = 1.0 / (1.0 + (-m_star).exp());
                let excess = p * (m_star - m) + softplus(m) - softplus(m_star);
                (second, y / (1.0 + (y * m).exp()), excess)
            }
        };
        let floor = match rule {
            Rule::Truncated { scale, beta } => scale * f64::from(t).powf(-beta),
            _ => 0.0,
        };
        out.truncated.push(floor > alpha);
        out.excess.push(excess);
        // The spectrum of every row would take long; the test asks for a few.
        out.precision.push(if t % 50 == 1 { Extremes::of(precision).largest } else { f64::NAN });
        for i in 0..D {
            (0..D).for_each(|j| precision[i][j] += alpha.max(floor) * x[i] * x[j]);
        }
        let step = crate::quadrature::solve(precision, x.map(|x| x * slope));
        (0..D).for_each(|j| theta[j] += step[j]);
    }
    out
}

/// The last time at which `condition` fails, by looking at every row; 0 if it never does.
fn last(holds: impl Fn(usize) -> bool) -> f64 {
    (0..ROWS as usize).rev().find(|&t| !holds(t)).map_or(0.0, |t| (t + 1) as f64)
}

#[test]
fn a_run_measures_what_a_plain_recursion_shows() {
    let truncated = Rule::Truncated { scale: 1.0, beta: BETA };
    for (world, rule, excess) in [
        (World::Quadratic, Rule::Kalman, Excess::Quadratic),
        (World::Weak, Rule::Ekf, Excess::local(World::Weak)),
        (World::Weak, truncated, Excess::Fresh),
    ] {
        let run = long(world);
        let setup = setup(world, rule, excess);
        let outcome = &run.run(std::slice::from_ref(&setup), &workers()).unwrap()[0];
        let references: Vec<Plain> = (0..REPLICATES).map(|r| plain(world, rule, r)).collect();
        for (r, reference) in references.iter().enumerate() {
            for (k, radius) in RADII.iter().enumerate() {
                let expected = last(|t| reference.distances[t] <= *radius);
                assert_eq!(outcome.last_outside[k][r], expected, "{rule:?} {radius} {r}");
            }
            let expected = last(|t| !reference.truncated[t]);
            assert_eq!(outcome.last_truncated[r], expected, "{rule:?} {r}");
            let steps = if rule == Rule::Ekf { &reference.second_order } else { &reference.excess };
            for (&n, totals) in run.marks.iter().zip(&outcome.totals) {
                let expected: f64 = steps[..n as usize].iter().sum();
                assert!((totals[r] / expected - 1.0).abs() < 1e-9, "{rule:?} {n} {r}");
            }
        }
        // Of 11 replicates, a share of 0.1 allows one to leave later.
        let mut lasts: Vec<f64> = (0..REPLICATES)
            .map(|r| outcome.last_outside[1][r].max(outcome.last_truncated[r]))
            .collect();
        lasts.sort_by(f64::total_cmp);
        let measured = outcome.tau(1, 0.1);
        assert_eq!(measured.tau, Some(lasts[REPLICATES - 2] as u64));
        assert!(measured.tau > outcome.tau(0, 0.1).tau && measured.tau > outcome.tau(1, 0.5).tau);

        // The steps after a time, from the first one on, and the precision there.
        let tau = 1000;
        let after = run.after(&setup, tau, outcome, &workers()).unwrap();
        assert_eq!((after.n[0], after.n[1], *after.n.last().unwrap()), (1, 2, ROWS - tau));
        assert!(after.n.windows(2).all(|w| w[0] < w[1]));
        for (r, reference) in references.iter().enumerate() {
            let steps = if rule == Rule::Ekf { &reference.second_order } else { &reference.excess };
            for (&n, sums) in after.n.iter().zip(&after.sums) {
                let expected: f64 = steps[tau as usize..(tau + n) as usize].iter().sum();
                assert!((sums[r] / expected - 1.0).abs() < 1e-8, "{rule:?} {n} {r}");
            }
            // Before row 1001 stands the matrix of tau = 1000.
            let expected = reference.precision[1000];
            assert!((after.precision[r] / expected - 1.0).abs() < 1e-8, "{rule:?} {r}");
        }
        // From the first row on, no time to wait for.
        let whole = run.after(&setup, 0, outcome, &workers()).unwrap();
        assert_eq!(whole.n[0], 1);
        assert!(whole.precision.iter().all(|&p| p == 1.0));
    }
}

/// Two filters on the same rows are the two alone, to the bit.
#[test]
fn a_pair_of_filters_is_two_filters() {
    let run = long(World::Weak);
    let pair = [
        setup(World::Weak, Rule::Ekf, Excess::local(World::Weak)),
        setup(World::Weak, Rule::Truncated { scale: 1.0, beta: BETA }, Excess::Fresh),
    ];
    let both = run.run(&pair, &workers()).unwrap();
    for (setup, outcome) in pair.iter().zip(&both) {
        let alone = run.run(std::slice::from_ref(setup), &workers()).unwrap();
        assert_eq!(&alone[0], outcome);
    }
}

/// The quadratic excess risk is known: about $\frac12 d\sigma^2/t$ per step once the prior is
/// forgotten, and the well-specified logistic one is the same.
#[test]
fn excess_risk_grows_as_half_d_log_n() {
    for (world, rule, excess) in [
        (World::Quadratic, Rule::Kalman, Excess::Quadratic),
        (World::Weak, Rule::Ekf, Excess::Fresh),
    ] {
        let rows = 20_000;
        let run = LongRun { world, rows, replicates: 64, seed: 4, marks: marks(rows) };
        let outcome = &run.run(&[setup(world, rule, excess)], &workers()).unwrap()[0];
        let at = |n: u64| {
            let k = run.marks.iter().position(|&m| m == n).unwrap();
            crate::statistics::mean(&outcome.totals[k])
        };
        let grown = at(20_000) - at(1000);
        let expected = 0.5 * D as f64 * 20f64.ln();
        assert!((grown / expected - 1.0).abs() < 0.15, "{world:?}: {grown} against {expected}");
    }
}

/// Every curve against the paper's text, evaluated here with its numbers: d = 11 = D_X^2, P_1 = I.
#[test]
fn bounds_are_whole() {
    let theory = Theory::new().unwrap();
    let norm = 5.43f64.sqrt();
    let root = 11f64.sqrt();
    let close = |got: f64, expected: f64, what: &str| {
        assert!((got / expected - 1.0).abs() < 1e-12, "{what}: {got} against {expected}");
    };
    let delta: f64 = 0.03;
    let log = -delta.ln();
    for n in [1u64, 2, 1000, 10_000_000] {
        let steps = n as f64;
        let eps = 1.0 / (20.0 * root);
        let kappa = (root * (norm + eps)).exp();
        let expected = 2.5 * 11.0 * kappa * (steps / 4.0).ln_1p()
            + 5.0 * 7.5 * eps * eps
            + 30.0 * (2.0 * kappa + 0.25 * eps * eps * 11.0) * log;
        close(theory.theorem_1(n, delta, 7.5).unwrap(), expected, "Theorem 1");
        let eps: f64 = 0.2;
        let noise = 8.0 + eps * eps * 11.0;
        let local = 7.5 * 11.0 * noise * steps.ln_1p()
            + 140.0 * (4.0 + 11.0 / 4.0 + 2.0 * eps * eps * 11.0) * log;
        let expected = local + 5.0 * 7.5 * eps * eps;
        close(theory.theorem_2(n, eps, delta, 7.5).unwrap(), expected, "Theorem 2");
        let tau = 300.0f64;
        let expected = local
            + 5.0 * eps * eps
            + 11.0 * (5.0 * eps * eps + 2.0 * (norm + 3.0 * root * log).powi(2)) * tau
            + 2.0 * 121.0 * 9.0 / 3.0 * tau.powi(3);
        close(theory.theorem_14(n, eps, delta, 300).unwrap(), expected, "Theorem 14");
        let scale = (root * norm).exp();
        let excess: f64 = (1..=300).map(|t| (f64::from(t).powf(-0.49) - 0.25).max(0.0)).sum();
        let expected = 3.0 * 11.0 * scale * (steps / 4.0).ln_1p()
            + 1.0 / (75.0 * 11.0)
            + 64.0 * scale * log
            + tau * (1.0 / 300.0 + root * norm)
            + tau * tau * 11.0 / 2.0
            + excess / 75.0;
        close(theory.theorem_10(n, delta, 300).unwrap(), expected, "Theorem 10");
        let radius = 1.1 * norm;
        let gamma = 0.5 * (-radius * root).exp().min(1.0 / (4.0 * root * 2.0 * radius));
        let lambda = 1.0 / (gamma * radius).powi(2);
        let spread = 4.0 * gamma * 11.0 * 4.0 * radius * radius / 3.0;
        let expected = 1.5 / gamma * 11.0 * (steps / lambda).ln_1p()
            + lambda * gamma / 6.0 * 4.0 * radius * radius
            + (12.0 / gamma + spread) * log;
        close(theory.theorem_3(n, delta).unwrap(), expected, "Theorem 3");
    }
    // The audit's numbers: tau of Corollary 24 at delta = 0.01, ln tau of Corollary 13.
    let tau = theory.tau_quadratic(0.1, 0.01).unwrap();
    assert!((tau.ln_printed.exp() / 2.53e9 - 1.0).abs() < 0.003);
    assert!((tau.ln_corrected.exp() / 2.85e10 - 1.0).abs() < 0.003);
    let tau = theory.tau_logistic(theory.epsilon_logistic, 0.05).unwrap();
    assert!((tau.ln_printed / 3.6e67 - 1.0).abs() < 0.02 && tau.applies);
    assert!((theory.proposition_11_from(0.05).unwrap() / 1.2e16 - 1.0).abs() < 0.05);
}

/// The run of Theorem 3 is the library's learner, row by row.
#[test]
fn online_newton_is_the_one_of_theorem_3() {
    use kalmia::{Bernoulli, Learner, OnlineNewtonStep, Rows};
    let theory = Theory::new().unwrap();
    let marks = [1, 7, 130, 250];
    let totals = newton::risk(&theory, &marks, 10, SEED, &workers()).unwrap();
    let star = World::Weak.generator();
    for replicate in [0, 9] {
        let mut block = Block::new(250);
        block.fill(World::Weak, &mut World::Weak.streams(SEED, replicate / LANES));
        let settings = theory.online_newton().unwrap();
        let mut learner = OnlineNewtonStep::new(Bernoulli, D, settings).unwrap();
        let mut total = 0.0;
        for (n, (x, y)) in (1..).zip(block.x.iter().zip(&block.y)) {
            let x = x.map(|v| v.0[replicate % LANES]);
            let inner = |w: &[f64]| w.iter().zip(x).map(|(a, b)| a * b).sum::<f64>();
            let m = inner(&learner.coefficients());
            let m_star = inner(&star);
            let p = 1.0 / (1.0 + (-m_star).exp());
            total += p * (m_star - m) + m.exp().ln_1p() - m_star.exp().ln_1p();
            learner.learn(Rows::new(D, &x, &[y.0[replicate % LANES]]).unwrap()).unwrap();
            if let Some(k) = marks.iter().position(|&mark| mark == n) {
                let got = totals[k][replicate];
                assert!((got / total - 1.0).abs() < 1e-9, "{n}: {got} against {total}");
            }
        }
    }
}

/// Marks are ascending, hold ten per decade and end at the last row.
#[test]
fn marks_refine_the_checkpoints() {
    for rows in [1, 2, 39, 1000, 123_456] {
        let marks = marks(rows);
        assert!(marks.windows(2).all(|w| w[0] < w[1]));
        assert_eq!((marks[0], *marks.last().unwrap()), (1, rows));
        assert!(checkpoints(rows).iter().all(|n| marks.contains(n)));
    }
}

/// The share of untruncated steps by looking at every row, and the other columns at the end.
#[test]
fn phases_count_every_step() {
    let settings = Settings { horizon: 60, replicates: 10, seed: SEED, ..Settings::default() };
    let curves = phases::simulate(&settings, &workers()).unwrap();
    let names: Vec<_> = curves.iter().map(|c| (c.setting, c.algorithm)).collect();
    let expected =
        [("theta", "ekf"), ("theta", "truncated"), ("theta10", "ekf"), ("theta10", "truncated")];
    assert_eq!(names, expected);
    let rule = Rule::Truncated { scale: 1.0, beta: BETA };
    for (world, curve) in [(World::Strong, &curves[1]), (World::Weak, &curves[3])] {
        let references: Vec<Plain> = (0..10).map(|r| plain(world, rule, r)).collect();
        let mut before = 0usize;
        for point in &curve.points {
            let n = point.n as usize;
            let kept = references.iter().flat_map(|r| &r.truncated[before..n]).filter(|&&t| !t);
            let share = kept.count() as f64 / (10 * (n - before)) as f64;
            assert!((point.share - share).abs() < 1e-12, "{n}: {} against {share}", point.share);
            let far = references.iter().map(|r| r.distances[n]).fold(0.0, f64::max);
            assert!((point.distance.worst / far - 1.0).abs() < 1e-8);
            assert!(point.lambda_max.mean <= point.lambda_max.worst && point.share <= 1.0);
            before = n;
        }
    }
    assert!(curves[0].points.iter().all(|p| p.share == 1.0));
    assert_eq!(curves[0].untruncated_from(), Some(1));
    // The first weight of Algorithm 2 is 1 against at most 1/4.
    assert_eq!(curves[3].points[0].share, 0.0);
}
