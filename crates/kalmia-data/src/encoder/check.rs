//! Whether a stored encoder can be used: a file may hold anything.

use super::Encoder;
use crate::options::WideRows;
use crate::schema::{Column, Feature, Kind, Meaning};
use crate::sparse::FIRST_UNNAMED;
use crate::target::ClassNames;

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
            Some(target) if target.classes().and_then(ClassNames::repeated).is_some() => {
                return Err(format!("a class of the target `{}` occurs twice", target.name));
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
        self.check_wide()?;
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
        let hash = self.options.hash().map_err(|error| error.to_string())?;
        self.hash_names.check(1 << hash.bits())?;
        if !self.keys.are_unique() {
            return Err("a libsvm index occurs twice".into());
        }
        match places.used.iter().position(|used| !used) {
            Some(unused) => Err(format!("no column has the feature number {unused}")),
            None => Ok(()),
        }
    }
}

impl Encoder {
    /// Checks what sparse rows rely on, and that dense rows need none of it.
    fn check_wide(&self) -> Result<(), String> {
        self.check_hashing().map_err(|error| error.to_string())?;
        let has_text = self.columns.iter().any(|column| column.kind == Some(Kind::Text));
        if !self.is_wide() && (has_text || self.options.hash_bits.is_some()) {
            return Err("text and hashed features need sparse rows".into());
        }
        if self.wide.is_some() && self.options.wide != WideRows::Auto {
            return Err("sparse rows were decided on without being asked for".into());
        }
        if !self.is_wide() {
            return Ok(());
        }
        if self.keys.len() > 0 {
            return Err("sparse rows need no list of libsvm indices".into());
        }
        if self.dim() >= FIRST_UNNAMED as usize {
            return Err(format!("{} named features are too many", self.dim()));
        }
        if !self.columns.iter().filter_map(|column| column.feature).is_sorted() {
            return Err("the numbers are not in the order of their columns".into());
        }
        let value = |feature: &&Feature| feature.meaning == Meaning::Value;
        match self.features.iter().skip(self.number_features()).find(value) {
            Some(late) => Err(format!("the number `{}` comes after other features", late.name)),
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
        let is_number = matches!(kind, Kind::Number | Kind::Boolean);
        let has_levels = kind == Kind::Category && self.encoder.has_named_levels();
        if is_number != column.feature.is_some() || !(has_levels || levels.is_empty()) {
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
