//! What was served for rows whose labels come later, as the log and the database hold it.

use super::Kind;
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

/// The numbers of one prediction as served: the mean, the probabilities of all classes by their
/// code, or all quantiles (see [`kalmia_model::Forecasts::served`]).
///
/// The database holds one number as it is, several as bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedRow(pub Vec<f64>);

impl ToSql for ServedRow {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0[..] {
            [only] => only.into(),
            _ => numbers_to_bytes(&self.0).into(),
        })
    }
}

impl FromSql for ServedRow {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self(match value {
            ValueRef::Blob(bytes) => numbers(bytes),
            one => vec![f64::column_result(one)?],
        }))
    }
}

/// The predictions of all rows of an entry, as served.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServedRows {
    numbers: Vec<f64>,
    /// Where the numbers of each row end.
    ends: Vec<usize>,
}

/// The number in the log of labelled rows with one number each; [`Kind::number`] is that of rows
/// with any.
const ONE_NUMBER_EACH: i64 = 2;

impl ServedRows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a row.
    pub fn push(&mut self, row: &[f64]) {
        self.numbers.extend_from_slice(row);
        self.ends.push(self.numbers.len());
    }

    /// The numbers of a row; empty if there is no such row.
    pub fn row(&self, row: usize) -> &[f64] {
        let start = if row == 0 { 0 } else { self.ends.get(row - 1).copied().unwrap_or(0) };
        let end = self.ends.get(row).copied().unwrap_or(start);
        &self.numbers[start..end]
    }

    /// The number that says in the log how an entry of this kind is learned and what was served.
    pub fn log_kind(&self, kind: Kind) -> i64 {
        match kind {
            Kind::Labelled if self.has_one_number_each() => ONE_NUMBER_EACH,
            kind => kind.number(),
        }
    }

    fn has_one_number_each(&self) -> bool {
        self.ends.iter().enumerate().all(|(row, &end)| end == row + 1)
    }

    /// As the log holds it: the numbers, each row after how many it has, unless all have one.
    pub fn to_bytes(&self) -> Vec<u8> {
        if self.has_one_number_each() {
            return numbers_to_bytes(&self.numbers);
        }
        let mut bytes = Vec::with_capacity(4 * self.len() + 8 * self.numbers.len());
        for row in 0..self.len() {
            let numbers = self.row(row);
            bytes.extend((numbers.len() as u32).to_le_bytes());
            bytes.extend(numbers_to_bytes(numbers));
        }
        bytes
    }

    /// From an entry of the log with this number; `None` if the bytes end within a row.
    pub fn from_bytes(log_kind: i64, bytes: &[u8]) -> Option<Self> {
        let mut rows = Self::default();
        if log_kind == ONE_NUMBER_EACH {
            numbers(bytes).iter().for_each(|&number| rows.push(&[number]));
            return Some(rows);
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let (count, after) = rest.split_first_chunk::<4>()?;
            let size = (u32::from_le_bytes(*count) as usize).checked_mul(8)?;
            let (row, after) = after.split_at_checked(size)?;
            rows.push(&numbers(row));
            rest = after;
        }
        Some(rows)
    }
}

fn numbers(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap_or_default())).collect()
}

fn numbers_to_bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_width_come_back() {
        for widths in [&[1, 1, 1][..], &[3, 3], &[1, 2, 4], &[2], &[]] {
            let mut rows = ServedRows::default();
            for (i, &width) in widths.iter().enumerate() {
                rows.push(&vec![0.1 + i as f64; width]);
            }
            let kind = rows.log_kind(Kind::Labelled);
            assert_eq!(kind == 2, widths.iter().all(|&width| width == 1), "{widths:?}");
            let bytes = rows.to_bytes();
            let again = ServedRows::from_bytes(kind, &bytes).unwrap();
            assert_eq!(again, rows);
            assert_eq!(again.len(), widths.len());
            for (i, &width) in widths.iter().enumerate() {
                assert_eq!(again.row(i), vec![0.1 + i as f64; width]);
            }
            if kind != 2 && !bytes.is_empty() {
                assert_eq!(ServedRows::from_bytes(kind, &bytes[..bytes.len() - 1]), None);
            }
        }
        assert!(ServedRows::default().row(3).is_empty());
        let forged = u32::MAX.to_le_bytes();
        assert_eq!(ServedRows::from_bytes(3, &forged), None);
    }

    #[test]
    fn the_log_of_earlier_versions_is_read() {
        let bytes = [0.25f64, 0.5].map(f64::to_le_bytes).concat();
        let rows = ServedRows::from_bytes(2, &bytes).unwrap();
        assert_eq!((rows.row(0), rows.row(1)), (&[0.25][..], &[0.5][..]));
        assert_eq!(rows.to_bytes(), bytes);
    }
}
