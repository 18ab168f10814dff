//! The encoder's state: which columns are used for what, and everything learned of them.

mod encode;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::batch::{Batch, Slot, Want};
use crate::error::{Error, Result, nearest};
use crate::infer;
use crate::options::{EncoderOptions, Missing, Mode};
use crate::schema::{Column, Feature, Keys, Kind, Meaning};
use crate::target::{Coding, Target};

/// The name of the constant feature.
pub const INTERCEPT: &str = "(intercept)";

/// What the encoder has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Data rows read.
    pub rows: u64,
    /// Rows left out for a missing value.
    pub skipped: u64,
    /// Missing values replaced.
    pub imputed: u64,
    /// Values of a level, or entries of a libsvm index, that the schema does not know (not in
    /// [`Mode::Learn`]).
    pub unseen: u64,
    /// JSON members that no column of the schema takes.
    pub unknown_members: u64,
}

/// Turns rows into features. It is plain data: stored and restored, it goes on exactly as if it had
/// never stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Encoder {
    pub(crate) options: EncoderOptions,
    pub(crate) columns: Vec<Column>,
    pub(crate) target: Option<Target>,
    pub(crate) features: Vec<Feature>,
    pub(crate) sparse: bool,
    pub(crate) keys: Keys,
    pub(crate) counts: Counts,
    /// Whether the header was seen, so that columns and target are chosen.
    chosen: bool,
    /// Whether the first block was seen, so that kinds are settled.
    settled: bool,
    /// What a missing value does in this process, where that is not what the options say; never
    /// stored.
    #[serde(skip)]
    missing: Option<Missing>,
}

impl Encoder {
    /// An encoder that has seen nothing.
    pub fn new(options: EncoderOptions) -> Self {
        let (columns, target, features, keys, counts) = Default::default();
        Self {
            options,
            columns,
            target,
            features,
            sparse: false,
            keys,
            counts,
            chosen: false,
            settled: false,
            missing: None,
        }
    }

    /// What the columns are for, as given.
    pub fn options(&self) -> &EncoderOptions {
        &self.options
    }

    /// The features, in the order of the rows' coordinates; empty before the first block.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// Number of features so far.
    pub fn dim(&self) -> usize {
        self.features.len()
    }

    /// The feature columns, in the order given.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The target, once a header was seen.
    pub fn target(&self) -> Option<&Target> {
        self.target.as_ref()
    }

    /// Whether a column, whatever its role, holds numbers as far as is known.
    pub fn is_number(&self, name: &str) -> bool {
        let feature = self
            .columns
            .iter()
            .any(|column| column.name == name && column.kind == Some(Kind::Number));
        let target = self
            .target
            .as_ref()
            .is_some_and(|t| t.name == name && t.coding == Some(Coding::Number));
        feature
            || target
            || [&self.options.weight, &self.options.offset]
                .into_iter()
                .flatten()
                .any(|role| role == name)
    }

    /// Rows read, left out, and so on, over the encoder's whole life.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether the first block was seen, so that the kinds of the columns are settled.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// Sets the counts to zero, for example before predicting with a stored encoder.
    pub fn reset_counts(&mut self) {
        self.counts = Counts::default();
    }

    /// What a missing value does.
    pub(crate) fn missing(&self) -> Missing {
        self.missing.unwrap_or(self.options.missing)
    }

    /// Treats missing values otherwise than the options say, until the encoder is stored. Means can
    /// replace them only where the options had them kept from the first row on.
    pub fn set_missing(&mut self, missing: Missing) -> Result<()> {
        if missing == Missing::Mean && self.options.missing != Missing::Mean {
            return Err(Error::Setting(
                "missing values cannot become means: none were kept when the rows were learned"
                    .into(),
            ));
        }
        self.missing = Some(missing);
        Ok(())
    }

    /// Whether the header is still to be seen.
    pub(crate) fn is_new(&self) -> bool {
        !self.chosen
    }

    /// Chooses the columns from the first header.
    pub(crate) fn choose(&mut self, file: &str, names: &[String], sparse: bool) -> Result<()> {
        self.sparse = sparse;
        let target = match (&self.options.target, sparse) {
            (Some(name), _) => name.clone(),
            (None, true) => "label".into(),
            (None, false) => return Err(Error::Setting("name the target column".into())),
        };
        self.check_roles(file, names, &target)?;
        let roles: HashSet<&str> =
            [Some(&target), self.options.weight.as_ref(), self.options.offset.as_ref()]
                .into_iter()
                .flatten()
                .map(|s| &**s)
                .collect();
        let excluded: HashSet<&str> = self.options.exclude.iter().map(|s| &**s).collect();
        let categorical: HashSet<&str> = self.options.categorical.iter().map(|s| &**s).collect();
        let chosen = self.options.features.as_deref().unwrap_or(if sparse { &[] } else { names });
        let used = chosen
            .iter()
            .filter(|name| !roles.contains(name.as_str()) && !excluded.contains(name.as_str()));
        let kind = |name: &str| categorical.contains(name).then_some(Kind::Category);
        self.columns = if sparse {
            Vec::new()
        } else {
            used.map(|name| Column::new(name.clone(), kind(name))).collect()
        };
        if self.columns.len() > self.options.max_features {
            let (found, limit) = (self.columns.len(), self.options.max_features);
            return Err(Error::Setting(format!(
                "{file} has {found} feature columns, more than {limit}; choose some of them"
            )));
        }
        if self.columns.is_empty() && !self.options.intercept && !sparse {
            return Err(Error::Setting(format!(
                "{file}: no feature column is left, and there is no intercept"
            )));
        }
        self.target = Some(Target::new(target));
        self.chosen = true;
        Ok(())
    }

    /// Checks that every column named in the options exists and has one role.
    fn check_roles(&self, file: &str, names: &[String], target: &str) -> Result<()> {
        let o = &self.options;
        let known: HashSet<&str> = names.iter().map(|s| &**s).collect();
        let single = [Some(target), o.weight.as_deref(), o.offset.as_deref()].into_iter().flatten();
        let lists =
            o.exclude.iter().chain(&o.categorical).chain(o.features.iter().flatten()).map(|s| &**s);
        // libsvm has no header: indices named as features or left out are looked up as they come.
        for name in single.clone().chain(lists.filter(|_| !self.sparse)) {
            if !known.contains(name) {
                return Err(no_column(file, name, names));
            }
        }
        let mut roles = HashSet::new();
        for name in single.chain(o.features.iter().flatten().map(|s| &**s)) {
            if !roles.insert(name) {
                return Err(Error::Setting(format!("column `{name}` is given two roles")));
            }
        }
        Ok(())
    }

    /// The columns to be read, and as what: features, then target, weight and offset.
    pub(crate) fn slots(&self, mode: Mode) -> Vec<Slot> {
        let slot = |name: &String, want, required| Slot { name: name.clone(), want, required };
        let features =
            self.columns.iter().map(|c| slot(&c.name, c.kind.map_or(Want::Raw, Kind::want), true));
        let target = self.target.iter().map(|t| {
            slot(&t.name, t.want(self.options.positive.as_deref()), mode != Mode::Predict)
        });
        let others = [&self.options.weight, &self.options.offset].into_iter().flatten();
        // A weight multiplies the loss, so prediction can do without it; the offset it cannot.
        let others = others.map(|name| {
            slot(
                name,
                Want::Number,
                mode == Mode::Learn || Some(name) == self.options.offset.as_ref(),
            )
        });
        features.chain(target).chain(others).collect()
    }

    /// The slots of target, weight and offset.
    pub(crate) fn role_slots(&self) -> (usize, Option<usize>, Option<usize>) {
        let target = self.columns.len();
        let weight = self.options.weight.as_ref().map(|_| target + 1);
        let offset =
            self.options.offset.as_ref().map(|_| target + 1 + usize::from(weight.is_some()));
        (target, weight, offset)
    }

    /// Settles the kinds from the first block, converting its raw columns.
    pub(crate) fn settle(&mut self, batch: &mut Batch) -> Result<()> {
        if self.options.intercept {
            self.features.push(Feature {
                name: INTERCEPT.into(),
                column: None,
                meaning: Meaning::Intercept,
            });
        }
        for (i, column) in self.columns.iter_mut().enumerate() {
            let kind = match column.kind {
                Some(kind) => kind,
                None => infer::kind(&mut batch.columns[i], &column.name, &batch.origin)?,
            };
            column.kind = Some(kind);
            if kind != Kind::Category {
                column.feature = Some(self.features.len());
                self.features.push(Feature {
                    name: column.name.clone(),
                    column: Some(i),
                    meaning: Meaning::Value,
                });
            }
        }
        let slot = self.role_slots().0;
        if let Some(target) = &mut self.target {
            target.infer(batch, slot, self.options.positive.as_deref())?;
        }
        self.settled = true;
        Ok(())
    }
}

/// The error for a column that is not there, with the likeliest reason.
pub(crate) fn no_column(file: &str, name: &str, names: &[String]) -> Error {
    let odd = names.first().filter(|only| names.len() == 1 && only.contains([';', '\t', '|', ',']));
    let hint = if odd.is_some() {
        "; its header is a single column: is the delimiter right?".into()
    } else if let Some(near) = nearest(name, names.iter().map(|s| &**s)) {
        format!("; did you mean `{near}`?")
    } else {
        let few = names
            .iter()
            .take(8)
            .map(|n| format!("`{}`", crate::error::excerpt(n.as_bytes())))
            .collect::<Vec<_>>()
            .join(", ");
        format!("; it has {few}{}", if names.len() > 8 { ", ..." } else { "" })
    };
    Error::NoColumn { file: file.into(), name: name.into(), hint }
}
