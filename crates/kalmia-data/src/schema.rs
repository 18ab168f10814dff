//! The schema: kinds, levels and means of the columns, and the features they make.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::batch::Want;

/// How a column becomes features: inferred from the first block of rows, or declared by the types
/// of Parquet, Arrow and JSON.
///
/// A column is a number if all its values are, a boolean if all are `true` or `false` (0 and 1 may
/// occur among them), else a category. Two cases are refused: dates or times, and a column in
/// which at least nine of ten values, but not all, are numbers (most likely an error in the data).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One feature, the number.
    Number,
    /// One feature, 0 or 1.
    Boolean,
    /// A feature for each level but the first seen.
    Category,
    /// A hashed feature for each token. Never inferred: see [`crate::EncoderOptions::text`].
    Text,
}

impl Kind {
    /// The name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::Category => "category",
            Kind::Text => "text",
        }
    }

    pub(crate) fn want(self) -> Want {
        match self {
            Kind::Number => Want::Number,
            Kind::Boolean => Want::Boolean,
            Kind::Category | Kind::Text => Want::Text,
        }
    }
}

/// What a feature stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Meaning {
    /// The constant 1.
    Intercept,
    /// The value of a number or boolean column.
    Value,
    /// 1 if a category has this level.
    Level(String),
    /// 1 if the column's value was missing.
    Missing,
    /// The value under a libsvm index.
    Index(u32),
}

/// One coordinate of the rows that the learner sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// `(intercept)`, `column`, `column=level`, `column:missing` or a libsvm index.
    pub name: String,
    /// The feature column it comes from, as an index into [`crate::Encoder::columns`].
    pub column: Option<usize>,
    /// What it stands for.
    pub meaning: Meaning,
}

/// A feature column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name in the input.
    pub name: String,
    /// Its kind, once the first block was seen.
    pub kind: Option<Kind>,
    /// The feature that holds its value, unless it is a category or text.
    pub feature: Option<usize>,
    /// The feature that is 1 if the value is missing, once one was.
    pub missing: Option<usize>,
    /// The levels of a category.
    pub levels: Levels,
    /// Mean of the values seen, kept under [`crate::Missing::Mean`].
    pub mean: f64,
    /// Values in that mean.
    pub count: u64,
}

impl Column {
    pub(crate) fn new(name: String, kind: Option<Kind>) -> Self {
        Self {
            name,
            kind,
            feature: None,
            missing: None,
            levels: Levels::default(),
            mean: 0.0,
            count: 0,
        }
    }

    /// The name of the feature of a level.
    pub(crate) fn level_name(&self, level: &str) -> String {
        format!("{}={level}", self.name)
    }

    /// The name of the feature that is 1 if the value is missing.
    pub(crate) fn missing_name(&self) -> String {
        format!("{}:missing", self.name)
    }

    /// The first level seen, which has no feature; none before any.
    pub(crate) fn baseline(&self) -> Option<&str> {
        self.levels.as_slice().first().map(|level| &*level.name)
    }

    pub(crate) fn running_mean(&self) -> RunningMean {
        RunningMean { mean: self.mean, count: self.count }
    }

    pub(crate) fn set_mean(&mut self, RunningMean { mean, count }: RunningMean) {
        self.mean = mean;
        self.count = count;
    }
}

/// The mean of the values of a column so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunningMean {
    pub mean: f64,
    pub count: u64,
}

impl RunningMean {
    /// Takes a value into the mean.
    pub fn observe(&mut self, value: f64) {
        self.count += 1;
        // Divided first: the difference of huge values could overflow.
        let n = self.count as f64;
        self.mean += value / n - self.mean / n;
    }
}

/// The levels of a category in the order of their first appearance; the first is the baseline and
/// has no feature.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Level>", into = "Vec<Level>")]
pub struct Levels {
    levels: Vec<Level>,
    index: HashMap<Box<[u8]>, u32>,
}

/// One level of a category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// The text in the input, trimmed.
    pub name: String,
    /// Its feature; none for the baseline.
    pub feature: Option<usize>,
}

impl Levels {
    /// All levels.
    pub fn as_slice(&self) -> &[Level] {
        &self.levels
    }

    /// Whether no name occurs twice.
    pub(crate) fn are_unique(&self) -> bool {
        self.index.len() == self.levels.len()
    }

    #[inline]
    pub(crate) fn find(&self, name: &[u8]) -> Option<u32> {
        self.index.get(name).copied()
    }

    pub(crate) fn push(&mut self, name: &str) -> u32 {
        let code = self.levels.len() as u32;
        self.index.insert(name.as_bytes().into(), code);
        self.levels.push(Level { name: name.into(), feature: None });
        code
    }

    pub(crate) fn feature(&self, code: u32) -> Option<usize> {
        self.levels[code as usize].feature
    }

    pub(crate) fn set_feature(&mut self, code: u32, feature: usize) {
        self.levels[code as usize].feature = Some(feature);
    }

    /// Forgets the levels after the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        for level in self.levels.drain(len..) {
            self.index.remove(level.name.as_bytes());
        }
    }
}

impl From<Vec<Level>> for Levels {
    fn from(levels: Vec<Level>) -> Self {
        let index = levels
            .iter()
            .enumerate()
            .map(|(i, level)| (level.name.as_bytes().into(), i as u32))
            .collect();
        Self { levels, index }
    }
}

impl From<Levels> for Vec<Level> {
    fn from(levels: Levels) -> Self {
        levels.levels
    }
}

/// The libsvm indices seen, in the order of their first appearance, and their features.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(u32, usize)>", into = "Vec<(u32, usize)>")]
pub(crate) struct Keys {
    order: Vec<(u32, usize)>,
    index: HashMap<u32, usize>,
}

impl Keys {
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// The indices with their features, in order.
    pub fn entries(&self) -> impl Iterator<Item = (u32, usize)> {
        self.order.iter().copied()
    }

    /// Whether no index occurs twice.
    pub fn are_unique(&self) -> bool {
        self.index.len() == self.order.len()
    }

    #[inline]
    pub fn feature(&self, key: u32) -> Option<usize> {
        self.index.get(&key).copied()
    }

    pub fn push(&mut self, key: u32, feature: usize) {
        self.order.push((key, feature));
        self.index.insert(key, feature);
    }

    pub fn truncate(&mut self, len: usize) {
        for (key, _) in self.order.drain(len..) {
            self.index.remove(&key);
        }
    }
}

impl From<Vec<(u32, usize)>> for Keys {
    fn from(order: Vec<(u32, usize)>) -> Self {
        let index = order.iter().copied().collect();
        Self { order, index }
    }
}

impl From<Keys> for Vec<(u32, usize)> {
    fn from(keys: Keys) -> Self {
        keys.order
    }
}
