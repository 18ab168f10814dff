//! A prediction as answers hold it, with the names of the command's columns.

use kalmia_model::{ClassForecasts, Forecast, Forecasts, QuantileForecasts};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;
use utoipa::ToSchema;

/// The prediction of a row, by the kind of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Prediction {
    /// Of a number or of two labels.
    Number(NumberPrediction),
    /// Of several classes.
    Classes(ClassPrediction),
    /// Of several quantiles.
    Quantiles(QuantilePrediction),
}

/// The prediction of a number or of two labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NumberPrediction {
    /// Mean of the target; for labels the probability of the positive one.
    pub mean: f64,
    /// Lower end of the interval; null without one.
    pub lower: Option<f64>,
    /// Upper end of the interval; null without one, and where it is infinite.
    pub upper: Option<f64>,
    /// Mean of the linear predictor, the offset included.
    pub linear: f64,
    /// Its standard deviation.
    pub linear_sd: f64,
    /// The label of the larger probability, if the target has labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<String>,
}

/// The prediction of several classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClassPrediction {
    /// The class of the highest probability.
    pub predicted: String,
    /// The probability of each class by its name, in the order of the names; they sum to 1.
    #[schema(value_type = Object, example = json!({"setosa": 0.98, "versicolor": 0.02}))]
    pub probabilities: NamedNumbers,
}

/// The prediction of several quantiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuantilePrediction {
    /// The quantile of each level, which never cross.
    #[schema(value_type = Object, example = json!({"0.1": 3.5, "0.9": 8.25}))]
    pub quantiles: NamedNumbers,
}

/// Numbers by name, in their order; a JSON object.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedNumbers(pub Vec<(Arc<str>, f64)>);

impl Serialize for NamedNumbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, number)| (&**name, number)))
    }
}

impl<'de> Deserialize<'de> for NamedNumbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NumbersVisitor)
    }
}

struct NumbersVisitor;

impl<'de> Visitor<'de> for NumbersVisitor {
    type Value = NamedNumbers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of names and numbers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NamedNumbers, A::Error> {
        let mut numbers = Vec::new();
        while let Some((name, number)) = map.next_entry::<String, f64>()? {
            numbers.push((name.into(), number));
        }
        Ok(NamedNumbers(numbers))
    }
}

impl From<Forecast> for NumberPrediction {
    fn from(forecast: Forecast) -> Self {
        let Forecast { mean, lower, upper, linear, linear_sd, predicted } = forecast;
        let finite = |end: Option<f64>| end.filter(|end| end.is_finite());
        Self {
            mean,
            lower: finite(lower),
            upper: finite(upper),
            linear,
            linear_sd,
            predicted: predicted.map(|label| label.to_string()),
        }
    }
}

/// Predictions of forecasts, in order.
pub fn predictions(forecasts: Forecasts) -> Vec<Option<Prediction>> {
    let rows = 0..forecasts.rows();
    match forecasts {
        Forecasts::Numbers(forecasts) => {
            let one = |forecast: Forecast| Prediction::Number(forecast.into());
            forecasts.into_iter().map(|forecast| forecast.map(one)).collect()
        }
        Forecasts::Classes(classes) => rows.map(|row| of_classes(&classes, row)).collect(),
        Forecasts::Quantiles(quantiles) => {
            let level = |level: &f64| level.to_string().into();
            let names: Vec<Arc<str>> = quantiles.levels().iter().map(level).collect();
            rows.map(|row| of_quantiles(&quantiles, &names, row)).collect()
        }
    }
}

fn of_classes(classes: &ClassForecasts, row: usize) -> Option<Prediction> {
    let named = classes.names().iter().cloned().zip(classes.probabilities(row)?);
    Some(Prediction::Classes(ClassPrediction {
        predicted: classes.predicted(row)?.to_string(),
        probabilities: NamedNumbers(named.collect()),
    }))
}

fn of_quantiles(
    quantiles: &QuantileForecasts,
    names: &[Arc<str>],
    row: usize,
) -> Option<Prediction> {
    let named = names.iter().cloned().zip(quantiles.quantiles(row)?.iter().copied());
    Some(Prediction::Quantiles(QuantilePrediction { quantiles: NamedNumbers(named.collect()) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_back_as_what_they_were() {
        let number = NumberPrediction {
            mean: 0.5,
            lower: Some(0.25),
            upper: None,
            linear: 0.0,
            linear_sd: 1.0,
            predicted: Some("late".into()),
        };
        let named = NamedNumbers(vec![("b".into(), 0.75), ("a".into(), 0.25)]);
        let all = [
            Prediction::Number(number),
            Prediction::Classes(ClassPrediction {
                predicted: "b".into(),
                probabilities: named.clone(),
            }),
            Prediction::Quantiles(QuantilePrediction { quantiles: named }),
        ];
        for prediction in all {
            let json = serde_json::to_string(&prediction).unwrap();
            assert_eq!(serde_json::from_str::<Prediction>(&json).unwrap(), prediction, "{json}");
        }
    }
}
