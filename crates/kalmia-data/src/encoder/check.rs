//! Whether a stored encoder can be used: a file may hold anything.

use super::Encoder;
use crate::schema::{Column, Kind, Meaning};

/// Counts above this would overflow as rows are added.
const MAX_COUNT: u64 = u64::MAX / 2;

impl Encoder {
    /// Checks an encoder that was read from a file: that columns, levels and features belong
    /// together, and that what was inferred from the first rows is there.
    ///
    /// # Errors
    /// Says in words what does not fit.
    pub fn check(&self) -> Result<(), String> {
        if !(self.chosen && self.settled) {
            return Err("the kinds of the columns are missing".into());
        }
        match &self.target {
            None => return Err("the target is missing".into()),
            Some(target) if target.coding.is_none() => {
                return Err(format!("the coding of the target `{}` is missing", target.name));
            }
            Some(_) => {}
        }
        let counts = self.counts;
        let all = [counts.rows, counts.skipped, counts.imputed, counts.unseen];
        let columns = self.columns.iter().map(|column| column.count);
        if let Some(count) = all.into_iter().chain([counts.unknown_members]).chain(columns).max()
            && count > MAX_COUNT
        {
            return Err(format!("a count of {count} is too large"));
        }
        let both = if self.sparse { !self.columns.is_empty() } else { self.keys.len() > 0 };
        if both {
            return Err("columns and libsvm indices exclude each other".into());
        }
        let mut places = Places { encoder: self, used: vec![false; self.dim()] };
        if self.options.intercept {
            places.take(0, None, &Meaning::Intercept)?;
        }
        for (i, column) in self.columns.iter().enumerate() {
            places.column(i, column)?;
        }
        for (key, feature) in self.keys.entries() {
            places.take(feature, None, &Meaning::Index(key))?;
        }
        if !self.keys.are_unique() {
            return Err("a libsvm index occurs twice".into());
        }
        match places.used.iter().position(|used| !used) {
            Some(unused) => Err(format!("no column has the feature number {unused}")),
            None => Ok(()),
        }
    }
}

/// The features that something has claimed.
struct Places<'a> {
    encoder: &'a Encoder,
    used: Vec<bool>,
}

impl Places<'_> {
    /// Claims a feature for a column, which must be its own.
    fn take(
        &mut self,
        feature: usize,
        column: Option<usize>,
        meaning: &Meaning,
    ) -> Result<(), String> {
        let found = self.encoder.features.get(feature);
        let fits = found.is_some_and(|f| f.column == column && f.meaning == *meaning);
        if !fits || std::mem::replace(&mut self.used[feature], true) {
            return Err(format!("the feature number {feature} is not the one of its column"));
        }
        Ok(())
    }

    fn column(&mut self, i: usize, column: &Column) -> Result<(), String> {
        let name = &column.name;
        let Some(kind) = column.kind else {
            return Err(format!("the kind of column `{name}` is missing"));
        };
        if !column.mean.is_finite() {
            return Err(format!("the mean of column `{name}` is {}", column.mean));
        }
        let levels = column.levels.as_slice();
        let is_category = kind == Kind::Category;
        if is_category == column.feature.is_some() || !(is_category || levels.is_empty()) {
            return Err(format!("column `{name}` has features of another kind"));
        }
        if let Some(feature) = column.feature {
            self.take(feature, Some(i), &Meaning::Value)?;
        }
        if let Some(feature) = column.missing {
            self.take(feature, Some(i), &Meaning::Missing)?;
        }
        for (code, level) in levels.iter().enumerate() {
            match level.feature {
                None if code == 0 => {}
                Some(feature) if code > 0 => {
                    self.take(feature, Some(i), &Meaning::Level(level.name.clone()))?;
                }
                _ => return Err(format!("level `{}` of column `{name}` is misplaced", level.name)),
            }
        }
        match column.levels.are_unique() {
            true => Ok(()),
            false => Err(format!("a level of column `{name}` occurs twice")),
        }
    }
}
