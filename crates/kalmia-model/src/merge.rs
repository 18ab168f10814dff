//! One model of several that learned different rows.

use crate::error::{Error, Result};
use crate::history::{History, Merge};
use crate::merging::{MergeLearner, PartMap};
use crate::model::ModelOf;
use crate::shards::MergedOf;
use kalmia::learner::MergedMany;
use kalmia_data::Encoder;

impl<L: MergeLearner> ModelOf<L> {
    /// Merges models that learned different rows; their order changes only rounding. Features are
    /// matched by name, so levels and classes may have appeared in another order, or in some models
    /// only. The progressive scores are summed, each model having predicted its own rows.
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
    pub fn merge_many(models: Vec<Self>) -> Result<MergedOf<L>> {
        let Some(first) = models.first() else { return Err(Error::NoModel) };
        for (i, other) in models.iter().enumerate() {
            check_alike(first, other, i + 1)?;
        }
        let encoder = whole_encoder(&models)?;
        let maps = match encoder.is_wide() {
            true => Vec::new(),
            false => models
                .iter()
                .map(|model| PartMap::new(&model.encoder, &encoder))
                .collect::<Result<Vec<_>>>()?,
        };
        let learners: Vec<&L> = models.iter().map(|model| &model.learner).collect();
        let MergedMany { merged, heterogeneity } = match maps.iter().all(PartMap::is_identity) {
            true => L::merged(&learners)?,
            false => merge_mapped(&learners, &maps)?,
        };
        let exact = merged.is_exact();
        let mapped = |i: usize| match maps.get(i) {
            Some(map) => L::mapped_metrics(&models[i].metrics, map),
            None => models[i].metrics.clone(),
        };
        let mut metrics = mapped(0);
        let mut weights = first.weights;
        for (i, model) in models.iter().enumerate().skip(1) {
            metrics = L::merged_metrics(&metrics, &mapped(i))?;
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
        Ok(MergedOf { model, heterogeneity, shards, exact })
    }
}

/// Refuses a model, the `number`th of them, that was fitted in another way than the first.
fn check_alike<L: MergeLearner>(
    first: &ModelOf<L>,
    other: &ModelOf<L>,
    number: usize,
) -> Result<()> {
    let method = |model: &ModelOf<L>| model.learner.merged_method();
    let differ = |what: &'static str, one: String, two: String| {
        Err(Error::UnlikeModels { number, what, one, two })
    };
    let [one, two] = [first, other].map(|model| L::law(model));
    if one != two {
        return differ("families", L::law_text(&one), L::law_text(&two));
    }
    if method(first) != method(other) {
        return differ("methods", method(first), method(other));
    }
    if first.settings.method != other.settings.method
        || first.settings.start != other.settings.start
    {
        let text = |model: &ModelOf<L>| format!("{:?}", model.settings.method.algorithm);
        return differ("parameters", text(first), text(other));
    }
    if first.settings.conformal != other.settings.conformal {
        let text = |model: &ModelOf<L>| match model.settings.conformal {
            true => "with them".to_owned(),
            false => "without".to_owned(),
        };
        return differ("conformal intervals", text(first), text(other));
    }
    Ok(())
}

/// The encoder of all; wide models have the features of the first, in their order.
fn whole_encoder<L: MergeLearner>(models: &[ModelOf<L>]) -> Result<Encoder> {
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

/// Merges learners of different features or classes, from the priors of the one with the most rows.
fn merge_mapped<L: MergeLearner>(learners: &[&L], maps: &[PartMap]) -> Result<MergedMany<L>> {
    let larger = |a: &usize, b: &usize| {
        let [a, b] = [*a, *b].map(|i| learners[i]);
        // among equals by their coefficients, so that the order does not matter
        a.count().cmp(&b.count()).then_with(|| a.order(b))
    };
    let base = (0..learners.len()).max_by(larger).unwrap_or(0);
    let prior = learners[base].prior_of(&maps[base])?;
    let mut parts = learners.iter().zip(maps).map(|(learner, map)| {
        let found = learner.rows_information(&[])?;
        L::mapped_information(&found, map)
    });
    let mut information = parts.next().ok_or(Error::NoModel)??;
    for part in parts {
        L::add_information(&mut information, &part?)?;
    }
    prior.of_information(&information)
}
