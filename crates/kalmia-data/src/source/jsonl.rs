//! Reads JSON Lines: one object per line, members found by name, absent ones missing.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::lines::{LineRow, LineRows};
use super::{Plan, Source, check_names, nonfinite, too_many_columns};
use crate::batch::{Batch, Slot, Values, Want};
use crate::chunks::Chunks;
use crate::error::{Error, HeaderProblem, Result, RowProblem, excerpt};
use crate::options::SourceOptions;
use crate::part::Before;
use crate::reader::LateMember;
use crate::scalar;

pub(super) struct Jsonl {
    rows: LineRows,
    names: Vec<String>,
    plan: Plan,
    members: Members,
}

/// The members of the objects.
#[derive(Debug, Default)]
struct Members {
    slots: HashMap<String, usize>,
    /// Those of the first rows, if these decided the columns.
    first: Option<HashSet<String>>,
}

/// Names kept of members that no column takes.
pub(crate) const MAX_IGNORED: usize = 8;

/// Reads objects whose columns are known from memory, without a stream and its buffers: the way of
/// small inputs, for which these would cost more than the rows.
#[derive(Debug)]
pub(crate) struct JsonRows {
    plan: Plan,
    members: Members,
}

impl JsonRows {
    pub fn new(slots: Vec<Slot>) -> Self {
        let names = slots.iter().enumerate();
        let slots_of = names.flat_map(|(i, slot)| slot.names().map(move |name| (name.into(), i)));
        let members = Members { slots: slots_of.collect(), first: None };
        Self { plan: Plan { columns: Vec::new(), slots }, members }
    }

    pub fn slots(&self) -> &[Slot] {
        &self.plan.slots
    }

    /// Adds up to `rows` lines to the batch.
    pub fn fill(
        &self,
        file: &str,
        bytes: &[u8],
        max_line_bytes: usize,
        rows: usize,
        batch: &mut Batch,
    ) -> Result<()> {
        let end = batch.rows + rows;
        let mut line = 0;
        let mut rest = bytes;
        while !rest.is_empty() && batch.rows < end {
            let len = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let (text, after) = rest.split_at(len);
            rest = after;
            line += 1;
            if text.trim_ascii().is_empty() {
                continue;
            }
            let row = LineRow { text, file, row: batch.rows as u64, line };
            if len > max_line_bytes {
                let at = row.location();
                return Err(Error::LineTooLong { at, limit: max_line_bytes, may_be_quote: false });
            }
            add(row, &self.plan, &self.members, batch)?;
            batch.end_row(line);
            batch.pad();
        }
        Ok(())
    }
}

impl Jsonl {
    /// Opens the stream by `chunks`; it has rows and lines before it if it is a part. Columns that
    /// are not `known` are the members of its first block of rows.
    pub fn open(
        mut reader: Box<dyn Read + Send>,
        chunks: impl Fn(Box<dyn Read + Send>) -> Result<Chunks>,
        file: &str,
        before: Before,
        options: &SourceOptions,
        known: Option<&[Slot]>,
    ) -> Result<Self> {
        let mut names = Vec::new();
        if let Some(known) = known {
            names.extend(known.iter().flat_map(Slot::names).map(String::from));
        } else {
            // The rows that showed the columns are read again from memory.
            let Discovered { seen, rest } = discover(chunks(reader)?, before, options, &mut names)?;
            reader = Box::new(std::io::Cursor::new(seen).chain(rest));
        }
        if names.is_empty() {
            return Err(Error::Header { file: file.into(), problem: HeaderProblem::NoMembers });
        }
        let first = known.is_none().then(|| names.iter().cloned().collect());
        check_names(file, &mut names)?;
        Ok(Self {
            rows: LineRows::new(chunks(reader)?, options.bad_rows, holds_row).after(before),
            names,
            plan: Plan::default(),
            members: Members { slots: HashMap::new(), first },
        })
    }
}

/// Whether a line is not blank.
pub(super) fn holds_row(line: &[u8]) -> bool {
    !line.trim_ascii().is_empty()
}

/// Adds the object of a line to the batch.
fn add(row: LineRow<'_>, plan: &Plan, members: &Members, batch: &mut Batch) -> Result<()> {
    let mut bad = None;
    let mut late = None;
    let mut outcome =
        object(row.text, Row { plan, members, batch, bad: &mut bad, late: &mut late });
    if outcome.is_err()
        && bad.is_none()
        && let Some(text) = nonfinite::usual(row.text)
    {
        batch.drop_partial_row();
        outcome = object(&text, Row { plan, members, batch, bad: &mut bad, late: &mut late });
    }
    if let (Some(name), None) = (late, &batch.late_member) {
        batch.late_member = Some(LateMember { name, at: row.location() });
    }
    if let Some((slot, value)) = bad {
        return Err(super::bad_field(row.location(), &plan.slots[slot], &value));
    }
    outcome.map_err(|error| Error::Row {
        at: row.location(),
        problem: RowProblem::Json { reason: error.to_string() },
    })
}

fn object<'de, S: DeserializeSeed<'de, Value = ()>>(
    line: &'de [u8],
    seed: S,
) -> serde_json::Result<()> {
    let mut parser = serde_json::Deserializer::from_slice(line);
    seed.deserialize(&mut parser)?;
    parser.end()
}

/// A stream whose first rows were read: their bytes, and the rest.
struct Discovered {
    seen: Vec<u8>,
    rest: Box<dyn Read + Send>,
}

/// Collects the members of the first block of rows, in order of appearance.
fn discover(
    mut chunks: Chunks,
    before: Before,
    options: &SourceOptions,
    names: &mut Vec<String>,
) -> Result<Discovered> {
    let mut seen = Vec::new();
    let mut line = before.lines;
    let mut known = std::collections::HashSet::new();
    let mut rows = 0;
    while rows < options.block_rows && seen.len() <= options.max_line_bytes.max(1 << 20) {
        let Some(len) = chunks.next_line(before.rows + rows as u64 + 1, line + 1)? else { break };
        let text = &chunks.lines()[..len];
        line += 1;
        if holds_row(text) {
            rows += 1;
            // A line that is no object is reported with its place when its row is read.
            let parsed = object(text, Names { names, known: &mut known });
            if let (Err(_), Some(text)) = (parsed, nonfinite::usual(text)) {
                let _ = object(&text, Names { names, known: &mut known });
            }
            if names.len() > options.max_columns {
                return Err(too_many_columns(chunks.file(), options.max_columns));
            }
        }
        seen.extend_from_slice(text);
        chunks.advance(len);
    }
    Ok(Discovered { seen, rest: chunks.into_rest() })
}

impl Source for Jsonl {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn has_named_values(&self) -> bool {
        true
    }

    fn bind(&mut self, plan: &Plan) -> Result<()> {
        self.plan = plan.clone();
        let bound = self.names.iter().zip(&plan.columns);
        self.members.slots =
            bound.filter_map(|(name, slot)| slot.map(|slot| (name.clone(), slot))).collect();
        Ok(())
    }

    fn fill(&mut self, batch: &mut Batch, rows: usize) -> Result<()> {
        let Self { rows: lines, plan, members, .. } = self;
        lines.fill(batch, rows, |row, batch| add(row, plan, members, batch))
    }

    fn skip(&mut self, rows: u64) -> Result<u64> {
        self.rows.skip(rows)
    }
}

/// Collects the names of an object's members.
struct Names<'a> {
    names: &'a mut Vec<String>,
    known: &'a mut std::collections::HashSet<String>,
}

impl<'de> DeserializeSeed<'de> for Names<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Names<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            map.next_value::<IgnoredAny>()?;
            if self.known.insert(name.clone()) {
                self.names.push(name);
            }
        }
        Ok(())
    }
}

/// Adds an object to the batch. `bad` receives a value that its column cannot hold, `late` a member
/// that the first rows did not have.
struct Row<'a> {
    plan: &'a Plan,
    members: &'a Members,
    late: &'a mut Option<String>,
    batch: &'a mut Batch,
    bad: &'a mut Option<(usize, Vec<u8>)>,
}

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        loop {
            let ignored = &mut self.batch.ignored;
            let seed = Key { of: self.members, late: self.late, ignored };
            let Some(key) = map.next_key_seed(seed)? else { break };
            let Some(slot) = key else {
                self.batch.unknown_members += 1;
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let name = &self.plan.slots[slot].name;
            let column = &mut self.batch.columns[slot];
            let want = self.plan.slots[slot].want;
            if column.len() > self.batch.rows {
                return Err(A::Error::custom(format!("member `{name}` appears twice")));
            }
            if let Some(value) = map.next_value_seed(Cell { column, want, name })? {
                *self.bad = Some((slot, value));
                return Err(A::Error::custom("bad value"));
            }
        }
        Ok(())
    }
}

/// A member's name, as its slot.
struct Key<'a> {
    of: &'a Members,
    late: &'a mut Option<String>,
    ignored: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;
    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }
    fn visit_str<E>(self, name: &str) -> std::result::Result<Self::Value, E> {
        let slot = self.of.slots.get(name).copied();
        let late = |first: &HashSet<String>| !first.contains(name);
        if slot.is_none() && self.late.is_none() && self.of.first.as_ref().is_some_and(late) {
            *self.late = Some(name.to_owned());
        }
        if slot.is_none()
            && self.ignored.len() < MAX_IGNORED
            && !self.ignored.iter().any(|known| known == name)
        {
            self.ignored.push(name.to_owned());
        }
        Ok(slot)
    }
}

/// A member's value, added to its column, or returned as text if the column cannot hold it.
struct Cell<'a> {
    column: &'a mut Values,
    want: Want,
    name: &'a str,
}

impl Cell<'_> {
    /// Adds an integer as text, exactly.
    fn digits(self, value: impl fmt::Display) -> Option<Vec<u8>> {
        self.column.texts.push(value.to_string().as_bytes());
        None
    }

    fn number(self, value: f64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        (!self.column.push_number(self.want, value)).then(|| {
            scalar::write_number(value, &mut text);
            text
        })
    }
}

impl<'de> DeserializeSeed<'de> for Cell<'_> {
    type Value = Option<Vec<u8>>;
    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Cell<'_> {
    type Value = Option<Vec<u8>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a number, text, true, false or null as member `{}`; flatten or exclude it",
            excerpt(self.name.as_bytes())
        )
    }
    fn visit_bool<E>(self, value: bool) -> std::result::Result<Self::Value, E> {
        if self.want == Want::Number {
            return Ok(Some(value.to_string().into()));
        }
        self.column.push_truth(value);
        Ok(None)
    }
    fn visit_i64<E>(self, value: i64) -> std::result::Result<Self::Value, E> {
        if self.want == Want::Key {
            return Ok(self.digits(value));
        }
        Ok(self.number(value as f64))
    }
    fn visit_u64<E>(self, value: u64) -> std::result::Result<Self::Value, E> {
        if self.want == Want::Key {
            return Ok(self.digits(value));
        }
        Ok(self.number(value as f64))
    }
    fn visit_f64<E>(self, value: f64) -> std::result::Result<Self::Value, E> {
        Ok(self.number(value))
    }
    fn visit_unit<E>(self) -> std::result::Result<Self::Value, E> {
        self.column.push_missing();
        Ok(None)
    }
    fn visit_str<E>(self, text: &str) -> std::result::Result<Self::Value, E> {
        let field = text.as_bytes();
        Ok((!self.column.push_field(self.want, field)).then(|| field.to_vec()))
    }
}
