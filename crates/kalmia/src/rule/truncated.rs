//! Algorithm 2: the extended Kalman filter with a floor under the curvature.

use super::Rule;
use crate::error::{Error, Result, require};
use crate::family::{Family, FastPaths};
use crate::rows::Observation;
use crate::step::Step;

/// $\alpha_t = \max(\ell''(m),\; c\,t^{-\beta})$; the paper takes $c = 1$, $\beta = 0.49$, Bercu et
/// al. $c = 10^{-10}$.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Parameters")]
pub struct Truncated {
    scale: f64,
    beta: f64,
}

#[derive(serde::Deserialize)]
struct Parameters {
    scale: f64,
    beta: f64,
}

impl TryFrom<Parameters> for Truncated {
    type Error = Error;

    fn try_from(p: Parameters) -> Result<Self> {
        Self::new(p.scale, p.beta)
    }
}

impl Truncated {
    /// Scale $c > 0$ and exponent $0 < \beta < 1/2$.
    pub fn new(scale: f64, beta: f64) -> Result<Self> {
        require(scale > 0.0 && scale.is_finite(), "scale", scale, "must be finite and positive")?;
        require(beta > 0.0 && beta < 0.5, "beta", beta, "must lie strictly between 0 and 1/2")?;
        Ok(Self { scale, beta })
    }

    /// The paper's choice, $t^{-0.49}$.
    pub fn paper() -> Self {
        Self { scale: 1.0, beta: 0.49 }
    }

    /// The threshold of Bercu, Godichon and Portier, $10^{-10} t^{-0.49}$.
    pub fn bercu() -> Self {
        Self { scale: 1e-10, beta: 0.49 }
    }

    /// The factor of the threshold.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The exponent $\beta$ of the threshold.
    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// $c\,t^{-\beta}$.
    pub fn threshold(&self, t: u64) -> f64 {
        self.scale * (t as f64).powf(-self.beta)
    }
}

impl Rule for Truncated {
    fn name(&self) -> &'static str {
        "truncated"
    }

    #[inline(always)]
    fn step<F: Family>(
        &self,
        family: &F,
        observation: &Observation,
        m: f64,
        s: f64,
        t: u64,
    ) -> Step {
        // The floor bounds l'', and the weight multiplies both: a row of weight 0 moves nothing.
        let floor = observation.weight * self.threshold(t);
        let step = family.fast().kalman_step(observation, m, s);
        if step.curvature >= floor {
            step
        } else {
            Step::against(observation.derivatives(family, m).0, floor, s)
        }
    }
}
