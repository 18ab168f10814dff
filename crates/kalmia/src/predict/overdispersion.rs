//! Counts that vary more than their family allows: the linear predictor of each count has a random
//! part of its own.

use super::{MixturePrediction, Prediction, TargetBelief};
use crate::error::{Result, require};
use crate::family::{Bernoulli, Counts, Family, FastPaths};
use crate::math::{logistic, softplus};
use std::f64::consts::{PI, TAU};

/// Largest share of $p(1-p)$ that the variance of a success probability may have: at 1 it would be
/// 0 or 1.
const MAX_VARIANCE_SHARE: f64 = 0.8;
/// Most steps of Newton's method in two unknowns; where it has not converged, a search does.
const MAX_NEWTON_STEPS: usize = 12;
/// Most steps of a search in one unknown.
const MAX_STEPS: usize = 100;
/// Largest logit in size for which the law is solved for. Beyond it all counts but one have a
/// probability of $10^{-17}$ at most.
const MAX_LOGIT: f64 = 40.0;
/// Largest variance of a logit at which the location is solved for; beyond it the probit
/// approximation is used.
const MAX_SOLVED_VARIANCE: f64 = 100.0;
/// Largest relative error of the two moments. Well above rounding, so that the searches end; the
/// dispersion is an estimate anyway.
const MAX_ERROR: f64 = 1e-10;

impl<F: Family> Prediction<F> {
    /// With counts whose variance given `u` is `phi` times that of the family, $\varphi \ge 1$.
    ///
    /// The distribution of `y` (distribution function, density, quantiles, interval, variance) is
    /// then that of a mixture with the same mean: each count has a normal random part of variance
    /// $\tau^2$ in its linear predictor. For Poisson counts of mean $\mu$, $\tau^2 = \ln(1 +
    /// (\varphi-1)/\mu)$. For binomial counts $\tau^2$ is solved for; $\varphi - 1$ is capped at
    /// 0.8 of its largest value, the number of trials less 1. The linear predictor, its quantiles
    /// and the interval of the mean stay as they are. Other families, and a single trial, ignore
    /// `phi`.
    ///
    /// ```
    /// use kalmia::{Poisson, Prediction};
    /// let counts = Prediction::new(Poisson, 2.0, 0.0)?;
    /// let wide = counts.clone().with_overdispersion(3.0)?;
    /// assert_eq!(wide.mean, counts.mean);
    /// assert!((wide.variance() / counts.variance() - 3.0).abs() < 1e-8);
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn with_overdispersion(mut self, phi: f64) -> Result<Self> {
        require(phi >= 1.0 && phi.is_finite(), "phi", phi, "must be finite, 1 or more")?;
        let m = self.linear;
        let s = self.s;
        match self.family.fast().counts() {
            Some(Counts::Unbounded) if phi > 1.0 => {
                // ln(1 + (phi - 1) e^-m), also where e^-m overflows
                let extra = softplus((phi - 1.0).ln() - m.min(self.family.largest_linear()));
                self.target = TargetBelief { m: m - 0.5 * extra, s: s + extra };
            }
            Some(Counts::OfTrials(trials)) if phi > 1.0 && trials > 1.0 => {
                let share = ((phi - 1.0) / (trials - 1.0)).min(MAX_VARIANCE_SHARE);
                self.target = logit_normal(m, s, share);
            }
            _ => {}
        }
        Ok(self)
    }
}

impl<F: Family> MixturePrediction<F> {
    /// With counts whose variance is `phi` times that of the family, in every member; see
    /// [`Prediction::with_overdispersion`].
    pub fn with_overdispersion(mut self, phi: f64) -> Result<Self> {
        for (_, part) in &mut self.parts {
            *part = part.clone().with_overdispersion(phi)?;
        }
        Ok(self)
    }
}

/// The expectations of $\pi = 1/(1+e^{-u})$ and its derivatives for $u \sim N(a, t)$.
struct Moments {
    value: f64,
    first: f64,
    second: f64,
    third: f64,
}

impl Moments {
    /// By the trapezoid rule, whose error for poles at $\pm i\pi$ is below $10^{-13}$ at this step.
    /// For $a \le 0$ the far upper tail counts.
    fn new(a: f64, t: f64) -> Self {
        let deviation = t.sqrt();
        let step = 0.5 / deviation.max(1.0);
        let first = (-8.5 / step).floor() as i64;
        // e^u grows until it saturates at u = 0
        let peak = deviation.min((-a / deviation).max(0.0));
        let last = ((8.5 + peak) / step).ceil() as i64;
        let mut sums = [0.0; 4];
        for k in first..=last {
            let z = k as f64 * step;
            let weight = (-0.5 * z * z).exp();
            let e = (-(a + deviation * z).abs()).exp();
            let r = 1.0 / (1.0 + e);
            let success = if a + deviation * z >= 0.0 { r } else { e * r };
            let slope = e * r * r;
            sums[0] += weight * success;
            sums[1] += weight * slope;
            sums[2] += weight * slope * (1.0 - 2.0 * success);
            sums[3] += weight * slope * (1.0 - 6.0 * slope);
        }
        let [value, first, second, third] = sums.map(|sum| sum * step / TAU.sqrt());
        Self { value, first, second, third }
    }
}

/// The normal law of the logit of a success probability: at $s = 0$ it has the mean $p =
/// 1/(1+e^{-m})$ and the variance `share` times $p(1-p)$; at any `s` the mean is that of $N(m, s)$.
fn logit_normal(m: f64, s: f64, share: f64) -> TargetBelief {
    if m > 0.0 {
        // reflected: in the lower half nothing cancels
        let TargetBelief { m, s } = logit_normal(-m, s, share);
        return TargetBelief { m: -m, s };
    }
    if m < -MAX_LOGIT {
        return TargetBelief { m, s };
    }
    let p = logistic(m);
    // Var = p(1-p) - E[pi']
    let kept = (1.0 - share) * p * (1.0 - p);
    let TargetBelief { m: a, s: t } =
        newton(m, share, kept).unwrap_or_else(|| search(m, share, kept));
    if s == 0.0 {
        return TargetBelief { m: a, s: t };
    }
    let total = s + t;
    let start = a * ((1.0 + PI * total / 8.0) / (1.0 + PI * t / 8.0)).sqrt();
    // Of a belief this wide the extra variance changes little, and the sums would be long.
    if total > MAX_SOLVED_VARIANCE {
        return TargetBelief { m: start, s: total };
    }
    let mean = Bernoulli.moderated_mean(m, s);
    TargetBelief { m: location(start, total, mean).0, s: total }
}

/// About the variance $t$ at which a probability of logit `m` has this share of its largest
/// variance.
fn first_guess(m: f64, share: f64) -> f64 {
    let p = logistic(m);
    (share / (p * (1.0 - p))).ln_1p()
}

/// The location at which $N(a, t)$ has the mean probability `p`, and $E[\pi']$ there.
fn location(mut a: f64, t: f64, p: f64) -> (f64, f64) {
    let mut slope = 0.0;
    for _ in 0..MAX_STEPS {
        let Moments { value, first, .. } = Moments::new(a, t);
        slope = first;
        let step = (value / p).ln() * value / first;
        a -= step;
        // NaN ends it too
        let moving = step.abs() > MAX_ERROR * (1.0 + a.abs());
        if !moving {
            break;
        }
    }
    (a, slope)
}

/// Newton's method for $E[\pi] = p$ and $E[\pi'] = $ `kept`; `None` if it does not converge, as for
/// rare successes of large variance.
fn newton(m: f64, share: f64, kept: f64) -> Option<TargetBelief> {
    let p = logistic(m);
    let mut t = first_guess(m, share);
    let mut a = m * (1.0 + PI * t / 8.0).sqrt();
    for _ in 0..MAX_NEWTON_STEPS {
        let Moments { value, first, second, third } = Moments::new(a, t);
        if (value - p).abs() <= MAX_ERROR * p && (first - kept).abs() <= MAX_ERROR * kept {
            return Some(TargetBelief { m: a, s: t });
        }
        let shift = -(value / p).ln() * value / first;
        // E[pi'] after the mean is corrected, and its derivative in t; in 1/E[pi']^2 a wide law is
        // straight
        let slope = first + second * shift;
        let falling = 0.5 * (third - second * second / first);
        if !(slope > 0.0 && falling < 0.0) {
            return None;
        }
        let inverse = |h: f64| 1.0 / (h * h);
        let full = (inverse(kept) - inverse(slope)) / (-2.0 * falling * inverse(slope) / slope);
        let step = full.clamp(-0.75 * t, 2.0 * t + 1.0);
        a += shift - 0.5 * second * step / first;
        t += step;
    }
    None
}

/// The same by regula falsi in $\ln t$ (Illinois), with the location solved for at every step.
fn search(m: f64, share: f64, kept: f64) -> TargetBelief {
    let p = logistic(m);
    let mut a = m;
    let mut error = |ln_t: f64| {
        let (at, slope) = location(a, ln_t.exp(), p);
        a = at;
        (slope / kept).ln()
    };
    // E[pi'] falls from p(1-p), which is more than `kept`, to 0
    let mut low = first_guess(m, share).ln() - 3.0;
    let mut above = error(low);
    while above < 0.0 {
        low -= 1.0;
        above = error(low);
    }
    let mut high = low + 1.0;
    let mut below = error(high);
    while below > 0.0 {
        low = high;
        above = below;
        high += 1.0;
        below = error(high);
    }
    let mut middle = high;
    for _ in 0..MAX_STEPS {
        middle = (low * below - high * above) / (below - above);
        let found = error(middle);
        let off = found.abs() > 10.0 * MAX_ERROR;
        if !off {
            break;
        }
        if found > 0.0 {
            low = middle;
            above = found;
            below *= 0.5;
        } else {
            high = middle;
            below = found;
            above *= 0.5;
        }
    }
    TargetBelief { m: a, s: middle.exp() }
}

#[cfg(test)]
mod tests;
