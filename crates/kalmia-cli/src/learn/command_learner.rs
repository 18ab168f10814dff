//! What the commands ask of a learner beside what a model asks: metrics during a pass, and a
//! summary after it.

use crate::error::Result;
use crate::report::{ClassFitSummary, FitPasses, FitSummary, PassReport, QuantileFitSummary};
use kalmia::AnyLearner;
use kalmia::evaluate::{ClassMetrics, CoursePoint, Metrics, MetricsThread, QuantileMetrics};
use kalmia::learner::{AnyCategorical, Quantiles};
use kalmia_data::Block;
use kalmia_model::{ModelLearner, ModelOf};
use std::time::Duration;

/// A learner that `fit` and `update` can run.
pub trait CommandLearner: ModelLearner {
    /// The metrics while rows are learned.
    type Watch: Watch<Metrics = Self::Metrics>;

    /// Learns a block, watched.
    fn learn_block(model: &mut ModelOf<Self>, block: &Block, watch: &mut Self::Watch)
    -> Result<()>;

    /// What is printed after `rows` rows in `time`.
    fn report(
        model: &ModelOf<Self>,
        rows: u64,
        time: Duration,
        passes: FitPasses,
    ) -> Result<Box<dyn PassReport>>;

    /// The mean losses as they evolved.
    fn course(metrics: &Self::Metrics) -> Vec<CoursePoint>;
}

/// Metrics that follow a pass.
pub trait Watch {
    /// What they become.
    type Metrics;
    /// Continues these.
    fn start(metrics: Self::Metrics) -> Self;
    /// Mean loss so far, if it is known without waiting.
    fn loss(&self) -> Option<f64>;
    /// The metrics of all rows so far.
    fn snapshot(&mut self) -> Self::Metrics;
    /// The metrics of all rows.
    fn finish(self) -> Self::Metrics;
}

impl Watch for MetricsThread {
    type Metrics = Metrics;

    fn start(metrics: Metrics) -> Self {
        MetricsThread::start(metrics)
    }

    fn loss(&self) -> Option<f64> {
        MetricsThread::loss(self)
    }

    fn snapshot(&mut self) -> Metrics {
        MetricsThread::snapshot(self)
    }

    fn finish(self) -> Metrics {
        MetricsThread::finish(self)
    }
}

/// Metrics that cost too little for a thread of their own: they follow a pass themselves.
trait CheapMetrics: Clone {
    /// Mean loss so far.
    fn mean_loss(&self) -> f64;
}

impl CheapMetrics for ClassMetrics {
    fn mean_loss(&self) -> f64 {
        self.loss()
    }
}

impl CheapMetrics for QuantileMetrics {
    fn mean_loss(&self) -> f64 {
        self.loss()
    }
}

impl<M: CheapMetrics> Watch for M {
    type Metrics = M;

    fn start(metrics: M) -> Self {
        metrics
    }

    fn loss(&self) -> Option<f64> {
        Some(self.mean_loss()).filter(|loss| loss.is_finite())
    }

    fn snapshot(&mut self) -> M {
        self.clone()
    }

    fn finish(self) -> M {
        self
    }
}

impl CommandLearner for AnyLearner {
    type Watch = MetricsThread;

    fn learn_block(
        model: &mut ModelOf<Self>,
        block: &Block,
        watch: &mut MetricsThread,
    ) -> Result<()> {
        model.learn(block, Some(watch))?;
        watch.flush();
        Ok(())
    }

    fn report(
        model: &ModelOf<Self>,
        rows: u64,
        time: Duration,
        passes: FitPasses,
    ) -> Result<Box<dyn PassReport>> {
        Ok(Box::new(FitSummary::new(model, rows, time, passes)?))
    }

    fn course(metrics: &Metrics) -> Vec<CoursePoint> {
        metrics.course()
    }
}

impl CommandLearner for AnyCategorical {
    type Watch = ClassMetrics;

    fn learn_block(
        model: &mut ModelOf<Self>,
        block: &Block,
        watch: &mut ClassMetrics,
    ) -> Result<()> {
        Ok(model.learn(block, Some(watch))?)
    }

    fn report(
        model: &ModelOf<Self>,
        rows: u64,
        time: Duration,
        passes: FitPasses,
    ) -> Result<Box<dyn PassReport>> {
        Ok(Box::new(ClassFitSummary::new(model, rows, time, passes)?))
    }

    fn course(metrics: &ClassMetrics) -> Vec<CoursePoint> {
        metrics.course()
    }
}

impl CommandLearner for Quantiles {
    type Watch = QuantileMetrics;

    fn learn_block(
        model: &mut ModelOf<Self>,
        block: &Block,
        watch: &mut QuantileMetrics,
    ) -> Result<()> {
        Ok(model.learn(block, Some(watch))?)
    }

    fn report(
        model: &ModelOf<Self>,
        rows: u64,
        time: Duration,
        _: FitPasses,
    ) -> Result<Box<dyn PassReport>> {
        Ok(Box::new(QuantileFitSummary::new(model, rows, time)?))
    }

    fn course(metrics: &QuantileMetrics) -> Vec<CoursePoint> {
        metrics.course()
    }
}
