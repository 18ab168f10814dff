//! What a model asks of its learner, for numbers, several classes and several quantiles alike.

use crate::error;
use crate::family::{CATEGORICAL, ORDINAL};
use crate::file::{read_model, write_model};
use crate::memory::{Footprint, check_class_memory, limit_class_features, with_feature_limit};
use crate::model::{ClassModel, Model, ModelOf};
use crate::table::WaitingRows;
use kalmia::evaluate::{ClassMetrics, Metrics};
use kalmia::file::{ModelFile, Problem};
use kalmia::learner::{AnyCategorical, AnyCategoricalState, AnyState, ClassObserver};
use kalmia::{AnyLearner, Error, Family, Learner, Observer, Predict, Result, Rows, SparseRows};
use kalmia_data::{Block, ClassNames, Encoder, Target};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// Most classes of a learner; the encoder has a limit of its own.
const MAX_CLASSES: usize = 1 << 20;

/// What does not fit between a learner and its columns.
const SPARSE_LEARNER: &str = "sparse rows, but dense columns";
const DENSE_LEARNER: &str = "dense rows, but sparse columns";

/// A learner that a [`ModelOf`](crate::ModelOf) can have.
pub trait ModelLearner: Footprint + Clone + Debug + Sized {
    /// The kind of its model files.
    const KIND: &'static str;
    /// Whether new features can be removed again.
    const SHRINKS: bool;
    /// What is stored of it.
    type State: Serialize + DeserializeOwned;
    /// How good its predictions were.
    type Metrics: Clone + Debug + Serialize + DeserializeOwned;
    /// Who sees the rows before they are learned.
    type Observer<'a>: ?Sized;

    /// The family's name.
    fn family_name(&self) -> String;
    /// The method's name.
    fn method(&self) -> &'static str;
    /// Appends a feature that was zero in every row so far.
    fn grow(&mut self) -> Result<()>;
    /// Removes the last feature, which no row had.
    fn shrink(&mut self) -> Result<()>;
    /// Learns rows in order.
    fn learn<'a>(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&'a mut Self::Observer<'a>>,
    ) -> Result<()>;
    /// Learns sparse rows in order.
    fn learn_sparse<'a>(
        &mut self,
        rows: SparseRows<'_>,
        observer: Option<&'a mut Self::Observer<'a>>,
    ) -> Result<()>;
    /// Learns a block with [`ModelOf::learn`] and counts its rows in the metrics, if it is not
    /// refused.
    fn learn_counted(
        model: &mut ModelOf<Self>,
        block: &Block,
        waiting: &mut WaitingRows,
    ) -> error::Result<()>;
    /// Refuses classes that the encoder has named since the last rows, if there is no memory for
    /// them.
    fn check_classes(&self, _: &Encoder) -> error::Result<()> {
        Ok(())
    }
    /// The state, to be stored.
    fn state(&self) -> Self::State;
    /// A learner that continues from a state.
    fn restore(state: Self::State) -> Result<Self>;
    /// Refuses metrics that its rows cannot have given.
    fn check_metrics(&self, metrics: &Self::Metrics) -> Result<()>;
    /// The same after it was read, with limits that suit this machine.
    fn limited(self) -> Self {
        self
    }
    /// Whether the learner takes what the encoder makes; else what does not fit, in words.
    fn check_encoder(&self, encoder: &Encoder) -> std::result::Result<(), String>;
    /// The model that a file holds. Here and not generic, so that the code that reads a state is
    /// compiled once and not in every crate that reads models.
    fn read(file: &ModelFile) -> std::result::Result<ModelOf<Self>, Problem>;
    /// The file of a model.
    fn write(model: &ModelOf<Self>) -> std::result::Result<ModelFile, Problem>;
}

impl ModelLearner for AnyLearner {
    const KIND: &'static str = "model";
    const SHRINKS: bool = true;
    type State = AnyState;
    type Metrics = Metrics;
    type Observer<'a> = dyn Observer + 'a;

    fn family_name(&self) -> String {
        self.family().name().into()
    }

    fn method(&self) -> &'static str {
        AnyLearner::method(self)
    }

    fn grow(&mut self) -> Result<()> {
        Predict::grow(self)
    }

    fn shrink(&mut self) -> Result<()> {
        Predict::shrink(self)
    }

    fn learn<'a>(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&'a mut Self::Observer<'a>>,
    ) -> Result<()> {
        self.learn_observed(rows, observer.map(|observer| observer as &mut dyn Observer))
    }

    fn learn_sparse<'a>(
        &mut self,
        rows: SparseRows<'_>,
        observer: Option<&'a mut Self::Observer<'a>>,
    ) -> Result<()> {
        self.learn_sparse_observed(rows, observer.map(|observer| observer as &mut dyn Observer))
    }

    fn learn_counted(
        model: &mut Model,
        block: &Block,
        waiting: &mut WaitingRows,
    ) -> error::Result<()> {
        let rows = &mut waiting.numbers;
        rows.start(&model.metrics);
        model.learn(block, Some(rows)).inspect_err(|_| rows.clear())?;
        rows.apply_to(&mut model.metrics);
        Ok(())
    }

    fn state(&self) -> AnyState {
        AnyLearner::state(self)
    }

    fn restore(state: AnyState) -> Result<Self> {
        AnyLearner::restore(state)
    }

    fn check_metrics(&self, metrics: &Metrics) -> Result<()> {
        metrics.check(&self.family())
    }

    fn limited(self) -> Self {
        match self {
            Self::Wide(wide) => Self::Wide(Box::new(with_feature_limit(*wide))),
            dense => dense,
        }
    }

    fn check_encoder(&self, encoder: &Encoder) -> std::result::Result<(), String> {
        let (found, expected) = match (self, encoder.is_wide()) {
            (Self::Wide(wide), true) => {
                // of very many numbers some are taken as sparse features
                (wide.numbers(), wide.numbers().min(encoder.number_features()))
            }
            (Self::Wide(_), false) => return Err(SPARSE_LEARNER.into()),
            (_, true) => return Err(DENSE_LEARNER.into()),
            (dense, false) => (Learner::dim(dense), encoder.dim()),
        };
        same_features(found, expected)
    }

    fn read(file: &ModelFile) -> std::result::Result<ModelOf<Self>, Problem> {
        read_model(file)
    }

    fn write(model: &ModelOf<Self>) -> std::result::Result<ModelFile, Problem> {
        write_model(model)
    }
}

impl ModelLearner for AnyCategorical {
    const KIND: &'static str = "class-model";
    const SHRINKS: bool = false;
    type State = AnyCategoricalState;
    type Metrics = ClassMetrics;
    type Observer<'a> = dyn ClassObserver + 'a;

    fn family_name(&self) -> String {
        match self {
            Self::Ordinal(_) => ORDINAL.into(),
            Self::Dense(_) | Self::Wide(_) => CATEGORICAL.into(),
        }
    }

    fn method(&self) -> &'static str {
        AnyCategorical::method(self)
    }

    fn grow(&mut self) -> Result<()> {
        AnyCategorical::grow(self)
    }

    fn shrink(&mut self) -> Result<()> {
        Err(Error::State("a learner of several classes keeps its features".into()))
    }

    fn learn<'a>(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&'a mut Self::Observer<'a>>,
    ) -> Result<()> {
        let observer = observer.map(|observer| observer as &mut dyn ClassObserver);
        self.learn_growing(rows, MAX_CLASSES, observer)
    }

    fn learn_sparse<'a>(
        &mut self,
        rows: SparseRows<'_>,
        observer: Option<&'a mut Self::Observer<'a>>,
    ) -> Result<()> {
        let observer = observer.map(|observer| observer as &mut dyn ClassObserver);
        let before = self.classes();
        self.learn_sparse_growing(rows, MAX_CLASSES, observer)?;
        // a feature takes more memory with every class
        if let Self::Wide(wide) = self
            && wide.classes() > before
        {
            limit_class_features(wide);
        }
        Ok(())
    }

    fn learn_counted(
        model: &mut ClassModel,
        block: &Block,
        waiting: &mut WaitingRows,
    ) -> error::Result<()> {
        let rows = &mut waiting.classes;
        rows.clear();
        model.learn(block, Some(rows))?;
        rows.apply_to(&mut model.metrics);
        Ok(())
    }

    fn check_classes(&self, encoder: &Encoder) -> error::Result<()> {
        let names = encoder.target().and_then(Target::classes);
        check_class_memory(self, self.classes(), names.map_or(0, ClassNames::len))
    }

    fn state(&self) -> AnyCategoricalState {
        AnyCategorical::state(self)
    }

    fn restore(state: AnyCategoricalState) -> Result<Self> {
        AnyCategorical::restore(state)
    }

    fn limited(self) -> Self {
        match self {
            Self::Wide(mut wide) => {
                limit_class_features(&mut wide);
                Self::Wide(wide)
            }
            dense => dense,
        }
    }

    fn check_metrics(&self, metrics: &ClassMetrics) -> Result<()> {
        metrics.check()
    }

    fn check_encoder(&self, encoder: &Encoder) -> std::result::Result<(), String> {
        let Some(names) = encoder.target().and_then(Target::classes) else {
            return Err("several classes, but a target without their names".into());
        };
        if encoder.target().is_some_and(Target::is_ordered) != self.ordinal().is_some() {
            return Err("a learner and a target of which one has ordered levels".into());
        }
        if let Some(ordinal) = self.ordinal().filter(|own| own.levels() != names.len()) {
            return Err(format!("{} levels with {} names", ordinal.levels(), names.len()));
        }
        // before its first row a learner has one class that has no name yet
        let unnamed = names.is_empty() && self.classes() == 1 && self.count() == 0;
        if names.len() < self.classes() && !unnamed {
            return Err(format!("{} classes with {} names", self.classes(), names.len()));
        }
        let (found, expected) = match (self, encoder.is_wide()) {
            (Self::Wide(wide), true) => {
                // of very many numbers some are taken as sparse features
                (wide.numbers(), wide.numbers().min(encoder.number_features()))
            }
            (Self::Wide(_), false) => return Err(SPARSE_LEARNER.into()),
            (Self::Dense(_) | Self::Ordinal(_), true) => return Err(DENSE_LEARNER.into()),
            (Self::Dense(dense), false) => (dense.dim(), encoder.dim()),
            (Self::Ordinal(ordinal), false) => (ordinal.dim(), encoder.dim()),
        };
        same_features(found, expected)
    }

    fn read(file: &ModelFile) -> std::result::Result<ModelOf<Self>, Problem> {
        read_model(file)
    }

    fn write(model: &ModelOf<Self>) -> std::result::Result<ModelFile, Problem> {
        write_model(model)
    }
}

/// Refuses another number of features than the encoder makes.
pub(crate) fn same_features(found: usize, expected: usize) -> std::result::Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{found} coefficients for {expected} features")),
    }
}
