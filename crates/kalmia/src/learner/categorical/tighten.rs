//! Narrower priors of features that turn out to be larger than in the first rows.
//!
//! The prior is relative to the scale of each feature in the first 128 rows. A feature that is
//! nearly constant there, or takes its scale from a small first value, would keep a prior that is
//! too wide. Rows are measured on, and at 256, 512, ... rows a larger scale narrows the prior. The
//! belief is then the one that the narrower prior would have led to, up to where steps were taken.
//! A smaller scale changes nothing: a prior that is too narrow yields to the rows.

use super::Categorical;
use crate::error::Result;
use crate::rows::Rows;

/// Rows from which scales no longer change; the prior hardly matters there.
const MAX_MEASURED_ROWS: u64 = 4096;

impl Categorical {
    /// Whether scales may still grow. Two classes are as [`Auto`](crate::Auto), which keeps its
    /// scales.
    fn measures(&self) -> bool {
        self.classes > 2 && self.count < MAX_MEASURED_ROWS
    }

    /// Counts rows after the warm-up for the scales.
    pub(super) fn measure(&mut self, rows: Rows<'_>) {
        if !self.measures() {
            return;
        }
        for i in (0..rows.len()).filter(|&i| rows.observation(i).weight != 0.0) {
            self.scales.add(rows.x(i));
        }
    }

    /// At powers of two: narrows the priors of features that grew.
    pub(super) fn tighten(&mut self) -> Result<()> {
        if self.classes < 3 || self.count > MAX_MEASURED_ROWS || !self.count.is_power_of_two() {
            return Ok(());
        }
        let enlarged = self.scales.enlarge();
        self.mixture.tighten(&enlarged, self.dim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a constant and two features, of which the second is `factor` times as large from
    /// row 128 on; three classes that depend on both.
    fn rows(count: usize, factor: f64) -> (Vec<f64>, Vec<f64>) {
        let mut x = Vec::new();
        let mut y = Vec::new();
        for i in 0..count {
            let a = (i as f64 * 0.37).sin();
            let b = (i as f64 * 0.73).cos();
            let size = if i < 128 { 1.0 } else { factor };
            x.extend([1.0, a, size * b]);
            y.push(if a + (i as f64 * 1.9).sin() > 0.5 { 2.0 } else { f64::from(b > 0.0) });
        }
        (x, y)
    }

    fn learner() -> Categorical {
        Categorical::builder(3, 3).intercept().build().unwrap()
    }

    /// What the rows say beyond the prior does not depend on the prior.
    #[test]
    fn a_narrower_prior_leaves_what_the_rows_say() {
        let (x, y) = rows(255, 50.0);
        let mut learner = learner();
        learner.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
        let before = serde_json::to_value(learner.information().unwrap().state()).unwrap();
        let scale = learner.scales.scale(2);
        learner.count = 256;
        learner.tighten().unwrap();
        assert!(learner.scales.scale(2) > 10.0 * scale);
        learner.count = 255;
        let after = serde_json::to_value(learner.information().unwrap().state()).unwrap();
        assert_close(&before, &after);
    }

    /// Numbers agree to 1e-8 of the largest of their array; fails for NaN too.
    fn assert_close(a: &serde_json::Value, b: &serde_json::Value) {
        use serde_json::Value::{Array, Object};
        match (a, b) {
            (Object(a), Object(b)) => a.iter().for_each(|(key, a)| assert_close(a, &b[key])),
            (Array(a), Array(b)) if a.iter().all(serde_json::Value::is_number) => {
                let numbers = |v: &[serde_json::Value]| -> Vec<f64> {
                    v.iter().map(|v| v.as_f64().unwrap()).collect()
                };
                let a = numbers(a);
                let b = numbers(b);
                let size = a.iter().fold(1e-300, |size: f64, a| size.max(a.abs()));
                assert_eq!(a.len(), b.len());
                let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-8 * size;
                assert!(a.iter().zip(&b).all(close), "{a:?} {b:?}");
            }
            (Array(a), Array(b)) => a.iter().zip(b).for_each(|(a, b)| assert_close(a, b)),
            _ => assert_eq!(a, b),
        }
    }

    #[test]
    fn equal_scales_and_two_classes_change_nothing() {
        let (x, y) = rows(512, 1.0);
        let mut learner = learner();
        learner.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
        let mut first = super::super::Categorical::builder(3, 3).intercept().build().unwrap();
        first.learn(Rows::new(3, &x[..3 * 128], &y[..128]).unwrap()).unwrap();
        assert_eq!(learner.scales.scale(2), first.scales.scale(2));

        let (x, y) = rows(512, 50.0);
        let two: Vec<f64> = y.iter().map(|y| y.min(1.0)).collect();
        let mut learner = Categorical::builder(2, 3).intercept().build().unwrap();
        learner.learn(Rows::new(3, &x, &two).unwrap()).unwrap();
        assert!(learner.scales.scale(2) < 2.0);
    }
}
