//! A method that learns the rows of one replicate, and its estimates at the checkpoints.

use super::data::{Data, Loss};
use super::method::{Entrant, Kind};
use super::panel::Curve;
use super::sandwich::Sandwich;
use crate::error::{Error, Result};
use crate::likelihood::maximum_likelihood;
use crate::matrix::add_square;
use kalmia::internals::{cholesky_lower, solve_cholesky};
use kalmia::{AnyFamily, AnyLearner, Bernoulli, Gaussian, Learner, Predict, Rows};
use kalmia_model::Method;

/// An estimate after some rows.
pub(crate) struct Estimate {
    /// The coefficients; NaN if the estimate does not exist.
    pub theta: Vec<f64>,
    /// Their standard errors, if asked and if the method has them.
    pub standard_errors: Option<Vec<f64>>,
}

/// An [`Entrant`] at work.
pub(crate) enum Contestant {
    Online { learner: Box<AnyLearner>, sandwich: Option<Sandwich>, intervals: bool },
    PerHorizon { runs: Vec<AnyLearner>, finished: usize },
    MaximumLikelihood { x: Vec<f64>, y: Vec<f64>, start: Vec<f64> },
    Ridge { gram: Vec<f64>, moment: Vec<f64> },
}

impl Contestant {
    /// Before the first row. `intervals` asks for standard errors, those of the sandwich included.
    pub fn new(
        entrant: &Entrant,
        data: &Data,
        checkpoints: &[u64],
        intervals: bool,
    ) -> Result<Self> {
        let d = data.dim();
        let build = |method: Method| -> Result<AnyLearner> {
            method.build(family(data)?, d, data.intercept).map_err(|error| Error::Experiment {
                key: format!("method `{}`", entrant.key),
                reason: error.to_string(),
            })
        };
        Ok(match entrant.kind {
            Kind::Online(method) => {
                let learner = build(method)?;
                let watched = intervals && learner.has_covariance();
                let learner = if entrant.average { AnyLearner::averaged(learner) } else { learner };
                Self::Online {
                    learner: Box::new(learner),
                    sandwich: watched.then(|| Sandwich::new(d)),
                    intervals: watched,
                }
            }
            Kind::PerHorizon(method) => {
                let runs = checkpoints.iter().map(|&n| build(method.with_horizon(n)));
                Self::PerHorizon { runs: runs.collect::<Result<_>>()?, finished: 0 }
            }
            Kind::MaximumLikelihood => {
                Self::MaximumLikelihood { x: Vec::new(), y: Vec::new(), start: vec![0.0; d] }
            }
            Kind::Ridge { prior } => {
                let mut gram = vec![0.0; d * d];
                (0..d).for_each(|j| gram[j * d + j] = 1.0 / prior);
                Self::Ridge { gram, moment: vec![0.0; d] }
            }
        })
    }

    /// Its curves without numbers, in the order of [`Contestant::estimates`].
    pub fn curves(&self, entrant: &Entrant) -> Vec<Curve> {
        let curve = |suffix: &str, label: String| Curve {
            key: format!("{}{suffix}", entrant.key),
            label,
            method: format!("{}{suffix}", entrant.method),
            grid: entrant.grid.clone(),
            errors: Vec::new(),
            risk_errors: Vec::new(),
            coverage: Vec::new(),
        };
        let mut all = vec![curve("", entrant.label.clone())];
        if entrant.average {
            all.push(curve("_averaged", format!("averaged {}", entrant.label)));
        }
        if matches!(self, Self::Online { sandwich: Some(_), .. }) {
            all.push(curve("_sandwich", format!("{}, sandwich intervals", entrant.label)));
        }
        all
    }

    /// Learns the next rows.
    pub fn learn(&mut self, rows: Rows<'_>) -> Result<()> {
        match self {
            Self::Online { learner, sandwich: None, .. } => learner.learn(rows)?,
            Self::Online { learner, sandwich: Some(sandwich), .. } => {
                learner.learn_observed(rows, Some(sandwich))?;
            }
            Self::PerHorizon { runs, finished } => {
                runs[*finished..].iter_mut().try_for_each(|run| run.learn(rows))?;
            }
            Self::MaximumLikelihood { x, y, .. } => {
                for i in 0..rows.len() {
                    x.extend_from_slice(rows.x(i));
                    y.push(rows.observation(i).y);
                }
            }
            Self::Ridge { gram, moment } => {
                for i in 0..rows.len() {
                    add_square(gram, rows.x(i), 1.0);
                    let y = rows.observation(i).y;
                    moment.iter_mut().zip(rows.x(i)).for_each(|(m, x)| *m += y * x);
                }
            }
        }
        Ok(())
    }

    /// The estimates at checkpoint number `index`, which the rows have just reached.
    pub fn estimates(&mut self, index: usize) -> Result<Vec<Estimate>> {
        let plain = |theta: &[f64]| Estimate { theta: theta.to_vec(), standard_errors: None };
        Ok(match self {
            Self::Online { learner, sandwich, intervals } => {
                let (last, average) = match &**learner {
                    AnyLearner::Averaged(averaged) => (averaged.inner(), Some(averaged)),
                    other => (other, None),
                };
                let errors = if *intervals { last.standard_errors() } else { None };
                let mut all =
                    vec![Estimate { standard_errors: errors, ..plain(&last.coefficients()) }];
                all.extend(average.map(|averaged| plain(&averaged.coefficients())));
                if let Some(sandwich) = sandwich {
                    let errors = Some(sandwich.standard_errors(last));
                    all.push(Estimate { standard_errors: errors, ..plain(&last.coefficients()) });
                }
                all
            }
            Self::PerHorizon { runs, finished } => {
                *finished = index + 1;
                vec![plain(&runs[index].coefficients())]
            }
            Self::MaximumLikelihood { x, y, start } => {
                let best = maximum_likelihood(x, y, start);
                let zero = vec![0.0; start.len()];
                let theta = best.clone().unwrap_or_else(|| vec![f64::NAN; start.len()]);
                *start = best.unwrap_or(zero);
                vec![plain(&theta)]
            }
            Self::Ridge { gram, moment } => {
                let mut factor = gram.clone();
                let mut theta = moment.clone();
                cholesky_lower(&mut factor, moment.len(), "ridge")?;
                solve_cholesky(&factor, moment.len(), &mut theta);
                vec![plain(&theta)]
            }
        })
    }
}

/// The family of the loss; noise of variance 1 makes the Gaussian one the paper's Kalman filter.
fn family(data: &Data) -> Result<AnyFamily> {
    Ok(match data.loss {
        Loss::Logistic => Bernoulli.into(),
        Loss::Quadratic => Gaussian::new(1.0)?.into(),
    })
}
