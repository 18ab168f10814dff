//! Forecasts of the rows of a table, by a model of any kind.

use crate::any_model::AnyModel;
use crate::classes::likeliest;
use crate::error::{Error, Result};
use crate::forecast::{Forecast, IntervalOf};
use crate::model::{ClassModel, QuantileModel};
use kalmia::evaluate::deviance;
use kalmia_data::{Block, Table};
use std::sync::Arc;

/// The forecasts of the rows of a table, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Forecasts {
    /// Of numbers or of two labels; `None` for a row that was left out for a missing value.
    Numbers(Vec<Option<Forecast>>),
    /// Of several classes.
    Classes(ClassForecasts),
    /// Of several quantiles.
    Quantiles(QuantileForecasts),
}

/// As many numbers for each row, or none.
#[derive(Debug, Clone, PartialEq)]
struct RowNumbers {
    width: usize,
    /// Of the rows that have some, one after the other.
    numbers: Vec<f64>,
    /// Of every row: its place among them.
    places: Vec<Option<usize>>,
}

impl RowNumbers {
    fn new(width: usize, rows: usize) -> Self {
        Self { width, numbers: Vec::new(), places: vec![None; rows] }
    }

    /// Takes the numbers of row `i` of a block, in order.
    fn push(&mut self, block: &Block, i: usize, numbers: &[f64]) {
        let row = (block.input_row(i) - block.first_row) as usize;
        self.places[row] = Some(i);
        self.numbers.extend_from_slice(numbers);
    }

    fn row(&self, row: usize) -> Option<&[f64]> {
        let place = (*self.places.get(row)?)?;
        Some(&self.numbers[place * self.width..][..self.width])
    }
}

/// The probabilities of several classes.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassForecasts {
    names: Vec<Arc<str>>,
    /// The code of each of `names`.
    codes: Vec<usize>,
    /// By code.
    probabilities: RowNumbers,
}

impl ClassForecasts {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.probabilities.places.len()
    }

    /// The names of the classes, sorted.
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// The probability of each of [`ClassForecasts::names`]; `None` for a row that was left out for
    /// a missing value.
    pub fn probabilities(&self, row: usize) -> Option<impl Iterator<Item = f64>> {
        let probabilities = self.probabilities.row(row)?;
        Some(self.codes.iter().map(|&code| probabilities[code]))
    }

    /// The class of the highest probability.
    pub fn predicted(&self, row: usize) -> Option<&Arc<str>> {
        let code = likeliest(self.probabilities.row(row)?);
        let place = self.codes.iter().position(|&known| known == code)?;
        Some(&self.names[place])
    }
}

/// Several quantiles of a target.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantileForecasts {
    levels: Vec<f64>,
    quantiles: RowNumbers,
}

impl QuantileForecasts {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.quantiles.places.len()
    }

    /// The levels, in ascending order.
    pub fn levels(&self) -> &[f64] {
        &self.levels
    }

    /// The quantile of each level, never crossing; `None` for a row that was left out for a missing
    /// value.
    pub fn quantiles(&self, row: usize) -> Option<&[f64]> {
        self.quantiles.row(row)
    }
}

impl Forecasts {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Numbers(forecasts) => forecasts.len(),
            Self::Classes(classes) => classes.rows(),
            Self::Quantiles(quantiles) => quantiles.rows(),
        }
    }

    /// What [`AnyModel::loss_of_served`] needs to judge the forecast of a row later: the mean, the
    /// probabilities by code, or the quantiles.
    pub fn served(&self, row: usize) -> Option<Vec<f64>> {
        match self {
            Self::Numbers(forecasts) => Some(vec![forecasts.get(row)?.as_ref()?.mean]),
            Self::Classes(classes) => classes.probabilities.row(row).map(<[f64]>::to_vec),
            Self::Quantiles(quantiles) => quantiles.quantiles(row).map(<[f64]>::to_vec),
        }
    }
}

impl AnyModel {
    /// The forecasts of a table's rows, with intervals as
    /// [`Model::forecast_table`](crate::Model::forecast_table) makes them. Several classes and
    /// several quantiles have no intervals: `interval` must then be `None`, or
    /// [`IntervalOf::None`]. `block` is scratch whose memory is reused.
    pub fn forecast_table(
        &self,
        table: &Table,
        level: f64,
        interval: Option<IntervalOf>,
        block: &mut Block,
    ) -> Result<Forecasts> {
        let asked = interval.is_some_and(|interval| interval != IntervalOf::None);
        match self {
            Self::Numbers(model) => {
                model.forecast_table(table, level, interval, block).map(Forecasts::Numbers)
            }
            Self::Classes(_) if asked => Err(Error::NoInterval {
                kind: "several classes",
                instead: "it predicts probabilities; leave the interval out",
            }),
            Self::Quantiles(_) if asked => Err(Error::NoInterval {
                kind: "several quantiles",
                instead: "two of its levels hold the targets between them; leave the interval out",
            }),
            Self::Classes(model) => class_forecasts(model, table, block).map(Forecasts::Classes),
            Self::Quantiles(model) => {
                quantile_forecasts(model, table, block).map(Forecasts::Quantiles)
            }
        }
    }

    /// The loss of a forecast that was served ([`Forecasts::served`]) for row `i` of a block of
    /// labels, unweighted, as the metrics count it. `None` if the target is missing or no legal
    /// one, or a class that was not known when the forecast was made.
    ///
    /// See [`Model::loss_of_mean`](crate::Model::loss_of_mean) on when it equals the progressive
    /// loss of the row.
    pub fn loss_of_served(&self, block: &Block, i: usize, served: &[f64]) -> Option<f64> {
        match self {
            Self::Numbers(model) => {
                let y = model.canonical_target(block, i)?;
                Some(model.loss_of_mean(y, *served.first()?))
            }
            Self::Classes(_) => {
                let class = *block.y.get(i)?;
                let probability = *served.get(class as usize)?;
                Some(-probability.max(f64::MIN_POSITIVE).ln())
            }
            Self::Quantiles(model) => {
                let y = block.y.get(i).copied().filter(|y| y.is_finite())?;
                let levels = model.metrics.levels();
                let losses = levels.iter().zip(served);
                let sum: f64 = losses.map(|(level, &q)| 0.5 * deviance(level.family(), y, q)).sum();
                (served.len() == levels.len()).then_some(sum / levels.len() as f64)
            }
        }
    }
}

fn class_forecasts(model: &ClassModel, table: &Table, block: &mut Block) -> Result<ClassForecasts> {
    let codes = model.sorted_classes();
    if codes.is_empty() {
        return Err(Error::NoClasses);
    }
    model.encoder.encode_for_prediction(table, block)?;
    let mut probabilities = RowNumbers::new(model.learner.classes(), block.rows_read);
    model.predict_classes(block, &mut |i, row| {
        probabilities.push(block, i, row);
        Ok(())
    })?;
    let names = codes.iter().map(|&code| model.classes()[code].as_str().into()).collect();
    Ok(ClassForecasts { names, codes, probabilities })
}

fn quantile_forecasts(
    model: &QuantileModel,
    table: &Table,
    block: &mut Block,
) -> Result<QuantileForecasts> {
    model.encoder.encode_for_prediction(table, block)?;
    let levels = model.learner.levels();
    let mut quantiles = RowNumbers::new(levels.len(), block.rows_read);
    model.predict_quantiles(block, &mut |i, row| {
        quantiles.push(block, i, row);
        Ok(())
    })?;
    Ok(QuantileForecasts { levels, quantiles })
}
