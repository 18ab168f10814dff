//! New classes.

use super::WideCategorical;
use super::warm_up::set_numbers;
use crate::error::Result;
use crate::learner::categorical::averaged_logit;
use crate::learner::wide::assumption::class_lanes;
use crate::learner::wide::belief::Belief;

impl WideCategorical {
    /// Appends a class that no row had so far, with the prior of its coefficients.
    ///
    /// With an intercept it starts as rare as a class that $n$ rows did not have: in a row with as
    /// many features as usual its probability is about $1/(n+2)$, and more in a longer row, where
    /// it is less certain. The coefficients of the other classes do not change. During the first
    /// 128 rows the class is then treated as known from the start. If there are so many classes
    /// that fewer members are kept, the lightest leave.
    pub fn grow_class(&mut self) -> Result<()> {
        let belief = self.new_belief()?;
        let lanes = class_lanes(self.classes() + 1);
        self.beliefs.push(belief);
        if lanes < self.members.lanes() {
            self.keep_members(&self.members.heaviest_lanes(lanes))?;
        }
        Ok(())
    }

    /// The belief about a new class.
    fn new_belief(&self) -> Result<Belief> {
        let priors = self.priors();
        let numbers = self.numbers();
        let mut belief = Belief::new(self.features.capacity(), numbers, priors.variances().len())?;
        let intercepts = self.intercept_variances();
        set_numbers(&mut belief, numbers, &priors, intercepts.as_deref());
        (0..self.features.slots.len()).for_each(|_| belief.push(&priors));
        let promoted = self.features.promoted().iter();
        promoted.for_each(|feature| belief.promote(feature.slot));
        let features = self.usual_features();
        for (k, variance) in intercepts.into_iter().flatten().enumerate() {
            let usual = variance + features * priors.variances()[k];
            belief.core.set(0, k, self.rare_level(k, usual), variance);
        }
        Ok(belief)
    }

    /// Features per row so far, the numbers included, each of about the size of its unit.
    fn usual_features(&self) -> f64 {
        let seen: f64 = self.features.slots.all().iter().map(|slot| f64::from(slot.seen)).sum();
        let constant = usize::from(self.features.scales.has_intercept());
        (self.numbers() - constant) as f64 + seen / (self.count as f64).max(1.0)
    }

    /// The intercept at which a new class has probability $1/(n+2)$ under member `k` in a row whose
    /// linear predictor has this variance.
    fn rare_level(&self, k: usize, variance: f64) -> f64 {
        let levels = self.beliefs.iter().map(|belief| belief.core.mean(0, k));
        let top = levels.clone().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = levels.map(|level| (level - top).exp()).sum();
        let chance = 1.0 / (self.count as f64 + 2.0);
        let believed = self.members.all[k].assumption.share * variance;
        top + sum.ln() + averaged_logit(chance, believed)
    }
}
