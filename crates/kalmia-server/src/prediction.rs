//! A prediction as answers hold it, with the names of the command's columns.

use kalmia_model::Forecast;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The prediction of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Prediction {
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

impl From<Forecast> for Prediction {
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
pub fn predictions(forecasts: Vec<Option<Forecast>>) -> Vec<Option<Prediction>> {
    forecasts.into_iter().map(|forecast| forecast.map(Prediction::from)).collect()
}
