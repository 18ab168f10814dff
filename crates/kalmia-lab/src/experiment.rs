//! The comparison of the paper's algorithms: squared error of every replicate at every checkpoint.

use crate::error::Result;
use crate::feed::{Feed, Piece};
use crate::kernel::{Asgd, Filter, Ons, OnsConstants, Rule};
use crate::lanes::{LANES, V};
use crate::statistics::{mean, standard_error};
use crate::workers::Workers;
use crate::world::{D, World};

/// An algorithm's squared errors $\|\hat\theta_n-\theta^*\|^2$.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name in the CSV and JSON files.
    pub key: &'static str,
    /// Name in the legend.
    pub label: &'static str,
    /// `errors[checkpoint][replicate]`.
    pub errors: Vec<Vec<f64>>,
}

impl Curve {
    /// Mean squared error at every checkpoint.
    pub fn mse(&self) -> Vec<f64> {
        self.errors.iter().map(|e| mean(e)).collect()
    }

    /// Standard error of [`Curve::mse`] at every checkpoint.
    pub fn standard_error(&self) -> Vec<f64> {
        self.errors.iter().map(|e| standard_error(e)).collect()
    }

    /// The replicates' squared errors at the horizon.
    pub fn last(&self) -> &[f64] {
        self.errors.last().map_or(&[], |e| e)
    }
}

/// The curves of one panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Name of the panel in files, such as `comparison10_theory`.
    pub name: &'static str,
    /// Numbers of rows at which the curves are evaluated.
    pub checkpoints: Vec<u64>,
    /// One curve per algorithm.
    pub curves: Vec<Curve>,
}

impl Panel {
    /// The curve of an algorithm.
    pub fn curve(&self, key: &str) -> Option<&Curve> {
        self.curves.iter().find(|c| c.key == key)
    }
}

/// A panel to be drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PanelSpec {
    /// Name of the panel in files.
    pub name: &'static str,
    /// Exp-concavity constant of its ONS.
    pub exp_concavity: f64,
}

/// One comparison: a world, its $\theta^*$, and the ONS constants of each panel.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// How the rows are drawn.
    pub world: World,
    /// The minimizer of the risk.
    pub star: [f64; D],
    /// The panels to draw; they differ in the constant of their ONS.
    pub panels: Vec<PanelSpec>,
    /// Numbers of rows at which the curves are evaluated; the last one is the horizon.
    pub checkpoints: Vec<u64>,
    /// Number of replicates.
    pub replicates: usize,
    /// Seed of the random streams.
    pub seed: u64,
}

/// An algorithm's name in files and in the legend.
#[derive(Debug, Clone, Copy)]
struct Name {
    key: &'static str,
    label: &'static str,
}

const fn name(key: &'static str, label: &'static str) -> Name {
    Name { key, label }
}

/// The algorithms that do not depend on the exp-concavity constant: every panel has their curves.
const COMMON: [Name; 6] = [
    name("ekf", "EKF"),
    name("ekf_averaged", "averaged EKF"),
    name("truncated", "truncated EKF"),
    name("truncated_bercu", "truncated EKF, 10⁻¹⁰ threshold"),
    name("asgd", "ASGD"),
    name("asgd_oracle", "ASGD oracle"),
];
/// The algorithms that depend on it.
const NEWTON: [Name; 2] = [name("ons", "ONS"), name("ons_averaged", "averaged ONS")];

/// Squared errors of eight replicates: `[checkpoint][curve]`.
type GroupErrors = Vec<Vec<V>>;

impl Comparison {
    /// Runs every replicate; one panel per exp-concavity constant, the other curves in all of them.
    pub fn run(&self, workers: &Workers) -> Result<Vec<Panel>> {
        let groups =
            workers.map(self.replicates.div_ceil(LANES), |group| self.group(group, workers))?;
        let errors_at = |checkpoint: usize, index: usize| -> Vec<f64> {
            let lanes = groups.iter().flat_map(|group| group[checkpoint][index].0);
            lanes.take(self.replicates).collect()
        };
        let curve = |index: usize, name: Name| Curve {
            key: name.key,
            label: name.label,
            errors: (0..self.checkpoints.len()).map(|at| errors_at(at, index)).collect(),
        };
        let panel = |number: usize| {
            let first = COMMON.len() + NEWTON.len() * number;
            let common = COMMON.into_iter().enumerate();
            let newton = NEWTON.into_iter().enumerate().map(|(i, name)| (first + i, name));
            Panel {
                name: self.panels[number].name,
                checkpoints: self.checkpoints.clone(),
                curves: common.chain(newton).map(|(index, name)| curve(index, name)).collect(),
            }
        };
        Ok((0..self.panels.len()).map(panel).collect())
    }

    /// Units of work of [`Comparison::run`]: rows of single replicates.
    pub fn units(&self) -> u64 {
        self.checkpoints.last().copied().unwrap_or(0)
            * (self.replicates.div_ceil(LANES) * LANES) as u64
    }

    /// Eight replicates from the first row to the horizon.
    fn group(&self, group: usize, workers: &Workers) -> Result<GroupErrors> {
        let norm = self.star.iter().map(|v| v * v).sum::<f64>().sqrt();
        let mut algorithms = Algorithms::new(&self.checkpoints, norm, &self.panels);
        let mut errors = Vec::with_capacity(self.checkpoints.len());
        let feed = Feed { world: self.world, seed: self.seed, checkpoints: &self.checkpoints };
        feed.run(group, workers, |piece| {
            algorithms.learn(&piece);
            if let Some(index) = piece.checkpoint {
                let estimates = algorithms.estimates(index);
                errors.push(estimates.iter().map(|e| squared_error(e, &self.star)).collect());
            }
        })?;
        Ok(errors)
    }
}

/// Every algorithm of the paper on the same rows.
struct Algorithms {
    ekf: Filter,
    truncated: Filter,
    bercu: Filter,
    asgd: Asgd,
    oracle: Asgd,
    ons: Vec<Ons>,
}

impl Algorithms {
    fn new(checkpoints: &[u64], norm: f64, panels: &[PanelSpec]) -> Self {
        Self {
            ekf: Filter::new(Rule::Ekf, 1.0),
            truncated: Filter::new(Rule::Truncated { scale: 1.0, beta: 0.49 }, 1.0),
            bercu: Filter::new(Rule::Truncated { scale: 1e-10, beta: 0.49 }, 1.0),
            asgd: Asgd::plain(checkpoints),
            oracle: Asgd::oracle(checkpoints, norm),
            ons: panels
                .iter()
                .map(|panel| Ons::paper(OnsConstants::new(norm, panel.exp_concavity)))
                .collect(),
        }
    }

    fn learn(&mut self, piece: &Piece) {
        let block = piece.block;
        let rows = || piece.rows.clone();
        self.ekf.learn(block, rows());
        self.truncated.learn(block, rows());
        self.bercu.learn(block, rows());
        self.asgd.learn(block, rows());
        self.oracle.learn(block, rows());
        self.ons.iter_mut().for_each(|ons| ons.learn(block, rows()));
    }

    /// The estimates at checkpoint `index`, in the order of [`COMMON`] and then [`NEWTON`] for each
    /// panel.
    fn estimates(&self, index: usize) -> Vec<[V; D]> {
        let mut all = vec![
            self.ekf.last(),
            self.ekf.average(),
            self.truncated.last(),
            self.bercu.last(),
            self.asgd.average(index),
            self.oracle.average(index),
        ];
        all.extend(self.ons.iter().flat_map(|ons| [ons.last(), ons.average()]));
        all
    }
}

/// $\|\hat\theta-\theta^*\|^2$ per lane.
pub(crate) fn squared_error(estimate: &[V; D], star: &[f64; D]) -> V {
    let mut total = V::ZERO;
    for (e, &s) in estimate.iter().zip(star) {
        let gap = *e - V::splat(s);
        total += gap * gap;
    }
    total
}
