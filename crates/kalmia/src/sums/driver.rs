//! Newton's method over several passes: asks for sums, takes steps, shortens those that overshoot.

use super::newton::NewtonSums;
use super::polish::{Polished, polish_sums};
use super::{ClassSums, PriorPrecision, Sums};
use crate::error::{Error, Result, require};
use crate::family::Family;

/// Passes after which [`Polish`] gives up by default.
const MAX_PASSES: usize = 50;
/// Default tolerance, in standard errors.
const TOLERANCE: f64 = 1e-4;
/// A new objective may be worse by this much of its size: rounding.
const ROUNDING: f64 = 1e-12;
/// A standard error that grows by more than this while the step is within the tolerance belongs to
/// a coefficient without a maximum: near one, standard errors do not change.
const MAX_GROWTH: f64 = 1.2;

/// What [`Polish::step`] wants next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Sums over all rows at these coefficients.
    Again(Vec<f64>),
    /// Nothing: the last step was within the tolerance.
    Done(Box<Polished>),
}

/// Newton's method with sums from elsewhere. Each pass takes [`Sums`] over the same rows at the
/// coefficients that the pass before asked for; the first may be anywhere.
///
/// A step that makes the posterior worse is shortened by a half or more, which costs a pass. It
/// ends when a step moves no coefficient by more than the tolerance, 0.0001 standard errors unless
/// set otherwise. Normal noise takes two passes: the first step is exact, and the second pass
/// measures it. Labels that a feature separates have no maximum without a prior
/// ([`Error::Separated`], or [`Error::NotConverged`] or [`Error::Undetermined`] if that shows
/// first).
///
/// ```
/// use kalmia::sums::{Next, Polish, PriorPrecision, Sums};
/// use kalmia::{Poisson, Rows};
///
/// let x = [1.0, 0.0, 1.0, 1.0, 1.0, 2.0];
/// let y = [1.0, 2.0, 4.0];
/// let mut newton = Polish::new(PriorPrecision::flat(2));
/// let mut theta = vec![0.0, 0.0];
/// let fit = loop {
///     let mut sums = Sums::new(Poisson, &theta)?;
///     sums.add(Rows::new(2, &x, &y)?)?;
///     match newton.step(&sums)? {
///         Next::Again(next) => theta = next,
///         Next::Done(fit) => break fit,
///     }
/// };
/// assert!((fit.coefficients()[1] - 2f64.ln()).abs() < 1e-6);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Polish {
    prior: PriorPrecision,
    tolerance: f64,
    max_passes: usize,
    passes: usize,
    /// The last coefficients that were not worse than those before.
    base: Option<Base>,
    /// Whether the pass before ended within the tolerance but with growing standard errors.
    suspicious: bool,
}

/// Accepted coefficients and the step from them.
#[derive(Debug, Clone)]
struct Base {
    theta: Vec<f64>,
    objective: f64,
    polished: Polished,
    /// The slope of the objective along the whole step; negative.
    slope: f64,
    /// The part of the step that was asked for.
    fraction: f64,
}

impl Polish {
    /// With a prior.
    pub fn new(prior: PriorPrecision) -> Self {
        Self {
            prior,
            tolerance: TOLERANCE,
            max_passes: MAX_PASSES,
            passes: 0,
            base: None,
            suspicious: false,
        }
    }

    /// With another tolerance, in standard errors.
    pub fn with_tolerance(mut self, tolerance: f64) -> Result<Self> {
        require(tolerance > 0.0, "tolerance", tolerance, "must be positive")?;
        self.tolerance = tolerance;
        Ok(self)
    }

    /// With another number of passes, at least 1; the default is 50.
    pub fn with_max_passes(mut self, passes: usize) -> Result<Self> {
        require(passes > 0, "passes", passes as f64, "must be at least 1")?;
        self.max_passes = passes;
        Ok(self)
    }

    /// Passes so far.
    pub fn passes(&self) -> usize {
        self.passes
    }

    /// The result of the last step that was taken, whether or not it is within the tolerance; for
    /// callers with a fixed number of passes.
    pub fn latest(&self) -> Option<&Polished> {
        self.base.as_ref().map(|base| &base.polished)
    }

    /// Takes the sums of a pass. Refuses sums at other coefficients than those asked for.
    pub fn step<F: Family>(&mut self, sums: &Sums<F>) -> Result<Next> {
        self.step_sums(sums)
    }

    /// As [`step`](Self::step), for several classes. Features in errors are counted over all
    /// classes but the first.
    pub fn step_classes(&mut self, sums: &ClassSums) -> Result<Next> {
        self.step_sums(sums)
    }

    fn step_sums(&mut self, sums: &impl NewtonSums) -> Result<Next> {
        if let Some(base) = &self.base
            && base.target() != sums.theta()
        {
            return Err(Error::State(
                "the sums are not at the coefficients that the last step asked for".into(),
            ));
        }
        self.passes += 1;
        let deviance = sums.scalars().deviance();
        let penalty = self.prior.penalty(sums.theta());
        let objective = deviance / (2.0 * sums.dispersion()) + penalty;
        if let Some(base) = &mut self.base {
            let worse = objective - base.objective;
            if worse.is_nan() || worse > ROUNDING * base.objective.abs() {
                base.shorten(worse);
                let moved = base.fraction * base.polished.moved().max;
                let next = base.target();
                return self.again(next, moved);
            }
        }
        let polished = polish_sums(&self.prior, sums)?;
        let moved = polished.moved().max;
        let growth = self.base.as_ref().map(|base| growth(&base.polished, &polished));
        let exact = sums.is_normal() && self.base.is_some();
        if exact || moved <= self.tolerance {
            match growth {
                Some(Growth { feature, .. }) if self.suspicious => {
                    return Err(Error::Separated { feature });
                }
                Some(Growth { factor, .. }) if factor > MAX_GROWTH => self.suspicious = true,
                _ => {
                    self.accept(sums.theta(), objective, polished.clone());
                    return Ok(Next::Done(Box::new(polished)));
                }
            }
        } else {
            self.suspicious = false;
        }
        let next = polished.coefficients().to_vec();
        self.accept(sums.theta(), objective, polished);
        self.again(next, moved)
    }

    fn accept(&mut self, theta: &[f64], objective: f64, polished: Polished) {
        // the decrease that the parabola promises is half of the slope along the step
        let slope = 2.0 * (-polished.log_posterior() - objective);
        let theta = theta.to_vec();
        self.base = Some(Base { theta, objective, polished, slope, fraction: 1.0 });
    }

    fn again(&self, next: Vec<f64>, moved: f64) -> Result<Next> {
        if self.passes >= self.max_passes {
            return Err(Error::NotConverged { passes: self.passes, moved });
        }
        Ok(Next::Again(next))
    }
}

impl Base {
    /// The coefficients that were asked for.
    fn target(&self) -> Vec<f64> {
        if self.fraction == 1.0 {
            return self.polished.coefficients().to_vec();
        }
        let end = self.polished.coefficients().iter();
        self.theta.iter().zip(end).map(|(t, e)| t + self.fraction * (e - t)).collect()
    }

    /// Shortens the step to the lowest point of the parabola through the two objectives and the
    /// slope, but at least by half and at most to a tenth.
    fn shorten(&mut self, worse: f64) {
        let f = self.fraction;
        let best = -0.5 * self.slope * f * f / (worse - self.slope * f);
        // a NaN, from an objective that overflowed, gives a tenth
        self.fraction = if best > 0.1 * f { best.min(0.5 * f) } else { 0.1 * f };
    }
}

/// The standard error that grew most from one pass to the next.
struct Growth {
    feature: usize,
    factor: f64,
}

fn growth(before: &Polished, after: &Polished) -> Growth {
    let errors = |polished: &Polished| polished.unit_errors();
    let ratios = errors(before).into_iter().zip(errors(after)).map(|(b, a)| a / b);
    let none = Growth { feature: 0, factor: 0.0 };
    ratios.enumerate().fold(none, |most, (feature, factor)| {
        if factor > most.factor { Growth { feature, factor } } else { most }
    })
}
