//! A method in the comparison: its model, its losses, and why it stopped.

use crate::error::Result;
use crate::learn::count_rows;
use crate::plan::ComparePlan;
use crate::progress::Ui;
use kalmia::evaluate::Metrics;
use kalmia::{AnyFamily, DriftMode, Observer, RowView};
use kalmia_data::{Block, Encoder};
use kalmia_model::{Algorithm, Error as ModelError, Method, Model};
use std::time::{Duration, Instant};

/// A method in the comparison.
pub struct Contestant {
    /// As it is given to `--method`, with the option that tells it apart.
    pub name: String,
    pub model: Model,
    pub time: Duration,
    /// Why it stopped, and after how many rows.
    pub stopped: Option<String>,
    /// Losses of the last block.
    pub losses: Vec<RowLoss>,
}

/// The loss of a row, and the weight with which it counts.
#[derive(Debug, Clone, Copy)]
pub struct RowLoss {
    pub loss: f64,
    pub weight: f64,
}

/// The methods that apply. One that does not apply is refused if it was named, else noted.
pub fn contestants(
    plan: &ComparePlan,
    family: AnyFamily,
    encoder: &Encoder,
    ui: Ui,
) -> Result<Vec<Contestant>> {
    let mut all = Vec::new();
    let mut dense = Vec::new();
    for settings in &plan.settings {
        let name = plan.name(settings);
        if encoder.is_wide() && !plan.named {
            match settings.method.algorithm {
                // with sparse rows it is the same as detect
                Algorithm::Auto { drift: DriftMode::Adapt, .. } => continue,
                Algorithm::Auto { .. } => {}
                _ => {
                    dense.push(name);
                    continue;
                }
            }
        }
        let mut settings = settings.clone();
        let mut start = || -> Result<Model> {
            if settings.method.needs_horizon() {
                let rows = count_rows(&plan.source, &plan.encoder)?;
                settings.method = settings.method.with_horizon(rows);
            }
            Ok(Model::new(settings.clone(), family, encoder.clone())?)
        };
        match start() {
            Ok(model) => all.push(Contestant::new(name, model)),
            Err(error) if plan.named => return Err(error),
            Err(error) => ui.note(&format!("note: {name} is left out: {error}")),
        }
    }
    if !dense.is_empty() {
        let names = dense.join(", ");
        ui.note(&format!("note: left out, because they keep a matrix of all features: {names}"));
    }
    Ok(all)
}

impl Contestant {
    fn new(name: String, model: Model) -> Self {
        Self { name, model, time: Duration::ZERO, stopped: None, losses: Vec::new() }
    }

    /// The method, with its parameters.
    pub fn method(&self) -> Method {
        self.model.settings.method
    }

    /// Rows learned.
    pub fn rows(&self) -> u64 {
        self.model.metrics.progressive.rows()
    }

    /// Mean loss.
    pub fn loss(&self) -> f64 {
        self.model.metrics.progressive.loss()
    }

    /// Learns a block. A row that every method refuses is an error; a row that this method alone
    /// cannot learn takes it out of the comparison.
    pub fn learn(&mut self, block: &Block, encoder: &Encoder) -> Result<()> {
        let start = Instant::now();
        let rows = self.rows();
        self.losses.clear();
        // the names of new features, for messages
        if self.model.encoder.dim() < encoder.dim() {
            self.model.encoder = encoder.clone();
        }
        let metrics = self.model.metrics.clone();
        let mut observer = Recorder { metrics, losses: &mut self.losses };
        let outcome = self.model.learn(block, Some(&mut observer));
        let metrics = observer.metrics;
        self.time += start.elapsed();
        let Err(error) = outcome else {
            self.model.metrics = metrics;
            return Ok(());
        };
        self.stopped = Some(match &error {
            ModelError::Row(row) if matches!(row.cause, kalmia::Error::Diverged { .. }) => {
                format!("diverged after row {rows}")
            }
            ModelError::LateFeature { .. } | ModelError::Learner(_) => error.to_string(),
            _ => return Err(error.into()),
        });
        Ok(())
    }
}

/// Counts rows, and keeps the loss of each.
struct Recorder<'a> {
    metrics: Metrics,
    losses: &'a mut Vec<RowLoss>,
}

impl Observer for Recorder<'_> {
    fn row(&mut self, row: &RowView<'_>) {
        let progressive = &self.metrics.progressive;
        let weight = progressive.judged_weight(row);
        self.losses.push(RowLoss { loss: progressive.loss_of(row), weight });
        self.metrics.row(row);
    }

    fn uses_loss(&self) -> bool {
        self.metrics.uses_loss()
    }
}
