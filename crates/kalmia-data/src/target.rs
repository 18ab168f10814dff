//! The target: numbers as they are, truth values and two text labels as 0 and 1.

use serde::{Deserialize, Serialize};

use crate::batch::{Batch, Values, Want};
use crate::error::{ColumnProblem, Error, Labels, Result, SettingProblem};
use crate::infer;
use crate::looks;
use crate::options::BadRows;
use crate::scalar;
use crate::schema::Kind;

/// How the target is coded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coding {
    /// The number itself.
    Number,
    /// 1 for true, 0 for false.
    Boolean,
    /// 1 for one label, 0 for the other.
    Labels {
        /// The label coded 1.
        positive: String,
        /// The label coded 0, once seen.
        negative: Option<String>,
    },
}

impl Coding {
    /// Refuses two labels that rows could not have; blanks around labels are removed.
    pub(crate) fn checked(self) -> Result<Self> {
        let Coding::Labels { positive, negative: Some(negative) } = self else { return Ok(self) };
        let positive = positive.trim().to_owned();
        let negative = negative.trim().to_owned();
        let missing = |label: &str| scalar::is_missing(label.as_bytes());
        if missing(&positive) || missing(&negative) || is(&positive, &negative) {
            return Err(SettingProblem::Labels { negative, positive }.into());
        }
        Ok(Coding::Labels { positive, negative: Some(negative) })
    }
}

/// The target column, with what a caller needs to choose a family from the first block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Its name in the input.
    pub name: String,
    /// Its coding, once the first block was seen.
    pub coding: Option<Coding>,
    /// The distinct coded values of the first block, ascending, at most 64 of them.
    pub distinct: Vec<f64>,
    /// Whether all of the first block's values are whole numbers, 0 or more.
    pub whole: bool,
    /// Whether the first block's values are positive and far from symmetric: a skewness above 1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skewed: bool,
}

/// Values from which a skewness says something.
const MIN_SKEWED: usize = 30;
/// Skewness from which the Gamma family is worth a try; an exponential distribution has 2.
const MIN_SKEWNESS: f64 = 1.0;

/// Whether values are positive, many and far from symmetric.
fn is_skewed(values: &[f64]) -> bool {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let moment = |k: i32| values.iter().map(|v| (v - mean).powi(k)).sum::<f64>() / n;
    let skewness = moment(3) / moment(2).powf(1.5);
    values.len() >= MIN_SKEWED && values.iter().all(|v| *v > 0.0) && skewness > MIN_SKEWNESS
}

/// Distinct values kept of the first block.
const MAX_DISTINCT: usize = 64;

impl Target {
    pub(crate) fn new(name: String) -> Self {
        Self { name, coding: None, distinct: Vec::new(), whole: false, skewed: false }
    }

    /// Takes the coding as given, the values so far as 0 and 1.
    pub(crate) fn declare(&mut self, coding: Coding) {
        self.coding = Some(coding);
        self.distinct = vec![0.0, 1.0];
        self.whole = true;
    }

    /// Adds what another first block showed: its values, and what holds in both blocks.
    pub(crate) fn add_first_values(&mut self, other: &Self) {
        self.distinct.extend(&other.distinct);
        self.distinct.sort_by(f64::total_cmp);
        self.distinct.dedup();
        self.distinct.truncate(MAX_DISTINCT);
        self.whole &= other.whole;
        self.skewed &= other.skewed;
    }

    pub(crate) fn want(&self, positive: Option<&str>) -> Want {
        match self.coding {
            None if positive.is_some() => Want::Text,
            None => Want::Raw,
            Some(Coding::Number) => Want::Number,
            Some(Coding::Boolean) => Want::Boolean,
            Some(Coding::Labels { .. }) => Want::Text,
        }
    }

    /// The label coded 1, if labels are texts.
    pub fn positive(&self) -> Option<&str> {
        match &self.coding {
            Some(Coding::Labels { positive, .. }) => Some(positive),
            _ => None,
        }
    }

    /// Whether the first block holds exactly two values.
    pub fn is_two_valued(&self) -> bool {
        self.distinct.len() == 2
            || matches!(self.coding, Some(Coding::Labels { .. } | Coding::Boolean))
    }

    /// Infers the coding from the first block and converts its target column.
    pub(crate) fn infer(
        &mut self,
        batch: &mut Batch,
        slot: usize,
        positive: Option<&str>,
        bad_rows: BadRows,
    ) -> Result<()> {
        let origin = &batch.origin;
        let column = &mut batch.columns[slot];
        let kind = if positive.is_some() {
            Kind::Category
        } else {
            let bad = (bad_rows == BadRows::Skip).then_some(&mut batch.bad);
            infer::kind(column, &self.name, origin, bad)?
        };
        self.coding = Some(match kind {
            Kind::Number => Coding::Number,
            Kind::Boolean => Coding::Boolean,
            Kind::Category | Kind::Text => {
                self.labels(column, positive, &origin.location(0).file)?
            }
        });
        let mut values: Vec<f64> =
            (0..column.len()).filter_map(|i| self.code(column, i).ok().flatten()).collect();
        self.whole = values.iter().all(|v| *v >= 0.0 && v.fract() == 0.0);
        self.skewed = is_skewed(&values);
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.truncate(MAX_DISTINCT);
        self.distinct = values;
        Ok(())
    }

    fn labels(&self, column: &Values, positive: Option<&str>, file: &str) -> Result<Coding> {
        let mut seen: Vec<String> = Vec::new();
        for i in 0..column.texts.len() {
            let field = scalar::trim(column.texts.get(i));
            if seen.len() <= 2
                && !scalar::is_missing(field)
                && !seen.iter().any(|label| same(label.as_bytes(), field))
            {
                seen.push(String::from_utf8_lossy(field).into_owned());
            }
        }
        seen.sort();
        let labels = || Labels(seen.clone());
        let problem = match (positive, &seen[..]) {
            (_, [_, _, _, ..]) if looks::mostly(column, looks::Look::DecimalComma).is_some() => {
                let example = looks::mostly(column, looks::Look::DecimalComma);
                ColumnProblem::DecimalComma { example: example.unwrap_or_default() }
            }
            (_, [_, _, _, ..]) => ColumnProblem::NotTwoLabels { labels: labels() },
            (Some(positive), [a, b]) if !is(a, positive) && !is(b, positive) => {
                ColumnProblem::UnknownPositive { positive: positive.into(), labels: labels() }
            }
            (Some(positive), found) => {
                let negative = found.iter().find(|label| !is(label, positive)).cloned();
                return Ok(Coding::Labels { positive: positive.into(), negative });
            }
            (None, [negative, positive]) => {
                let negative = Some(negative.clone());
                return Ok(Coding::Labels { positive: positive.clone(), negative });
            }
            (None, _) => ColumnProblem::AmbiguousLabels { labels: labels() },
        };
        Err(Error::Column { file: file.into(), column: self.name.clone(), problem })
    }

    /// The coded value of row `i`: `Ok(None)` if it is missing, an error if it is a third label.
    pub(crate) fn code(
        &self,
        column: &Values,
        i: usize,
    ) -> std::result::Result<Option<f64>, ThirdLabel> {
        let Some(Coding::Labels { positive, negative }) = &self.coding else {
            return Ok(Some(column.numbers[i]).filter(|v| !v.is_nan()));
        };
        let field = scalar::trim(column.texts.get(i));
        if scalar::is_missing(field) {
            Ok(None)
        } else if same(field, positive.as_bytes()) {
            Ok(Some(1.0))
        } else {
            match negative {
                Some(negative) if !same(field, negative.as_bytes()) => Err(ThirdLabel),
                _ => Ok(Some(0.0)),
            }
        }
    }

    /// Learns the negative label if only the positive is known.
    pub(crate) fn learn_negative(&mut self, column: &Values, rows: &[u32]) {
        if let Some(Coding::Labels { positive, negative: negative @ None }) = &mut self.coding {
            let mut fields = rows.iter().map(|&i| scalar::trim(column.texts.get(i as usize)));
            let other = fields
                .find(|field| !scalar::is_missing(field) && !same(field, positive.as_bytes()));
            *negative = other.map(|field| String::from_utf8_lossy(field).into_owned());
        }
    }
}

/// A label that is neither of the two.
#[derive(Debug)]
pub(crate) struct ThirdLabel;

/// Whether two labels are the same.
pub(crate) fn is(label: &str, other: &str) -> bool {
    same(label.as_bytes(), other.as_bytes())
}

/// Whether two labels are the same text, or the same number (`1` and `1.0`).
fn same(a: &[u8], b: &[u8]) -> bool {
    a == b || matches!((scalar::number(a), scalar::number(b)), (Some(x), Some(y)) if x == y)
}
