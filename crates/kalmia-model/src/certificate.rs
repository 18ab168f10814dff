//! The certificate of a fit: what Lemma 6 of the paper says about its rows.

use crate::error::Result;
use kalmia::evaluate::Certificate;
use kalmia::{AnyLearner, Family, Learner, Predict, Prior};
use serde::Serialize;

/// The certificate of a filter, against the coefficients that it ended with. It holds for any rows.
///
/// The bounds are on the linearized regret, the sum over rows of
/// `l'_t x_t'(theta_t - theta) - alpha_t (x_t'(theta_t - theta))^2 / 2`, with `theta` the model's
/// coefficients. For an averaged filter, `theta_t` are its iterates and `theta` is their mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CertificateReport {
    /// Rows in the sums.
    pub rows: u64,
    /// The loss suffered: the sum of the losses of `theta_t`, as plug-in predictions.
    pub loss: f64,
    /// Half the sum of `l'_t^2 x_t' P_{t+1} x_t`.
    pub movement: f64,
    /// `ln det P_1 - ln det P_{n+1}`: twice the information of the rows, in nats.
    pub log_det_growth: f64,
    /// The bound with its best constant: the movement plus half of
    /// `(theta_1 - theta)' P_1^-1 (theta_1 - theta)`.
    pub bound: f64,
    /// The bound as the paper prints it, which is larger.
    pub printed_bound: f64,
    /// The smallest regularized loss in hindsight; for normal noise only.
    pub hindsight: Option<f64>,
    /// The loss suffered minus that, exactly; for normal noise only.
    pub regret: Option<f64>,
}

impl CertificateReport {
    /// From the sums over the rows of `learner`; `None` unless it is a filter or the mean of one.
    pub fn new<F: Family>(learner: &AnyLearner<F>, sums: &Certificate) -> Result<Option<Self>> {
        let Some(prior) = prior(learner) else { return Ok(None) };
        let end = learner.coefficients();
        let family = learner.family();
        Ok(Some(Self {
            rows: sums.rows(),
            loss: sums.loss(),
            movement: sums.movement(),
            log_det_growth: sums.log_det_growth(),
            bound: sums.sharp_bound(prior, &end)?,
            printed_bound: sums.printed_bound(prior, &end)?,
            hindsight: sums.hindsight(&family),
            regret: sums.regret(&family),
        }))
    }

    /// One line for people.
    pub fn text(&self) -> String {
        let per_row = self.bound / self.rows.max(1) as f64;
        let mut text = format!(
            "linearized regret at most {} against these coefficients, {} per row",
            short(self.bound),
            short(per_row)
        );
        if let Some(regret) = self.regret {
            text.push_str(&format!("; exact regret {} against the best ridge fit", short(regret)));
        }
        text
    }
}

/// Four digits after the point, or an exponent where that would be long or 0.
fn short(value: f64) -> String {
    if (1e-2..1e6).contains(&value) { format!("{value:.4}") } else { format!("{value:.4e}") }
}

fn prior<F: Family>(learner: &AnyLearner<F>) -> Option<&Prior> {
    match learner {
        AnyLearner::Filter(filter) => Some(filter.prior()),
        AnyLearner::Averaged(averaged) => prior(averaged.inner()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, MethodName, Parameters};
    use kalmia::{AnyFamily, Rows};

    fn report(method: MethodName, averaged: bool) -> CertificateReport {
        let given = Parameters { averaged, ..Parameters::default() };
        let method = Method::new(method, &given).unwrap();
        let family: AnyFamily = "gaussian".parse().unwrap();
        let mut learner = method.build(family, 1, false).unwrap();
        let mut sums = Certificate::default();
        let rows = Rows::new(1, &[1.0, 1.0], &[2.0, 1.0]).unwrap();
        learner.learn_observed(rows, Some(&mut sums)).unwrap();
        CertificateReport::new(&learner, &sums).unwrap().unwrap()
    }

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-14, "{found}, not {expected}");
    }

    #[test]
    fn two_rows_by_hand() {
        // theta = 0, 1, 1: losses 2 and 0; the ridge fit 1 has the loss 1/2 + 0 + 1/2
        let one = report(MethodName::Ekf, false);
        for (found, expected) in [
            (one.loss, 2.0),
            (one.movement, 1.0),
            (one.bound, 1.5),
            (one.printed_bound, 2.0),
            (one.log_det_growth, 3f64.ln()),
            (one.hindsight.unwrap(), 1.0),
            (one.regret.unwrap(), 1.0),
        ] {
            near(found, expected);
        }
        let text = "linearized regret at most 1.5000 against these coefficients, 0.7500 per row; \
                    exact regret 1.0000 against the best ridge fit";
        assert_eq!(one.text(), text);
        // the mean of the iterates 0 and 1
        let mean = report(MethodName::Ekf, true);
        near(mean.movement, 1.0);
        near(mean.bound, 1.0 + 0.125);
    }
}
