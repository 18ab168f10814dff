//! The figure `beyond`: the library's other rules on the rows of the paper, with the batch maximum
//! likelihood.

use super::{Finished, finished, mse_picture, sample};
use crate::error::Result;
use crate::experiment::{Curve, Panel};
use crate::lanes::LANES;
use crate::likelihood::maximum_likelihood;
use crate::settings::{Figure, Settings};
use crate::workers::Workers;
use crate::world::{Block, D, World};
use kalmia::{Auto, Bernoulli, Ekf, Filter, Implicit, Learner, MomentMatch, Prior, Rows};

const PAPER: &str = "Not in the paper: it takes P₁ = I and says that the initialization has no \
    impact on the leading terms of its bounds. Here the same rows are given to rules that cannot \
    overshoot.";

/// Rows learned between two checks of the interrupt flag.
const BATCH: usize = 1000;

/// The first drawn number of rows: with fewer rows than coefficients, wide priors give arbitrary
/// ones. The CSV file has all rows.
const DRAWN_FROM: u64 = 11;

/// Prior variance of the two rules that cannot overshoot.
const WIDE_PRIOR: f64 = 100.0;

const NAMES: [(&str, &str); 5] = [
    ("ekf", "EKF, P₁ = I"),
    ("implicit", "implicit, P₁ = 100 I"),
    ("moment_match", "moment matching, P₁ = 100 I"),
    ("auto", "auto (the library's default)"),
    ("maximum_likelihood", "maximum likelihood (batch)"),
];

/// Runs both settings and draws them.
pub(super) fn figure(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let learners = (NAMES.len() - 1) as u64;
    workers
        .progress
        .start(Figure::Beyond.name(), 2 * settings.horizon * learners * settings.replicates as u64);
    let panels = vec![
        panel("beyond", World::Strong, settings, workers)?,
        panel("beyond10", World::Weak, settings, workers)?,
    ];
    let caption = |theta: &str| {
        format!(
            "Mean squared error for {theta} on the rows of the comparison, {}. `auto` weighs \
             moment-matching filters of several prior variances by their past predictions; the \
             batch line starts where the maximum exists in every replicate. Drawn from n = 11 on.",
            sample(settings)
        )
    };
    let pictures = vec![
        mse_picture(&panels[0], "θ*", caption("θ*"), DRAWN_FROM),
        mse_picture(&panels[1], "θ*/10", caption("θ*/10"), DRAWN_FROM),
    ];
    Ok(finished(Figure::Beyond, PAPER, pictures, panels))
}

fn panel(
    name: &'static str,
    world: World,
    settings: &Settings,
    workers: &Workers,
) -> Result<Panel> {
    let checkpoints = settings.checkpoints();
    let errors = workers.map(settings.replicates, |replicate| {
        replicate_errors(world, replicate, &checkpoints, settings.seed, workers)
    })?;
    let curve = |(index, &(key, label)): (usize, &(&'static str, &'static str))| Curve {
        key,
        label,
        errors: (0..checkpoints.len())
            .map(|at| errors.iter().map(|e| e[index][at]).collect())
            .collect(),
    };
    let curves = NAMES.iter().enumerate().map(curve).collect();
    Ok(Panel { name, checkpoints, curves })
}

/// `errors[algorithm][checkpoint]` of one replicate; NaN if the maximum of the likelihood does not
/// exist.
fn replicate_errors(
    world: World,
    replicate: usize,
    checkpoints: &[u64],
    seed: u64,
    workers: &Workers,
) -> Result<Vec<Vec<f64>>> {
    let star = world.generator();
    let error = |theta: &[f64]| theta.iter().zip(star).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let horizon = checkpoints.last().copied().unwrap_or(0) as usize;
    let (x, y) = replicate_rows(world, replicate, horizon, seed);
    let rows = Rows::new(D, &x, &y)?;
    let mut all = Vec::new();
    for mut learner in learners()? {
        let mut errors = Vec::with_capacity(checkpoints.len());
        let mut done = 0;
        for &checkpoint in checkpoints {
            while done < checkpoint as usize {
                workers.check()?;
                let end = (done + BATCH).min(checkpoint as usize);
                learner.learn(rows.slice(done..end))?;
                workers.progress.advance((end - done) as u64);
                done = end;
            }
            errors.push(error(learner.coefficients()));
        }
        all.push(errors);
    }
    let mut start = [0.0; D];
    let mut errors = Vec::with_capacity(checkpoints.len());
    for &checkpoint in checkpoints {
        workers.check()?;
        let n = checkpoint as usize;
        let best = maximum_likelihood(&x[..n * D], &y[..n], start);
        start = best.unwrap_or([0.0; D]);
        errors.push(best.map_or(f64::NAN, |theta| error(&theta)));
    }
    all.push(errors);
    Ok(all)
}

/// The learners in the order of [`NAMES`].
fn learners() -> kalmia::Result<Vec<Box<dyn Learner>>> {
    let prior = |variance| Prior::isotropic(D, variance);
    let ekf = Filter::new(Bernoulli, Ekf, prior(1.0)?)?;
    let implicit = Filter::new(Bernoulli, Implicit, prior(WIDE_PRIOR)?)?;
    let moments = Filter::new(Bernoulli, MomentMatch, prior(WIDE_PRIOR)?)?;
    let auto = Auto::builder(Bernoulli, D).intercept().build()?;
    Ok(vec![Box::new(ekf), Box::new(implicit), Box::new(moments), Box::new(auto)])
}

/// The rows of one replicate of the comparisons: features row after row, and targets.
fn replicate_rows(world: World, replicate: usize, rows: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let lane = replicate % LANES;
    let mut streams = world.streams(seed, replicate / LANES);
    let mut block = Block::new(100);
    let mut x = Vec::with_capacity(rows * D);
    let mut y = Vec::with_capacity(rows);
    while y.len() < rows {
        block.fill(world, &mut streams);
        for (features, target) in block.x.iter().zip(&block.y).take(rows - y.len()) {
            x.extend(features.iter().map(|v| v.0[lane]));
            y.push(target.0[lane]);
        }
    }
    (x, y)
}
