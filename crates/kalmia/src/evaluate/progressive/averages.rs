//! The averages of progressive evaluation, over all rows and over the last half.

use super::super::ranking::CalibrationGroup;
use super::super::report::{Below, Classification, Coverage, LastHalf, Regression, Report};
use super::super::window::Late;
use super::Progressive;
use crate::family::AnyFamily;

impl Progressive {
    /// The calibration in at most `groups` groups of about equal weight; empty unless targets are
    /// labels.
    pub fn calibration_groups(&self, groups: usize) -> Vec<CalibrationGroup> {
        self.labels.as_ref().map_or(Vec::new(), |(ranking, _)| ranking.groups(groups))
    }

    /// All averages.
    pub fn report(&self) -> Report {
        let mean = |sum: f64| sum / self.weight;
        let classification = self.labels.as_ref().map(|(ranking, calibration)| Classification {
            log_loss: mean(self.loss),
            accuracy: mean(self.correct),
            brier: mean(self.square),
            auc: ranking.auc(),
            auc_error: ranking.error_bound(),
            calibration_error: calibration.expected_error(),
            reliability: calibration.bins(),
        });
        let gaussian = matches!(self.family, AnyFamily::Gaussian(_));
        let intervals = self.interval_weight > 0.0;
        let level = self.quantile_level();
        Report {
            rows: self.rows,
            weight: self.weight,
            loss: mean(self.loss),
            constant_loss: self.constant_loss(),
            deviance: 2.0 * mean(self.loss),
            classification,
            regression: gaussian
                .then(|| Regression { rmse: mean(self.square).sqrt(), mae: mean(self.absolute) }),
            coverage: intervals.then(|| Coverage {
                covered: self.covered / self.interval_weight,
                width: (self.width > 0.0).then(|| self.width / self.interval_weight),
            }),
            below: level.map(|level| Below { level, share: mean(self.below) }),
            last_half: self.last_half(),
        }
    }

    /// The last half of the rows, or somewhat more; `None` if no row in it was judged.
    fn last_half(&self) -> Option<LastHalf> {
        let Late { start, sums, merged } = self.window.late(self.rows)?;
        // a weight of trials or exposure makes a row more precise; other weights repeat it
        let trials = match &self.family {
            AnyFamily::Binomial(binomial) => binomial.trials().is_none(),
            _ => self.rates,
        };
        let repeats = if trials { sums.judged as f64 } else { sums.weight };
        (sums.judged > 0).then(|| LastHalf {
            first_row: start + 1,
            last_row: self.rows,
            of_parts: merged,
            loss: sums.loss / sums.weight,
            constant_loss: sums.constant_loss() / sums.weight,
            dispersion: (self.labels.is_none() && self.quantile.is_none())
                .then_some(sums.pearson / repeats),
            covered: (sums.interval_weight > 0.0).then(|| sums.covered / sums.interval_weight),
            share_below: self.quantile_level().map(|_| sums.below / sums.weight),
        })
    }

    /// The level of the predicted quantile; `None` for other families.
    fn quantile_level(&self) -> Option<f64> {
        if let AnyFamily::Quantile(quantile) = &self.family { Some(quantile.tau()) } else { None }
    }
}
