//! The target: numbers as they are, truth values and two text labels as 0 and 1, the names of
//! several classes and of ordered levels as 0, 1, 2 and so on.

mod classes;
mod first_block;

pub use classes::ClassNames;

use serde::{Deserialize, Serialize};

use crate::batch::{Origin, Values, Want};
use crate::error::{Error, Result, SettingProblem, ValueProblem, excerpt};
use crate::options::{Classes, EncoderOptions};
use crate::scalar;

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
    /// The place of its name among those seen so far.
    Classes {
        /// The names, in the order of their first appearance.
        names: ClassNames,
    },
    /// The place of its level in an order that is known from the start.
    Levels {
        /// The levels, the lowest first.
        names: ClassNames,
    },
}

impl Coding {
    /// Refuses labels and classes that rows could not have; blanks around labels are removed.
    pub(crate) fn checked(self) -> Result<Self> {
        if let Coding::Classes { names } | Coding::Levels { names } = &self {
            let strange = |name: &&String| {
                scalar::is_missing(name.trim().as_bytes()) || name.trim() != **name
            };
            let name = names.as_slice().iter().find(strange);
            if let Some(name) = name.or_else(|| names.repeated()) {
                return Err(SettingProblem::Class { name: name.clone() }.into());
            }
        }
        if let Coding::Levels { names } = &self
            && !(MIN_LEVELS..=MAX_CLASSES).contains(&names.len())
        {
            return Err(SettingProblem::Levels { found: names.len(), limit: MAX_CLASSES }.into());
        }
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

    pub(crate) fn want(&self, options: &EncoderOptions) -> Want {
        match self.coding {
            None if names_labels(options) => Want::Text,
            None => Want::Raw,
            Some(Coding::Number) => Want::Number,
            Some(Coding::Boolean) => Want::Boolean,
            Some(Coding::Labels { .. } | Coding::Classes { .. } | Coding::Levels { .. }) => {
                Want::Text
            }
        }
    }

    /// The names of several classes or of ordered levels, if the target has them.
    pub fn classes(&self) -> Option<&ClassNames> {
        match &self.coding {
            Some(Coding::Classes { names } | Coding::Levels { names }) => Some(names),
            _ => None,
        }
    }

    /// Whether its classes are levels with an order, in which they are coded.
    pub fn is_ordered(&self) -> bool {
        matches!(self.coding, Some(Coding::Levels { .. }))
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

    /// The coded value of row `i`: `Ok(None)` if it is missing, an error if it is a third label or
    /// an unknown class.
    pub(crate) fn code(
        &self,
        column: &Values,
        i: usize,
    ) -> std::result::Result<Option<f64>, ValueProblem> {
        let text = || {
            let field = scalar::trim(column.texts.get(i));
            (!scalar::is_missing(field)).then_some(field)
        };
        match &self.coding {
            Some(Coding::Labels { positive, negative }) => match (text(), negative) {
                (None, _) => Ok(None),
                (Some(field), _) if same(field, positive.as_bytes()) => Ok(Some(1.0)),
                (Some(field), Some(negative)) if !same(field, negative.as_bytes()) => {
                    Err(ValueProblem::ThirdLabel)
                }
                (Some(_), _) => Ok(Some(0.0)),
            },
            Some(Coding::Classes { names }) => match text() {
                None => Ok(None),
                Some(field) => match names.find(field) {
                    Some(class) => Ok(Some(f64::from(class))),
                    None => Err(ValueProblem::UnknownClass),
                },
            },
            Some(Coding::Levels { names }) => match text() {
                None => Ok(None),
                Some(field) => match names.find(field) {
                    Some(level) => Ok(Some(f64::from(level))),
                    None => Err(ValueProblem::UnknownLevel),
                },
            },
            Some(Coding::Number | Coding::Boolean) | None => {
                Ok(Some(column.numbers[i]).filter(|v| !v.is_nan()))
            }
        }
    }

    /// Learns what is new in the labels of these rows: classes, or the negative label if only the
    /// positive is known.
    pub(crate) fn learn_labels(
        &mut self,
        column: &Values,
        rows: &[u32],
        origin: &Origin,
    ) -> Result<()> {
        let fields = rows.iter().map(|&i| (i as usize, scalar::trim(column.texts.get(i as usize))));
        let mut fields = fields.filter(|(_, field)| !scalar::is_missing(field));
        match &mut self.coding {
            Some(Coding::Labels { positive, negative: negative @ None }) => {
                let other = fields.find(|(_, field)| !same(field, positive.as_bytes()));
                *negative = other.map(|(_, field)| String::from_utf8_lossy(field).into_owned());
            }
            Some(Coding::Classes { names }) => {
                for (row, field) in fields {
                    if names.find(field).is_some() {
                        continue;
                    }
                    let at = || origin.location(row);
                    let name = std::str::from_utf8(field)
                        .map_err(|_| crate::source::not_utf8(at(), &self.name))?;
                    if names.len() == MAX_CLASSES {
                        return Err(Error::Value {
                            at: at(),
                            column: self.name.clone(),
                            value: excerpt(field),
                            problem: ValueProblem::TooManyClasses { limit: MAX_CLASSES },
                        });
                    }
                    names.push(name);
                }
            }
            Some(
                Coding::Labels { .. } | Coding::Levels { .. } | Coding::Number | Coding::Boolean,
            )
            | None => {}
        }
        Ok(())
    }
}

/// Classes accepted: more are probably no classes, but names or amounts.
pub(crate) const MAX_CLASSES: usize = 1000;
/// Fewest levels that have an order.
const MIN_LEVELS: usize = 2;

/// Whether the options say that the target's values are names, whatever they look like.
fn names_labels(options: &EncoderOptions) -> bool {
    options.positive.is_some() || matches!(options.classes, Classes::Always | Classes::Ordered)
}

/// Whether two labels are the same.
pub(crate) fn is(label: &str, other: &str) -> bool {
    same(label.as_bytes(), other.as_bytes())
}

/// Whether two labels are the same text, or the same number (`1` and `1.0`).
fn same(a: &[u8], b: &[u8]) -> bool {
    a == b || matches!((scalar::number(a), scalar::number(b)), (Some(x), Some(y)) if x == y)
}
