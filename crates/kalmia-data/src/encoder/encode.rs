//! From a batch to a block: which rows are used, and which levels and features are new.

use std::collections::HashSet;

use super::Encoder;
use crate::batch::{Batch, Origin, Values};
use crate::block::Block;
use crate::error::{Error, Result, ValueProblem};
use crate::options::{EncoderOptions, Missing, Mode};
use crate::scalar;
use crate::schema::{Column, Feature, Kind, Meaning};

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
    /// Encodes a batch into `block`. After an error the encoder is as it was before.
    pub(crate) fn encode(
        &mut self,
        batch: &mut Batch,
        block: &mut Block,
        mode: Mode,
    ) -> Result<()> {
        let mark = self.mark();
        let outcome = self.try_encode(batch, block, mode);
        if outcome.is_err() {
            self.undo(mark);
        }
        outcome
    }

    fn try_encode(&mut self, batch: &mut Batch, block: &mut Block, mode: Mode) -> Result<()> {
        std::mem::swap(&mut block.origin, &mut batch.origin);
        block.index = self.kept_rows(batch, &block.origin, mode)?;
        self.counts.rows += batch.rows as u64;
        self.counts.skipped += (batch.rows - block.index.len()) as u64;
        self.counts.unknown_members += batch.unknown_members;
        let mut births = Vec::new();
        let codes = self.codes(batch, block, mode, &mut births)?;
        if !self.is_wide() {
            self.new_entries(batch, block, mode, &mut births);
        }
        if self.is_undecided() && mode == Mode::Learn && !block.index.is_empty() {
            self.decide_by_block(&mut births, block.index.len());
        }
        count_unseen(&codes, block);
        births.sort_unstable();
        self.grow(births, block)?;
        if self.is_wide() {
            self.place_wide(batch, block, &codes, mode)?;
        } else {
            self.place(batch, block, &codes, mode);
        }
        self.place_roles(batch, block, mode)?;
        block.first_row = batch.first_row;
        block.rows_read = batch.rows;
        Ok(())
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
            for (row, drop) in kept.filter(|(row, _)| missing(values, *row)) {
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
    fn codes(
        &mut self,
        batch: &Batch,
        block: &Block,
        mode: Mode,
        births: &mut Vec<Birth>,
    ) -> Result<Vec<Vec<u32>>> {
        let mut all = Vec::with_capacity(self.columns.len());
        let named = self.has_named_levels();
        for (i, (column, values)) in self.columns.iter_mut().zip(&batch.columns).enumerate() {
            let is_category = column.kind == Some(Kind::Category);
            let Coded { codes, first_absent } = if !(is_category && named) {
                let absent = |row: &&u32| missing(values, **row as usize);
                Coded { codes: Vec::new(), first_absent: block.index.iter().find(absent).copied() }
            } else if mode == Mode::Learn {
                learned_codes(column, values, block, |row, code| {
                    births.push(Birth { row, column: i, what: New::Level(code) });
                })?
            } else {
                known_codes(column, values, block, &mut self.counts.unseen)
            };
            if let (Some(row), None, Mode::Learn) = (first_absent, column.missing, mode) {
                births.push(Birth { row, column: i, what: New::Missing });
            }
            all.push(codes);
        }
        Ok(all)
    }

    /// The features that new libsvm indices add.
    fn new_entries(&mut self, batch: &Batch, block: &Block, mode: Mode, births: &mut Vec<Birth>) {
        let mut seen = HashSet::new();
        let filter = KeyFilter::new(&self.options);
        for entry in &batch.entries {
            if self.keys.feature(entry.key).is_some()
                || !filter.takes(entry.key)
                || !kept(block, entry.row)
            {
                continue;
            }
            if mode != Mode::Learn {
                self.counts.unseen += 1;
            } else if seen.insert(entry.key) {
                births.push(Birth { row: entry.row, column: 0, what: New::Index(entry.key) });
            }
        }
    }

    /// Gives each new feature its place at the end.
    fn grow(&mut self, births: Vec<Birth>, block: &Block) -> Result<()> {
        for Birth { row, column: i, what } in births {
            let feature = self.features.len();
            let (name, column, meaning) = match what {
                New::Missing => {
                    self.columns[i].missing = Some(feature);
                    (format!("{}:missing", self.columns[i].name), Some(i), Meaning::Missing)
                }
                New::Level(code) => {
                    let column = &mut self.columns[i];
                    column.levels.set_feature(code, feature);
                    let level = column.levels.as_slice()[code as usize].name.clone();
                    (format!("{}={level}", column.name), Some(i), Meaning::Level(level))
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
fn known_codes(column: &Column, values: &Values, block: &Block, unseen: &mut u64) -> Coded {
    let mut coded = Coded { codes: Vec::with_capacity(block.index.len()), first_absent: None };
    for &row in &block.index {
        let name = scalar::trim(values.texts.get(row as usize));
        coded.codes.push(if scalar::is_missing(name) {
            coded.first_absent.get_or_insert(row);
            ABSENT
        } else if let Some(code) = column.levels.find(name) {
            code
        } else {
            *unseen += 1;
            UNSEEN
        });
    }
    coded
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

fn missing(values: &Values, row: usize) -> bool {
    if values.is_text {
        scalar::is_missing(scalar::trim(values.texts.get(row)))
    } else {
        values.numbers[row].is_nan()
    }
}

fn kept(block: &Block, row: u32) -> bool {
    block.index.binary_search(&row).is_ok()
}
