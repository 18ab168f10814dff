//! From a batch to a block: missing values, levels, new features, and the numbers put in place.

use crate::batch::{Batch, Values, Origin};
use crate::block::Block;
use crate::encoder::{Counts, Encoder};
use crate::error::{Error, Result, excerpt};
use crate::options::{Missing, Mode};
use crate::scalar;
use crate::schema::{Feature, Kind, Meaning};
use crate::target::Coding;

/// The code of a value whose level is unknown.
const UNSEEN: u32 = u32::MAX;
/// The code of a missing value.
const ABSENT: u32 = u32::MAX - 1;

/// A feature that appears for the first time. Sorted by row and column, so that the order of the
/// features does not depend on where blocks begin.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Birth {
    row: u32,
    column: usize,
    what: New,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum New {
    Missing,
    Level(u32),
    Index(u32),
}

/// What an error must undo.
struct Mark {
    features: usize,
    keys: usize,
    columns: Vec<(usize, Option<usize>, f64, u64)>,
    coding: Option<Coding>,
    counts: Counts,
}

impl Encoder {
    /// Encodes a batch into `block`. On an error the encoder is as it was before.
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
        self.new_entries(batch, block, mode, &mut births);
        births.sort_unstable();
        self.grow(births, block)?;
        self.place(batch, block, &codes, mode);
        self.place_roles(batch, block, mode)?;
        (block.first_row, block.rows_read) = (batch.first_row, batch.rows);
        Ok(())
    }

    /// The rows that are used. Refuses infinite numbers, and under [`Missing::Error`] missing
    /// values.
    fn kept_rows(&self, batch: &Batch, origin: &Origin, mode: Mode) -> Result<Vec<u32>> {
        let (target, weight, _) = self.role_slots();
        let mut drop = vec![false; batch.rows];
        let mut first: Option<(usize, usize)> = None;
        for (slot, values) in batch.columns.iter().enumerate() {
            if !values.is_text && values.numbers.iter().fold(true, |all, v| all & v.is_finite()) {
                continue;
            }
            if let Some(row) = values.numbers.iter().position(|v| v.is_infinite()) {
                let (at, column) = (origin.location(row), self.slot_name(slot));
                let value = values.numbers[row].to_string();
                return Err(Error::Value {
                    at,
                    column,
                    value,
                    reason: "is not a finite number; fix the value".into(),
                });
            }
            if (mode == Mode::Predict && slot == target)
                || (mode != Mode::Learn && Some(slot) == weight)
            {
                continue;
            }
            for (row, drop) in drop.iter_mut().enumerate() {
                if is_missing(values, row) && (slot >= target || self.missing() != Missing::Mean) {
                    *drop = true;
                    first = Some(first.map_or((row, slot), |found| found.min((row, slot))));
                }
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

    /// The level of every kept value of every category, new levels entered, and the births of
    /// levels and indicators.
    fn codes(
        &mut self,
        batch: &Batch,
        block: &Block,
        mode: Mode,
        births: &mut Vec<Birth>,
    ) -> Result<Vec<Vec<u32>>> {
        let mut all = Vec::with_capacity(self.columns.len());
        for (i, column) in self.columns.iter_mut().enumerate() {
            let (values, mut codes, mut absent) = (&batch.columns[i], Vec::new(), None);
            if column.kind != Some(Kind::Category) {
                absent =
                    block.index.iter().find(|&&row| values.numbers[row as usize].is_nan()).copied();
            } else {
                codes.reserve(block.index.len());
                for &row in &block.index {
                    let name = scalar::trim(values.texts.get(row as usize));
                    codes.push(if scalar::is_missing(name) {
                        absent.get_or_insert(row);
                        ABSENT
                    } else if let Some(code) = column.levels.find(name) {
                        code
                    } else if mode != Mode::Learn {
                        self.counts.unseen += 1;
                        UNSEEN
                    } else {
                        let at = || block.origin.location(row as usize);
                        let name = std::str::from_utf8(name)
                            .map_err(|_| crate::source::not_utf8(at(), &column.name))?;
                        let code = column.levels.push(name);
                        if code > 0 {
                            births.push(Birth { row, column: i, what: New::Level(code) });
                        }
                        code
                    });
                }
            }
            if let (Some(row), None, Mode::Learn) = (absent, column.missing, mode) {
                births.push(Birth { row, column: i, what: New::Missing });
            }
            all.push(codes);
        }
        Ok(all)
    }

    /// The births of libsvm indices.
    fn new_entries(&mut self, batch: &Batch, block: &Block, mode: Mode, births: &mut Vec<Birth>) {
        let mut seen = std::collections::HashSet::new();
        for entry in &batch.entries {
            if self.keys.feature(entry.key).is_some()
                || !self.wants_key(entry.key)
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

    fn wants_key(&self, key: u32) -> bool {
        let (o, plain) =
            (&self.options, self.options.features.is_none() && self.options.exclude.is_empty());
        let name = || key.to_string();
        plain
            || (o.features.as_ref().is_none_or(|f| f.contains(&name()))
                && !o.exclude.contains(&name()))
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
            if feature >= self.options.max_features {
                let column = column.map_or(name, |i| self.columns[i].name.clone());
                let at = block.origin.location(row as usize);
                return Err(Error::TooManyFeatures {
                    at,
                    column,
                    limit: self.options.max_features,
                });
            }
            self.features.push(Feature { name, column, meaning });
        }
        Ok(())
    }

    /// Writes the features of the kept rows.
    fn place(&mut self, batch: &Batch, block: &mut Block, codes: &[Vec<u32>], mode: Mode) {
        let dim = self.features.len();
        block.dim = dim;
        block.x.clear();
        block.x.resize(dim * block.index.len(), 0.0);
        if dim == 0 {
            return;
        }
        if self.options.intercept {
            block.x.chunks_exact_mut(dim).for_each(|row| row[0] = 1.0);
        }
        let learn_mean = mode == Mode::Learn && self.options.missing == Missing::Mean;
        for (i, column) in self.columns.iter_mut().enumerate() {
            let rows = block.x.chunks_exact_mut(dim);
            let Some(feature) = column.feature else {
                for (row, &code) in rows.zip(&codes[i]) {
                    let feature = match code {
                        ABSENT => {
                            self.counts.imputed += 1;
                            column.missing
                        }
                        UNSEEN => None,
                        code => column.levels.feature(code),
                    };
                    feature.into_iter().for_each(|f| row[f] = 1.0);
                }
                continue;
            };
            let numbers = &batch.columns[i].numbers;
            if self.options.missing != Missing::Mean {
                rows.zip(&block.index).for_each(|(row, &at)| row[feature] = numbers[at as usize]);
                continue;
            }
            for (row, &at) in rows.zip(&block.index) {
                let value = numbers[at as usize];
                if value.is_nan() {
                    row[feature] = column.mean;
                    column.missing.into_iter().for_each(|f| row[f] = 1.0);
                    self.counts.imputed += 1;
                } else {
                    row[feature] = value;
                    if learn_mean {
                        column.observe(value);
                    }
                }
            }
        }
        self.place_entries(batch, block);
    }

    fn place_entries(&self, batch: &Batch, block: &mut Block) {
        let mut at = 0;
        for entry in &batch.entries {
            while at < block.index.len() && block.index[at] < entry.row {
                at += 1;
            }
            if let Some(feature) = self.keys.feature(entry.key)
                && block.index.get(at) == Some(&entry.row)
            {
                block.x[at * block.dim + feature] = entry.value;
            }
        }
    }

    /// Writes targets, weights and offsets.
    fn place_roles(&mut self, batch: &Batch, block: &mut Block, mode: Mode) -> Result<()> {
        let (slot, weight, offset) = self.role_slots();
        block.y.clear();
        if let Some(target) = &mut self.target {
            let values = &batch.columns[slot];
            if mode == Mode::Learn {
                target.learn_negative(values, &block.index);
            }
            for &row in &block.index {
                match target.code(values, row as usize) {
                    Ok(y) => block.y.push(y.unwrap_or(f64::NAN)),
                    Err(_) if mode == Mode::Predict => block.y.push(f64::NAN),
                    Err(_) => {
                        let (at, column) =
                            (block.origin.location(row as usize), target.name.clone());
                        let value = excerpt(values.texts.get(row as usize));
                        return Err(Error::Value {
                            at,
                            column,
                            value,
                            reason: "is a third value of a two-valued target".into(),
                        });
                    }
                }
            }
        }
        let pick = |slot: usize| {
            block.index.iter().map(|&row| batch.columns[slot].numbers[row as usize]).collect()
        };
        (block.weight, block.offset) = (weight.map(pick), offset.map(pick));
        Ok(())
    }

    fn mark(&self) -> Mark {
        let columns = self
            .columns
            .iter()
            .map(|c| (c.levels.as_slice().len(), c.missing, c.mean, c.count))
            .collect();
        let coding = self.target.as_ref().and_then(|t| t.coding.clone());
        Mark {
            features: self.features.len(),
            keys: self.keys.len(),
            columns,
            coding,
            counts: self.counts,
        }
    }

    fn undo(&mut self, mark: Mark) {
        self.features.truncate(mark.features);
        self.keys.truncate(mark.keys);
        for (column, (levels, missing, mean, count)) in self.columns.iter_mut().zip(mark.columns) {
            column.levels.truncate(levels);
            (column.missing, column.mean, column.count) = (missing, mean, count);
        }
        if let Some(target) = &mut self.target {
            target.coding = mark.coding;
        }
        self.counts = mark.counts;
    }
}

fn is_missing(values: &Values, row: usize) -> bool {
    if values.is_text {
        scalar::is_missing(scalar::trim(values.texts.get(row)))
    } else {
        values.numbers[row].is_nan()
    }
}

fn kept(block: &Block, row: u32) -> bool {
    block.index.binary_search(&row).is_ok()
}
