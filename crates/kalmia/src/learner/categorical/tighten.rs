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

    /// After `rows` rows: takes the larger scales of features that grew. A second look then starts
    /// from the priors at these scales; without one the beliefs are narrowed.
    pub(super) fn tighten(&mut self, rows: u64) -> Result<()> {
        if self.classes < 3 || rows > MAX_MEASURED_ROWS {
            return Ok(());
        }
        let enlarged = self.scales.enlarge();
        if self.remembered.is_some() {
            return Ok(());
        }
        self.mixture.tighten(&enlarged, self.dim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::covariance::{Covariance, FactoredBelief};
    use crate::learner::categorical::BLOCK_SHARE;
    use crate::learner::times;
    use crate::linalg::inverse;
    use crate::sums::{ClassSums, polish_classes};

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

    /// Of each member and class: $P^{-1}$, and $P^{-1}\theta$.
    fn natural(learner: &Categorical) -> Vec<(Vec<f64>, Vec<f64>)> {
        let blocks = learner.mixture.members.iter().flat_map(|member| &member.blocks);
        let of = |block: &FactoredBelief| {
            let precision = inverse(&block.covariance.matrix(), 3, "covariance").unwrap();
            let pulled = times(&precision, block.coefficients());
            (precision, pulled)
        };
        blocks.map(of).collect()
    }

    /// The prior has mean 0, so $P^{-1}\theta$ is what the rows say, and only the precision of the
    /// one coefficient grows: from that of the prior at the old scale to that at the new one.
    #[test]
    fn a_narrower_prior_leaves_what_the_rows_say() {
        let (x, y) = rows(255, 50.0);
        let mut learner = learner();
        learner.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
        learner.remembered = None; // no second look
        let before = natural(&learner);
        let old = learner.scales.scale(2);
        learner.tighten(256).unwrap();
        let new = learner.scales.scale(2);
        assert!(new > 10.0 * old);
        let sizes = learner.mixture.members.iter().flat_map(|m| [m.prior_size; 3]);
        for ((before, after), size) in before.iter().zip(natural(&learner)).zip(sizes) {
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-8 * (1.0 + b.abs());
            for (at, (a, b)) in after.0.iter().zip(&before.0).enumerate() {
                let added = (new * new - old * old) / (BLOCK_SHARE * size);
                let expected = if at == 8 { b + added } else { *b };
                assert!(close(*a, expected), "entry {at}: {a} is not {expected}");
            }
            for (a, b) in after.1.iter().zip(&before.1) {
                assert!(close(*a, *b), "{a} is not {b}");
            }
        }
    }

    #[test]
    fn a_polished_belief_keeps_its_prior() {
        let (x, y) = rows(255, 50.0);
        let mut learner = learner();
        learner.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
        let mut sums = ClassSums::new(3, &learner.coefficients_against_first()).unwrap();
        sums.add(Rows::new(3, &x, &y).unwrap()).unwrap();
        let polished = polish_classes(&learner.polishing_prior().unwrap(), &sums).unwrap();
        let mut learner = learner.with_polished(&polished).unwrap();
        let before = natural(&learner);
        learner.tighten(256).unwrap();
        assert_eq!(natural(&learner), before);
    }

    #[test]
    fn equal_scales_and_two_classes_change_nothing() {
        let (x, y) = rows(512, 1.0);
        let mut learner = learner();
        learner.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
        let mut first = Categorical::builder(3, 3).intercept().build().unwrap();
        first.learn(Rows::new(3, &x[..3 * 128], &y[..128]).unwrap()).unwrap();
        assert_eq!(learner.scales.scale(2), first.scales.scale(2));

        let (x, y) = rows(512, 50.0);
        let two: Vec<f64> = y.iter().map(|y| y.min(1.0)).collect();
        let mut learner = Categorical::builder(2, 3).intercept().build().unwrap();
        learner.learn(Rows::new(3, &x, &two).unwrap()).unwrap();
        assert!(learner.scales.scale(2) < 2.0);
    }
}
