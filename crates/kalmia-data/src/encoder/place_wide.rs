//! Writes the features of a wide block: the entries of each row by index.

use super::Encoder;
use super::encode::{ABSENT, KeyFilter, UNSEEN};
use crate::batch::{Batch, Entry, Origin};
use crate::block::Block;
use crate::error::{EntryProblem, Error, Result, RowProblem};
use crate::hash::{FeatureHash, PrefixHash};
use crate::hash_names::HashNames;
use crate::options::Missing;
use crate::scalar;
use crate::schema::{Column, Kind, RunningMean};
use crate::sparse::{FIRST_UNNAMED, SparseBlock};
use crate::tokens::{Analyzer, TokenScratch};

/// Bytes that the sparse rows of one block may need: a text of few bytes has many pieces.
const MAX_BLOCK_BYTES: usize = 1 << 30;
/// Bytes of one entry.
const ENTRY_BYTES: usize = size_of::<u32>() + size_of::<f64>();
/// Tokens of a row from which on repeated ones are removed before the row is complete.
const MIN_TOKENS_TO_MERGE: usize = 1 << 16;

/// One entry of a row.
#[derive(Clone, Copy)]
struct Item {
    index: u32,
    value: f64,
}

/// The row being written; its buffers are reused.
#[derive(Default)]
struct RowScratch<'n> {
    /// Levels and indicators of missing values.
    named: Vec<Item>,
    /// Hashed levels and libsvm entries.
    unnamed: Vec<Item>,
    /// Hashes of tokens.
    tokens: Vec<u32>,
    tokens_to_merge: usize,
    text: TokenScratch,
    /// The encoder's own, while rows are learned.
    names: Option<&'n mut HashNames>,
}

/// What does not change from row to row.
struct Frame<'a> {
    batch: &'a Batch,
    codes: &'a [Vec<u32>],
    origin: &'a Origin,
    analyzer: Analyzer,
    hash: FeatureHash,
    /// The hash of what follows `column=`, per text or hashed column.
    prefixes: Vec<Option<PrefixHash>>,
    filter: KeyFilter,
    raw_keys: bool,
    impute: bool,
    learn: bool,
}

impl Encoder {
    /// Writes the features of the kept rows, sparse; the number of missing values that were
    /// replaced. The arguments are those of [`Encoder::place_features`].
    pub(super) fn place_wide(
        &self,
        batch: &Batch,
        block: &mut Block,
        codes: &[Vec<u32>],
        means: &mut [RunningMean],
        names: Option<&mut HashNames>,
    ) -> Result<u64> {
        block.dim = self.features.len();
        block.x.clear();
        let mut rows = block.sparse.take().unwrap_or_default();
        rows.clear();
        let hash = self.options.hash()?;
        let frame = Frame {
            batch,
            codes,
            origin: &block.origin,
            analyzer: self.options.analyzer.checked()?,
            hash,
            prefixes: self.columns.iter().map(|column| self.prefix(column, hash)).collect(),
            filter: KeyFilter::new(&self.options),
            raw_keys: self.has_raw_keys(),
            impute: self.options.missing == Missing::Mean,
            learn: names.is_some(),
        };
        let mut scratch = RowScratch { names, ..RowScratch::default() };
        let Self { columns, options, .. } = self;
        let imputed = place_rows(
            &frame,
            columns,
            means,
            &block.index,
            options.intercept,
            &mut scratch,
            &mut rows,
        )?;
        block.sparse = Some(rows);
        Ok(imputed)
    }

    fn prefix(&self, column: &Column, hash: FeatureHash) -> Option<PrefixHash> {
        let hashed = match column.kind? {
            Kind::Text => true,
            Kind::Category => !self.has_named_levels(),
            Kind::Number | Kind::Boolean => false,
        };
        hashed.then(|| hash.after(column.name.as_bytes()).then(b"="))
    }
}

/// One value of a row.
#[derive(Clone, Copy)]
struct Cell<'a> {
    column: &'a Column,
    /// The place of the column.
    place: usize,
    /// The row of the block.
    i: usize,
    /// The row of the batch.
    at: u32,
}

/// Writes all rows; the number of missing values that were replaced.
fn place_rows(
    frame: &Frame<'_>,
    columns: &[Column],
    means: &mut [RunningMean],
    index: &[u32],
    intercept: bool,
    scratch: &mut RowScratch<'_>,
    rows: &mut SparseBlock,
) -> Result<u64> {
    let mut imputed = 0;
    let mut entries = &frame.batch.entries[..];
    for (i, &at) in index.iter().enumerate() {
        scratch.clear();
        if intercept {
            rows.push(0, 1.0);
        }
        for (place, column) in columns.iter().enumerate() {
            let cell = Cell { column, place, i, at };
            let mean = means.get_mut(place);
            imputed += u64::from(frame.column(cell, mean, scratch, rows)?);
        }
        entries = &entries[entries.partition_point(|entry| entry.row < at)..];
        let own = entries.iter().take_while(|entry| entry.row == at).count();
        frame.entries(&entries[..own], scratch)?;
        scratch.end_row(rows).map_err(|problem| frame.refuse(at, problem))?;
    }
    Ok(imputed)
}

impl Frame<'_> {
    /// Adds the entries of a column to a row; whether the value is missing and was replaced.
    fn column(
        &self,
        Cell { column, place, i, at }: Cell<'_>,
        mean: Option<&mut RunningMean>,
        scratch: &mut RowScratch<'_>,
        rows: &mut SparseBlock,
    ) -> Result<bool> {
        let values = &self.batch.columns[place];
        let absent = match (column.feature, self.prefixes[place]) {
            (Some(feature), _) => {
                let value = values.numbers[at as usize];
                let absent = self.impute && value.is_nan();
                match mean {
                    Some(mean) if absent => rows.push(feature as u32, mean.mean),
                    mean => {
                        rows.push(feature as u32, value);
                        mean.into_iter().filter(|_| self.learn).for_each(|m| m.observe(value));
                    }
                }
                absent
            }
            (None, Some(prefix)) => {
                let text = scalar::trim(values.texts.get(at as usize));
                let absent = scalar::is_missing(text);
                if !absent {
                    self.hashed(column, prefix, text, at, scratch)?;
                }
                absent
            }
            (None, None) => {
                let code = self.codes[place][i];
                let known = code != ABSENT && code != UNSEEN;
                let feature = if known { column.levels.feature(code) } else { None };
                scratch.push_named(feature);
                code == ABSENT
            }
        };
        if absent {
            scratch.push_named(column.missing);
        }
        Ok(absent)
    }

    /// Adds the tokens of a text, or a hashed level.
    fn hashed(
        &self,
        column: &Column,
        prefix: PrefixHash,
        bytes: &[u8],
        at: u32,
        scratch: &mut RowScratch<'_>,
    ) -> Result<()> {
        let text = std::str::from_utf8(bytes).map_err(|_| {
            crate::source::not_utf8(self.origin.location(at as usize), &column.name)
        })?;
        if column.kind != Some(Kind::Text) {
            let hash = prefix.index(bytes);
            scratch.unnamed.push(Item { index: FIRST_UNNAMED + hash, value: 1.0 });
            if let Some(names) = &mut scratch.names {
                names.note(hash, &column.name, bytes);
            }
            return Ok(());
        }
        let RowScratch { tokens, tokens_to_merge, text: buffers, names, .. } = scratch;
        self.analyzer.each(text, buffers, |token| {
            let hash = prefix.index(token);
            tokens.push(hash);
            if let Some(names) = names {
                names.note(hash, &column.name, token);
            }
            if tokens.len() >= *tokens_to_merge {
                merge(tokens);
                *tokens_to_merge = MIN_TOKENS_TO_MERGE.max(2 * tokens.len());
            }
        });
        Ok(())
    }

    /// Adds the entries of a libsvm row.
    fn entries(&self, entries: &[Entry], scratch: &mut RowScratch<'_>) -> Result<()> {
        for &Entry { row, key, value } in entries {
            if value == 0.0 || !self.filter.takes(key) {
                continue;
            }
            let number = if !self.raw_keys {
                self.hash.index(Decimal::new(key).as_bytes())
            } else if key < FIRST_UNNAMED {
                key
            } else {
                let entry = format!("{key}:{value}");
                let problem = EntryProblem::IndexTooLarge;
                return Err(self.refuse(row, RowProblem::Entry { entry, problem }));
            };
            scratch.unnamed.push(Item { index: FIRST_UNNAMED + number, value });
        }
        Ok(())
    }

    fn refuse(&self, at: u32, problem: RowProblem) -> Error {
        Error::Row { at: self.origin.location(at as usize), problem }
    }
}

impl RowScratch<'_> {
    fn clear(&mut self) {
        self.named.clear();
        self.unnamed.clear();
        self.tokens.clear();
        self.tokens_to_merge = MIN_TOKENS_TO_MERGE;
    }

    fn push_named(&mut self, feature: Option<usize>) {
        // named features are at most the columns and levels that memory holds
        self.named.extend(feature.map(|feature| Item { index: feature as u32, value: 1.0 }));
    }

    /// Writes the entries, by index. The intercept and the numbers are already there.
    fn end_row(&mut self, rows: &mut SparseBlock) -> std::result::Result<(), RowProblem> {
        merge(&mut self.tokens);
        let tokens = self.tokens.iter().map(|hash| FIRST_UNNAMED + hash);
        self.named.sort_unstable_by_key(|item| item.index);
        self.named.iter().for_each(|item| rows.push(item.index, item.value));
        let ascending = |items: &[Item]| items.is_sorted_by(|a, b| a.index < b.index);
        if self.unnamed.is_empty() {
            tokens.for_each(|index| rows.push(index, 1.0));
        } else if self.tokens.is_empty() && ascending(&self.unnamed) {
            // as indices of libsvm come
            self.unnamed.iter().for_each(|item| rows.push(item.index, item.value));
        } else {
            self.unnamed.extend(tokens.map(|index| Item { index, value: 1.0 }));
            self.unnamed.sort_unstable_by_key(|item| item.index);
            for same in self.unnamed.chunk_by(|a, b| a.index == b.index) {
                let sum: f64 = same.iter().map(|item| item.value).sum();
                if !sum.is_finite() {
                    return Err(RowProblem::HashedSum);
                }
                if sum != 0.0 {
                    rows.push(same[0].index, sum);
                }
            }
        }
        rows.end_row();
        if rows.indices.len() > MAX_BLOCK_BYTES / ENTRY_BYTES {
            return Err(RowProblem::BlockTooLarge { limit: MAX_BLOCK_BYTES });
        }
        Ok(())
    }
}

/// Sorts numbers and removes repeated ones.
fn merge(numbers: &mut Vec<u32>) {
    numbers.sort_unstable();
    numbers.dedup();
}

/// The decimal digits of a number, without an allocation.
struct Decimal {
    digits: [u8; 10],
    start: usize,
}

impl Decimal {
    fn new(mut number: u32) -> Self {
        let mut digits = [b'0'; 10];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return Self { digits, start };
            }
        }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_digits_are_the_usual_ones() {
        for number in [0, 7, 10, 99, 100, 1 << 31, u32::MAX] {
            assert_eq!(Decimal::new(number).as_bytes(), number.to_string().as_bytes());
        }
    }
}
