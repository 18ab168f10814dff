//! What the first block shows of a target: its coding, and what helps to choose a family. Labels
//! may wait until all rows were read.

use super::{ClassNames, Coding, MAX_DISTINCT, MIN_LEVELS, Target, is, names_labels, same};
use crate::batch::{Batch, Values};
use crate::error::{ColumnProblem, Error, Labels, Result};
use crate::infer;
use crate::looks;
use crate::options::{BadRows, Classes, EncoderOptions};
use crate::scalar;
use crate::schema::Kind;

/// Values from which a skewness says something.
const MIN_SKEWED: usize = 30;
/// Skewness from which the Gamma family is worth a try; an exponential distribution has 2.
const MIN_SKEWNESS: f64 = 1.0;

/// Labels from which on there are too many for two.
const MIN_LABELS_TOO_MANY: usize = 3;
/// Levels that an error shows.
const MAX_SHOWN_LEVELS: usize = 8;

/// Whether values are positive, many and far from symmetric.
fn is_skewed(values: &[f64]) -> bool {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let moment = |k: i32| values.iter().map(|v| (v - mean).powi(k)).sum::<f64>() / n;
    let skewness = moment(3) / moment(2).powf(1.5);
    values.len() >= MIN_SKEWED && values.iter().all(|v| *v > 0.0) && skewness > MIN_SKEWNESS
}

impl Target {
    /// Infers the coding from the first block and converts its target column. With `defers`, labels
    /// that later rows may change are coded as classes until [`Target::settle`].
    pub(crate) fn infer(
        &mut self,
        batch: &mut Batch,
        slot: usize,
        options: &EncoderOptions,
        bad_rows: BadRows,
        defers: bool,
    ) -> Result<()> {
        let origin = &batch.origin;
        let column = &mut batch.columns[slot];
        let kind = if names_labels(options) {
            Kind::Category
        } else {
            let bad = (bad_rows == BadRows::Skip).then_some(&mut batch.bad);
            infer::kind(column, &self.name, origin, bad)?
        };
        self.coding = Some(match kind {
            Kind::Number => Coding::Number,
            Kind::Boolean => Coding::Boolean,
            Kind::Category | Kind::Text => {
                let found = self.labels(column, options, &origin.location(0).file);
                if defers { provisional(found, options)? } else { found? }
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

    fn labels(&self, column: &Values, options: &EncoderOptions, file: &str) -> Result<Coding> {
        if options.classes == Classes::Always {
            return Ok(Coding::Classes { names: ClassNames::default() });
        }
        if options.classes == Classes::Ordered {
            return self.levels(column, options, file);
        }
        let positive = options.positive.as_deref();
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
            (None, [_, _, _, ..]) if options.classes == Classes::Auto => {
                // the names are those of the rows that are learned
                return Ok(Coding::Classes { names: ClassNames::default() });
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

    /// The levels that the options name, or those of the first block by size.
    fn levels(&self, column: &Values, options: &EncoderOptions, file: &str) -> Result<Coding> {
        if !options.levels.is_empty() {
            return Coding::Levels { names: options.levels.clone().into() }.checked();
        }
        let mut names = ClassNames::default();
        for i in 0..column.texts.len() {
            let field = scalar::trim(column.texts.get(i));
            if !scalar::is_missing(field) && names.find(field).is_none() {
                names.push(&String::from_utf8_lossy(field));
            }
        }
        self.by_size(&names, file)
    }

    /// The names as levels, which must be numbers.
    fn by_size(&self, names: &ClassNames, file: &str) -> Result<Coding> {
        let sorted = names.sorted().into_iter().map(|place| names.as_slice()[place].clone());
        let sorted: Vec<String> = sorted.collect();
        if sorted.len() < MIN_LEVELS || sorted.iter().any(is_text) {
            let shown = sorted.into_iter().take(MAX_SHOWN_LEVELS).collect();
            let problem = ColumnProblem::UnorderedLevels { labels: Labels(shown) };
            return Err(Error::Column { file: file.into(), column: self.name.clone(), problem });
        }
        Coding::Levels { names: sorted.into() }.checked()
    }

    /// Replaces a provisional coding by that of all rows: the code in place of each provisional
    /// one, `None` if all stay.
    pub(crate) fn settle(
        &mut self,
        options: &EncoderOptions,
        file: &str,
    ) -> Result<Option<Vec<f64>>> {
        let Some(Coding::Classes { names }) = &self.coding else { return Ok(None) };
        let mut sorted = names.as_slice().to_vec();
        sorted.sort();
        let coding = match (options.classes, &sorted[..]) {
            (Classes::Always, _) | (Classes::Auto, [_, _, _, ..]) => return Ok(None),
            (Classes::Ordered, _) => self.by_size(names, file)?,
            (Classes::Auto | Classes::Never, [negative, positive]) => {
                Coding::Labels { positive: positive.clone(), negative: Some(negative.clone()) }
            }
            (Classes::Auto | Classes::Never, found) => {
                let labels = Labels(found.iter().take(MIN_LABELS_TOO_MANY).cloned().collect());
                let problem = match found {
                    [_, _, _, ..] => ColumnProblem::NotTwoLabels { labels },
                    [_] => ColumnProblem::SameLabel { labels },
                    _ => ColumnProblem::AmbiguousLabels { labels },
                };
                return Err(Error::Column {
                    file: file.into(),
                    column: self.name.clone(),
                    problem,
                });
            }
        };
        let code = |name: &String| match &coding {
            Coding::Levels { names } => names.place(name).unwrap_or(0) as f64,
            Coding::Labels { positive, .. } => f64::from(u8::from(name == positive)),
            Coding::Number | Coding::Boolean | Coding::Classes { .. } => 0.0,
        };
        let codes: Vec<f64> = names.as_slice().iter().map(code).collect();
        self.coding = Some(coding);
        Ok(Some(codes))
    }
}

/// The coding until all rows were read: classes, which may grow, if later rows can change it.
fn provisional(found: Result<Coding>, options: &EncoderOptions) -> Result<Coding> {
    let later = match &found {
        Ok(Coding::Labels { .. }) => options.positive.is_none() && options.classes == Classes::Auto,
        Ok(Coding::Levels { .. }) => options.levels.is_empty(),
        Ok(_) => false,
        Err(Error::Column { problem, .. }) => match problem {
            ColumnProblem::AmbiguousLabels { .. } => true,
            ColumnProblem::UnorderedLevels { labels } => !labels.0.iter().any(is_text),
            _ => false,
        },
        Err(_) => false,
    };
    if later { Ok(Coding::Classes { names: ClassNames::default() }) } else { found }
}

fn is_text(name: &String) -> bool {
    scalar::number(name.as_bytes()).is_none()
}
