//! A model of any kind: one type for front ends that learn and predict whatever the target is.

use crate::error::{Error, Result};
use crate::memory::Footprint;
use crate::model::{ClassModel, Model, QuantileModel};
use crate::settings::Settings;
use crate::table::{LearnScratch, LearnedRows};
use kalmia::AnyFamily;
use kalmia::evaluate::{CoursePoint, ReliabilityBin};
use kalmia::file::{Claim, Metadata};
use kalmia_data::{Encoder, Table, Target};

/// A model of any kind.
///
/// ```
/// use kalmia_data::{ClassNames, Coding, Encoder, EncoderOptions, Kind};
/// use kalmia_model::{AnyModel, Settings};
///
/// let columns = [("x".into(), Kind::Number)];
/// let names = ClassNames::from(vec!["a".to_string(), "b".into(), "c".into()]);
/// let options = EncoderOptions::target("y");
/// let encoder = Encoder::from_columns(options, &columns, Coding::Classes { names })?;
/// let settings = Settings { family: "categorical".parse()?, ..Settings::default() };
/// let model = AnyModel::new(settings, encoder)?;
/// assert!(matches!(model, AnyModel::Classes(_)));
/// assert_eq!((model.rows(), model.dim()), (0, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub enum AnyModel {
    /// Of numbers or of two labels.
    Numbers(Box<Model>),
    /// Of several classes.
    Classes(Box<ClassModel>),
    /// Of several quantiles.
    Quantiles(Box<QuantileModel>),
}

/// The same expression for a model of each kind.
macro_rules! each {
    ($any:expr, $model:ident => $value:expr) => {
        match $any {
            AnyModel::Numbers($model) => $value,
            AnyModel::Classes($model) => $value,
            AnyModel::Quantiles($model) => $value,
        }
    };
}

impl AnyModel {
    /// A model that has learned nothing, for the columns that `encoder` knows: of several classes
    /// if its target has them, of several quantiles if `settings.family` names some, else of the
    /// family that is named or that the target shows. Refuses settings that contradict each other.
    pub fn new(settings: Settings, encoder: Encoder) -> Result<Self> {
        if encoder.target().and_then(Target::classes).is_some() {
            return Ok(Self::Classes(Box::new(ClassModel::new(settings, encoder)?)));
        }
        if settings.family.quantiles().is_some() {
            return Ok(Self::Quantiles(Box::new(QuantileModel::new(settings, encoder)?)));
        }
        let family = match (encoder.target(), settings.family.named()) {
            (_, Some(family)) => *family,
            (Some(target), None) => settings.family.resolve(target)?.family,
            (None, None) => return Err(Error::NoTarget),
        };
        Self::of_family(settings, family, encoder)
    }

    /// A model of numbers or of two labels that has learned nothing.
    pub(crate) fn of_family(
        settings: Settings,
        family: AnyFamily,
        encoder: Encoder,
    ) -> Result<Self> {
        Ok(Self::Numbers(Box::new(Model::new(settings, family, encoder)?)))
    }

    /// What the columns mean.
    pub fn encoder(&self) -> &Encoder {
        each!(self, model => &model.encoder)
    }

    /// What was asked for.
    pub fn settings(&self) -> &Settings {
        each!(self, model => &model.settings)
    }

    /// What the file says beside the state.
    pub fn metadata(&self) -> &Metadata {
        each!(self, model => &model.metadata)
    }

    /// The same, to be changed.
    pub fn metadata_mut(&mut self) -> &mut Metadata {
        each!(self, model => &mut model.metadata)
    }

    /// The name of the target column; empty before it is known.
    pub fn target(&self) -> &str {
        each!(self, model => model.target())
    }

    /// The family's name; of several quantiles with the levels.
    pub fn family_name(&self) -> String {
        use crate::model_learner::ModelLearner;
        each!(self, model => model.learner.family_name())
    }

    /// Rows learned.
    pub fn rows(&self) -> u64 {
        each!(self, model => model.learner.count())
    }

    /// Number of coefficients of one class or level.
    pub fn dim(&self) -> usize {
        each!(self, model => Footprint::dim(&model.learner))
    }

    /// Linear predictors that a row moves: one per class or level.
    pub fn predictors(&self) -> usize {
        match self {
            Self::Numbers(_) => 1,
            Self::Classes(model) => model.learner.classes(),
            Self::Quantiles(model) => model.learner.learners().len(),
        }
    }

    /// Bytes of the matrices, at most.
    pub fn memory(&self) -> usize {
        each!(self, model => Footprint::memory(&model.learner, Footprint::dim(&model.learner)))
    }

    /// Mean progressive loss; NaN before a row.
    pub fn loss(&self) -> f64 {
        match self {
            Self::Numbers(model) => model.metrics.progressive.loss(),
            Self::Classes(model) => model.metrics.loss(),
            Self::Quantiles(model) => model.metrics.loss(),
        }
    }

    /// Mean loss of the constant predictor; NaN before a row.
    pub fn constant_loss(&self) -> f64 {
        match self {
            Self::Numbers(model) => model.metrics.progressive.constant_loss(),
            Self::Classes(model) => model.metrics.constant_loss(),
            Self::Quantiles(model) => model.metrics.constant_loss(),
        }
    }

    /// The mean losses as they evolved.
    pub fn course(&self) -> Vec<CoursePoint> {
        each!(self, model => model.metrics.course())
    }

    /// How often events of a predicted probability happened: the label that counts as 1, or the
    /// likeliest class. Empty for other targets.
    pub fn reliability(&self) -> Vec<ReliabilityBin> {
        match self {
            Self::Numbers(model) => {
                let labels = model.metrics.progressive.report().classification;
                labels.map_or_else(Vec::new, |labels| labels.reliability)
            }
            Self::Classes(model) => model.metrics.report().reliability,
            Self::Quantiles(_) => Vec::new(),
        }
    }

    /// As [`ModelOf::learn_table`](crate::ModelOf::learn_table).
    pub fn learn_table(
        &mut self,
        table: &Table,
        scratch: &mut LearnScratch,
    ) -> Result<LearnedRows> {
        each!(self, model => model.learn_table(table, scratch))
    }

    /// The bytes of the model file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        each!(self, model => model.to_bytes())
    }

    /// As [`ModelOf::save_claimed`](crate::ModelOf::save_claimed).
    pub fn save_claimed(&self, claim: &mut Claim) -> Result<()> {
        each!(self, model => model.save_claimed(claim))
    }

    /// The model, if it is one of numbers or two labels; else an error that says so. `what` is what
    /// such a model is needed for.
    pub fn numbers(&self, what: &'static str) -> Result<&Model> {
        match self {
            Self::Numbers(model) => Ok(model),
            Self::Classes(_) => Err(Error::NumbersOnly { what, kind: "several classes" }),
            Self::Quantiles(_) => Err(Error::NumbersOnly { what, kind: "several quantiles" }),
        }
    }
}
