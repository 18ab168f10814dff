//! Choosing the columns from a header, and settling their kinds from the first block.

use std::collections::{HashMap, HashSet};

use super::{Encoder, INTERCEPT};
use crate::batch::{Batch, Slot, Want};
use crate::error::{Error, NameHint, Result, SettingProblem};
use crate::infer;
use crate::looks::{self, Remark};
use crate::options::{BadRows, Mode};
use crate::schema::{Column, Feature, Kind, Meaning};
use crate::target::Target;

/// The slots of the columns that are not features.
pub(super) struct RoleSlots {
    pub target: usize,
    pub weight: Option<usize>,
    pub offset: Option<usize>,
}

impl Encoder {
    /// Whether the header is still to be seen.
    pub(crate) fn is_new(&self) -> bool {
        !self.chosen
    }

    /// Chooses the columns from the first header. After an error the encoder must be dropped.
    pub(crate) fn choose(&mut self, file: &str, names: &[String], sparse: bool) -> Result<()> {
        self.sparse = sparse;
        let target = match &self.options.target {
            Some(name) => name.clone(),
            None if sparse => "label".into(),
            None => return Err(SettingProblem::NoTarget.into()),
        };
        self.check_hashing()?;
        self.check_roles(file, names, &target)?;
        self.columns = if sparse { Vec::new() } else { self.feature_columns(names, &target) };
        self.decide_by_columns();
        // a text column makes hashed features only
        let found = self.columns.iter().filter(|column| column.kind != Some(Kind::Text)).count();
        let limit = self.options.max_features;
        if found > limit {
            let file = file.into();
            return Err(SettingProblem::TooManyFeatureColumns { file, found, limit }.into());
        }
        if self.columns.is_empty() && !self.options.intercept && !sparse {
            return Err(SettingProblem::NoFeatures { file: file.into() }.into());
        }
        self.target = Some(Target::new(target));
        self.chosen = true;
        Ok(())
    }

    /// The columns named as features, or those of the header, without roles and exclusions.
    fn feature_columns(&self, names: &[String], target: &str) -> Vec<Column> {
        let o = &self.options;
        let roles = [Some(target), o.weight.as_deref(), o.offset.as_deref()].into_iter().flatten();
        let unused: HashSet<&str> = roles.chain(o.exclude.iter().map(|s| &**s)).collect();
        let categorical: HashSet<&str> = o.categorical.iter().map(|s| &**s).collect();
        let text: HashSet<&str> = o.text.iter().map(|s| &**s).collect();
        let kind = |name: &str| match () {
            () if text.contains(name) => Some(Kind::Text),
            () => categorical.contains(name).then_some(Kind::Category),
        };
        let chosen = o.features.as_deref().unwrap_or(names);
        let used = chosen.iter().filter(|name| !unused.contains(name.as_str()));
        used.map(|name| Column::new(name.clone(), kind(name))).collect()
    }

    /// Checks that every column named in the options exists and has one role.
    fn check_roles(&self, file: &str, names: &[String], target: &str) -> Result<()> {
        let o = &self.options;
        let known: HashSet<&str> = names.iter().map(|s| &**s).collect();
        let single = [Some(target), o.weight.as_deref(), o.offset.as_deref()].into_iter().flatten();
        let features = o.features.iter().flatten();
        let lists = o.exclude.iter().chain(&o.categorical).chain(features.clone()).map(|s| &**s);
        // libsvm has no header: indices named as features or excluded are looked up as they come.
        let text = o.text.iter().map(|s| &**s);
        for name in single.clone().chain(text.clone()).chain(lists.filter(|_| !self.sparse)) {
            if !known.contains(name) {
                return Err(no_column(file, name, names));
            }
        }
        let twice = |column: &str, one, other| {
            Err(SettingProblem::TwoRoles { column: column.into(), one, other }.into())
        };
        let single = [
            (Some(target), "the target"),
            (o.weight.as_deref(), "the weights"),
            (o.offset.as_deref(), "the offset"),
        ];
        let single = || single.iter().filter_map(|&(name, role)| Some((name?, role)));
        let categorical = o.categorical.iter().map(|name| (&**name, "categorical"));
        let excluded = || o.exclude.iter().map(|name| (&**name, "excluded"));
        let not_text: HashMap<&str, _> = excluded().chain(categorical).chain(single()).collect();
        for name in text {
            if let Some(role) = not_text.get(name) {
                return twice(name, "text", role);
            }
        }
        let mut roles: HashMap<&str, _> = excluded().collect();
        for (name, role) in single().chain(features.map(|name| (&**name, "a feature"))) {
            if let Some(other) = roles.insert(name, role) {
                return twice(name, other, role);
            }
        }
        Ok(())
    }

    /// The columns to be read, and as what: features, then target, weight and offset.
    pub(crate) fn slots(&self, mode: Mode) -> Vec<Slot> {
        let slot = |(name, want)| Slot::new(name, want, self.is_required(name, mode));
        self.wanted().map(slot).collect()
    }

    /// Whether these are the encoder's slots; rows read for another encoder would not fit.
    pub(crate) fn has_slots(&self, slots: &[Slot]) -> bool {
        self.wanted().eq(slots.iter().map(|slot| (&*slot.name, slot.want)))
    }

    fn wanted(&self) -> impl Iterator<Item = (&str, Want)> {
        let want = |column: &Column| column.kind.map_or(Want::Raw, Kind::want);
        let features = self.columns.iter().map(move |column| (&*column.name, want(column)));
        let options = &self.options;
        let target = self.target.iter().map(move |target| (&*target.name, target.want(options)));
        let others = [&self.options.weight, &self.options.offset].into_iter().flatten();
        features.chain(target).chain(others.map(|name| (&**name, Want::Number)))
    }

    /// Prediction needs no weight, which only multiplies the loss; it needs the offset.
    fn is_required(&self, name: &str, mode: Mode) -> bool {
        let is_target = self.target.as_ref().is_some_and(|target| target.name == name);
        match mode {
            Mode::Learn => true,
            Mode::Evaluate => self.options.weight.as_deref() != Some(name),
            Mode::Predict => self.options.weight.as_deref() != Some(name) && !is_target,
        }
    }

    /// The slots of target, weight and offset.
    pub(super) fn role_slots(&self) -> RoleSlots {
        let target = self.columns.len();
        let weight = self.options.weight.as_ref().map(|_| target + 1);
        let after_weight = target + 1 + usize::from(weight.is_some());
        let offset = self.options.offset.as_ref().map(|_| after_weight);
        RoleSlots { target, weight, offset }
    }

    /// Settles the kinds from the first block, converting its raw columns. After an error the
    /// encoder must be dropped.
    pub(crate) fn settle(&mut self, batch: &mut Batch, bad_rows: BadRows) -> Result<()> {
        for (column, values) in self.columns.iter_mut().zip(&mut batch.columns) {
            if column.kind.is_none() {
                let bad = (bad_rows == BadRows::Skip).then_some(&mut batch.bad);
                let texts = values.is_text.then(|| values.clone());
                let kind = infer::kind(values, &column.name, &batch.origin, bad)?;
                column.kind = Some(kind);
                let look = match kind {
                    Kind::Category => looks::of_category(values),
                    Kind::Number => looks::of_numbers(texts.as_ref(), &values.numbers),
                    Kind::Boolean | Kind::Text => None,
                };
                if let Some((look, example)) = look {
                    self.remarks.push(Remark { column: column.name.clone(), look, example });
                }
            }
        }
        let slot = self.role_slots().target;
        if let Some(target) = &mut self.target {
            target.infer(batch, slot, &self.options, bad_rows, self.defers_labels)?;
        }
        self.add_features();
        Ok(())
    }

    /// Gives the constant and each column of numbers or truth values its feature. They come first,
    /// because no other feature is added before the kinds are settled.
    pub(super) fn add_features(&mut self) {
        if self.options.intercept {
            let meaning = Meaning::Intercept;
            self.features.push(Feature { name: INTERCEPT.into(), column: None, meaning });
        }
        for (i, column) in self.columns.iter_mut().enumerate() {
            if matches!(column.kind, Some(Kind::Category | Kind::Text)) {
                continue;
            }
            column.feature = Some(self.features.len());
            let name = column.name.clone();
            self.features.push(Feature { name, column: Some(i), meaning: Meaning::Value });
        }
        self.settled = true;
    }
}

/// The error for a column that is not there.
pub(crate) fn no_column(file: &str, name: &str, names: &[String]) -> Error {
    Error::NoColumn { file: file.into(), name: name.into(), hint: NameHint::new(name, names) }
}
