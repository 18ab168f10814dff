//! The step of each row of a filter: checked, then shown to the observer.

use crate::error::{Error, Result};
use crate::family::{Family, FastPaths, Point};
use crate::learner::auto::outliers::FilterJudge;
use crate::observe::{Observer, RowView, observation};
use crate::rows::Rows;
use crate::rule::{Rule, Step};

/// The rows of a call, the steps that they cause, and the observer.
pub(super) struct Steps<'a, 'o> {
    pub rows: Rows<'a>,
    pub observer: Option<&'o mut dyn Observer>,
    /// Decides how much of a row counts; `None` if every row counts in full.
    pub judge: Option<FilterJudge<'a>>,
}

impl Steps<'_, '_> {
    /// The step of row `i` at time `t`, shown to the observer; refused if it is not finite.
    #[inline(always)]
    pub fn decide<F: Family, R: Rule>(
        &mut self,
        family: &F,
        rule: &R,
        i: usize,
        m: f64,
        s: f64,
        t: u64,
    ) -> Result<Step> {
        let observation = observation(family, &self.rows, i);
        let diverged = |quantity, value: f64| Err(Error::Diverged { row: i, quantity, value });
        let lost =
            (m + observation.offset).abs() > family.largest_linear() && rule.can_diverge(family);
        if lost || !m.is_finite() {
            return diverged("the linear predictor", m);
        }
        let counted = match &mut self.judge {
            Some(judge) => judge.counted(family, &observation, m, s),
            None => observation,
        };
        let step = rule.step(family, &counted, m, s, t);
        // an infinite s or curvature shows in their product
        if !(step.gain.is_finite() && (step.curvature * s).is_finite()) {
            return diverged(
                "the step",
                if step.gain.is_finite() { step.curvature * s } else { step.gain },
            );
        }
        if let Some(observer) = &mut self.observer {
            let Point { mean, loss, slope } =
                family.fast().at(observation.y, m + observation.offset);
            observer.row(&RowView {
                index: i,
                x: self.rows.x(i),
                observation,
                linear: m,
                variance: s,
                dispersion: family.fast().reported_dispersion(),
                mean,
                loss,
                gradient: observation.weight * slope,
                step,
            });
        }
        Ok(step)
    }
}
