//! A smaller model: features that distinguish no class are left out.

use super::WideCategorical;
use super::coefficients::Moments;
use crate::error::{Result, require};
use crate::learner::wide::belief::Belief;

impl WideCategorical {
    /// Leaves out the features of the tail whose coefficient is, for every class, less than `min_z`
    /// standard errors from the mean of all classes; returns how many. They are then features that
    /// no row had. The core and the numbers stay, and so do all features during the first 128
    /// rows. With two classes it is [`Wide::prune`](crate::Wide::prune).
    pub fn prune(&mut self, min_z: f64) -> Result<usize> {
        require(min_z >= 0.0 && min_z.is_finite(), "min_z", min_z, "must be finite, 0 or more")?;
        if self.warm_up.is_some() {
            return Ok(0);
        }
        let slots = self.features.slots.len();
        let kept =
            |slot: &u32| self.features.slots.get(*slot).in_core || self.distinguishes(*slot, min_z);
        let kept: Vec<u32> = (0..slots as u32).filter(kept).collect();
        self.features.keep_slots(&kept);
        self.beliefs.iter_mut().for_each(|belief| belief.tail.keep_slots(&kept));
        Ok(slots - kept.len())
    }

    /// Whether a class differs from the mean of all by `min_z` standard errors.
    fn distinguishes(&self, slot: u32, min_z: f64) -> bool {
        let terms = self.features.terms(self.numbers() + slot as usize);
        let share = 1.0 / self.classes() as f64;
        let mut parts: Vec<(&Belief, f64)> =
            self.beliefs.iter().map(|belief| (belief, -share)).collect();
        (0..self.classes()).any(|class| {
            parts[class].1 = 1.0 - share;
            let Moments { mean, variance } = self.moments(&terms, &parts);
            parts[class].1 = -share;
            mean.abs() >= min_z * variance.sqrt()
        })
    }
}
