//! Fast paths of the built-in families: closed forms and shared work, with defaults for all others.

use super::Family;
use crate::math::Likelihood;
use crate::rows::Observation;
use crate::step::{Evidence, Moments, Step};

/// Largest $|u|$ at which the saturated model of a family without a closed form is searched.
const MAX_SATURATED: f64 = 1e4;

/// What a family can do faster than by its [`Family`] methods. Each default is built on those, so a
/// family of the user needs none of this.
pub trait FastPaths {
    /// The family that these are the fast paths of.
    type Family: Family;

    /// That family.
    fn family(&self) -> &Self::Family;

    /// The canonical coding of a `y` known to be legal; overridden to avoid a branch.
    #[inline(always)]
    fn code(&self, y: f64) -> f64 {
        self.family().canonical(y).unwrap_or(y)
    }

    /// The step of the extended Kalman filter, $\alpha = w\ell''$ and $g = -w\ell'/(1+\alpha s)$;
    /// overridden to save divisions.
    #[inline(always)]
    fn kalman_step(&self, observation: &Observation, m: f64, s: f64) -> Step {
        let (first, curvature) = observation.derivatives(self.family(), m);
        Step::against(first, curvature, s)
    }

    /// Mean, loss and slope at `u`, for observers; overridden if the three share work.
    #[inline]
    fn at(&self, y: f64, u: f64) -> Point {
        let family = self.family();
        Point { mean: family.mean(u), loss: family.loss(y, u), slope: family.derivatives(y, u).0 }
    }

    /// $e^{-\ell(y,u)}$ and the derivatives, if it costs no more than those.
    #[inline(always)]
    fn likelihood(&self, _y: f64, _u: f64) -> Option<Likelihood> {
        None
    }

    /// Closed form of the moment-matching step, to $10^{-9}$ of the integral, if there is one.
    #[inline(always)]
    fn exact_moments(&self, _observation: &Observation, _m: f64, _s: f64) -> Option<Moments> {
        None
    }

    /// The mean of `y` from the probability of one `y`, if `y` is 0 or 1.
    #[inline(always)]
    fn mean_from_evidence(&self, _y: f64, _evidence: Evidence) -> Option<f64> {
        None
    }

    /// The transition of $u \mapsto P(Y \le y\mid u)$ from 1 to 0. `Some` only for non-negative
    /// families that are analytic in `u`; predictions then use a fixed trapezoid rule.
    fn cdf_transition(&self, _y: f64) -> Option<CdfTransition> {
        None
    }

    /// $P(Y \le y)$ for $u \sim N(m, s)$, $s > 0$, if there is a closed form.
    fn predictive_cdf(&self, _y: f64, _m: f64, _s: f64) -> Option<f64> {
        None
    }

    /// Whether $E[y\mid u] = e^u$.
    fn log_link(&self) -> bool {
        false
    }

    /// Whether `y` may vary more than the family allows, as counts do. The default learner then
    /// learns a quasi-likelihood dispersion of at least 1.
    fn overdispersed(&self) -> bool {
        let varies = match self.counts() {
            None => false,
            Some(Counts::Unbounded) => true,
            Some(Counts::OfTrials(trials)) => trials > 1.0,
        };
        varies || self.weight_is_trials()
    }

    /// Whether a row's weight is its number of trials, not of rows like it.
    fn weight_is_trials(&self) -> bool {
        false
    }

    /// Expected curvature at unit dispersion, $(d\mu/du)^2 / V(\mu)$.
    fn information(&self, u: f64) -> f64 {
        let family = self.with_dispersion_unchecked(1.0);
        let step = 1e-4 * (1.0 + u.abs());
        let slope = (family.mean(u + step) - family.mean(u - step)) / (2.0 * step);
        slope * slope / family.variance(u)
    }

    /// $\min_u \ell(y,u)$, the loss of the saturated model, which a deviance is counted from;
    /// overridden by closed forms. Here the root of $\ell'$ by bisection.
    fn least_loss(&self, y: f64) -> f64 {
        let family = self.family();
        let limit = family.largest_linear().min(MAX_SATURATED);
        let mut low = -limit;
        let mut high = limit;
        while high - low > 1e-12 * low.abs().max(1.0) {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if family.derivatives(y, middle).0 > 0.0 {
                high = middle;
            } else {
                low = middle;
            }
        }
        family.loss(y, 0.5 * (low + high))
    }

    /// The shape, if $y e^{-u}$ is a gamma variable of mean 1.
    #[inline(always)]
    fn gamma_shape(&self) -> Option<f64> {
        None
    }

    /// Whether `y` is 0 or 1, and 1 with the mean as its probability.
    #[inline(always)]
    fn is_label(&self) -> bool {
        false
    }

    /// The kind of counts, if they may vary more than the family allows.
    #[inline(always)]
    fn counts(&self) -> Option<Counts> {
        None
    }

    /// Whether the loss has a slope everywhere: Newton's method on sums of it then converges. The
    /// second derivative may be the expected one, which makes it Fisher's scoring.
    fn smooth(&self) -> bool {
        true
    }

    /// A parameter of the law that the default learner learns by its own recursion: the
    /// dispersion of the negative binomial family, the scale of a quantile.
    #[inline(always)]
    fn shape(&self) -> Option<f64> {
        None
    }

    /// The family with the nearest legal shape.
    #[inline(always)]
    fn with_shape_unchecked(&self, _shape: f64) -> Self::Family {
        self.family().clone()
    }

    /// What a row says of the shape if its linear predictor without the offset is $N(m, s)$.
    fn shape_terms(&self, _observation: &Observation, _m: f64, _s: f64) -> ShapeTerms {
        ShapeTerms::default()
    }

    /// $c$ such that the information of a row in $\ln(\text{shape} + c)$ hardly depends on the
    /// shape; `level` is the mean of [`ShapeTerms::level`].
    fn shape_offset(&self, _level: f64) -> f64 {
        0.0
    }

    /// The level of the quantile of `y` that `u` is, if the law of $y - u$ is the same for all `u`
    /// and the shape is its scale. The default learner then takes the start of the intercept and
    /// the width of the prior from the targets, and [`FastPaths::exact_moments`] is never `None`.
    #[inline(always)]
    fn location_level(&self) -> Option<f64> {
        None
    }

    /// A first guess of the shape, from the standard deviation of the targets.
    fn shape_of_deviation(&self, deviation: f64) -> f64 {
        deviation
    }

    /// The dispersion or shape, as observers are shown it; 1 if there is none.
    #[inline]
    fn reported_dispersion(&self) -> f64 {
        self.family().dispersion().or(self.shape()).unwrap_or(1.0)
    }

    /// [`Family::with_dispersion`] for a dispersion known to be legal.
    #[inline(always)]
    fn with_dispersion_unchecked(&self, dispersion: f64) -> Self::Family {
        let family = self.family();
        family.with_dispersion(dispersion).unwrap_or_else(|_| family.clone())
    }
}

/// What an observer is shown at one `u`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// $E[y\mid u]$.
    pub mean: f64,
    /// $\ell(y,u)$.
    pub loss: f64,
    /// $\ell'(y,u)$.
    pub slope: f64,
}

/// What a row says of a family's shape; a row that says nothing has the weight 0.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct ShapeTerms {
    /// The row's weight.
    pub weight: f64,
    /// Derivative of the log density in the shape.
    pub score: f64,
    /// About its expected square.
    pub information: f64,
    /// The size of the row's mean, for [`FastPaths::shape_offset`].
    pub level: f64,
    /// Expected square of the loss's slope, and the curvature that the row shows. Equal on average
    /// if the law is that of the family; their ratio scales the covariance if it is not. Both 0 if
    /// the row says nothing of them.
    pub squared_slope: f64,
    /// See [`ShapeTerms::squared_slope`].
    pub curvature: f64,
    /// Whether the belief is wider than the law, so that the row says little of it.
    #[serde(skip)]
    pub is_vague: bool,
}

/// Where $P(Y \le y\mid u)$ goes from 1 to 0 as `u` grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CdfTransition {
    /// The middle, in `u`.
    pub center: f64,
    /// About how wide it is, in `u`.
    pub width: f64,
}

/// A kind of counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Counts {
    /// Without a largest one.
    Unbounded,
    /// Successes among this many trials.
    OfTrials(f64),
}

/// No fast path: every method is the default.
pub(super) struct Defaults<'a, F>(pub &'a F);

impl<F: Family> FastPaths for Defaults<'_, F> {
    type Family = F;

    #[inline(always)]
    fn family(&self) -> &F {
        self.0
    }
}

/// Opens `impl FastPaths` of a built-in family, which is its own fast path.
macro_rules! own_fast_paths {
    () => {
        type Family = Self;

        #[inline(always)]
        fn family(&self) -> &Self {
            self
        }
    };
}

pub(super) use own_fast_paths;
