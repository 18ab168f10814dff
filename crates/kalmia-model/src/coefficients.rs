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
    let belief = |estimate: f64| -> Result<Prediction<Gaussian>> {
        let belief = Prediction::new(Gaussian::default(), estimate, error * error)?;
        Ok(if degrees.is_finite() { belief.with_degrees_of_freedom(degrees)? } else { belief })
    };
    let own = belief(line.estimate)?;
    line.std_error = Some(error);
    line.z = Some(line.estimate / error);
    // in the lower tail, where a tiny probability keeps its precision
    line.p = Some(2.0 * belief(line.estimate.abs())?.linear_cdf(0.0));
    line.lower = Some(own.linear_quantile(0.5 - 0.5 * level));
    line.upper = Some(own.linear_quantile(0.5 + 0.5 * level));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of one line with the estimate and standard error given.
    fn line(estimate: f64, error: f64, degrees: f64) -> Coefficient {
        let empty = Coefficient {
            name: "x".into(),
            estimate,
            std_error: None,
            z: None,
            p: None,
            lower: None,
            upper: None,
        };
        let mut line = empty;
        add_belief(&mut line, error, degrees, 0.95).unwrap();
        line
    }

    #[test]
    fn p_values_and_intervals_are_those_of_the_tables() {
        // scipy.stats: norm.sf(1.96) * 2, norm.sf(20) * 2, t(7).sf(2.5) * 2
        for (estimate, degrees, p) in [
            (1.96, f64::INFINITY, 0.04999579029644087),
            (20.0, f64::INFINITY, 5.507248237212311e-89),
            (2.5, 7.0, 0.04099221858575289),
        ] {
            for sign in [1.0, -1.0] {
                let found = line(sign * estimate, 1.0, degrees).p.unwrap();
                assert!((found / p - 1.0).abs() < 1e-9, "{estimate}: {found} against {p}");
            }
        }
        let wide = line(3.0, 2.0, f64::INFINITY);
        assert!((wide.lower.unwrap() - (3.0 - 2.0 * 1.959963984540054)).abs() < 1e-12);
        assert!((wide.upper.unwrap() - (3.0 + 2.0 * 1.959963984540054)).abs() < 1e-12);
        assert_eq!(wide.z, Some(1.5));
    }
}
