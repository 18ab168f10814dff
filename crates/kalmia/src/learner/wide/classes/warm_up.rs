//! How the first rows are learned.

use super::WideCategorical;
use crate::error::Result;
use crate::learner::ClassObserver;
use crate::learner::auto::prior::MIN_INTERCEPT;
use crate::learner::categorical::BLOCK_SHARE;
use crate::learner::warm_up::WarmUpTurn;
use crate::learner::wide::belief::Belief;
use crate::learner::wide::lane_priors::LanePriors;
use crate::learner::wide::member::Members;
use crate::learner::wide::warm_up::WarmUpRows;
use crate::sparse::SparseRows;

impl WideCategorical {
    /// Learns row `i` during the warm-up.
    pub(super) fn warm_up(
        &mut self,
        rows: SparseRows<'_>,
        i: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        let x = rows.x(i);
        let observation = rows.observation(i);
        let kept = self.warm_up.as_ref().map_or(0, WarmUpRows::len);
        let turn = WarmUpTurn::new(kept, observation.weight);
        if turn.counts {
            self.features.look_up(x, self.count, &mut self.row);
            self.features.scales.add(&self.row.numbers);
        }
        if turn.reruns {
            self.rerun()?;
        }
        self.step(x, observation, i, observer)?;
        self.count += 1;
        if turn.counts {
            self.warm_up.iter_mut().for_each(|kept| kept.push(x, observation));
        }
        if turn.is_last {
            self.warm_up = None;
        }
        Ok(())
    }

    /// Takes the scales anew and learns the rows so far from the prior at these scales.
    fn rerun(&mut self) -> Result<()> {
        let kept = self.warm_up.take().unwrap_or_default();
        let count = self.count;
        self.features.scales.freeze();
        self.rebuild();
        kept.with_rows(|rows| {
            (0..rows.len()).try_for_each(|i| {
                self.step(rows.x(i), rows.observation(i), i, None)?;
                self.count += 1;
                Ok(())
            })
        })?;
        self.count = count;
        self.warm_up = Some(kept);
        Ok(())
    }

    /// The prior at the current scales, and nothing learned.
    pub(super) fn rebuild(&mut self) {
        self.members = Members::for_classes(self.drift, self.classes());
        self.count = 0;
        self.features.clear();
        let priors = self.priors();
        let intercepts = self.intercept_variances();
        let numbers = self.numbers();
        for belief in &mut self.beliefs {
            debug_assert_eq!(belief.lanes(), self.members.lanes());
            belief.clear(numbers);
            set_numbers(belief, numbers, &priors, intercepts.as_deref());
        }
    }

    /// Prior variance of an intercept under each member; `None` without intercepts.
    pub(super) fn intercept_variances(&self) -> Option<Vec<f64>> {
        let variance = |size: f64| BLOCK_SHARE * MIN_INTERCEPT * size.max(1.0);
        let members = self.members.all.iter();
        let variances = members.map(|member| variance(member.assumption.prior_size));
        self.features.scales.has_intercept().then(|| variances.collect())
    }
}

/// Gives the leading numbers their prior.
pub(super) fn set_numbers(
    belief: &mut Belief,
    numbers: usize,
    priors: &LanePriors,
    intercepts: Option<&[f64]>,
) {
    for (k, &variance) in priors.variances().iter().enumerate() {
        for j in 0..numbers {
            belief.core.set(j, k, 0.0, variance);
        }
        if let Some(intercepts) = intercepts {
            belief.core.set(0, k, 0.0, intercepts[k]);
        }
    }
}
