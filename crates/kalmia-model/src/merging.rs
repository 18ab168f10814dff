//! What merges and shards ask of a learner.

use crate::error::{Error, Result};
use crate::family::{CATEGORICAL, family_text};
use crate::method::Algorithm;
use crate::model::{ClassModel, Model, ModelOf};
use crate::polish::PolishLearner;
use crate::settings::Settings;
use crate::shards::feature_map;
use kalmia::evaluate::{ClassMetrics, Metrics, RowBuffer};
use kalmia::learner::{
    AnyCategorical, ClassInformation, ClassInformationState, FeatureMap, Information,
    InformationState, MergedMany,
};
use kalmia::{AnyFamily, AnyLearner, Categorical, DriftMode, Learner};
use kalmia_data::{Block, ClassNames, Encoder, Target};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cmp::Ordering;
use std::fmt::Debug;

/// How the features and classes of a whole follow from those of a part.
#[derive(Debug, Clone)]
pub struct PartMap {
    /// The features.
    pub features: FeatureMap,
    /// For each class of the whole that of the part; empty without classes.
    pub classes: Vec<Option<usize>>,
}

impl PartMap {
    /// By the names that two encoders know.
    pub fn new(part: &Encoder, whole: &Encoder) -> Result<Self> {
        let names = |encoder: &'_ Encoder| -> Option<ClassNames> {
            encoder.target().and_then(Target::classes).cloned()
        };
        let classes = match (names(part), names(whole)) {
            (Some(own), Some(all)) => all.as_slice().iter().map(|name| own.place(name)).collect(),
            _ => Vec::new(),
        };
        Ok(Self { features: feature_map(part, whole)?, classes })
    }

    /// Whether nothing changes.
    pub fn is_identity(&self) -> bool {
        let same = self.classes.iter().enumerate().all(|(k, class)| *class == Some(k));
        same && self.features.is_identity()
    }
}

/// A learner whose rows can be merged with those of others.
pub trait MergeLearner: PolishLearner {
    /// What its rows say beyond its prior.
    type Information: Clone + Debug + Send;
    /// The same, as it is shipped.
    type Shipped: Serialize + DeserializeOwned;
    /// What a new model needs beside settings and columns.
    type Law: Clone + Debug + PartialEq + Send + Sync + Serialize + DeserializeOwned;
    /// The kind of the bytes of a template.
    const TEMPLATE: &'static str;
    /// The kind of the bytes of a part.
    const PART: &'static str;

    /// What a new model like this one needs.
    fn law(model: &ModelOf<Self>) -> Self::Law;
    /// The same in words, as `--family` takes it.
    fn law_text(law: &Self::Law) -> String;
    /// A model that has learned nothing.
    fn untrained(settings: Settings, law: &Self::Law, encoder: Encoder) -> Result<ModelOf<Self>>;
    /// Learns a block and judges its predictions.
    fn learn_judged(model: &mut ModelOf<Self>, block: &Block, rows: &mut RowBuffer) -> Result<()>;
    /// The method with what must be the same in all parts, in words.
    fn merged_method(&self) -> String;
    /// Refuses a learner that workers cannot share.
    fn require_shardable(model: &ModelOf<Self>) -> Result<()>;
    /// Coefficients near which information is summed; may be empty.
    fn reference(&self) -> Vec<f64>;
    /// Any order that does not depend on where learners stand.
    fn order(&self, other: &Self) -> Ordering;
    /// The priors for a whole, without rows.
    fn prior_of(&self, map: &PartMap) -> Result<Self>;
    /// What the rows say, near a reference whose new features are at 0.
    fn rows_information(&self, reference: &[f64]) -> Result<Self::Information>;
    /// The same in the features and classes of a whole.
    fn mapped_information(found: &Self::Information, map: &PartMap) -> Result<Self::Information>;
    /// Adds the information of other rows.
    fn add_information(own: &mut Self::Information, other: &Self::Information) -> Result<()>;
    /// Rows and beliefs that were added.
    fn information_counts(found: &Self::Information) -> InformationCounts;
    /// To be shipped.
    fn shipped(found: &Self::Information) -> Self::Shipped;
    /// As received; refuses what does not belong to the columns.
    fn received(shipped: Self::Shipped, encoder: &Encoder) -> Result<Self::Information>;
    /// The learner of the rows that the information is of, from these priors.
    fn of_information(self, found: &Self::Information) -> Result<MergedMany<Self>>;
    /// One learner of several with the same features and classes.
    fn merged(learners: &[&Self]) -> Result<MergedMany<Self>>;
    /// With the watch for a drift as a method asks for it.
    fn with_drift(self, drift: DriftMode) -> Result<Self>;
    /// The scores in the classes of a whole.
    fn mapped_metrics(metrics: &Self::Metrics, map: &PartMap) -> Self::Metrics;
    /// The scores of both.
    fn merged_metrics(own: &Self::Metrics, other: &Self::Metrics) -> Result<Self::Metrics>;
    /// Refuses scores that no rows can give.
    fn check_shipped_metrics(metrics: &Self::Metrics) -> Result<()>;
}

/// How much information there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InformationCounts {
    /// Rows of all parts.
    pub rows: u64,
    /// Learners with rows.
    pub parts: u64,
}

/// The drift mode of a method.
pub(crate) fn drift_of(settings: &Settings) -> DriftMode {
    match settings.method.algorithm {
        Algorithm::Auto { drift, .. } => drift,
        _ => DriftMode::Off,
    }
}

impl MergeLearner for AnyLearner {
    type Information = Information;
    type Shipped = InformationState;
    type Law = AnyFamily;
    const TEMPLATE: &'static str = "template";
    const PART: &'static str = "part";

    fn law(model: &Model) -> AnyFamily {
        *model.metrics.progressive.family()
    }

    fn law_text(law: &AnyFamily) -> String {
        family_text(law)
    }

    fn untrained(settings: Settings, law: &AnyFamily, encoder: Encoder) -> Result<Model> {
        Model::new(settings, *law, encoder)
    }

    fn learn_judged(model: &mut Model, block: &Block, rows: &mut RowBuffer) -> Result<()> {
        rows.start(&model.metrics);
        if let Err(error) = model.learn(block, Some(rows)) {
            rows.clear();
            return Err(error);
        }
        rows.apply_to(&mut model.metrics);
        Ok(())
    }

    fn merged_method(&self) -> String {
        AnyLearner::title(self)
    }

    fn require_shardable(model: &Model) -> Result<()> {
        let mergeable = matches!(model.learner, Self::Auto(_) | Self::Filter(_));
        if !mergeable || model.settings.method.averaged || model.encoder.is_wide() {
            return Err(Error::NotMergeable { method: model.learner.title() });
        }
        Ok(())
    }

    fn reference(&self) -> Vec<f64> {
        self.coefficients().into_owned()
    }

    fn order(&self, other: &Self) -> Ordering {
        compare(&self.coefficients(), &other.coefficients())
    }

    fn prior_of(&self, map: &PartMap) -> Result<Self> {
        Ok(self.mapped(&map.features)?)
    }

    fn rows_information(&self, reference: &[f64]) -> Result<Information> {
        let mut reference = reference.to_vec();
        reference.resize(self.dim(), 0.0);
        Ok(match self.count() {
            0 => Information::none(reference),
            _ => self.information(reference)?,
        })
    }

    fn mapped_information(found: &Information, map: &PartMap) -> Result<Information> {
        if map.features.is_identity() {
            return Ok(found.clone());
        }
        let mut reference = found.reference().to_vec();
        reference.resize(map.features.dim(), 0.0);
        Ok(found.mapped(&map.features, reference)?)
    }

    fn add_information(own: &mut Information, other: &Information) -> Result<()> {
        Ok(own.add(other)?)
    }

    fn information_counts(found: &Information) -> InformationCounts {
        InformationCounts { rows: found.rows(), parts: found.parts() }
    }

    fn shipped(found: &Information) -> InformationState {
        found.state()
    }

    fn received(shipped: InformationState, encoder: &Encoder) -> Result<Information> {
        let information = Information::restore(shipped)?;
        require_columns(information.dim() == encoder.dim())?;
        Ok(information)
    }

    fn of_information(self, found: &Information) -> Result<MergedMany<Self>> {
        Ok(self.with_information(found)?)
    }

    fn merged(learners: &[&Self]) -> Result<MergedMany<Self>> {
        Ok(AnyLearner::merge_many(learners)?)
    }

    fn with_drift(self, drift: DriftMode) -> Result<Self> {
        Ok(match self {
            Self::Auto(auto) => Self::Auto(auto.with_drift_mode(drift)?),
            other => other,
        })
    }

    fn mapped_metrics(metrics: &Metrics, _: &PartMap) -> Metrics {
        metrics.clone()
    }

    fn merged_metrics(own: &Metrics, other: &Metrics) -> Result<Metrics> {
        Ok(own.merged(other)?)
    }

    fn check_shipped_metrics(metrics: &Metrics) -> Result<()> {
        Ok(metrics.check(metrics.progressive.family())?)
    }
}

/// The learner of dense rows. Wide learners have chosen different features and members, so they are
/// not merged.
fn mergeable(learner: &AnyCategorical) -> Result<&Categorical> {
    if learner.ordinal().is_some() {
        let problem = "cannot be merged: learn the rows of both with one model";
        return Err(Error::Ordinal { problem });
    }
    let method = || Error::NotMergeable { method: learner.merged_method() };
    learner.dense().ok_or_else(method)
}

impl MergeLearner for AnyCategorical {
    type Information = ClassInformation;
    type Shipped = ClassInformationState;
    type Law = ();
    const TEMPLATE: &'static str = "class-template";
    const PART: &'static str = "class-part";

    fn law(_: &ClassModel) {}

    fn law_text((): &()) -> String {
        CATEGORICAL.into()
    }

    fn untrained(settings: Settings, (): &(), encoder: Encoder) -> Result<ClassModel> {
        ClassModel::new(settings, encoder)
    }

    fn learn_judged(model: &mut ClassModel, block: &Block, _: &mut RowBuffer) -> Result<()> {
        let mut metrics = model.metrics.clone();
        model.learn(block, Some(&mut metrics))?;
        model.metrics = metrics;
        Ok(())
    }

    fn merged_method(&self) -> String {
        match self.ordinal() {
            Some(_) => format!("{} of ordered levels", self.method()),
            None => format!("{} of several classes", self.method()),
        }
    }

    fn require_shardable(model: &ClassModel) -> Result<()> {
        mergeable(&model.learner).map(|_| ())
    }

    fn reference(&self) -> Vec<f64> {
        Vec::new()
    }

    fn order(&self, other: &Self) -> Ordering {
        let of = |learner: &Self| {
            learner.dense().map_or_else(Vec::new, Categorical::coefficients_against_first)
        };
        compare(&of(self), &of(other))
    }

    fn prior_of(&self, map: &PartMap) -> Result<Self> {
        Ok(mergeable(self)?.mapped(&map.features, map.classes.len().max(1))?.into())
    }

    fn rows_information(&self, _: &[f64]) -> Result<ClassInformation> {
        Ok(match self.count() {
            0 => ClassInformation::none(self.classes(), self.dim()),
            _ => mergeable(self)?.information()?,
        })
    }

    fn mapped_information(found: &ClassInformation, map: &PartMap) -> Result<ClassInformation> {
        // a name that no row had yet has no belief
        let known = |class: &Option<usize>| class.filter(|&own| own < found.classes());
        let classes: Vec<Option<usize>> = map.classes.iter().map(known).collect();
        Ok(found.mapped(&map.features, &classes)?)
    }

    fn add_information(own: &mut ClassInformation, other: &ClassInformation) -> Result<()> {
        Ok(own.add(other)?)
    }

    fn information_counts(found: &ClassInformation) -> InformationCounts {
        InformationCounts { rows: found.rows(), parts: found.parts() }
    }

    fn shipped(found: &ClassInformation) -> ClassInformationState {
        found.state()
    }

    fn received(shipped: ClassInformationState, encoder: &Encoder) -> Result<ClassInformation> {
        let information = ClassInformation::restore(shipped)?;
        let names = encoder.target().and_then(Target::classes).map_or(0, ClassNames::len);
        let known = information.classes() <= names.max(1);
        require_columns(known && information.dim() == encoder.dim())?;
        Ok(information)
    }

    fn of_information(self, found: &ClassInformation) -> Result<MergedMany<Self>> {
        Ok(mergeable(&self)?.clone().with_information(found)?.map(Self::from))
    }

    fn merged(learners: &[&Self]) -> Result<MergedMany<Self>> {
        let dense: Result<Vec<&Categorical>> = learners.iter().map(|one| mergeable(one)).collect();
        Ok(Categorical::merge_many(&dense?)?.map(Self::from))
    }

    fn with_drift(self, drift: DriftMode) -> Result<Self> {
        Ok(match self {
            Self::Dense(dense) => dense.with_drift_mode(drift)?.into(),
            wide => wide,
        })
    }

    fn mapped_metrics(metrics: &ClassMetrics, map: &PartMap) -> ClassMetrics {
        metrics.clone().mapped(&map.classes)
    }

    fn merged_metrics(own: &ClassMetrics, other: &ClassMetrics) -> Result<ClassMetrics> {
        Ok(own.merged(other))
    }

    fn check_shipped_metrics(metrics: &ClassMetrics) -> Result<()> {
        Ok(metrics.check()?)
    }
}

/// Refuses information of other columns.
fn require_columns(fits: bool) -> Result<()> {
    match fits {
        true => Ok(()),
        false => Err(crate::shards::damaged("the information is not that of its columns".into())),
    }
}

fn compare(a: &[f64], b: &[f64]) -> Ordering {
    let pairs = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
    pairs.into_iter().find(|order| order.is_ne()).unwrap_or(a.len().cmp(&b.len()))
}
