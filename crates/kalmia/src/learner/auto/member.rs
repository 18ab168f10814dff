//! One filter of the mixture: a prior size, a belief, a weight.

use super::member_prior::Basis;
use super::outliers::Judge;
use crate::covariance::Covariance;
use crate::error::{Error, Result};
use crate::family::Family;
use crate::learner::standing::{MixtureMember, Standing};
use crate::linalg::{Buffer, Threads};
use crate::observe::observation;
use crate::rows::{Observation, Rows};
use crate::rule::{Evidence, Moments, Step, moments};

/// Largest $\alpha s$ of a row for a dense member, well within what keeps its precision.
const MAX_ALPHA_S_DENSE: f64 = 1e7;

/// A belief with its standing in the mixture.
#[derive(Debug, Clone)]
pub(super) struct Member<C> {
    /// Prior size relative to the scaled features.
    pub p: f64,
    /// Process noise relative to the prior of size 1, 0 for a static member.
    pub q: f64,
    /// The features that the prior is independent in.
    pub basis: Basis,
    pub theta: Buffer,
    pub covariance: C,
    pub standing: Standing,
    /// $\sum w\,r^2/(1+ws)$ in units of the dispersion.
    pub residual: f64,
    /// Variance added per row, one per coefficient; empty for a static member.
    pub process_noise: Vec<f64>,
    pub predictions: Predictions,
}

/// A member's prediction and step for each row of a chunk. Scratch, so a copy of the member starts
/// without it.
#[derive(Debug, Default)]
pub(super) struct Predictions {
    pub linear: Vec<f64>,
    pub variance: Vec<f64>,
    pub step: Vec<Step>,
    pub slope: Vec<f64>,
    /// Under the dispersion of the [`MomentMatcher`], without the base measure.
    pub evidence: Vec<Evidence>,
    /// Share of each row that was learned; empty if every row counts in full.
    pub share: Vec<f64>,
}

impl Clone for Predictions {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// The family at unit dispersion, the dispersion that divides its loss, and the variance that
/// beliefs are stored in units of. Moment matching of a law that is not normal needs all three.
pub(in crate::learner) struct MomentMatcher<'a, F> {
    pub family: &'a F,
    pub dispersion: f64,
    pub unit: f64,
    /// Decides how much of a row counts; `None` if every row counts in full.
    pub judge: Option<Judge>,
}

impl<F> Clone for MomentMatcher<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for MomentMatcher<'_, F> {}

impl<F: Family> MomentMatcher<'_, F> {
    #[inline(always)]
    pub fn moments(&self, observation: &Observation, m: f64, s: f64) -> Moments {
        let phi = self.dispersion;
        let unit = self.unit;
        if phi == 1.0 && unit == 1.0 {
            return moments(self.family, observation, m, s);
        }
        let sharper = Observation { weight: observation.weight / phi, ..*observation };
        let Moments { evidence, slope, step } = moments(self.family, &sharper, m, unit * s);
        let step = Step {
            gain: unit * step.gain,
            curvature: unit * step.curvature,
            contraction: unit * step.contraction,
        };
        Moments { evidence, slope: phi * slope, step }
    }

    /// The share of a row that counts, and the moments of this share of it; `full` are those of the
    /// whole row.
    #[inline(never)]
    pub fn judged(
        &self,
        judge: Judge,
        observation: &Observation,
        full: Moments,
        m: f64,
        s: f64,
    ) -> (f64, Moments) {
        let share = judge.share(self, observation, full.evidence, m, s);
        if share == 1.0 {
            return (share, full);
        }
        let counted = Observation { weight: share * observation.weight, ..*observation };
        let Moments { slope, step, .. } = self.moments(&counted, m, s);
        // the mixture compares members by the whole row
        (share, Moments { evidence: full.evidence, slope, step })
    }
}

impl Predictions {
    fn reset<F>(&mut self, rows: usize, matcher: &MomentMatcher<'_, F>) {
        self.share.resize(if matcher.judge.is_some() { rows } else { 0 }, 1.0);
        self.linear.resize(rows, 0.0);
        self.variance.resize(rows, 0.0);
        self.slope.resize(rows, 0.0);
        self.evidence.resize(rows, Evidence::Log(0.0));
        self.step.resize(rows, Step::NONE);
    }

    /// The step of row `i`; records the prediction.
    #[inline(always)]
    fn decide<F: Family>(
        &mut self,
        matcher: MomentMatcher<'_, F>,
        rows: Rows<'_>,
        i: usize,
        m: f64,
        s: f64,
    ) -> Result<Step> {
        let observation = observation(matcher.family, &rows, i);
        let mut moments = matcher.moments(&observation, m, s);
        if let Some(judge) = matcher.judge {
            (self.share[i], moments) = matcher.judged(judge, &observation, moments, m, s);
        }
        let Moments { evidence, slope, step } = moments;
        self.linear[i] = m;
        self.variance[i] = s;
        self.slope[i] = slope;
        self.evidence[i] = evidence;
        self.step[i] = step;
        // an infinite m or s shows in the step
        if !(step.gain.is_finite() && (step.curvature * s).is_finite() && m.is_finite()) {
            return Err(Error::Diverged {
                row: i,
                quantity: "the linear predictor's variance",
                value: s,
            });
        }
        Ok(step)
    }
}

impl<C> MixtureMember for Member<C> {
    fn standing(&self) -> &Standing {
        &self.standing
    }

    fn standing_mut(&mut self) -> &mut Standing {
        &mut self.standing
    }
}

impl<C: Covariance> Member<C> {
    pub fn new(p: f64, q: f64, theta: Buffer, covariance: C) -> Self {
        Self {
            p,
            q,
            basis: Basis::default(),
            theta,
            covariance,
            standing: Standing::default(),
            residual: 0.0,
            process_noise: Vec::new(),
            predictions: Predictions::default(),
        }
    }

    /// Learns a chunk in units of the dispersion and records its predictions.
    pub fn learn<F: Family>(
        &mut self,
        matcher: MomentMatcher<'_, F>,
        rows: Rows<'_>,
        threads: Threads,
    ) -> Result<()> {
        let Self { theta, covariance, predictions, process_noise, .. } = self;
        predictions.reset(rows.len(), &matcher);
        let mut decide = |i: usize, m: f64, s: f64| {
            let step = predictions.decide(matcher, rows, i, m, s)?;
            // A row far more informative than the belief would cost a dense matrix its precision;
            // process noise soon makes up for the cap.
            let sharp = C::CAN_LOSE_PRECISION && step.curvature * s > MAX_ALPHA_S_DENSE;
            Ok(if sharp { Step::new(step.gain, MAX_ALPHA_S_DENSE / s, s) } else { step })
        };
        if process_noise.is_empty() {
            return covariance.learn(theta, rows.features(), &mut decide, threads);
        }
        covariance.learn_with_process_noise(
            theta,
            rows.features(),
            process_noise,
            &mut decide,
            threads,
        )
    }

    /// The same for two static members at once.
    pub fn learn_two<F: Family>(
        members: [&mut Self; 2],
        matcher: MomentMatcher<'_, F>,
        rows: Rows<'_>,
        threads: Threads,
    ) -> Result<()> {
        let [first, second] = members;
        first.predictions.reset(rows.len(), &matcher);
        second.predictions.reset(rows.len(), &matcher);
        let predictions = [&mut first.predictions, &mut second.predictions];
        let mut decide =
            |k: usize, i: usize, m: f64, s: f64| predictions[k].decide(matcher, rows, i, m, s);
        let beliefs = [
            (&mut first.covariance, &mut first.theta),
            (&mut second.covariance, &mut second.theta),
        ];
        C::learn_two(beliefs, rows.features(), &mut decide, threads)
    }

    /// One more coefficient.
    pub fn grow(&mut self, variance: f64) {
        let dim = self.covariance.dim();
        self.covariance.grow(variance);
        let mut theta = Buffer::zeros(dim + 1);
        theta[..dim].copy_from_slice(&self.theta[..dim]);
        self.theta = theta;
        if !self.process_noise.is_empty() {
            self.process_noise.push(self.q * variance / self.p);
        }
    }

    /// Gives an unseen coefficient its prior.
    pub fn set_prior(&mut self, j: usize, variance: f64) {
        self.covariance.set_untouched(j, variance);
        if let Some(noise) = self.process_noise.get_mut(j) {
            *noise = self.q * variance / self.p;
        }
    }
}
