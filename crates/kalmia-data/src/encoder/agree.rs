//! Whether encoders belong to one model: what is refused before they are united or aligned, and
//! the names under which they compare their features.

use std::collections::HashMap;

use serde_json::Value;

use super::Encoder;
use crate::error::{UnionProblem, excerpt};
use crate::options::EncoderOptions;
use crate::schema::{Column, Kind, Meaning};
use crate::target::{ClassNames, Coding, MAX_CLASSES};

/// What becomes of encoders that may have to be refused.
pub(super) type Checked<T> = Result<T, UnionProblem>;

/// What a feature stands for, in the columns of the united encoder. The order is that of features
/// that no common prefix has: numbers by column, then per column the indicator of missing values
/// before the levels by name, then libsvm indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum FeatureKey<'a> {
    Intercept,
    Value {
        column: usize,
    },
    /// 1 if the column has this level, or without one if its value is missing.
    Indicator {
        column: usize,
        level: Option<&'a str>,
    },
    Index(u32),
}

impl Encoder {
    /// What the features stand for. `places` are the columns of the united encoder.
    pub(super) fn feature_keys(&self, places: &[usize]) -> Vec<FeatureKey<'_>> {
        let keys = self.features.iter().map(|feature| {
            let column = feature.column.map_or(0, |column| places[column]);
            match &feature.meaning {
                Meaning::Intercept => FeatureKey::Intercept,
                Meaning::Value => FeatureKey::Value { column },
                Meaning::Missing => FeatureKey::Indicator { column, level: None },
                Meaning::Level(name) => FeatureKey::Indicator { column, level: Some(name) },
                Meaning::Index(key) => FeatureKey::Index(*key),
            }
        });
        keys.collect()
    }

    /// Where each column stands among these, which have the same names.
    pub(super) fn places_in(&self, columns: &[Column]) -> Checked<Vec<usize>> {
        let places: HashMap<&str, usize> =
            columns.iter().enumerate().map(|(i, column)| (&*column.name, i)).collect();
        let place = |column: &Column| places.get(&*column.name).copied();
        let strange = |column: &Column| UnionProblem::Column { column: column.name.clone() };
        self.columns.iter().map(|column| place(column).ok_or_else(|| strange(column))).collect()
    }

    /// Refuses an encoder whose rows cannot be aligned with those of any other.
    pub(super) fn check_unitable(&self) -> Checked<()> {
        match () {
            () if !(self.chosen && self.settled) => Err(UnionProblem::NotSettled),
            () if self.is_wide() => Err(UnionProblem::Wide),
            () => Ok(()),
        }
    }

    /// Refuses another encoder whose options, columns or kinds differ. Codings of the target are
    /// compared by [`united_coding`], baselines by the caller.
    pub(super) fn check_same_columns(&self, other: &Self) -> Checked<()> {
        check_same_options(&self.options, &other.options)?;
        if self.sparse != other.sparse {
            return Err(UnionProblem::Mixed);
        }
        self.places_in(&other.columns)?;
        for (column, place) in other.columns.iter().zip(other.places_in(&self.columns)?) {
            let kind = self.columns[place].kind;
            if kind != column.kind {
                let name = |kind: Option<Kind>| kind.map_or("unknown", Kind::name);
                return Err(UnionProblem::Kind {
                    column: column.name.clone(),
                    first: name(kind),
                    other: name(column.kind),
                });
            }
        }
        Ok(())
    }
}

/// Refuses options that differ, naming the first.
pub(super) fn check_same_options(first: &EncoderOptions, other: &EncoderOptions) -> Checked<()> {
    if first == other {
        return Ok(());
    }
    // As stored: every option is compared, also one that is added later.
    let stored = |options: &EncoderOptions| serde_json::to_value(options).unwrap_or_default();
    let first = stored(first);
    let other = stored(other);
    let names = |options: &Value| -> Vec<String> {
        options.as_object().into_iter().flat_map(|fields| fields.keys().cloned()).collect()
    };
    let differs = |name: &String| first.get(name) != other.get(name);
    let option = names(&first).into_iter().chain(names(&other)).find(differs).unwrap_or_default();
    let shown = |options: &Value| match options.get(&option) {
        None => "its default".to_owned(),
        Some(Value::String(text)) => format!("`{}`", excerpt(text.as_bytes())),
        Some(value) => format!("`{value}`"),
    };
    Err(UnionProblem::Option { first: shown(&first), other: shown(&other), option })
}

/// The coding that two encoders share. An open negative label is filled by the other's; of two
/// ways to write one label, such as `1` and `1.0`, the smaller text stays. Classes are united.
pub(super) fn united_coding(column: &str, first: &Coding, other: &Coding) -> Checked<Coding> {
    let refuse = || UnionProblem::Target {
        column: column.to_owned(),
        first: shown(first),
        other: shown(other),
    };
    let label = |a: &String, b: &String| match crate::target::is(a, b) {
        true => Ok(a.min(b).clone()),
        false => Err(refuse()),
    };
    match (first, other) {
        (
            Coding::Labels { positive: a, negative: not_a },
            Coding::Labels { positive: b, negative: not_b },
        ) => {
            let positive = label(a, b)?;
            let negative = match (not_a, not_b) {
                (Some(a), Some(b)) => Some(label(a, b)?),
                (known, None) | (None, known) => known.clone(),
            };
            Ok(Coding::Labels { positive, negative })
        }
        (Coding::Classes { names: a }, Coding::Classes { names: b }) => {
            united_classes(&[a, b]).map(|names| Coding::Classes { names })
        }
        _ if first == other => Ok(first.clone()),
        _ => Err(refuse()),
    }
}

/// The classes of all lists. Refuses too many.
pub(super) fn united_classes(lists: &[&ClassNames]) -> Checked<ClassNames> {
    let names = ClassNames::union(lists);
    match names.len() <= MAX_CLASSES {
        true => Ok(names),
        false => Err(UnionProblem::TooManyClasses { found: names.len(), limit: MAX_CLASSES }),
    }
}

fn shown(coding: &Coding) -> String {
    match coding {
        Coding::Number => "a number".into(),
        Coding::Boolean => "true or false".into(),
        Coding::Labels { positive, negative: Some(negative) } => {
            format!("1 for `{positive}` and 0 for `{negative}`")
        }
        Coding::Labels { positive, negative: None } => format!("1 for `{positive}`"),
        Coding::Classes { names } => format!("one of {} classes", names.len()),
        Coding::Levels { names } => format!("the levels {}", names.as_slice().join(", ")),
    }
}
