//! The coefficient table.

use crate::error::Result;
use kalmia::{AnyLearner, Auto, Family, Gaussian, Learner, Predict, Prediction, Wide};
use kalmia_data::Encoder;
use serde::Serialize;

/// One coefficient. A method without a covariance knows its estimate only.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
    lines(learner, names, level)
}

/// The same for the default learner.
pub(crate) fn auto_coefficients<'a, F: Family>(
    learner: &Auto<F>,
    names: impl Iterator<Item = &'a str>,
    level: f64,
) -> Result<Vec<Coefficient>> {
    lines(learner, names, level)
}

/// Coefficients in the order of the features, or of all but the constant, as a table for people:
/// those of a column stand side by side.
pub(crate) fn by_column(encoder: &Encoder, table: Vec<Coefficient>) -> Vec<Coefficient> {
    let order = encoder.features_by_column();
    let left_out = order.len().saturating_sub(table.len());
    let mut lines: Vec<Option<Coefficient>> = table.into_iter().map(Some).collect();
    let places = order.into_iter().filter_map(|place| place.checked_sub(left_out));
    places.filter_map(|place| lines.get_mut(place)?.take()).collect()
}

fn lines<'a>(
    learner: &impl Predict,
    names: impl Iterator<Item = &'a str>,
    level: f64,
) -> Result<Vec<Coefficient>> {
    let errors = learner.standard_errors();
    let degrees = learner.degrees_of_freedom();
    let estimates = learner.coefficients();
    names
        .zip(&*estimates)
        .enumerate()
        .map(|(j, (name, &estimate))| {
            let error = errors.as_ref().map(|errors| errors[j]);
            Coefficient::new(name.into(), estimate, error, degrees, level)
        })
        .collect()
}

/// The coefficients of a wide learner: its numbers, and of the others at most `others`, those that
/// are the most standard errors from 0. `name` names a feature.
pub(crate) fn main_coefficients<F: Family>(
    learner: &Wide<F>,
    others: usize,
    name: impl Fn(u32) -> String,
    level: f64,
) -> Result<Vec<Coefficient>> {
    let estimates = learner.coefficients();
    let errors = learner.standard_errors().unwrap_or_default();
    let z = |j: &usize| (estimates[*j] / errors[*j]).abs();
    let mut rest: Vec<usize> = (learner.numbers()..learner.dim()).collect();
    if rest.len() > others {
        rest.select_nth_unstable_by(others, |a, b| z(b).total_cmp(&z(a)));
        rest.truncate(others);
    }
    rest.sort_by(|a, b| z(b).total_cmp(&z(a)));
    let features = learner.features();
    let degrees = learner.degrees_of_freedom();
    (0..learner.numbers())
        .chain(rest)
        .map(|j| Coefficient::new(name(features[j]), estimates[j], Some(errors[j]), degrees, level))
        .collect()
}

impl Coefficient {
    /// A coefficient with its standard error, if it has one, and degrees of freedom.
    pub(crate) fn new(
        name: String,
        estimate: f64,
        error: Option<f64>,
        degrees: f64,
        level: f64,
    ) -> Result<Self> {
        let mut line =
            Self { name, estimate, std_error: None, z: None, p: None, lower: None, upper: None };
        if let Some(error) = error {
            add_belief(&mut line, error, degrees, level)?;
        }
        Ok(line)
    }
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
    use std::f64::consts::PI;

    fn with_belief(estimate: f64, error: f64, degrees: f64) -> Coefficient {
        let mut line = Coefficient {
            name: "x".into(),
            estimate,
            std_error: None,
            z: None,
            p: None,
            lower: None,
            upper: None,
        };
        add_belief(&mut line, error, degrees, 0.95).unwrap();
        line
    }

    #[track_caller]
    fn assert_close(found: Option<f64>, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found}, not {expected}");
    }

    #[test]
    fn a_normal_belief_has_the_tabulated_p_value_and_interval() {
        for sign in [1.0, -1.0] {
            let line = with_belief(sign * 0.98, 0.5, f64::INFINITY);
            assert_close(line.z, sign * 1.96);
            assert_close(line.p, 0.049_995_790_296_440_87);
            // far in the tail, where one minus the distribution function would be zero
            assert_close(with_belief(sign * 20.0, 1.0, f64::INFINITY).p, 5.507_248_237_212_311e-89);
        }
        let line = with_belief(0.98, 0.5, f64::INFINITY);
        let half_width = 0.5 * 1.959_963_984_540_054;
        assert_close(line.lower, 0.98 - half_width);
        assert_close(line.upper, 0.98 + half_width);
    }

    #[test]
    fn a_student_belief_has_its_closed_form_p_value() {
        for t in [0.5, 1.0, 2.0, 5.0] {
            assert_close(with_belief(t, 1.0, 1.0).p, 1.0 - 2.0 / PI * f64::atan(t));
            assert_close(with_belief(-t, 1.0, 2.0).p, 1.0 - t / (2.0 + t * t).sqrt());
        }
        // 12.7062 is the tabulated quantile of one degree of freedom, tan(0.475 pi)
        assert_close(with_belief(0.0, 1.0, 1.0).upper, f64::tan(0.475 * PI));
    }
}
