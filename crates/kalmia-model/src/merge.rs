//! One model of several that learned different rows.

use crate::error::{Error, Result};
use crate::history::{History, Merge};
use crate::model::Model;
use crate::shards::{MergedModel, feature_map};
use kalmia::learner::{FeatureMap, Information, MergedMany};
use kalmia::{AnyLearner, Learner};
use kalmia_data::Encoder;
use std::cmp::Ordering;

impl Model {
    /// Merges models that learned different rows; their order changes only rounding. Features are
    /// matched by name, so levels may have appeared in another order, or in some models only. The
    /// progressive scores are summed, each model having predicted its own rows.
    ///
    /// Exact for a single filter under normal noise, and for `auto` if at most one model is past
    /// its first 128 rows and all have the same features; otherwise approximate.
    ///
    /// Refuses no models, models whose columns, targets, methods or priors differ, and learners
    /// that follow a drift.
    ///
    /// ```
    /// use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};
    /// use kalmia_model::{Model, Settings};
    ///
    /// let fit = |csv: &'static str| -> Result<Model, Box<dyn std::error::Error>> {
    ///     let mut encoder = Encoder::new(EncoderOptions::target("y"));
    ///     let inputs = vec![Input::memory("t.csv", csv.as_bytes())];
    ///     let options = SourceOptions::default();
    ///     let mut reader = Reader::open(inputs, options, &mut encoder, Mode::Learn)?;
    ///     let mut block = Block::new();
    ///     reader.next_block(&mut encoder, &mut block)?;
    ///     let mut model = Model::new(Settings::default(), "gaussian".parse()?, encoder)?;
    ///     model.learn(&block, None)?;
    ///     Ok(model)
    /// };
    /// let merged = Model::merge_many(vec![
    ///     fit("town,y\nUlm,1\nBonn,3\nUlm,1.5\n")?,
    ///     fit("town,y\nBonn,2.5\nKiel,4\nUlm,1\n")?,
    /// ])?;
    /// let names: Vec<_> = merged.model.encoder.features().iter().map(|f| &*f.name).collect();
    /// assert_eq!(names, ["(intercept)", "town=Kiel", "town=Ulm"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge_many(models: Vec<Self>) -> Result<MergedModel> {
        let Some(first) = models.first() else { return Err(Error::NoModel) };
        models.iter().try_for_each(|other| check_alike(first, other))?;
        let encoder = whole_encoder(&models)?;
        let maps = match encoder.is_wide() {
            true => Vec::new(),
            false => models
                .iter()
                .map(|model| feature_map(&model.encoder, &encoder))
                .collect::<Result<Vec<_>>>()?,
        };
        let learners: Vec<&AnyLearner> = models.iter().map(|model| &model.learner).collect();
        let MergedMany { merged, heterogeneity } = match maps.iter().all(FeatureMap::is_identity) {
            true => AnyLearner::merge_many(&learners)?,
            false => merge_mapped(&learners, &maps)?,
        };
        let exact = merged.is_exact();
        let mut metrics = first.metrics.clone();
        let mut weights = first.weights;
        for model in &models[1..] {
            metrics = metrics.merged(&model.metrics)?;
            weights = weights.merged(&model.weights);
        }
        let shards = learners.iter().filter(|learner| learner.count() > 0).count() as u64;
        let settings = first.settings.clone();
        let mut metadata = first.metadata.clone();
        // an entry that only some of them have may not hold for all
        metadata.retain(|key, value| models.iter().all(|m| m.metadata.get(key) == Some(value)));
        let parts = models.into_iter().map(|model| model.history).collect();
        let history = History { runs: Vec::new(), merged: Some(Merge { exact, parts }) };
        let learner = merged.into_inner();
        let model = Self { learner, encoder, metrics, settings, weights, history, metadata };
        Ok(MergedModel { model, heterogeneity, shards, exact })
    }
}

/// Refuses models that were fitted in another way.
fn check_alike(first: &Model, other: &Model) -> Result<()> {
    let family = |model: &Model| *model.metrics.progressive.family();
    let method = |model: &Model| model.learner.title();
    let differ =
        |what: &'static str, one: String, two: String| Err(Error::UnlikeModels { what, one, two });
    if family(first) != family(other) {
        return differ("families", format!("{:?}", family(first)), format!("{:?}", family(other)));
    }
    if method(first) != method(other) {
        return differ("methods", method(first), method(other));
    }
    if first.settings.method != other.settings.method
        || first.settings.start != other.settings.start
    {
        let text = |model: &Model| format!("{:?}", model.settings.method.algorithm);
        return differ("parameters", text(first), text(other));
    }
    if first.settings.conformal != other.settings.conformal {
        let text = |model: &Model| match model.settings.conformal {
            true => "with them".to_owned(),
            false => "without".to_owned(),
        };
        return differ("conformal intervals", text(first), text(other));
    }
    Ok(())
}

/// The encoder of all; wide models have the features of the first, in their order.
fn whole_encoder(models: &[Model]) -> Result<Encoder> {
    let encoders: Vec<&Encoder> = models.iter().map(|model| &model.encoder).collect();
    if encoders.iter().any(|encoder| encoder.is_wide()) {
        let first = encoders[0];
        let same = |encoder: &Encoder| encoder.is_wide() && encoder.features() == first.features();
        return match encoders.iter().all(|encoder| same(encoder)) {
            true => Ok(first.clone()),
            false => Err(Error::WideFeatures),
        };
    }
    Ok(Encoder::union(&encoders)?)
}

/// Merges learners of different features, from the priors of the one with the most rows.
fn merge_mapped(learners: &[&AnyLearner], maps: &[FeatureMap]) -> Result<MergedMany<AnyLearner>> {
    let larger = |a: &usize, b: &usize| {
        let [a, b] = [*a, *b].map(|i| learners[i]);
        let coefficients = |learner: &AnyLearner| learner.coefficients().into_owned();
        // among equals by their coefficients, so that the order does not matter
        let order = || compare(&coefficients(a), &coefficients(b));
        a.count().cmp(&b.count()).then_with(order)
    };
    let base = (0..learners.len()).max_by(larger).unwrap_or(0);
    let prior = learners[base].mapped(&maps[base])?;
    let reference = vec![0.0; maps[base].dim()];
    let mut information = Information::none(reference.clone());
    for (learner, map) in learners.iter().zip(maps) {
        let part = learner.information(map.pull_back(&reference)?)?;
        information.add(&part.mapped(map, reference.clone())?)?;
    }
    Ok(prior.with_information(&information)?)
}

fn compare(a: &[f64], b: &[f64]) -> Ordering {
    let pairs = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
    pairs.into_iter().find(|order| order.is_ne()).unwrap_or(a.len().cmp(&b.len()))
}
