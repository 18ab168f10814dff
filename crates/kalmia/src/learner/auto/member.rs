//! One filter of the mixture: a prior size, a belief, a weight.

use crate::covariance::Covariance;
use crate::error::{Error, Result};
use crate::family::Family;
use crate::learner::seen::observation;
use crate::linalg::{Buffer, Threads};
use crate::rows::{Observation, Rows};
use crate::rule::{Evidence, Moments, Step, moments};

/// Largest $\alpha s$ of a row for a member that can lose its digits, well within what the dense
/// form takes.
const SHARPEST: f64 = 1e7;

/// A belief with its share of the mixture.
#[derive(Debug, Clone)]
pub(super) struct Member<C> {
    /// Prior size relative to the scaled features.
    pub p: f64,
    /// Random walk relative to the prior, 0 for a static member.
    pub q: f64,
    pub theta: Buffer,
    pub covariance: C,
    /// Share of the mixture.
    pub weight: f64,
    /// $\sum w\,r^2/(1+ws)$ in units of the dispersion.
    pub residual: f64,
    /// The weight at the last look, and how far it has strayed since.
    pub anchor: f64,
    pub influence: f64,
    /// Random walk a row, one a coefficient; empty for a static member.
    pub walk: Vec<f64>,
    pub trail: Trail,
}

/// What a member said of each row of a chunk; scratch, which a copy of the member does without.
#[derive(Debug, Default)]
pub(super) struct Trail {
    pub linear: Vec<f64>,
    pub variance: Vec<f64>,
    pub step: Vec<Step>,
    pub slope: Vec<f64>,
    /// Under the judge's dispersion, without the base measure.
    pub evidence: Vec<Evidence>,
}

impl Clone for Trail {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// The family, at unit dispersion, and the dispersion at which moments are matched: those of a
/// skewed family depend on it, while the belief is kept in units of it.
pub(super) struct Judge<'a, F> {
    pub family: &'a F,
    pub dispersion: f64,
}

impl<F> Clone for Judge<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Judge<'_, F> {}

impl<F: Family> Judge<'_, F> {
    #[inline(always)]
    fn moments(&self, observation: &Observation, m: f64, s: f64) -> Moments {
        let phi = self.dispersion;
        if phi == 1.0 {
            return moments(self.family, observation, m, s);
        }
        let sharper = Observation { weight: observation.weight / phi, ..*observation };
        let Moments { evidence, slope, step } = moments(self.family, &sharper, m, phi * s);
        let step = Step {
            gain: phi * step.gain,
            curvature: phi * step.curvature,
            contraction: phi * step.contraction,
        };
        Moments { evidence, slope: phi * slope, step }
    }
}

impl Trail {
    fn reset(&mut self, rows: usize) {
        self.linear.resize(rows, 0.0);
        self.variance.resize(rows, 0.0);
        self.slope.resize(rows, 0.0);
        self.evidence.resize(rows, Evidence::Log(0.0));
        self.step.resize(rows, Step::NONE);
    }

    /// The step of row `i`, noted.
    #[inline(always)]
    fn decide<F: Family>(
        &mut self,
        judge: Judge<'_, F>,
        rows: Rows<'_>,
        i: usize,
        m: f64,
        s: f64,
    ) -> Result<Step> {
        let observation = observation(judge.family, &rows, i);
        let Moments { evidence, slope, step } = judge.moments(&observation, m, s);
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

impl<C: Covariance> Member<C> {
    pub fn new(p: f64, q: f64, theta: Buffer, covariance: C) -> Self {
        Self {
            p,
            q,
            theta,
            covariance,
            weight: 1.0,
            residual: 0.0,
            anchor: 1.0,
            influence: 0.0,
            walk: Vec::new(),
            trail: Trail::default(),
        }
    }

    /// Learns a chunk in units of the dispersion, keeping what was predicted.
    pub fn learn<F: Family>(
        &mut self,
        judge: Judge<'_, F>,
        rows: Rows<'_>,
        threads: Threads,
    ) -> Result<()> {
        let Self { theta, covariance, trail, walk, .. } = self;
        trail.reset(rows.len());
        let mut decide = |i: usize, m: f64, s: f64| {
            let step = trail.decide(judge, rows, i, m, s)?;
            // a row that knows far more than the belief would leave a dense matrix without digits;
            // the walk soon undoes the difference
            let sharp = C::CAN_LOSE_PRECISION && step.curvature * s > SHARPEST;
            Ok(if sharp { Step::new(step.gain, SHARPEST / s, s) } else { step })
        };
        if walk.is_empty() {
            return covariance.learn(theta, rows.features(), &mut decide, threads);
        }
        covariance.learn_with_process_noise(theta, rows.features(), walk, &mut decide, threads)
    }

    /// The same for two static members at once.
    pub fn learn_two<F: Family>(
        members: [&mut Self; 2],
        judge: Judge<'_, F>,
        rows: Rows<'_>,
        threads: Threads,
    ) -> Result<()> {
        let [first, second] = members;
        first.trail.reset(rows.len());
        second.trail.reset(rows.len());
        let trails = [&mut first.trail, &mut second.trail];
        let mut decide =
            |k: usize, i: usize, m: f64, s: f64| trails[k].decide(judge, rows, i, m, s);
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
        if !self.walk.is_empty() {
            self.walk.push(self.q * variance);
        }
    }

    /// Gives an unseen coefficient its prior.
    pub fn set_prior(&mut self, j: usize, variance: f64) {
        self.covariance.set_untouched(j, variance);
        if let Some(walk) = self.walk.get_mut(j) {
            *walk = self.q * variance;
        }
    }
}
