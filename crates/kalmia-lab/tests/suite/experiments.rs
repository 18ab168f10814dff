//! Experiment files against plain scalar versions of the algorithms on the same rows, and their
//! errors.

use crate::common::{self, Matrix, Ons as PlainOns, identity, mat_vec, norm, residual};
use kalmia_lab::experiment::{Experiment, Length, Panel};
use kalmia_lab::world::{Block, D, World};
use kalmia_lab::{Error, Workers};
use std::sync::atomic::AtomicBool;

const ROWS: u64 = 1000;

fn run(experiment: &Experiment, horizon: u64, replicates: usize) -> Panel {
    let cancel = AtomicBool::new(false);
    let workers = Workers { threads: 2, progress: &(), cancel: &cancel };
    experiment.run(Length { horizon, replicates, seed: 42 }, &workers).unwrap()
}

/// The rows of a replicate of the first group, as the kernels draw them.
fn rows(world: World, replicate: usize) -> Vec<([f64; D], f64)> {
    let mut block = Block::new(ROWS as usize);
    block.fill(world, &mut world.streams(42, 0));
    let row = |i: usize| (block.x[i].map(|x| x.0[replicate]), block.y[i].0[replicate]);
    (0..ROWS as usize).map(row).collect()
}

fn squared_error(theta: &[f64; D], star: &[f64]) -> f64 {
    theta.iter().zip(star).map(|(a, b)| (a - b).powi(2)).sum()
}

fn assert_close(what: &str, got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() <= tolerance, "{what}: {got} against {expected}");
}

/// The constants of E14, E16 and E28, derived here and not in the laboratory.
#[test]
fn the_online_newton_step_is_algorithm_3_with_the_papers_constants() {
    for (name, world, alpha) in [
        ("comparison1", World::Strong, Some(1.5e-14)),
        ("comparison10_theory", World::Weak, None),
        ("comparison10_optimistic", World::Weak, Some(2.5e-2)),
        ("misspecified", World::Misspecified, None),
    ] {
        let panel = run(&Experiment::of_the_paper(name).unwrap(), ROWS, 3);
        let star: [f64; D] = panel.population.star.clone().try_into().unwrap();
        let radius = 1.1 * norm(&star);
        let g = (D as f64).sqrt();
        let alpha = alpha.unwrap_or((-radius * g).exp());
        let gamma = 0.5 * (1.0 / (4.0 * g * radius)).min(alpha);
        for replicate in 0..3 {
            let mut plain = PlainOns::new(radius, gamma, (gamma * radius).powi(2));
            rows(world, replicate).iter().for_each(|(x, y)| plain.learn(x, *y));
            let average = plain.sum.map(|s| s / ROWS as f64);
            let last = |key: &str| panel.curve(key).unwrap().last()[replicate];
            assert_close(name, last("ons"), squared_error(&plain.w, &star), 1e-8);
            assert_close(name, last("ons_averaged"), squared_error(&average, &star), 1e-8);
        }
    }
}

#[test]
fn averaged_gradients_are_rerun_for_every_horizon() {
    let panel = run(&Experiment::of_the_paper("comparison10_theory").unwrap(), ROWS, 2);
    let star = &panel.population.star;
    let length = star.iter().map(|v| v * v).sum::<f64>().sqrt();
    for (at, &n) in panel.checkpoints.iter().enumerate() {
        let root = (n as f64).sqrt();
        for (key, gamma) in
            [("asgd", 1.0 / (22.0 * root)), ("asgd_oracle", length / (11f64.sqrt() * root))]
        {
            let mut theta = [0.0; D];
            let mut mean = [0.0; D];
            for (x, y) in &rows(World::Weak, 1)[..n as usize] {
                (0..D).for_each(|j| mean[j] += theta[j] / n as f64);
                let m: f64 = (0..D).map(|j| theta[j] * x[j]).sum();
                (0..D).for_each(|j| theta[j] += gamma * residual(*y, m) * x[j]);
            }
            let got = panel.curve(key).unwrap().errors[at][1];
            assert_close(key, got, squared_error(&mean, star), 1e-11);
        }
    }
}

#[test]
fn the_kalman_filter_is_ridge_regression_at_every_checkpoint() {
    for name in ["quadratic", "quadratic_bent"] {
        let panel = run(&Experiment::of_the_paper(name).unwrap(), 300, 2);
        let flat = |key: &str| -> Vec<f64> {
            panel.curve(key).unwrap().errors.iter().flatten().copied().collect()
        };
        for (filter, batch) in flat("kalman").into_iter().zip(flat("ridge")) {
            assert_close(name, filter, batch, 1e-9);
        }
    }
}

/// In a well-specified linear model with noise of variance 1 the intervals of the filter are exact
/// in the limit; the noise of a bent one is larger, and only the sandwich knows.
#[test]
fn sandwich_intervals_hold_where_the_model_is_wrong() {
    let coverage = |name: &str, key: &str| {
        let mut experiment = Experiment::of_the_paper(name).unwrap();
        experiment.methods.retain(|spec| spec.key.as_deref() == Some("kalman"));
        experiment.coverage = true;
        let panel = run(&experiment, 4000, 60);
        let curve = panel.curve(key).unwrap();
        let last = curve.coverage.last().unwrap();
        last.iter().sum::<f64>() / last.len() as f64
    };
    // 660 intervals: a standard error of 0.9 %.
    for (name, key) in [
        ("quadratic", "kalman"),
        ("quadratic", "kalman_sandwich"),
        ("quadratic_bent", "kalman_sandwich"),
    ] {
        let share = coverage(name, key);
        assert!((share - 0.95).abs() < 0.035, "{name} {key}: {share}");
    }
    assert!(coverage("quadratic_bent", "kalman") < 0.85);
}

#[test]
fn refused_files_name_the_key() {
    let message = |text: &str| Experiment::from_toml("mine", text).unwrap_err().to_string();
    let good = "title = \"t\"\n[data]\nloss = \"logistic\"\ntheta = [1.0, 2.0]\n";
    let method = |rest: &str| format!("{good}[[method]]\nmethod = \"ekf\"\n{rest}");
    assert!(Experiment::from_toml("mine", &method("")).is_ok());
    assert!(message(good).contains("method"));
    assert!(message("titel = 1").contains("titel"));
    assert!(message(&method("").replace("2.0]", "nan]")).contains("data.theta"));
    let two = method("").replace("[data]", "[data]\nmixture = [[1.0]]");
    assert!(message(&two).contains("data.mixture: has 1 numbers, theta has 2"));
    let bent = method("").replace("[data]", "[data]\nbend = 1.0");
    assert!(message(&bent).contains("quadratic"));
    let run_message = |text: &str| {
        let experiment = Experiment::from_toml("mine", text).unwrap();
        let cancel = AtomicBool::new(false);
        let workers = Workers { threads: 1, progress: &(), cancel: &cancel };
        let length = Length { horizon: 10, replicates: 2, seed: 1 };
        experiment.run(length, &workers).unwrap_err().to_string()
    };
    assert!(run_message(&method("priro = 2")).contains("`ekf`.priro"));
    assert!(run_message(&method("radius = 2.0")).contains("radius"));
    assert!(run_message(&method("prior = -1.0")).contains("is -1"));
    assert!(run_message(&method("oracle_step = true")).contains("asgd"));
    assert!(run_message(&method("grid = { prior = [] }")).contains("no values"));
    let twice = method("") + "[[method]]\nmethod = \"ekf\"\n";
    assert!(run_message(&twice).contains("appears twice"));
    let ridge = method("").replace("\"ekf\"", "\"ridge\"");
    assert!(run_message(&ridge).contains("quadratic loss"));
    assert!(matches!(Experiment::of_the_paper("nothing"), Err(Error::UnknownFigure { .. })));
}

/// The conditions of optimality, which no implementation detail can fake: $P^{-1}(w-v) + \mu w = 0$
/// with $\mu \ge 0$.
#[test]
fn plain_projection_satisfies_the_conditions_of_optimality() {
    let mut p: Matrix = identity(2.0);
    let mut v = [0.0; D];
    for (i, v) in v.iter_mut().enumerate() {
        let x: [f64; D] = std::array::from_fn(|j| ((i * 7 + j * 3) % 11) as f64 / 11.0);
        common::add_precision(&mut p, &x, 3.0);
        *v = 1.0 + i as f64;
    }
    let w = common::project(&p, &v, 2.0);
    assert!((w.iter().map(|a| a * a).sum::<f64>().sqrt() - 2.0).abs() < 1e-12);
    // v - w = mu P w.
    let pw = mat_vec(&p, &w);
    let mu = (v[0] - w[0]) / pw[0];
    assert!(mu > 0.0);
    (0..D).for_each(|j| assert!((v[j] - w[j] - mu * pw[j]).abs() < 1e-9, "coordinate {j}"));
}
