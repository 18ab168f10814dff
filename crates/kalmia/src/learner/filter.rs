//! The Kalman recursion itself: a family, a rule and a covariance form.

use super::seen::observation;
use super::{Learner, Observer, Prior, Seen};
use crate::covariance::{Covariance, Factored};
use crate::error::{Error, Result, require, require_len};
use crate::family::{Family, FastPaths, Point};
use crate::linalg::{Buffer, Threads};
use crate::predict::Prediction;
use crate::rows::{MAX_MODERATE, Rows, check_features};
use crate::rule::{Rule, Step};
use serde::{Deserialize, Serialize};

/// How the coefficients may move between rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Drift {
    /// Not at all: the paper's static setting.
    #[default]
    Off,
    /// Old rows count less: each row multiplies the precision by `factor`, and the prior is fed
    /// back, $k = \lceil d(1-\lambda)\rceil$ coordinates a row in turn, each with precision
    /// $d(1-\lambda)/(k v_j)$, $v_j$ its prior variance. In the mean $\Lambda \leftarrow
    /// \lambda\Lambda + (1-\lambda)\,\mathrm{diag}(1/v)$, which keeps directions without data from
    /// winding up: their variance stays below $e$ times the prior's.
    Forget {
        /// $\lambda$, strictly between 0 and 1.
        factor: f64,
    },
    /// A random walk: $P \mathrel{+}= \mathrm{diag}(q)$ before each row. Cheap in the dense form,
    /// $O(d^3)$ in the factored one.
    Walk {
        /// $q_j \ge 0$, one a coefficient.
        variances: Vec<f64>,
    },
}

/// A belief $N(\theta, P)$ that learns rows; with the Gaussian family the exact Kalman filter, that
/// is ridge regression.
///
/// ```
/// use kalmia::{Bernoulli, Filter, Learner, MomentMatch, Prior, Rows};
///
/// let mut filter: Filter<_, _> = Filter::new(Bernoulli, MomentMatch, Prior::isotropic(2, 100.0)?)?;
/// let (x, y) = ([1.0, 0.3, 1.0, -0.8, 1.0, 1.1], [1.0, 0.0, 1.0]);
/// filter.learn(Rows::new(2, &x, &y)?)?;
/// let prediction = filter.predict(&[1.0, 0.5], 0.0)?;
/// assert!(prediction.mean > 0.5 && filter.standard_errors()[1] < 10.0);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Filter<F, R, C = Factored> {
    family: F,
    rule: R,
    prior: Prior,
    drift: Drift,
    count: u64,
    theta: Buffer,
    covariance: C,
    threads: Threads,
    /// Whether no prior variance is beyond [`MAX_MODERATE`].
    prior_is_moderate: bool,
    /// Where a batch that may fail on the way finds its start again.
    spare: Option<Box<(Buffer, C)>>,
    /// Unit rows along which the prior is fed back.
    units: Vec<f64>,
}

/// Everything that a [`Filter`] needs to go on, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilterState<F, R> {
    /// The family.
    pub family: F,
    /// The rule.
    pub rule: R,
    /// Name of the covariance form.
    pub form: String,
    /// The prior.
    pub prior: Prior,
    /// The drift.
    pub drift: Drift,
    /// Rows learned.
    pub count: u64,
    /// $\theta$.
    pub theta: Vec<f64>,
    /// The numbers of the form ([`Covariance::parts`]).
    #[serde(with = "crate::covariance::packed")]
    pub covariance: Vec<f64>,
}

impl<F: Family, R: Rule, C: Covariance> Filter<F, R, C> {
    /// A filter that has seen nothing.
    pub fn new(family: F, rule: R, prior: Prior) -> Result<Self> {
        let covariance = prior.covariance()?;
        let theta = Buffer::from_slice(prior.mean());
        Ok(Self {
            family,
            rule,
            prior_is_moderate: is_moderate(&prior),
            prior,
            drift: Drift::Off,
            count: 0,
            theta,
            covariance,
            threads: Threads::all(),
            spare: None,
            units: Vec::new(),
        })
    }

    /// With coefficients that move between rows.
    pub fn with_drift(mut self, drift: Drift) -> Result<Self> {
        match &drift {
            Drift::Off => {}
            Drift::Forget { factor } => {
                require(
                    *factor > 0.0 && *factor < 1.0,
                    "factor",
                    *factor,
                    "must lie strictly between 0 and 1",
                )?;
            }
            Drift::Walk { variances } => {
                require_len("variances", variances.len(), self.dim())?;
                for &q in variances {
                    require(
                        q >= 0.0 && q.is_finite(),
                        "variances",
                        q,
                        "must be finite, 0 or more",
                    )?;
                }
            }
        }
        self.drift = drift;
        Ok(self)
    }

    /// With at most this many cores; the default is all of them. Below dimension 640 one is fastest
    /// and used.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = Threads::new(threads).unwrap_or(Threads::ONE);
        self
    }

    /// The family.
    pub fn family(&self) -> &F {
        &self.family
    }

    /// The rule.
    pub fn rule(&self) -> &R {
        &self.rule
    }

    /// The prior.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }

    /// The drift.
    pub fn drift(&self) -> &Drift {
        &self.drift
    }

    /// The covariance form.
    pub fn covariance(&self) -> &C {
        &self.covariance
    }

    /// $\sqrt{P_{jj}}$.
    pub fn standard_errors(&self) -> Vec<f64> {
        (0..self.dim()).map(|j| self.covariance.entry(j, j).sqrt()).collect()
    }

    /// $(\theta^\top x,\; x^\top Px)$.
    pub fn linear_with_variance(&self, x: &[f64]) -> Result<(f64, f64)> {
        Ok((self.linear(x)?, self.covariance.variance(x)))
    }

    /// What is known of `y` at `x` before it is seen.
    pub fn predict(&self, x: &[f64], offset: f64) -> Result<Prediction<F>> {
        let (m, s) = self.linear_with_variance(x)?;
        Prediction::new(self.family.clone(), m + offset, s)
    }

    /// Appends a feature that was zero in every row so far.
    pub fn grow(&mut self, variance: f64) -> Result<()> {
        require(
            variance > 0.0 && variance.is_finite(),
            "variance",
            variance,
            "must be finite and positive",
        )?;
        self.prior.grow(variance);
        self.prior_is_moderate = is_moderate(&self.prior);
        self.covariance.grow(variance);
        let mut theta = Buffer::zeros(self.dim());
        theta[..self.dim() - 1].copy_from_slice(&self.theta[..self.dim() - 1]);
        self.theta = theta;
        if let Drift::Walk { variances } = &mut self.drift {
            variances.push(0.0);
        }
        self.spare = None;
        Ok(())
    }

    /// Takes the state.
    pub fn state(&self) -> FilterState<F, R> {
        FilterState {
            family: self.family.clone(),
            rule: self.rule.clone(),
            form: C::NAME.into(),
            prior: self.prior.clone(),
            drift: self.drift.clone(),
            count: self.count,
            theta: self.coefficients().to_vec(),
            covariance: self.covariance.parts(),
        }
    }

    /// A filter that goes on where the state was taken.
    pub fn restore(state: FilterState<F, R>) -> Result<Self> {
        if state.form != C::NAME {
            return Err(Error::State(format!(
                "the state has a {} covariance, the filter a {} one",
                state.form,
                C::NAME
            )));
        }
        require_len("theta", state.theta.len(), state.prior.dim())?;
        for &value in state.theta.iter().chain(&state.covariance) {
            require(value.is_finite(), "state", value, "must be finite")?;
        }
        let covariance = C::from_parts(&state.covariance, state.prior.dim())?;
        let filter = Self::new(state.family, state.rule, state.prior)?.with_drift(state.drift)?;
        Ok(Self {
            count: state.count,
            theta: Buffer::from_slice(&state.theta),
            covariance,
            ..filter
        })
    }

    /// Replaces the belief, keeping family, rule and prior.
    pub(crate) fn with_belief(mut self, theta: &[f64], covariance: C, count: u64) -> Self {
        self.theta = Buffer::from_slice(theta);
        self.covariance = covariance;
        self.count = count;
        self
    }

    /// Whether no legal step from here can overflow on moderate rows (see [`Rows::check`]): steps
    /// are bounded by $10^{152}$, the families' largest slope.
    fn is_moderate(&self) -> bool {
        // no early end, so that it goes in SIMD
        self.prior_is_moderate
            && self.theta.iter().fold(true, |all, value| all & (value.abs() <= 1e120))
    }

    /// All rows of a call, without and with drift.
    fn run(&mut self, rows: Rows<'_>, observer: Option<&mut dyn Observer>) -> Result<()> {
        let mut sight = Sight { rows, observer };
        let Self { family, rule, prior, drift, count, theta, covariance, threads, units, .. } =
            self;
        let mut decide =
            |i: usize, m: f64, s: f64| sight.decide(family, rule, i, m, s, *count + i as u64 + 1);
        match drift {
            Drift::Off => covariance.learn(theta, rows.features(), &mut decide, *threads),
            Drift::Walk { variances } => covariance.learn_with_process_noise(
                theta,
                rows.features(),
                variances,
                &mut decide,
                *threads,
            ),
            Drift::Forget { factor } => {
                for i in 0..rows.len() {
                    forget(
                        *factor,
                        prior,
                        *count + i as u64 + 1,
                        theta,
                        covariance,
                        units,
                        *threads,
                    )?;
                    covariance.learn(theta, rows.x(i), &mut |_, m, s| decide(i, m, s), *threads)?;
                }
                Ok(())
            }
        }
    }
}

fn is_moderate(prior: &Prior) -> bool {
    (0..prior.dim()).all(|j| prior.variance(j) <= MAX_MODERATE)
}

/// What forgetting does to the belief before row `t`.
fn forget<C: Covariance>(
    factor: f64,
    prior: &Prior,
    t: u64,
    theta: &mut Buffer,
    p: &mut C,
    units: &mut Vec<f64>,
    threads: Threads,
) -> Result<()> {
    let dim = prior.dim();
    let share = dim as f64 * (1.0 - factor);
    let k = (share.ceil() as usize).min(dim);
    let coordinate = |i: usize| ((t.wrapping_mul(k as u64) + i as u64) % dim as u64) as usize;
    units.clear();
    units.resize(k * dim, 0.0);
    (0..k).for_each(|i| units[i * dim + coordinate(i)] = 1.0);
    let mut pull = |i: usize, m: f64, s: f64| {
        let j = coordinate(i);
        let curvature = share / (k as f64 * prior.variance(j));
        Ok(Step::against(curvature * (m - prior.mean()[j]), curvature, s))
    };
    p.scale(1.0 / factor);
    p.learn(theta, units, &mut pull, threads)
}

/// The rows of a call and who watches them.
struct Sight<'a, 'o> {
    rows: Rows<'a>,
    observer: Option<&'o mut dyn Observer>,
}

impl Sight<'_, '_> {
    #[inline(always)]
    fn decide<F: Family, R: Rule>(
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
        let step = rule.step(family, &observation, m, s, t);
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
            observer.row(&Seen {
                index: i,
                x: self.rows.x(i),
                observation,
                linear: m,
                variance: s,
                dispersion: family.dispersion().unwrap_or(1.0),
                mean,
                loss,
                gradient: observation.weight * slope,
                step,
            });
        }
        Ok(step)
    }
}

impl<F: Family, R: Rule, C: Covariance> Learner for Filter<F, R, C> {
    fn dim(&self) -> usize {
        self.prior.dim()
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn coefficients(&self) -> &[f64] {
        &self.theta[..self.prior.dim()]
    }

    fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let moderate = rows.check(&self.family, self.dim())?;
        let fragile = C::CAN_LOSE_PRECISION || self.rule.can_diverge(&self.family);
        // a single row fails before anything moved, unless the drift came first or its numbers are
        // beyond all measure
        let guarded = self.drift != Drift::Off
            || !moderate
            || !self.is_moderate()
            || (fragile && rows.len() > 1);
        if guarded {
            match &mut self.spare {
                Some(spare) => {
                    spare.0.clone_from(&self.theta);
                    spare.1.clone_from(&self.covariance);
                }
                None => self.spare = Some(Box::new((self.theta.clone(), self.covariance.clone()))),
            }
        }
        let mut result = self.run(rows, observer);
        if guarded
            && result.is_ok()
            && let Some(value) = self.theta.iter().find(|v| !v.is_finite())
        {
            // earlier rows would have shown in the linear predictor of the row after them
            result = Err(Error::Diverged {
                row: rows.len() - 1,
                quantity: "a coefficient",
                value: *value,
            });
        }
        if let Err(error) = result {
            if let Some(spare) = self.spare.as_mut().filter(|_| guarded) {
                std::mem::swap(&mut self.theta, &mut spare.0);
                std::mem::swap(&mut self.covariance, &mut spare.1);
            }
            return Err(error);
        }
        self.count += rows.len() as u64;
        Ok(())
    }

    fn linear(&self, x: &[f64]) -> Result<f64> {
        check_features(x, self.dim())?;
        Ok(self.coefficients().iter().zip(x).map(|(t, x)| t * x).sum())
    }
}
