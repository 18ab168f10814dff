//! Inferring a column's kind from the first block of rows, by the rules of [`Kind`].

use crate::batch::{BadRow, Declared, Origin, Values};
use crate::error::{ColumnProblem, Error, Result, ValueProblem, excerpt};
use crate::scalar;
use crate::schema::Kind;

/// If at least this share of a column is numbers, a text in it is an error.
const MIN_NUMBER_SHARE: f64 = 0.9;

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
/// `bad`, if given, takes the rows whose value is no number though most others are.
pub(crate) fn kind(
    column: &mut Values,
    name: &str,
    origin: &Origin,
    mut bad: Option<&mut Vec<BadRow>>,
) -> Result<Kind> {
    if !column.is_text {
        let boolean = column.declared == Some(Declared::Boolean);
        return Ok(if boolean { Kind::Boolean } else { Kind::Number });
    }
    let tally = tally(column);
    if tally.values > 0 && tally.temporal == tally.values {
        let file = origin.location(0).file;
        let problem = ColumnProblem::Temporal { as_text: true };
        return Err(Error::Column { file, column: name.into(), problem });
    }
    let kind = match column.declared {
        Some(Declared::Text) => Kind::Category,
        Some(Declared::Boolean) => Kind::Boolean,
        _ if tally.values == tally.numbers => Kind::Number,
        _ if tally.values == tally.bits + tally.truths => Kind::Boolean,
        _ if tally.numbers as f64 >= MIN_NUMBER_SHARE * tally.values as f64 => {
            if let Some(bad) = &mut bad {
                leave_out(column, name, origin, bad);
                return Ok(Kind::Number);
            }
            return Err(slip(column, tally.first_text.unwrap_or(0), name, origin));
        }
        _ => Kind::Category,
    };
    if kind != Kind::Category {
        match (column.reread(kind.want()), &mut bad) {
            (Ok(()), _) => {}
            // an infinite number
            (Err(_), Some(bad)) if kind == Kind::Number => leave_out(column, name, origin, bad),
            (Err(row), _) => return Err(slip(column, row, name, origin)),
        }
    }
    Ok(kind)
}

/// Converts the numbers of a column and leaves out the rows of other texts.
fn leave_out(column: &mut Values, name: &str, origin: &Origin, bad: &mut Vec<BadRow>) {
    let numbers: Vec<f64> = (0..column.texts.len())
        .map(|row| {
            let number = scalar::number(column.texts.get(row)).filter(|v| !v.is_infinite());
            number.unwrap_or_else(|| {
                let error = slip(column, row, name, origin).to_string();
                bad.push(BadRow { row: row as u32, error });
                f64::NAN
            })
        })
        .collect();
    column.numbers = numbers;
    column.is_text = false;
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
    let infinite = scalar::number(field).is_some_and(f64::is_infinite);
    let problem = if infinite { ValueProblem::NotFinite } else { ValueProblem::MixedNumbers };
    Error::Value { at: origin.location(row), column: name.into(), value: excerpt(field), problem }
}
