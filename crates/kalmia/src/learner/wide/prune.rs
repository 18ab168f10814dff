//! A smaller model: features whose coefficient is small beside its standard error are left out.

use super::Wide;
use crate::error::{Result, require};
use crate::family::Family;

impl<F: Family> Wide<F> {
    /// Leaves out the features of the tail whose coefficient is less than `min_z` standard errors
    /// from 0, and returns how many. They are then features that no row had, so predictions lose
    /// their small effect and become a little less certain; measure what it costs on rows. The core
    /// and the numbers stay, and so do all features during the first 128 rows.
    ///
    /// ```
    /// use kalmia::{Bernoulli, Learner, SparseMatrix, SparseRows, Wide};
    ///
    /// let mut wide = Wide::new(Bernoulli)?;
    /// let starts: Vec<usize> = (0..=300).collect();
    /// let indices: Vec<u32> = (0..300).map(|i| i % 100).collect();
    /// let y: Vec<f64> = (0..300).map(|i| f64::from(i % 100 < 50)).collect();
    /// let x = SparseMatrix::new(&starts, &indices, &[1.0; 300])?;
    /// wide.learn_sparse(SparseRows::new(x, &y)?)?;
    /// assert_eq!(wide.prune(100.0)?, 100); // three rows are no strong evidence
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn prune(&mut self, min_z: f64) -> Result<usize> {
        require(min_z >= 0.0 && min_z.is_finite(), "min_z", min_z, "must be finite, 0 or more")?;
        if self.warm_up.is_some() {
            return Ok(0);
        }
        let numbers = self.numbers();
        let means = self.mean();
        let deviations = self.deviations();
        let keeps = |slot: usize| {
            let at = numbers + slot;
            self.features.slots.get(slot as u32).in_core
                || means[at].abs() >= min_z * deviations[at]
        };
        let slots = self.features.slots.len();
        let kept: Vec<u32> = (0..slots).filter(|&s| keeps(s)).map(|s| s as u32).collect();
        self.features.keep_slots(&kept);
        self.belief.tail.keep_slots(&kept);
        Ok(slots - kept.len())
    }
}
