//! The comparison of the paper's algorithms: squared error of every replicate at every checkpoint.

use crate::error::Result;
use crate::kernel::{Asgd, Filter, Ons, OnsConstants, Rule};
use crate::lanes::{LANES, V};
use crate::pool::Run;
use crate::statistics::{mean, standard_error};
use crate::world::{Block, D, World};

/// Rows drawn at a time.
const BLOCK: usize = 100;

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
    /// Where the curves are evaluated.
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

/// One comparison: a world, its $\theta^*$, and the ONS constants of each panel.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// How the rows are drawn.
    pub world: World,
    /// The minimiser of the risk.
    pub star: [f64; D],
    /// Panel names with the exp-concavity constant of their ONS.
    pub panels: Vec<(&'static str, f64)>,
    /// Where the curves are evaluated; the last one is the horizon.
    pub checkpoints: Vec<u64>,
    /// Number of replicates.
    pub replicates: usize,
    /// Seed of the random streams.
    pub seed: u64,
}

/// Names of the algorithms that do not depend on the exp-concavity constant, then of the two that
/// do.
const SHARED: [(&str, &str); 6] = [
    ("ekf", "EKF"),
    ("ekf_averaged", "averaged EKF"),
    ("truncated", "truncated EKF"),
    ("truncated_bercu", "truncated EKF, 10⁻¹⁰ threshold"),
    ("asgd", "ASGD"),
    ("asgd_oracle", "ASGD oracle"),
];
const NEWTON: [(&str, &str); 2] = [("ons", "ONS"), ("ons_averaged", "averaged ONS")];

/// Errors of eight replicates: `[checkpoint][series]`.
type GroupErrors = Vec<Vec<V>>;

impl Comparison {
    /// Runs every replicate; one panel per exp-concavity constant, the other curves shared between
    /// them.
    pub fn run(&self, run: &Run) -> Result<Vec<Panel>> {
        let groups = run.each(self.replicates.div_ceil(LANES), |group| self.group(group, run))?;
        let series = |index: usize, (key, label): (&'static str, &'static str)| Curve {
            key,
            label,
            errors: (0..self.checkpoints.len())
                .map(|at| {
                    groups.iter().flat_map(|g| g[at][index].0).take(self.replicates).collect()
                })
                .collect(),
        };
        let panel = |(number, &(name, _)): (usize, &(&'static str, f64))| {
            let mut curves: Vec<Curve> =
                SHARED.into_iter().enumerate().map(|(i, names)| series(i, names)).collect();
            let first = SHARED.len() + 2 * number;
            curves
                .extend(NEWTON.into_iter().enumerate().map(|(i, names)| series(first + i, names)));
            Panel { name, checkpoints: self.checkpoints.clone(), curves }
        };
        Ok(self.panels.iter().enumerate().map(panel).collect())
    }

    /// Units of work of [`Comparison::run`]: rows of single replicates.
    pub fn units(&self) -> u64 {
        self.checkpoints.last().copied().unwrap_or(0)
            * (self.replicates.div_ceil(LANES) * LANES) as u64
    }

    /// Eight replicates from the first row to the horizon.
    fn group(&self, group: usize, run: &Run) -> Result<GroupErrors> {
        let norm = self.star.iter().map(|v| v * v).sum::<f64>().sqrt();
        let mut algorithms = Algorithms::new(&self.checkpoints, norm, &self.panels);
        let mut streams = self.world.streams(self.seed, group);
        let mut block = Block::new(BLOCK);
        let (mut rows, mut used) = (0u64, BLOCK);
        let mut out = Vec::with_capacity(self.checkpoints.len());
        for (index, &checkpoint) in self.checkpoints.iter().enumerate() {
            while rows < checkpoint {
                if used == BLOCK {
                    run.check()?;
                    block.fill(self.world, &mut streams);
                    used = 0;
                }
                let take = ((checkpoint - rows).min((BLOCK - used) as u64)) as usize;
                algorithms.learn(&block, used..used + take);
                (used, rows) = (used + take, rows + take as u64);
                run.progress.advance((take * LANES) as u64);
            }
            out.push(
                algorithms.estimates(index).iter().map(|e| squared_error(e, &self.star)).collect(),
            );
        }
        Ok(out)
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
    fn new(checkpoints: &[u64], norm: f64, panels: &[(&str, f64)]) -> Self {
        Self {
            ekf: Filter::new(Rule::Ekf, 1.0),
            truncated: Filter::new(Rule::Truncated { scale: 1.0, beta: 0.49 }, 1.0),
            bercu: Filter::new(Rule::Truncated { scale: 1e-10, beta: 0.49 }, 1.0),
            asgd: Asgd::plain(checkpoints),
            oracle: Asgd::oracle(checkpoints, norm),
            ons: panels
                .iter()
                .map(|&(_, alpha)| Ons::paper(OnsConstants::new(norm, alpha)))
                .collect(),
        }
    }

    fn learn(&mut self, block: &Block, rows: std::ops::Range<usize>) {
        self.ekf.learn(block, rows.clone());
        self.truncated.learn(block, rows.clone());
        self.bercu.learn(block, rows.clone());
        self.asgd.learn(block, rows.clone());
        self.oracle.learn(block, rows.clone());
        self.ons.iter_mut().for_each(|ons| ons.learn(block, rows.clone()));
    }

    /// The estimates at checkpoint `index`, in the order of [`SHARED`] and then [`NEWTON`] for each
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
