//! The unit deviance of each family: how far a predicted mean is from `y`, in twice log-likelihood.

use crate::family::AnyFamily;

/// Probabilities are kept this far from 0 and 1, the resolution of an `f64` at 1, so one row costs
/// at most $2\ln 2^{52} = 72$.
pub(super) const MIN_PROBABILITY: f64 = f64::EPSILON;
/// Largest deviance of a row, so that sums stay finite.
const MAX_DEVIANCE: f64 = 1e290;

/// $d(y,\mu) = 2\varphi\,(\ln p(y\mid\text{mean } y) - \ln p(y\mid\text{mean }\mu))$, $\varphi$ the
/// noise variance or dispersion (1 for counts):
///
/// | family | $d(y,\mu)$ |
/// |---|---|
/// | Gaussian | $(y-\mu)^2$ |
/// | Bernoulli | $-2\ln p(y)$, twice the log-loss |
/// | Binomial, $n$ trials | $2\left[y\ln\frac{y}{\mu} + (n-y)\ln\frac{n-y}{n-\mu}\right]$ |
/// | Poisson | $2\left[y\ln\frac{y}{\mu} - (y-\mu)\right]$ |
/// | Gamma | $2\left[\frac{y-\mu}{\mu} - \ln\frac{y}{\mu}\right]$ |
/// | negative binomial | that of Poisson counts |
/// | Student | $2|y-\mu|$, because outliers would dominate a squared error |
/// | quantile | $2\rho_\tau(y-\mu)$, twice the pinball loss; $\mu$ is the quantile |
///
/// The negative binomial deviance depends on the dispersion, which a learner changes as it learns.
/// That of Poisson counts is least at the true mean too, and it compares both families on the same
/// rows.
///
/// `y` is in the family's canonical coding, `mean` the predicted mean (clamped to the range of
/// means that the family can have).
///
/// ```
/// use kalmia::{AnyFamily, evaluate::deviance};
/// let poisson: AnyFamily = "poisson".parse()?;
/// assert!((deviance(&poisson, 2.0, 1.0) - 2.0 * (2.0 * 2f64.ln() - 1.0)).abs() < 1e-15);
/// # Ok::<(), kalmia::Error>(())
/// ```
pub fn deviance(family: &AnyFamily, y: f64, mean: f64) -> f64 {
    let positive = mean.max(f64::MIN_POSITIVE);
    let value = match family {
        AnyFamily::Gaussian(_) => (y - mean) * (y - mean),
        AnyFamily::Bernoulli(_) => trials_deviance(1.0, y, mean),
        AnyFamily::Binomial(binomial) => {
            trials_deviance(binomial.trials().unwrap_or(1) as f64, y, mean)
        }
        AnyFamily::Poisson(_) | AnyFamily::NegativeBinomial(_) => {
            2.0 * (weighted_log(y, positive) - (y - positive))
        }
        AnyFamily::Quantile(quantile) => 2.0 * quantile.pinball(y, mean),
        AnyFamily::Student(_) => 2.0 * (y - mean).abs(),
        AnyFamily::Gamma(_) => 2.0 * ((y - positive) / positive - (y / positive).ln()),
    };
    value.clamp(0.0, MAX_DEVIANCE)
}

fn trials_deviance(trials: f64, y: f64, mean: f64) -> f64 {
    let mean = mean.clamp(trials * MIN_PROBABILITY, trials * (1.0 - MIN_PROBABILITY));
    2.0 * (weighted_log(y, mean) + weighted_log(trials - y, trials - mean))
}

/// $V(\mu)$: the variance of `y` of mean $\mu$ at dispersion 1.
pub(super) fn unit_variance(family: &AnyFamily, mean: f64) -> f64 {
    let positive = mean.max(f64::MIN_POSITIVE);
    let of_trials = |n: f64| {
        let mean = mean.clamp(n * MIN_PROBABILITY, n * (1.0 - MIN_PROBABILITY));
        mean * (1.0 - mean / n)
    };
    match family {
        AnyFamily::Gaussian(_) | AnyFamily::Quantile(_) | AnyFamily::Student(_) => 1.0,
        AnyFamily::Bernoulli(_) => of_trials(1.0),
        AnyFamily::Binomial(binomial) => of_trials(binomial.trials().unwrap_or(1) as f64),
        AnyFamily::Poisson(_) => positive,
        AnyFamily::NegativeBinomial(family) => positive * (1.0 + family.dispersion() * positive),
        AnyFamily::Gamma(_) => positive * positive,
    }
}

/// $a\ln(a/b)$, 0 at $a = 0$.
fn weighted_log(a: f64, b: f64) -> f64 {
    if a == 0.0 {
        0.0
    } else if a == 1.0 {
        -b.ln()
    } else {
        a * (a / b).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Bernoulli, Binomial, Family, Gamma, Gaussian, Poisson};

    /// The linear predictor of a mean: logit, logarithm or the mean itself.
    fn link(family: &AnyFamily, mean: f64) -> f64 {
        match family {
            AnyFamily::Gaussian(_) | AnyFamily::Quantile(_) | AnyFamily::Student(_) => mean,
            AnyFamily::Bernoulli(_) => (mean / (1.0 - mean)).ln(),
            AnyFamily::Binomial(b) => (mean / (b.trials().unwrap_or(1) as f64 - mean)).ln(),
            AnyFamily::Poisson(_) | AnyFamily::Gamma(_) | AnyFamily::NegativeBinomial(_) => {
                mean.ln()
            }
        }
    }

    /// Twice the drop of the log-likelihood from the saturated model, by the family's own density.
    fn from_densities(family: &AnyFamily, y: f64, mean: f64, dispersion: f64) -> f64 {
        // at the edge of the domain the saturated mean is approached, not reached
        let edge = 1e-13;
        let top = match family {
            AnyFamily::Bernoulli(_) => 1.0,
            AnyFamily::Binomial(b) => b.trials().unwrap_or(1) as f64,
            _ => f64::INFINITY,
        };
        let saturated =
            if matches!(family, AnyFamily::Gaussian(_)) { y } else { y.max(edge).min(top - edge) };
        2.0 * dispersion
            * (family.log_density(y, link(family, saturated))
                - family.log_density(y, link(family, mean)))
    }

    #[test]
    fn deviance_is_twice_the_drop_from_the_saturated_model() {
        let cases: [(AnyFamily, f64, &[f64], &[f64]); 6] = [
            (Gaussian::new(2.5).unwrap().into(), 2.5, &[-3.0, 0.4], &[-1.0, 0.0, 2.0]),
            (Bernoulli.into(), 1.0, &[0.0, 1.0], &[0.01, 0.4, 0.9]),
            (Binomial::new(7).unwrap().into(), 1.0, &[0.0, 3.0, 7.0], &[0.2, 3.0, 6.7]),
            (Binomial::proportion().into(), 1.0, &[0.0, 0.25, 1.0], &[0.2, 0.5, 0.9]),
            (Poisson.into(), 1.0, &[0.0, 1.0, 12.0], &[0.3, 1.0, 20.0]),
            (Gamma::new(0.5).unwrap().into(), 0.5, &[0.1, 4.0], &[0.3, 1.0, 20.0]),
        ];
        for (family, dispersion, targets, means) in cases {
            for &y in targets {
                for &mean in means {
                    let found = deviance(&family, y, mean);
                    let expected = from_densities(&family, y, mean, dispersion);
                    assert!(
                        (found - expected).abs() < 1e-9 * (1.0 + expected),
                        "{family:?} {y} {mean}: {found} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_mean_on_the_edge_costs_much_but_not_infinity() {
        assert!((deviance(&Bernoulli.into(), 1.0, 0.0) - 104.0 * 2f64.ln()).abs() < 1e-9);
        for (family, y, mean) in [(Poisson.into(), 3.0, 0.0), (Gamma::default().into(), 1.0, 0.0)] {
            let value = deviance(&family, y, mean);
            assert!(value > 1e3 && value.is_finite(), "{family:?}: {value}");
        }
    }
}
