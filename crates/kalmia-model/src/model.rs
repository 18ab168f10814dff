//! The model: a learner with the encoder, metrics, settings and history that belong to it.

use crate::coefficients::{Coefficient, by_column, coefficients, main_coefficients};
use crate::conformal::with_conformal;
use crate::error::{Error, Result, RowError};
use crate::history::History;
use crate::memory::{check_copy_memory, check_memory};
use crate::model_learner::ModelLearner;
use crate::settings::Settings;
use crate::start::Start;
use crate::weights::{WeightKind, Weights};
use kalmia::evaluate::Metrics;
use kalmia::file::Metadata;
use kalmia::learner::{AnyCategorical, Quantiles};
use kalmia::predict::MixturePrediction;
use kalmia::{
    AnyFamily, AnyLearner, Inputs, Predict, Rows, SparseInputs, SparseMatrix, SparseRows,
};
use kalmia_data::{Block, Encoder, SparseBlock};

/// A model of numbers or of two labels.
pub type Model = ModelOf<AnyLearner>;

/// A model of several classes.
pub type ClassModel = ModelOf<AnyCategorical>;

/// A model of several quantiles of a number.
pub type QuantileModel = ModelOf<Quantiles>;

/// Everything that a model needs to predict, to continue learning and to explain itself.
#[derive(Debug, Clone)]
pub struct ModelOf<L: ModelLearner> {
    /// What was learned.
    pub learner: L,
    /// What the columns mean.
    pub encoder: Encoder,
    /// How good the predictions were, each made before its row was learned.
    pub metrics: L::Metrics,
    /// What was asked for.
    pub settings: Settings,
    /// The weights of its rows, as they were given.
    pub weights: Weights,
    /// Where its rows came from.
    pub history: History,
    /// What the file says beside its state; entries of other programs are carried along.
    pub metadata: Metadata,
}

impl Model {
    /// A model that has learned nothing, for the columns that `encoder` knows. Refuses settings
    /// that contradict each other.
    pub fn new(settings: Settings, family: AnyFamily, encoder: Encoder) -> Result<Self> {
        let intercept = encoder.options().intercept;
        let learner = if encoder.is_wide() {
            settings.method.build_wide(family, encoder.number_features(), intercept)?
        } else {
            settings.method.build(family, encoder.dim(), intercept)?
        };
        Self::with_learner(settings, family, encoder, learner)
    }

    /// As [`Model::new`], with coefficients that start elsewhere; `start` must name those that
    /// `encoder` knows.
    pub fn started(
        settings: Settings,
        start: &Start,
        family: AnyFamily,
        encoder: Encoder,
    ) -> Result<Self> {
        let names: Vec<_> = encoder.features().iter().map(|feature| &*feature.name).collect();
        let prior = start.prior(&names, settings.method.prior(names.len())?)?;
        let learner = settings.method.build_from(family, prior)?;
        Self::with_learner(settings, family, encoder, learner)
    }

    fn with_learner(
        settings: Settings,
        family: AnyFamily,
        encoder: Encoder,
        learner: AnyLearner,
    ) -> Result<Self> {
        settings.check()?;
        let mut metrics = Metrics::new(family)?;
        if settings.certificate {
            metrics = metrics.with_certificate();
        }
        if settings.conformal {
            metrics = with_conformal(metrics)?;
        }
        Ok(Self {
            learner,
            metrics,
            encoder,
            settings,
            weights: Weights::default(),
            history: History::default(),
            metadata: Metadata::default(),
        })
    }

    /// The family, at the estimated dispersion.
    pub fn family(&self) -> AnyFamily {
        self.learner.family()
    }

    /// Calls `take(i, prediction)` with the prediction of each row of a block, in order: mean,
    /// intervals and linear predictor. Targets are not used. A level that no row had adds the prior
    /// variance of its coefficient. An error names the row in the data.
    pub fn predict(
        &self,
        block: &Block,
        take: &mut dyn FnMut(usize, &MixturePrediction<AnyFamily>) -> kalmia::Result<()>,
    ) -> Result<()> {
        let mut predict = || match &block.sparse {
            Some(sparse) => self.learner.predict_sparse(sparse_inputs_of(sparse, block)?, take),
            // without features there is no telling how many rows there are
            None if block.dim == 0 => (0..block.rows()).try_for_each(|i| {
                let offset = block.offset.as_ref().map_or(0.0, |offset| offset[i]);
                take(i, &self.learner.predict(&[], offset)?)
            }),
            None => self.learner.predict_many(inputs_of(block)?, take),
        };
        predict().map_err(|cause| RowError::locate(cause, block, &self.encoder))
    }

    /// The coefficients in the order of the features, with intervals of probability `level`; those
    /// of a wide model in the order in which features appeared.
    pub fn coefficients(&self, level: f64) -> Result<Vec<Coefficient>> {
        if let AnyLearner::Wide(wide) = &self.learner {
            let names: Vec<String> =
                wide.features().into_iter().map(|i| self.encoder.feature_name(i)).collect();
            return coefficients(&self.learner, names.iter().map(|name| &**name), level);
        }
        let names = self.encoder.features().iter().map(|feature| feature.name.as_str());
        coefficients(&self.learner, names, level)
    }

    /// The coefficients that a summary lists: all, column by column, or of a wide model the numbers
    /// and the 100 others that are the most standard errors from 0, the strongest first.
    pub fn main_coefficients(&self, level: f64) -> Result<Vec<Coefficient>> {
        match &self.learner {
            AnyLearner::Wide(wide) => {
                main_coefficients(wide, LISTED, |i| self.encoder.feature_name(i), level)
            }
            _ => Ok(by_column(&self.encoder, self.coefficients(level)?)),
        }
    }
}

impl<L: ModelLearner> ModelOf<L> {
    /// The name of the target column; empty before it is known.
    pub fn target(&self) -> &str {
        self.encoder.target().map_or("", |target| &target.name)
    }

    /// Learns a block that [`Model::encoder`] encoded. The learner grows first if the block brought
    /// new features. A refused block names its row in the data and changes nothing in the learner
    /// and the weights; the encoder is the caller's ([`Model::learn_table`] does both).
    ///
    /// A learner that grows is copied before. If there is no memory for a copy, a refusal removes
    /// the new features again; in the dense form, mirrored entries of the covariance that differed
    /// in their last bit are then equal.
    ///
    /// Metrics and history are the caller's: pass a copy of [`Model::metrics`], or a
    /// [`kalmia::evaluate::MetricsThread`], as the observer and store it back after the rows.
    pub fn learn<'a>(
        &mut self,
        block: &Block,
        observer: Option<&'a mut L::Observer<'a>>,
    ) -> Result<()> {
        self.learner.check_classes(&self.encoder)?;
        let before = self.learner.dim();
        if block.sparse.is_some() || block.dim <= before {
            return self.learn_grown(block, observer);
        }
        let copy = match check_copy_memory(&self.learner) {
            Ok(()) => Some(self.learner.clone()),
            Err(_) if L::SHRINKS => None,
            Err(error) => return Err(error),
        };
        let learned = self.grow_to(block.dim).and_then(|()| self.learn_grown(block, observer));
        if learned.is_err() {
            match copy {
                Some(copy) => self.learner = copy,
                None => while self.learner.dim() > before && self.learner.shrink().is_ok() {},
            }
        }
        learned
    }

    /// Learns a block whose features the learner has.
    fn learn_grown<'a>(
        &mut self,
        block: &Block,
        observer: Option<&'a mut L::Observer<'a>>,
    ) -> Result<()> {
        let mut weights = self.weights;
        let scaled = block.weight.as_ref().and_then(|given| match self.settings.weight_kind {
            // illegal weights are left to the learner, which names their row
            WeightKind::Precision if given.iter().all(|w| w.is_finite() && *w >= 0.0) => {
                let mut scaled = given.clone();
                weights.divide_by_running_mean(&mut scaled);
                Some(scaled)
            }
            _ => {
                weights.count(given);
                None
            }
        });
        let weight = scaled.as_deref().or(block.weight.as_deref());
        let learned = match &block.sparse {
            Some(sparse) => sparse_rows_of(sparse, block, weight)
                .and_then(|rows| self.learner.learn_sparse(rows, observer)),
            None => rows_of(block, weight).and_then(|rows| self.learner.learn(rows, observer)),
        };
        learned.map_err(|cause| RowError::locate(cause, block, &self.encoder))?;
        self.weights = weights;
        Ok(())
    }

    /// Lets the learner grow to `dim` coefficients.
    fn grow_to(&mut self, dim: usize) -> Result<()> {
        if self.learner.dim() < dim {
            check_memory(&self.learner, dim)?;
        }
        while self.learner.dim() < dim {
            let feature = self.encoder.features().get(self.learner.dim());
            let feature = feature.map_or("?", |feature| &feature.name);
            self.learner
                .grow()
                .map_err(|reason| Error::LateFeature { feature: feature.into(), reason })?;
        }
        Ok(())
    }

    /// Refuses a model whose rows all had the weight 0; call it after the last row of a fit.
    pub fn check_weights(&self) -> Result<()> {
        if self.weights.are_all_zero() { Err(Error::NoWeight) } else { Ok(()) }
    }
}

/// Coefficients of a wide model that a summary lists besides the numbers.
pub(crate) const LISTED: usize = 100;

/// A sparse block as learners take it, with these weights.
pub(crate) fn sparse_rows_of<'a>(
    sparse: &'a SparseBlock,
    block: &'a Block,
    weight: Option<&'a [f64]>,
) -> kalmia::Result<SparseRows<'a>> {
    let mut rows = SparseRows::new(matrix_of(sparse)?, &block.y)?;
    if let Some(weight) = weight {
        rows = rows.with_weights(weight)?;
    }
    if let Some(offset) = &block.offset {
        rows = rows.with_offsets(offset)?;
    }
    Ok(rows)
}

/// A sparse block as predictions take it.
pub(crate) fn sparse_inputs_of<'a>(
    sparse: &'a SparseBlock,
    block: &'a Block,
) -> kalmia::Result<SparseInputs<'a>> {
    let mut inputs = SparseInputs::new(matrix_of(sparse)?);
    if let Some(offset) = &block.offset {
        inputs = inputs.with_offsets(offset)?;
    }
    if !block.unseen.is_empty() {
        inputs = inputs.with_unseen(&block.unseen)?;
    }
    Ok(inputs)
}

fn matrix_of(sparse: &SparseBlock) -> kalmia::Result<SparseMatrix<'_>> {
    SparseMatrix::new(&sparse.starts, &sparse.indices, &sparse.values)
}

/// A block as learners take it, with these weights.
pub(crate) fn rows_of<'a>(block: &'a Block, weight: Option<&'a [f64]>) -> kalmia::Result<Rows<'a>> {
    let mut rows = Rows::new(block.dim, &block.x, &block.y)?;
    if let Some(weight) = weight {
        rows = rows.with_weights(weight)?;
    }
    if let Some(offset) = &block.offset {
        rows = rows.with_offsets(offset)?;
    }
    Ok(rows)
}

/// A block as predictions take it.
pub(crate) fn inputs_of(block: &Block) -> kalmia::Result<Inputs<'_>> {
    let mut inputs = Inputs::new(block.dim, &block.x)?;
    if let Some(offset) = &block.offset {
        inputs = inputs.with_offsets(offset)?;
    }
    if !block.unseen.is_empty() {
        inputs = inputs.with_unseen(&block.unseen)?;
    }
    Ok(inputs)
}
