//! From a batch to a block: which rows are used, and which levels and features are new.
//!
//! Learning changes the encoder, predicting does not; both write a block by the same code, which
//! borrows the encoder and returns what was counted.

use std::collections::HashSet;

use super::{Counts, Encoder};
use crate::batch::{Batch, Entry, Origin, Values};
use crate::block::Block;
use crate::error::{Error, Result, ValueProblem};
use crate::hash_names::HashNames;
use crate::options::{EncoderOptions, Missing, Mode};
use crate::scalar;
use crate::schema::{Column, Feature, Kind, Meaning, RunningMean};

/// The code of a value whose level is unknown.
pub(super) const UNSEEN: u32 = u32::MAX;
/// The code of a missing value.
pub(super) const ABSENT: u32 = u32::MAX - 1;

/// A feature that appears for the first time. Sorted by row and column, so the order of the
/// features does not depend on where blocks begin.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Birth {
    row: u32,
    column: usize,
    pub what: New,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum New {
    Missing,
    Level(u32),
    Index(u32),
}

/// The rows of a category as codes of levels, and the first row without a value.
struct Coded {
    codes: Vec<u32>,
    first_absent: Option<u32>,
}

/// The libsvm indices that the options choose.
pub(super) struct KeyFilter {
    only: Option<HashSet<u32>>,
    exclude: HashSet<u32>,
}

impl KeyFilter {
    pub fn new(options: &EncoderOptions) -> Self {
        // `07` is no index: names are compared as texts
        let key = |name: &String| name.parse().ok().filter(|key: &u32| key.to_string() == *name);
        let keys = |names: &Vec<String>| names.iter().filter_map(key).collect();
        Self { only: options.features.as_ref().map(keys), exclude: keys(&options.exclude) }
    }

    #[inline]
    pub fn takes(&self, key: u32) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&key))
            && (self.exclude.is_empty() || !self.exclude.contains(&key))
    }
}

impl Encoder {
    /// Encodes a batch into `block`, which holds the origin of its rows already. After an error the
    /// encoder is as it was before.
    pub(crate) fn encode(&mut self, batch: &Batch, block: &mut Block, mode: Mode) -> Result<()> {
        if mode != Mode::Learn {
            let counts = self.encode_unchanged(batch, block, mode)?;
            self.counts = self.counts.plus(counts);
            return Ok(());
        }
        let mark = self.mark();
        let outcome = self.try_learn(batch, block);
        if outcome.is_err() {
            self.undo(mark);
        }
        outcome
    }

    /// As [`Encoder::encode`] for rows that are not learned; what it counted.
    pub(crate) fn encode_unchanged(
        &self,
        batch: &Batch,
        block: &mut Block,
        mode: Mode,
    ) -> Result<Counts> {
        let mut counts = self.choose_rows(batch, block, mode)?;
        let codes = self.known_codes(batch, block, &mut counts.unseen);
        if !self.is_wide() {
            counts.unseen += self.unknown_entries(batch, block);
        }
        count_unseen(&codes, block);
        let mut means = self.means();
        counts.imputed = self.place_features(batch, block, &codes, &mut means, None)?;
        self.place_roles(batch, block, mode)?;
        Ok(counts)
    }

    fn try_learn(&mut self, batch: &Batch, block: &mut Block) -> Result<()> {
        let mut counts = self.choose_rows(batch, block, Mode::Learn)?;
        let mut births = Vec::new();
        let codes = self.learned_codes(batch, block, &mut births)?;
        if !self.is_wide() {
            self.new_entries(batch, block, &mut births);
        }
        if self.is_undecided() && !block.index.is_empty() {
            self.decide_by_block(&mut births, block.index.len());
        }
        block.unseen.clear();
        births.sort_unstable();
        self.grow(births, block)?;
        let mut means = self.means();
        let mut names = std::mem::take(&mut self.hash_names);
        let placed = self.place_features(batch, block, &codes, &mut means, Some(&mut names));
        self.hash_names = names;
        counts.imputed = placed?;
        self.columns.iter_mut().zip(means).for_each(|(column, mean)| column.set_mean(mean));
        let slot = self.role_slots().target;
        if let Some(target) = &mut self.target {
            target.learn_labels(&batch.columns[slot], &block.index, &block.origin)?;
        }
        self.place_roles(batch, block, Mode::Learn)?;
        self.counts = self.counts.plus(counts);
        Ok(())
    }

    /// Enters the rows that are used into the block; the counts of all rows.
    fn choose_rows(&self, batch: &Batch, block: &mut Block, mode: Mode) -> Result<Counts> {
        block.index = self.kept_rows(batch, &block.origin, mode)?;
        block.first_row = batch.first_row;
        block.rows_read = batch.rows;
        Ok(Counts {
            rows: batch.rows as u64,
            skipped: (batch.rows - block.index.len()) as u64,
            unknown_members: batch.unknown_members,
            ..Counts::default()
        })
    }

    /// The means that stand for missing values, per column; none if values are not replaced.
    fn means(&self) -> Vec<RunningMean> {
        match self.options.missing {
            Missing::Mean => self.columns.iter().map(Column::running_mean).collect(),
            Missing::Error | Missing::Skip => Vec::new(),
        }
    }

    /// Writes the features of the kept rows; the number of missing values that were replaced.
    /// `names` of hashed features are there if the rows are learned; values then change the means.
    fn place_features(
        &self,
        batch: &Batch,
        block: &mut Block,
        codes: &[Vec<u32>],
        means: &mut [RunningMean],
        names: Option<&mut HashNames>,
    ) -> Result<u64> {
        if self.is_wide() {
            self.place_wide(batch, block, codes, means, names)
        } else {
            Ok(self.place(batch, block, codes, means, names.is_some()))
        }
    }

    /// The rows that are used. Refuses infinite numbers, and under [`Missing::Error`] missing
    /// values.
    fn kept_rows(&self, batch: &Batch, origin: &Origin, mode: Mode) -> Result<Vec<u32>> {
        let roles = self.role_slots();
        let mut drop = vec![false; batch.rows];
        batch.bad.iter().for_each(|bad| drop[bad.row as usize] = true);
        let mut first: Option<(usize, usize)> = None;
        for (slot, values) in batch.columns.iter().enumerate() {
            if !values.is_text && values.numbers.iter().fold(true, |all, v| all & v.is_finite()) {
                continue;
            }
            if let Some(row) = values.numbers.iter().position(|v| v.is_infinite()) {
                return Err(Error::Value {
                    at: origin.location(row),
                    column: self.slot_name(slot),
                    value: values.numbers[row].to_string(),
                    problem: ValueProblem::NotFinite,
                });
            }
            let unused = (mode == Mode::Predict && slot == roles.target)
                || (mode != Mode::Learn && Some(slot) == roles.weight);
            let imputed = slot < roles.target && self.missing() == Missing::Mean;
            if unused || imputed {
                continue;
            }
            let kept = drop.iter_mut().enumerate().filter(|(_, drop)| !**drop);
            for (row, drop) in kept.filter(|(row, _)| values.is_missing_at(*row)) {
                *drop = true;
                first = Some(first.map_or((row, slot), |found| found.min((row, slot))));
            }
        }
        match first {
            Some((row, slot)) if self.missing() == Missing::Error => {
                Err(Error::MissingValue { at: origin.location(row), column: self.slot_name(slot) })
            }
            _ => Ok((0..batch.rows as u32).filter(|&row| !drop[row as usize]).collect()),
        }
    }

    fn slot_name(&self, slot: usize) -> String {
        self.slots(Mode::Learn).swap_remove(slot).name
    }

    /// The level of every kept value of every category, and the features that levels and missing
    /// values add.
    fn learned_codes(
        &mut self,
        batch: &Batch,
        block: &Block,
        births: &mut Vec<Birth>,
    ) -> Result<Vec<Vec<u32>>> {
        let mut all = Vec::with_capacity(self.columns.len());
        let named = self.has_named_levels();
        for (i, (column, values)) in self.columns.iter_mut().zip(&batch.columns).enumerate() {
            let Coded { codes, first_absent } = if column.kind == Some(Kind::Category) && named {
                learned_codes(column, values, block, |row, code| {
                    births.push(Birth { row, column: i, what: New::Level(code) });
                })?
            } else {
                let absent = |row: &&u32| values.is_missing_at(**row as usize);
                Coded { codes: Vec::new(), first_absent: block.index.iter().find(absent).copied() }
            };
            if let (Some(row), None) = (first_absent, column.missing) {
                births.push(Birth { row, column: i, what: New::Missing });
            }
            all.push(codes);
        }
        Ok(all)
    }

    /// The level of every kept value of every category; unknown ones are counted in `unseen`.
    fn known_codes(&self, batch: &Batch, block: &Block, unseen: &mut u64) -> Vec<Vec<u32>> {
        let named = self.has_named_levels();
        let codes = |(column, values): (&Column, &Values)| match column.kind {
            Some(Kind::Category) if named => known_codes(column, values, block, unseen),
            _ => Vec::new(),
        };
        self.columns.iter().zip(&batch.columns).map(codes).collect()
    }

    /// The features that new libsvm indices add.
    fn new_entries(&self, batch: &Batch, block: &Block, births: &mut Vec<Birth>) {
        let mut seen = HashSet::new();
        for entry in self.strange_entries(batch, block) {
            if seen.insert(entry.key) {
                births.push(Birth { row: entry.row, column: 0, what: New::Index(entry.key) });
            }
        }
    }

    /// The number of entries under libsvm indices that have no feature.
    fn unknown_entries(&self, batch: &Batch, block: &Block) -> u64 {
        self.strange_entries(batch, block).count() as u64
    }

    /// The entries of kept rows whose libsvm index is chosen and has no feature.
    fn strange_entries<'a>(
        &'a self,
        batch: &'a Batch,
        block: &'a Block,
    ) -> impl Iterator<Item = &'a Entry> {
        let filter = (!batch.entries.is_empty()).then(|| KeyFilter::new(&self.options));
        batch.entries.iter().filter(move |entry| {
            self.keys.feature(entry.key).is_none()
                && filter.as_ref().is_some_and(|filter| filter.takes(entry.key))
                && kept(block, entry.row)
        })
    }

    /// Gives each new feature its place at the end.
    fn grow(&mut self, births: Vec<Birth>, block: &Block) -> Result<()> {
        for Birth { row, column: i, what } in births {
            let feature = self.features.len();
            let (name, column, meaning) = match what {
                New::Missing => {
                    self.columns[i].missing = Some(feature);
                    (self.columns[i].missing_name(), Some(i), Meaning::Missing)
                }
                New::Level(code) => {
                    let column = &mut self.columns[i];
                    column.levels.set_feature(code, feature);
                    let level = column.levels.as_slice()[code as usize].name.clone();
                    (column.level_name(&level), Some(i), Meaning::Level(level))
                }
                New::Index(key) => {
                    self.keys.push(key, feature);
                    (key.to_string(), None, Meaning::Index(key))
                }
            };
            let limit = self.options.max_features;
            if feature >= limit {
                let column = column.map_or(name, |i| self.columns[i].name.clone());
                let at = block.origin.location(row as usize);
                return Err(Error::TooManyFeatures { at, column, limit });
            }
            self.features.push(Feature { name, column, meaning });
        }
        Ok(())
    }
}

/// The codes of a category that learns: new levels are entered, and reported to `born` unless they
/// are the baseline.
fn learned_codes(
    column: &mut Column,
    values: &Values,
    block: &Block,
    mut born: impl FnMut(u32, u32),
) -> Result<Coded> {
    let mut coded = Coded { codes: Vec::with_capacity(block.index.len()), first_absent: None };
    for &row in &block.index {
        let name = scalar::trim(values.texts.get(row as usize));
        if scalar::is_missing(name) {
            coded.first_absent.get_or_insert(row);
            coded.codes.push(ABSENT);
            continue;
        }
        if let Some(code) = column.levels.find(name) {
            coded.codes.push(code);
            continue;
        }
        let at = || block.origin.location(row as usize);
        let name =
            std::str::from_utf8(name).map_err(|_| crate::source::not_utf8(at(), &column.name))?;
        let code = column.levels.push(name);
        if code > 0 {
            born(row, code);
        }
        coded.codes.push(code);
    }
    Ok(coded)
}

/// The codes of a category whose levels are fixed; unknown ones are counted in `unseen`.
fn known_codes(column: &Column, values: &Values, block: &Block, unseen: &mut u64) -> Vec<u32> {
    let mut code = |&row: &u32| {
        let name = scalar::trim(values.texts.get(row as usize));
        if scalar::is_missing(name) {
            ABSENT
        } else if let Some(code) = column.levels.find(name) {
            code
        } else {
            *unseen += 1;
            UNSEEN
        }
    };
    block.index.iter().map(&mut code).collect()
}

/// Counts the unknown levels of each row.
fn count_unseen(codes: &[Vec<u32>], block: &mut Block) {
    block.unseen.clear();
    for column in codes.iter().filter(|column| column.contains(&UNSEEN)) {
        block.unseen.resize(column.len(), 0);
        for (count, &code) in block.unseen.iter_mut().zip(column) {
            *count += u32::from(code == UNSEEN);
        }
    }
}

fn kept(block: &Block, row: u32) -> bool {
    block.index.binary_search(&row).is_ok()
}
