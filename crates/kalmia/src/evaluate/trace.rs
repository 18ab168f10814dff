//! A running value after chosen numbers of rows, for plots.

use crate::error::{Result, require, require_count};
use serde::{Deserialize, Serialize};

/// When a point is kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cadence {
    /// Every so many rows.
    Every {
        /// At least 1.
        rows: u64,
    },
    /// After row 1 and then each time the rows have grown by a factor: a bounded number of points
    /// per decade.
    Geometric {
        /// Above 1.
        factor: f64,
    },
}

impl Cadence {
    fn check(&self) -> Result<()> {
        match *self {
            Cadence::Every { rows } => {
                require(rows >= 1, "rows", rows as f64, "must be at least 1")?;
                require_count("rows", rows)
            }
            Cadence::Geometric { factor } => {
                let legal = factor > 1.0 && factor.is_finite();
                require(legal, "factor", factor, "must be finite, above 1")
            }
        }
    }

    /// The row after `row` at which a point is kept.
    fn next(&self, row: u64) -> u64 {
        match *self {
            Cadence::Every { rows } => (row / rows + 1) * rows,
            Cadence::Geometric { factor } => ((row as f64 * factor).ceil() as u64).max(row + 1),
        }
    }
}

/// A value after some number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "(u64, f64)", into = "(u64, f64)")]
pub struct TracePoint {
    /// Rows so far.
    pub rows: u64,
    /// The value after them.
    pub value: f64,
}

impl From<(u64, f64)> for TracePoint {
    fn from((rows, value): (u64, f64)) -> Self {
        Self { rows, value }
    }
}

impl From<TracePoint> for (u64, f64) {
    fn from(point: TracePoint) -> Self {
        (point.rows, point.value)
    }
}

/// Points of a running value, kept at a [`Cadence`].
///
/// ```
/// use kalmia::evaluate::{Cadence, Trace};
/// let mut trace = Trace::new(Cadence::Geometric { factor: 2.0 })?;
/// (1..=100).for_each(|row| trace.record(row, || row as f64));
/// let rows: Vec<u64> = trace.points().iter().map(|p| p.rows).collect();
/// assert_eq!(rows, [1, 2, 4, 8, 16, 32, 64]);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    cadence: Cadence,
    next: u64,
    points: Vec<TracePoint>,
}

impl Trace {
    /// Without points.
    pub fn new(cadence: Cadence) -> Result<Self> {
        cadence.check()?;
        Ok(Self { cadence, next: cadence.next(0), points: Vec::new() })
    }

    /// Checks a restored value.
    pub(super) fn check(&self) -> Result<()> {
        self.cadence.check()
    }

    /// Keeps the value after `row` rows if the cadence asks for it; calls `value` only then.
    #[inline]
    pub fn record(&mut self, row: u64, value: impl FnOnce() -> f64) {
        if row >= self.next {
            self.points.push(TracePoint { rows: row, value: value() });
            self.next = self.cadence.next(row);
        }
    }

    /// The points kept.
    pub fn points(&self) -> &[TracePoint] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn fixed_cadence_and_bad_parameters() {
        let mut trace = Trace::new(Cadence::Every { rows: 3 }).unwrap();
        (1..=10).for_each(|row| trace.record(row, || -(row as f64)));
        assert_eq!(trace.points(), [(3, -3.0), (6, -6.0), (9, -9.0)].map(TracePoint::from));
        assert!(matches!(
            Trace::new(Cadence::Every { rows: 0 }),
            Err(Error::Parameter { name: "rows", .. })
        ));
        assert!(matches!(
            Trace::new(Cadence::Geometric { factor: 1.0 }),
            Err(Error::Parameter { name: "factor", .. })
        ));
    }

    #[test]
    fn a_geometric_trace_stays_short() {
        let mut trace = Trace::new(Cadence::Geometric { factor: 1.1 }).unwrap();
        (1..=1_000_000).for_each(|row| trace.record(row, || 0.0));
        assert!((100..200).contains(&trace.points().len()), "{} points", trace.points().len());
    }
}
