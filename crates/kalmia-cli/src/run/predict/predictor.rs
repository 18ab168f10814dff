//! What a model of any kind writes for each row.

use super::sink::Cells;
use crate::args::{IntervalOf, PredictArgs};
use crate::error::{Failure, Result};
use kalmia_data::{Block, Encoder};
use kalmia_model::{AnyModel, ClassModel, Forecast, Forecaster, Model, QuantileModel, likeliest};

/// Names of the numbers of a forecast, in the order of [`numbers`].
const COLUMNS: [&str; 5] = ["mean", "lower", "upper", "linear", "linear_sd"];
/// The same without an interval.
const COLUMNS_WITHOUT_INTERVAL: [&str; 3] = ["mean", "linear", "linear_sd"];
/// The column of the predicted label.
const LABEL: &str = "predicted";

/// The numbers of a forecast, in the order of its columns.
fn numbers(forecast: &Forecast) -> impl Iterator<Item = f64> {
    let ends = [forecast.lower, forecast.upper].into_iter().flatten();
    [forecast.mean].into_iter().chain(ends).chain([forecast.linear, forecast.linear_sd])
}

/// A model and the columns that it writes.
pub struct Predictor {
    model: Forecasting,
    numbers: Vec<String>,
}

enum Forecasting {
    Numbers(Box<Model>, Box<Forecaster>),
    /// With the codes of the classes in the order of the columns.
    Classes(Box<ClassModel>, Vec<usize>),
    Quantiles(Box<QuantileModel>),
}

/// The predictions of a block.
pub struct Predicted<'a> {
    /// Row after row, for rows that have a prediction.
    numbers: Vec<f64>,
    width: usize,
    /// Of every row that was read: where its numbers are, and its label.
    rows: Vec<Option<(usize, Option<&'a str>)>>,
    /// Labels of forecasts, which come with them.
    forecasts: Vec<Option<Forecast>>,
}

impl Predicted<'_> {
    /// What is written for a row; `None` if it was left out for a missing value.
    pub fn cells(&self, row: usize) -> Option<Cells<'_>> {
        let (at, label) = self.rows[row]?;
        let label = match self.forecasts.get(row) {
            Some(forecast) => forecast.as_ref().and_then(|one| one.predicted.as_deref()),
            None => label,
        };
        Some(Cells { numbers: &self.numbers[at * self.width..][..self.width], label })
    }
}

impl Predictor {
    /// For the options of a command. Refuses those that several classes or quantiles do not take.
    pub fn new(model: AnyModel, args: &PredictArgs) -> Result<Self> {
        match model {
            AnyModel::Numbers(model) => {
                let columns: &[&str] = match args.interval {
                    Some(IntervalOf::None) => &COLUMNS_WITHOUT_INTERVAL,
                    _ => &COLUMNS,
                };
                let interval = args.interval.map(interval_of);
                let forecaster = Box::new(Forecaster::new(&model, args.level, interval)?);
                let numbers = columns.iter().copied().map(String::from).collect();
                Ok(Self { model: Forecasting::Numbers(model, forecaster), numbers })
            }
            AnyModel::Classes(model) => {
                if args.interval.is_some_and(|interval| interval != IntervalOf::None) {
                    return Err(Failure::usage(
                        "--interval: a model of several classes predicts probabilities, which \
                         have no interval; leave it out",
                    ));
                }
                let sorted = model.sorted_classes();
                let name = |&class: &usize| format!("p_{}", model.classes()[class]);
                let numbers = sorted.iter().map(name).collect();
                Ok(Self { model: Forecasting::Classes(model, sorted), numbers })
            }
            AnyModel::Quantiles(model) => {
                if args.interval.is_some_and(|interval| interval != IntervalOf::None) {
                    return Err(Failure::usage(
                        "--interval: a model of several quantiles predicts its levels, two of \
                         which hold the targets between them; leave it out",
                    ));
                }
                let name = |level: &f64| format!("q{level}");
                let numbers = model.learner.levels().iter().map(name).collect();
                Ok(Self { model: Forecasting::Quantiles(model), numbers })
            }
        }
    }

    /// Names of the numbers.
    pub fn numbers(&self) -> &[String] {
        &self.numbers
    }

    /// The name of the predicted label, if there is one.
    pub fn label(&self) -> Option<&'static str> {
        match &self.model {
            Forecasting::Numbers(_, forecaster) => forecaster.labels().map(|_| LABEL),
            Forecasting::Classes(..) => Some(LABEL),
            Forecasting::Quantiles(_) => None,
        }
    }

    /// The names of all columns.
    pub fn columns(&self) -> Vec<String> {
        self.numbers.iter().cloned().chain(self.label().map(String::from)).collect()
    }

    /// The encoder of the model.
    pub fn encoder(&self) -> &Encoder {
        match &self.model {
            Forecasting::Numbers(model, _) => &model.encoder,
            Forecasting::Classes(model, _) => &model.encoder,
            Forecasting::Quantiles(model) => &model.encoder,
        }
    }

    /// The same, to read rows with.
    pub fn encoder_mut(&mut self) -> &mut Encoder {
        match &mut self.model {
            Forecasting::Numbers(model, _) => &mut model.encoder,
            Forecasting::Classes(model, _) => &mut model.encoder,
            Forecasting::Quantiles(model) => &mut model.encoder,
        }
    }

    /// What the reader of the output should know.
    pub fn note(&self) -> Option<String> {
        let Forecasting::Numbers(model, forecaster) = &self.model else { return None };
        let labels = forecaster.labels()?;
        let name = model.target();
        Some(format!("note: mean is the probability that `{name}` is `{}`", labels.high))
    }

    /// Predicts a block.
    pub fn predict(&self, block: &Block) -> Result<Predicted<'_>> {
        let mut predicted = Predicted {
            numbers: Vec::new(),
            width: self.numbers.len(),
            rows: vec![None; block.rows_read],
            forecasts: Vec::new(),
        };
        match &self.model {
            Forecasting::Numbers(model, forecaster) => {
                predicted.forecasts = forecaster.forecast_block(model, block)?;
                let mut at = 0;
                for (row, forecast) in predicted.rows.iter_mut().zip(&predicted.forecasts) {
                    if let Some(forecast) = forecast {
                        predicted.numbers.extend(numbers(forecast));
                        *row = Some((at, None));
                        at += 1;
                    }
                }
            }
            Forecasting::Classes(model, sorted) => {
                model.predict_classes(block, &mut |i, probabilities| {
                    predicted.numbers.extend(sorted.iter().map(|&class| probabilities[class]));
                    let label = &*model.classes()[likeliest(probabilities)];
                    let row = (block.input_row(i) - block.first_row) as usize;
                    predicted.rows[row] = Some((i, Some(label)));
                    Ok(())
                })?;
            }
            Forecasting::Quantiles(model) => {
                model.predict_quantiles(block, &mut |i, quantiles| {
                    predicted.numbers.extend(quantiles);
                    let row = (block.input_row(i) - block.first_row) as usize;
                    predicted.rows[row] = Some((i, None));
                    Ok(())
                })?;
            }
        }
        Ok(predicted)
    }
}

/// What the interval is about, in the words of the model.
fn interval_of(given: IntervalOf) -> kalmia_model::IntervalOf {
    match given {
        IntervalOf::Mean => kalmia_model::IntervalOf::Mean,
        IntervalOf::Y => kalmia_model::IntervalOf::Y,
        IntervalOf::Conformal => kalmia_model::IntervalOf::Conformal,
        IntervalOf::None => kalmia_model::IntervalOf::None,
    }
}
