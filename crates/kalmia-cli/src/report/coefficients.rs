//! The coefficient table.

use super::{Table, number};
use crate::error::Result;
use crate::model::Model;
use kalmia::Predict;
use kalmia::{Gaussian, Learner, Prediction, Predictive};
use serde::Serialize;

/// One line of the table; the belief is absent for methods that have none.
#[derive(Debug, Clone, Serialize)]
pub struct Coefficient {
    /// Its feature.
    pub name: String,
    /// Posterior mean.
    pub estimate: f64,
    /// Posterior deviation.
    pub std_error: Option<f64>,
    /// Estimate over deviation.
    pub z: Option<f64>,
    /// Lower end of the 95 % interval.
    pub lower: Option<f64>,
    /// Upper end.
    pub upper: Option<f64>,
}

/// The coefficients in the order of the features.
pub fn coefficients(model: &Model) -> Result<Vec<Coefficient>> {
    let errors = model.learner.standard_errors();
    let degrees = model.learner.degrees_of_freedom();
    let features = model.encoder.features().iter().zip(model.learner.coefficients());
    features
        .enumerate()
        .map(|(j, (feature, &estimate))| {
            let std_error = errors.as_ref().map(|errors| errors[j]);
            // the belief of the coefficient is that of a linear predictor with this feature alone
            let belief = std_error.map(|error| {
                let belief = Prediction::new(Gaussian::default(), estimate, error * error)?;
                if degrees.is_finite() {
                    belief.with_degrees_of_freedom(degrees)
                } else {
                    Ok(belief)
                }
            });
            let interval = belief
                .transpose()?
                .map(|belief| (belief.linear_quantile(0.025), belief.linear_quantile(0.975)));
            Ok(Coefficient {
                name: feature.name.clone(),
                estimate,
                std_error,
                z: std_error.map(|error| estimate / error),
                lower: interval.map(|i| i.0),
                upper: interval.map(|i| i.1),
            })
        })
        .collect()
}

/// The table as text.
pub fn table(coefficients: &[Coefficient]) -> String {
    if coefficients.iter().all(|c| c.std_error.is_none()) {
        let mut table = Table::new(["coefficient", "estimate"]);
        coefficients.iter().for_each(|c| table.row([c.name.clone(), number(c.estimate)]));
        return table.render();
    }
    let mut table = Table::new(["coefficient", "estimate", "std error", "z", "95 % from", "to"]);
    let show = |value: Option<f64>| value.map_or(String::new(), number);
    for c in coefficients {
        let z = c.z.map_or(String::new(), |z| format!("{z:.2}"));
        table.row([
            c.name.clone(),
            number(c.estimate),
            show(c.std_error),
            z,
            show(c.lower),
            show(c.upper),
        ]);
    }
    table.render()
}
