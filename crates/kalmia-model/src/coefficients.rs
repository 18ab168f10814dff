//! The coefficient table.

use crate::error::Result;
use kalmia::{AnyLearner, Family, Gaussian, Learner, Predict, Prediction};
use serde::Serialize;

/// One coefficient. A method without a covariance knows its estimate only.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Coefficient {
    /// Its feature.
    pub name: String,
    /// Posterior mean.
    pub estimate: f64,
    /// Posterior standard deviation.
    pub std_error: Option<f64>,
    /// Estimate over standard error.
    pub z: Option<f64>,
    /// Two-sided p-value of the hypothesis that the coefficient is 0.
    pub p: Option<f64>,
    /// Lower end of the interval.
    pub lower: Option<f64>,
    /// Upper end of the interval.
    pub upper: Option<f64>,
}

/// The coefficients of a learner, named in order, with intervals of probability `level`; for a
/// learner without an encoder. [`crate::Model::coefficients`] takes the names from its encoder.
pub fn coefficients<'a, F: Family>(
    learner: &AnyLearner<F>,
    names: impl Iterator<Item = &'a str>,
    level: f64,
) -> Result<Vec<Coefficient>> {
    let errors = learner.standard_errors();
    let degrees = learner.degrees_of_freedom();
    let mut table = Vec::with_capacity(learner.dim());
    for (j, (name, &estimate)) in names.zip(learner.coefficients()).enumerate() {
        let mut line = Coefficient {
            name: name.into(),
            estimate,
            std_error: None,
            z: None,
            p: None,
            lower: None,
            upper: None,
        };
        if let Some(errors) = &errors {
            add_belief(&mut line, errors[j], degrees, level)?;
        }
        table.push(line);
    }
    Ok(table)
}

/// Fills in what needs the covariance.
fn add_belief(line: &mut Coefficient, error: f64, degrees: f64, level: f64) -> Result<()> {
    // a coefficient is the linear predictor of a row that holds its feature alone
    let belief = Prediction::new(Gaussian::default(), line.estimate, error * error)?;
    let belief =
        if degrees.is_finite() { belief.with_degrees_of_freedom(degrees)? } else { belief };
    let z = line.estimate / error;
    let beyond_zero = belief.linear_cdf(0.0);
    line.std_error = Some(error);
    line.z = Some(z);
    line.p = Some(2.0 * beyond_zero.min(1.0 - beyond_zero));
    line.lower = Some(belief.linear_quantile(0.5 - 0.5 * level));
    line.upper = Some(belief.linear_quantile(0.5 + 0.5 * level));
    Ok(())
}
