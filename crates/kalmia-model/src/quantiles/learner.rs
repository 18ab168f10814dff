//! What a model asks of a learner of several quantiles.

use super::levels_text;
use crate::error;
use crate::file::{read_model, write_model};
use crate::memory::Footprint;
use crate::model::QuantileModel;
use crate::model_learner::{ModelLearner, same_features};
use crate::table::WaitingRows;
use kalmia::evaluate::QuantileMetrics;
use kalmia::file::{ModelFile, Problem};
use kalmia::learner::{QuantileObserver, Quantiles, QuantilesState};
use kalmia::{Error, Result, Rows, SparseRows};
use kalmia_data::{Block, Encoder, Target};

impl Footprint for Quantiles {
    fn dim(&self) -> usize {
        Quantiles::dim(self)
    }

    fn count(&self) -> u64 {
        Quantiles::count(self)
    }

    fn title(&self) -> String {
        format!("auto with {} quantiles", self.learners().len())
    }

    fn memory(&self, dim: usize) -> usize {
        Quantiles::memory(self, dim)
    }

    fn require_copy(&self) -> Result<()> {
        Quantiles::require_copy(self)
    }
}

impl ModelLearner for Quantiles {
    const KIND: &'static str = "quantile-model";
    const SHRINKS: bool = false;
    type State = QuantilesState;
    type Metrics = QuantileMetrics;
    type Observer<'a> = dyn QuantileObserver + 'a;

    fn family_name(&self) -> String {
        levels_text(&self.levels())
    }

    fn method(&self) -> &'static str {
        "auto"
    }

    fn grow(&mut self) -> Result<()> {
        Quantiles::grow(self)
    }

    fn shrink(&mut self) -> Result<()> {
        Err(Error::State("a learner of several quantiles keeps its features".into()))
    }

    fn learn<'a>(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&'a mut Self::Observer<'a>>,
    ) -> Result<()> {
        self.learn_observed(rows, observer.map(|observer| observer as &mut dyn QuantileObserver))
    }

    fn learn_sparse<'a>(
        &mut self,
        rows: SparseRows<'_>,
        observer: Option<&'a mut Self::Observer<'a>>,
    ) -> Result<()> {
        let observer = observer.map(|observer| observer as &mut dyn QuantileObserver);
        Quantiles::learn_sparse(self, rows, observer)
    }

    fn learn_counted(
        model: &mut QuantileModel,
        block: &Block,
        waiting: &mut WaitingRows,
    ) -> error::Result<()> {
        let rows = &mut waiting.quantiles;
        rows.clear();
        model.learn(block, Some(rows))?;
        rows.apply_to(&mut model.metrics);
        Ok(())
    }

    fn state(&self) -> QuantilesState {
        Quantiles::state(self)
    }

    fn restore(state: QuantilesState) -> Result<Self> {
        Quantiles::restore(state)
    }

    fn check_metrics(&self, metrics: &QuantileMetrics) -> Result<()> {
        metrics.check(&self.levels())
    }

    fn check_encoder(&self, encoder: &Encoder) -> std::result::Result<(), String> {
        if encoder.target().and_then(Target::classes).is_some() {
            return Err("quantiles, but a target of classes".into());
        }
        if encoder.is_wide() {
            return Err("dense rows, but sparse columns".into());
        }
        same_features(Quantiles::dim(self), encoder.dim())
    }

    fn read(file: &ModelFile) -> std::result::Result<QuantileModel, Problem> {
        read_model(file)
    }

    fn write(model: &QuantileModel) -> std::result::Result<ModelFile, Problem> {
        write_model(model)
    }
}
