//! Telling a column's kind from the first block of rows.
//!
//! A column is a number where all its values are, a boolean where all are true or false (0 and 1
//! allowed among them), else a category. Two cases are refused rather than guessed: a column of
//! numbers with a few texts, most likely a slip in the data, and dates or times.

use crate::batch::{Values, Declared, Origin};
use crate::error::{Error, Result, excerpt};
use crate::scalar;
use crate::schema::Kind;

/// Above this share of numbers, a text is taken for a slip.
const MOSTLY: f64 = 0.9;

#[derive(Default)]
struct Tally {
    values: usize,
    numbers: usize,
    bits: usize,
    truths: usize,
    temporal: usize,
    first_text: Option<usize>,
}

/// The kind of a column delivered raw, which is then converted to it.
pub(crate) fn kind(column: &mut Values, name: &str, origin: &Origin) -> Result<Kind> {
    if !column.is_text {
        return Ok(if column.declared == Some(Declared::Boolean) {
            Kind::Boolean
        } else {
            Kind::Number
        });
    }
    let tally = tally(column);
    if tally.values > 0 && tally.temporal == tally.values {
        let reason = format!("{}; as it is, it can be read as categorical", scalar::TEMPORAL);
        return Err(Error::Column { file: origin.location(0).file, column: name.into(), reason });
    }
    let kind = match column.declared {
        Some(Declared::Text) => Kind::Category,
        Some(Declared::Boolean) => Kind::Boolean,
        _ if tally.values == tally.numbers => Kind::Number,
        _ if tally.values == tally.bits + tally.truths => Kind::Boolean,
        _ if tally.numbers as f64 >= MOSTLY * tally.values as f64 => {
            let row = tally.first_text.unwrap_or(0);
            return Err(slip(column, row, name, origin));
        }
        _ => Kind::Category,
    };
    if kind != Kind::Category {
        column.reread(kind.want()).map_err(|row| slip(column, row, name, origin))?;
    }
    Ok(kind)
}

fn tally(column: &Values) -> Tally {
    let mut tally = Tally::default();
    for i in 0..column.texts.len() {
        let field = scalar::trim(column.texts.get(i));
        if scalar::is_missing(field) {
            continue;
        }
        tally.values += 1;
        if let Some(value) = scalar::number(field) {
            tally.numbers += 1;
            tally.bits += usize::from(value == 0.0 || value == 1.0);
            continue;
        }
        tally.first_text.get_or_insert(i);
        tally.truths += usize::from(scalar::truth(field).is_some());
        tally.temporal += usize::from(scalar::is_temporal(field));
    }
    tally
}

fn slip(column: &Values, row: usize, name: &str, origin: &Origin) -> Error {
    let field = column.texts.get(row);
    if std::str::from_utf8(field).is_err() {
        return crate::source::not_utf8(origin.location(row), name);
    }
    Error::Value {
        at: origin.location(row),
        column: name.into(),
        value: excerpt(field),
        reason: "is not a number, though most values of the column are; fix the value, read the column as categorical, or \
                 exclude it"
            .into(),
    }
}
