//! Forecasts: what a front end shows of the prediction of a row, the same for the command and the
//! service.

use crate::conformal::ConformalIntervals;
use crate::error::{Result, number_text};
use crate::model::Model;
use kalmia::AnyFamily;
use kalmia::predict::{Interval, MixturePrediction};
use kalmia_data::{Block, Coding, Table};
use std::sync::Arc;

/// What the interval of a forecast is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalOf {
    /// The mean of the target: what is not known of the coefficients.
    Mean,
    /// The target itself, with its noise.
    Y,
    /// The target itself, by thresholds that hold whatever the model: see
    /// [`Conformal`](kalmia::evaluate::Conformal).
    Conformal,
    /// No interval.
    None,
}

impl IntervalOf {
    /// The interval that is shown unless another is asked for: that of the mean for labels, trials
    /// and proportions, of which the target itself says little, and for quantiles, whose law is not
    /// that of the target; else that of the target.
    pub fn default_of(family: &AnyFamily) -> Self {
        match family {
            AnyFamily::Bernoulli(_) | AnyFamily::Binomial(_) | AnyFamily::Quantile(_) => Self::Mean,
            AnyFamily::Gaussian(_)
            | AnyFamily::Poisson(_)
            | AnyFamily::Gamma(_)
            | AnyFamily::NegativeBinomial(_)
            | AnyFamily::Student(_) => Self::Y,
        }
    }
}

/// The prediction of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Mean of the target, averaged over the uncertainty of the coefficients.
    pub mean: f64,
    /// Lower end of the interval, if there is one.
    pub lower: Option<f64>,
    /// Upper end of the interval, if there is one; infinite where the mean saturates.
    pub upper: Option<f64>,
    /// Mean of the linear predictor, the offset included.
    pub linear: f64,
    /// Its standard deviation; half the width of its central 68 % interval if it has none.
    pub linear_sd: f64,
    /// The label of the larger probability as the data writes it, if the target has labels.
    pub predicted: Option<Arc<str>>,
}

/// The two labels of a target as the data writes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelNames {
    /// The label coded 0.
    pub low: Arc<str>,
    /// The label coded 1, of which a mean is the probability.
    pub high: Arc<str>,
}

impl LabelNames {
    /// Those of a model of labels; `None` for other families.
    pub fn of(model: &Model) -> Option<Self> {
        let AnyFamily::Bernoulli(_) = model.family() else { return None };
        let target = model.encoder.target()?;
        let (low, high) = match &target.coding {
            Some(Coding::Labels { positive, negative }) => {
                let other = || format!("not {positive}");
                (negative.clone().unwrap_or_else(other), positive.clone())
            }
            Some(Coding::Boolean) => ("false".into(), "true".into()),
            Some(Coding::Classes { .. } | Coding::Levels { .. }) => return None,
            Some(Coding::Number) | None => match target.distinct[..] {
                [low, high] => (number_text(low), number_text(high)),
                _ => ("0".into(), "1".into()),
            },
        };
        Some(Self { low: low.into(), high: high.into() })
    }

    fn of_mean(&self, mean: f64) -> Arc<str> {
        if mean > 0.5 { self.high.clone() } else { self.low.clone() }
    }
}

/// Makes forecasts of predictions.
#[derive(Debug, Clone)]
pub struct Forecaster {
    labels: Option<LabelNames>,
    interval: IntervalOf,
    level: f64,
    conformal: Option<ConformalIntervals>,
}

impl Forecaster {
    /// For the predictions of a model, with intervals of probability `level`, by default of what
    /// [`IntervalOf::default_of`] says. Refuses a level that is not strictly between 0 and 1, and
    /// conformal intervals of a model that was fitted without them, or of a level above 0.99.
    pub fn new(model: &Model, level: f64, interval: Option<IntervalOf>) -> Result<Self> {
        if !(level > 0.0 && level < 1.0) {
            return Err(crate::Error::Level { level });
        }
        let interval = interval.unwrap_or_else(|| IntervalOf::default_of(&model.family()));
        let conformal = match interval {
            IntervalOf::Conformal => {
                ConformalIntervals::check_level(level)?;
                Some(ConformalIntervals::new(&model.learner, &model.metrics)?)
            }
            _ => None,
        };
        Ok(Self { labels: LabelNames::of(model), interval, level, conformal })
    }

    /// The labels of the target, if it has some.
    pub fn labels(&self) -> Option<&LabelNames> {
        self.labels.as_ref()
    }

    /// The forecast of a prediction.
    pub fn forecast(&self, prediction: &MixturePrediction<AnyFamily>) -> kalmia::Result<Forecast> {
        let interval: Option<Interval> = match (&self.conformal, self.interval) {
            (Some(conformal), _) => Some(conformal.interval(prediction, self.level)?),
            (None, IntervalOf::Mean) => Some(prediction.mean_interval(self.level)?),
            (None, IntervalOf::Y) => Some(prediction.interval(self.level)?),
            // conformal intervals have been made above
            (None, IntervalOf::Conformal | IntervalOf::None) => None,
        };
        Ok(Forecast {
            mean: prediction.mean,
            lower: interval.map(|interval| interval.lower),
            upper: interval.map(|interval| interval.upper),
            linear: prediction.linear,
            linear_sd: prediction.linear_deviation(),
            predicted: self.labels.as_ref().map(|labels| labels.of_mean(prediction.mean)),
        })
    }

    /// The forecast of every row that was read for a block, which the model's encoder encoded for
    /// prediction; `None` for a row that was left out for a missing value.
    pub fn forecast_block(&self, model: &Model, block: &Block) -> Result<Vec<Option<Forecast>>> {
        let mut forecasts = vec![None; block.rows_read];
        model.predict(block, &mut |i, prediction| {
            let row = (block.input_row(i) - block.first_row) as usize;
            forecasts[row] = Some(self.forecast(prediction)?);
            Ok(())
        })?;
        Ok(forecasts)
    }
}

impl Model {
    /// The forecasts of a table's rows, in order; `None` for a row that was left out for a missing
    /// value. `block` is scratch whose memory is reused; afterwards it holds the encoded rows.
    ///
    /// Nothing in the model changes, so several threads may predict at once.
    ///
    /// ```
    /// use kalmia_data::{Block, Coding, Encoder, EncoderOptions, Input, Kind, Mode};
    /// use kalmia_data::{SourceOptions, Table};
    /// use kalmia_model::{LearnScratch, Model, Settings};
    ///
    /// let columns = [("x".into(), Kind::Number)];
    /// let options = EncoderOptions::target("y");
    /// let encoder = Encoder::from_columns(options, &columns, Coding::Number)?;
    /// let mut model = Model::new(Settings::default(), "gaussian".parse()?, encoder)?;
    /// let schema = model.encoder.table_schema();
    /// let read = |csv: &'static str, mode| {
    ///     let input = Input::memory("rows.csv", csv.as_bytes());
    ///     Table::read(input, &SourceOptions::default(), &schema, mode, 1000)
    /// };
    /// let rows = read("x,y\n1,2.1\n2,3.9\n3,6.2\n4,7.9\n", Mode::Learn)?;
    /// let learned = model.learn_table(&rows, &mut LearnScratch::default())?;
    /// assert_eq!((learned.rows, model.metrics.progressive.rows()), (4, 4));
    ///
    /// let new = read("x\n2.5\n", Mode::Predict)?;
    /// let forecasts = model.forecast_table(&new, 0.95, None, &mut Block::new())?;
    /// let forecast = forecasts[0].as_ref().unwrap();
    /// assert!(forecast.lower.unwrap() < 5.0 && 5.0 < forecast.upper.unwrap());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forecast_table(
        &self,
        table: &Table,
        level: f64,
        interval: Option<IntervalOf>,
        block: &mut Block,
    ) -> Result<Vec<Option<Forecast>>> {
        let forecaster = Forecaster::new(self, level, interval)?;
        self.encoder.encode_for_prediction(table, block)?;
        forecaster.forecast_block(self, block)
    }
}
