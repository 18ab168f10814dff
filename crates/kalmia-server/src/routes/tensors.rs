//! Predictions as the output tensors of the Open Inference Protocol.

use super::inference::{Tensor, TensorMetadata};
use crate::prediction::NumberPrediction;
use kalmia_model::{AnyModel, ClassForecasts, Forecast, Forecasts, QuantileForecasts};
use serde_json::Value;

/// The outputs of a model of numbers or two labels, with the names of the command's columns.
const OUTPUTS: [&str; 5] = ["mean", "lower", "upper", "linear", "linear_sd"];

/// The output tensors of a model.
pub fn metadata(model: &AnyModel) -> Vec<TensorMetadata> {
    let tensor = |name: &str, datatype, shape: Vec<i64>| {
        let name = name.into();
        TensorMetadata { name, datatype, shape }
    };
    match model {
        AnyModel::Numbers(_) => OUTPUTS.map(|name| tensor(name, "FP64", vec![-1])).into(),
        AnyModel::Classes(model) => {
            let classes = model.sorted_classes().len() as i64;
            vec![
                tensor("probabilities", "FP64", vec![-1, classes]),
                tensor("predicted", "BYTES", vec![-1]),
                tensor("classes", "BYTES", vec![classes]),
            ]
        }
        AnyModel::Quantiles(model) => {
            let levels = model.learner.levels().len() as i64;
            vec![
                tensor("quantiles", "FP64", vec![-1, levels]),
                tensor("levels", "FP64", vec![levels]),
            ]
        }
    }
}

/// The predictions; null for a row left out for a missing value.
pub fn outputs(forecasts: Forecasts) -> Vec<Tensor> {
    match forecasts {
        Forecasts::Numbers(forecasts) => of_numbers(forecasts),
        Forecasts::Classes(classes) => of_classes(&classes),
        Forecasts::Quantiles(quantiles) => of_quantiles(&quantiles),
    }
}

fn fp64(name: &str, shape: Vec<usize>, data: Vec<Value>) -> Tensor {
    Tensor { name: name.into(), shape, datatype: "FP64".into(), data }
}

fn texts<'a>(name: &str, data: impl Iterator<Item = Option<&'a str>>) -> Tensor {
    let data: Vec<Value> = data.map(Value::from).collect();
    Tensor { name: name.into(), shape: vec![data.len()], datatype: "BYTES".into(), data }
}

fn of_numbers(forecasts: Vec<Option<Forecast>>) -> Vec<Tensor> {
    let rows: Vec<Option<NumberPrediction>> =
        forecasts.into_iter().map(|forecast| forecast.map(NumberPrediction::from)).collect();
    let output = |name: &str| {
        let value = |prediction: &Option<NumberPrediction>| {
            let p = prediction.as_ref()?;
            match name {
                "mean" => Some(p.mean),
                "lower" => p.lower,
                "upper" => p.upper,
                "linear" => Some(p.linear),
                _ => Some(p.linear_sd),
            }
        };
        fp64(name, vec![rows.len()], rows.iter().map(|p| Value::from(value(p))).collect())
    };
    OUTPUTS.map(output).into()
}

fn of_classes(classes: &ClassForecasts) -> Vec<Tensor> {
    let rows = classes.rows();
    let width = classes.names().len();
    let mut probabilities = Vec::with_capacity(rows * width);
    for row in 0..rows {
        match classes.probabilities(row) {
            Some(row) => probabilities.extend(row.map(Value::from)),
            None => probabilities.extend((0..width).map(|_| Value::Null)),
        }
    }
    let predicted = (0..rows).map(|row| classes.predicted(row).map(|name| &**name));
    vec![
        fp64("probabilities", vec![rows, width], probabilities),
        texts("predicted", predicted),
        texts("classes", classes.names().iter().map(|name| Some(&**name))),
    ]
}

fn of_quantiles(quantiles: &QuantileForecasts) -> Vec<Tensor> {
    let rows = quantiles.rows();
    let levels = quantiles.levels();
    let mut values = Vec::with_capacity(rows * levels.len());
    for row in 0..rows {
        match quantiles.quantiles(row) {
            Some(row) => values.extend(row.iter().copied().map(Value::from)),
            None => values.extend(levels.iter().map(|_| Value::Null)),
        }
    }
    let levels_data = levels.iter().copied().map(Value::from).collect();
    vec![
        fp64("quantiles", vec![rows, levels.len()], values),
        fp64("levels", vec![levels.len()], levels_data),
    ]
}
