//! One encoder of several that learned rows of their own.

mod values;

use std::collections::{BTreeSet, HashSet};

use super::agree::{Checked, FeatureKey, check_same_options};
use super::{Encoder, INTERCEPT};
use crate::error::{Result, UnionProblem};
use crate::schema::{Column, Feature, Keys, Meaning, RunningMean};
use values::{united_counts, united_mean, united_remarks, united_target};

impl Encoder {
    /// One encoder that knows every level, indicator of missing values and libsvm index of all
    /// parts. Use it with [`Encoder::alignment`] to merge models that learned different rows.
    ///
    /// The order of the parts does not matter. Features that all parts have at the same places
    /// come first. The others follow: numbers in the order of the columns; then per column the
    /// indicator of missing values and the levels by name, in byte order; then libsvm indices,
    /// ascending. Columns are ordered in the same way: first those that all parts have at the same
    /// places, then the others by name. The baseline of a category is the one of all parts that
    /// have levels; if these differ, the smallest of their names. One part is returned as it is.
    ///
    /// Counts add up, and means are weighted by their counts. If the parts started as copies of one
    /// encoder that had read rows, use [`Encoder::union_since`], which counts these rows once.
    ///
    /// # Errors
    /// [`UnionProblem`] if options, columns, kinds or the coding of the target differ, if a part
    /// has read no rows or has sparse rows, if there are too many features, or if baselines differ
    /// and there is no intercept. An open negative label is no difference.
    ///
    /// ```
    /// use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};
    ///
    /// let learned = |text: &'static str| {
    ///     let mut encoder = Encoder::new(EncoderOptions::target("y"));
    ///     let input = vec![Input::memory("t.csv", text.as_bytes())];
    ///     let source = SourceOptions::default();
    ///     let mut reader = Reader::open(input, source, &mut encoder, Mode::Learn)?;
    ///     while reader.next_block(&mut encoder, &mut Block::new())? {}
    ///     Ok::<_, kalmia_data::Error>(encoder)
    /// };
    /// let first = learned("y,town\n1,Ulm\n2,Kiel\n")?;
    /// let second = learned("y,town\n1,Bonn\n2,Ulm\n")?;
    /// let whole = Encoder::union(&[&first, &second])?;
    /// let names: Vec<_> = whole.features().iter().map(|feature| &*feature.name).collect();
    /// // The baselines are Ulm and Bonn; Bonn is the smaller name.
    /// assert_eq!(names, ["(intercept)", "town=Kiel", "town=Ulm"]);
    /// assert_eq!(whole.counts().rows, 4);
    ///
    /// // In the first part, Ulm is what is not Kiel.
    /// let mut row = [0.0; 3];
    /// first.alignment(&whole)?.apply(&[1.0, 0.0], &mut row);
    /// assert_eq!(row, [1.0, 0.0, 1.0]);
    /// # Ok::<(), kalmia_data::Error>(())
    /// ```
    pub fn union(parts: &[&Encoder]) -> Result<Encoder> {
        unite(None, parts)
    }

    /// As [`Encoder::union`] for parts that started as copies of `template`: the rows and values
    /// that it had counted are counted once, not once per part.
    ///
    /// Without parts this is the template. A template that has read no rows makes no difference.
    ///
    /// # Errors
    /// As [`Encoder::union`], and if a part lacks a feature, a level or a count of the template.
    ///
    /// ```
    /// use kalmia_data::{Coding, Encoder, EncoderOptions, Kind};
    ///
    /// let columns = [("town".into(), Kind::Category)];
    /// let options = EncoderOptions::target("y");
    /// let template = Encoder::from_columns(options, &columns, Coding::Number)?;
    /// let workers = [template.clone(), template.clone()];
    /// let whole = Encoder::union_since(&template, &[&workers[0], &workers[1]])?;
    /// assert_eq!(whole, template);
    /// # Ok::<(), kalmia_data::Error>(())
    /// ```
    pub fn union_since(template: &Encoder, parts: &[&Encoder]) -> Result<Encoder> {
        if parts.is_empty() {
            return Ok(template.clone());
        }
        for part in parts {
            check_same_options(&template.options, &part.options)?;
            part.check_started_from(template)?;
        }
        unite(Some(template), parts)
    }

    /// Refuses an encoder that cannot have been a copy of the template.
    fn check_started_from(&self, template: &Encoder) -> Checked<()> {
        let has_levels = |(own, template): (&Column, &Column)| {
            own.levels.as_slice().starts_with(template.levels.as_slice())
        };
        let has_values = |(own, template): (&Column, &Column)| own.count >= template.count;
        let mut columns = self.columns.iter().zip(&template.columns);
        let what = match () {
            () if !self.features.starts_with(&template.features) => "features",
            () if !columns.clone().all(has_levels) => "levels",
            () if !columns.all(has_values) => "counts",
            () if self.counts.since(template.counts).is_none() => "counts",
            () => return Ok(()),
        };
        Err(UnionProblem::OtherTemplate { what })
    }
}

fn unite(template: Option<&Encoder>, parts: &[&Encoder]) -> Result<Encoder> {
    let Some((first, others)) = parts.split_first() else {
        return Err(UnionProblem::Nothing.into());
    };
    first.check_unitable()?;
    for other in others {
        other.check_unitable()?;
        first.check_same_columns(other)?;
    }
    let columns = united_columns(template, first, parts)?;
    let places: Vec<Vec<usize>> =
        parts.iter().map(|part| part.places_in(&columns)).collect::<Checked<_>>()?;
    let features = united_features(parts, &places, &columns);
    let limit = first.options.max_features;
    if features.len() > limit {
        return Err(UnionProblem::TooManyFeatures { found: features.len(), limit }.into());
    }

    let decided = parts.iter().find_map(|part| part.wide);
    let missing = first.missing.filter(|_| others.iter().all(|o| o.missing == first.missing));
    let mut whole = Encoder {
        target: united_target(parts)?,
        counts: united_counts(template, parts),
        remarks: united_remarks(parts, &columns),
        columns,
        features: Vec::with_capacity(features.len()),
        keys: Keys::default(),
        wide: decided,
        missing,
        ..Encoder::new(first.options.clone())
    };
    whole.sparse = first.sparse;
    whole.chosen = true;
    whole.settled = true;
    features.into_iter().for_each(|key| whole.push_feature(key));
    Ok(whole)
}

impl Encoder {
    fn push_feature(&mut self, key: FeatureKey) {
        let feature = self.features.len();
        let (name, column, meaning) = match key {
            FeatureKey::Intercept => (INTERCEPT.into(), None, Meaning::Intercept),
            FeatureKey::Value { column } => {
                self.columns[column].feature = Some(feature);
                (self.columns[column].name.clone(), Some(column), Meaning::Value)
            }
            FeatureKey::Indicator { column, level: None } => {
                self.columns[column].missing = Some(feature);
                (self.columns[column].missing_name(), Some(column), Meaning::Missing)
            }
            FeatureKey::Indicator { column, level: Some(level) } => {
                let levels = &mut self.columns[column].levels;
                let code = levels.push(level);
                levels.set_feature(code, feature);
                let name = self.columns[column].level_name(level);
                (name, Some(column), Meaning::Level(level.into()))
            }
            FeatureKey::Index(key) => {
                self.keys.push(key, feature);
                (key.to_string(), None, Meaning::Index(key))
            }
        };
        self.features.push(Feature { name, column, meaning });
    }
}

/// How many items all lists have in common at their start.
fn common_prefix<T: PartialEq>(lists: &[Vec<T>]) -> usize {
    let Some((first, others)) = lists.split_first() else { return 0 };
    let in_all = |&i: &usize| others.iter().all(|other| other.get(i) == first.get(i));
    (0..first.len()).take_while(in_all).count()
}

/// The columns with their means and baselines, without features and other levels.
fn united_columns(
    template: Option<&Encoder>,
    first: &Encoder,
    parts: &[&Encoder],
) -> Checked<Vec<Column>> {
    fn names(part: &Encoder) -> Vec<&str> {
        part.columns.iter().map(|column| &*column.name).collect()
    }
    let names: Vec<Vec<&str>> = parts.iter().map(|part| names(part)).collect();
    let mut order = names[0].clone();
    order[common_prefix(&names)..].sort_unstable();
    let mut columns: Vec<Column> =
        order.into_iter().map(|name| Column::new(name.to_owned(), None)).collect();
    for (column, place) in first.columns.iter().zip(first.places_in(&columns)?) {
        columns[place].kind = column.kind;
    }

    // For each column, that of every part.
    let mut own: Vec<Vec<&Column>> = vec![Vec::new(); columns.len()];
    for part in parts {
        for (column, place) in part.columns.iter().zip(part.places_in(&columns)?) {
            own[place].push(column);
        }
    }
    let mut before = vec![RunningMean { mean: 0.0, count: 0 }; columns.len()];
    if let Some(template) = template {
        for (column, place) in template.columns.iter().zip(template.places_in(&columns)?) {
            before[place] = column.running_mean();
        }
    }
    for ((column, own), before) in columns.iter_mut().zip(own).zip(before) {
        column.set_mean(united_mean(before, own.iter().map(|column| column.running_mean())));
        let baselines: BTreeSet<&str> = own.iter().filter_map(|column| column.baseline()).collect();
        let mut baselines = baselines.into_iter();
        let Some(smallest) = baselines.next() else { continue };
        if let Some(other) = baselines.next()
            && !first.options.intercept
        {
            return Err(UnionProblem::Baseline {
                column: column.name.clone(),
                first: smallest.into(),
                other: other.into(),
            });
        }
        column.levels.push(smallest);
    }
    Ok(columns)
}

/// The features of all parts, in order.
fn united_features<'a>(
    parts: &[&'a Encoder],
    places: &[Vec<usize>],
    columns: &[Column],
) -> Vec<FeatureKey<'a>> {
    let of_part = |(part, places): (&&'a Encoder, &Vec<usize>)| part.feature_keys(places);
    let keys: Vec<Vec<FeatureKey<'a>>> = parts.iter().zip(places).map(of_part).collect();
    let shared = common_prefix(&keys);
    let mut features = keys[0][..shared].to_vec();
    let prefix: HashSet<FeatureKey> = features.iter().copied().collect();
    // A baseline of one part may be a level like any other of the whole.
    let baselines = parts.iter().zip(places).flat_map(|(part, places)| {
        part.columns.iter().zip(places).filter_map(|(column, &place)| {
            Some(FeatureKey::Indicator { column: place, level: Some(column.baseline()?) })
        })
    });
    let is_baseline = |key: &FeatureKey| match *key {
        FeatureKey::Indicator { column, level: Some(level) } => {
            columns[column].baseline() == Some(level)
        }
        _ => false,
    };
    let rest: BTreeSet<FeatureKey<'a>> = keys
        .iter()
        .flat_map(|keys| keys[shared..].iter().copied())
        .chain(baselines)
        .filter(|key| !prefix.contains(key) && !is_baseline(key))
        .collect();
    features.extend(rest);
    features
}
