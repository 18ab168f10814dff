//! Algorithm 3, left: the scalar part of the online Newton step.

use super::Rule;
use crate::error::{Error, Result, require};
use crate::family::Family;
use crate::rows::Observation;
use crate::step::Step;

/// $\alpha = \ell'(m)^2$, $g = -\frac{k}{\gamma}\,\ell'(m)/(1+\alpha s)$ with step multiplier $k$;
/// the learner adds the projection.
///
/// Algorithm 3 has $k = 1$, the constants of Theorem 3 belong to $k = 3$. The $P_1$ that goes with
/// the theorem is $P_1^{-1} = \lambda I$.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Parameters")]
pub struct OnlineNewton {
    gamma: f64,
    multiplier: f64,
}

#[derive(serde::Deserialize)]
struct Parameters {
    gamma: f64,
    multiplier: f64,
}

impl TryFrom<Parameters> for OnlineNewton {
    type Error = Error;

    fn try_from(p: Parameters) -> Result<Self> {
        Self::new(p.gamma)?.with_multiplier(p.multiplier)
    }
}

impl OnlineNewton {
    /// Step $1/\gamma$, $\gamma > 0$.
    pub fn new(gamma: f64) -> Result<Self> {
        require(gamma > 0.0 && gamma.is_finite(), "gamma", gamma, "must be finite and positive")?;
        Ok(Self { gamma, multiplier: 1.0 })
    }

    /// Step `multiplier`$/\gamma$.
    pub fn with_multiplier(self, multiplier: f64) -> Result<Self> {
        require(
            multiplier > 0.0 && multiplier.is_finite(),
            "multiplier",
            multiplier,
            "must be finite and positive",
        )?;
        Ok(Self { multiplier, ..self })
    }

    /// $\gamma$.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// The step multiplier $k$.
    pub fn multiplier(&self) -> f64 {
        self.multiplier
    }

    /// The step $k/\gamma$.
    pub fn step_size(&self) -> f64 {
        self.multiplier / self.gamma
    }
}

impl Rule for OnlineNewton {
    fn name(&self) -> &'static str {
        "online_newton"
    }

    #[inline(always)]
    fn step<F: Family>(
        &self,
        family: &F,
        observation: &Observation,
        m: f64,
        s: f64,
        _t: u64,
    ) -> Step {
        let (first, _) = observation.derivatives(family, m);
        let curvature = first * first;
        let step = Step::against(first, curvature, s);
        Step { gain: step.gain * self.step_size(), ..step }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Bernoulli;

    #[test]
    fn multiplier_scales_the_gain_alone() {
        let plain = OnlineNewton::new(0.05).unwrap();
        let triple = plain.with_multiplier(3.0).unwrap();
        let row = Observation { y: 1.0, weight: 2.0, offset: 0.3 };
        let a = plain.step(&Bernoulli, &row, -0.7, 4.0, 1);
        let b = triple.step(&Bernoulli, &row, -0.7, 4.0, 1);
        let first = row.derivatives(&Bernoulli, -0.7).0;
        assert_eq!(a.curvature, b.curvature);
        assert!((b.gain / a.gain - 3.0).abs() < 1e-15);
        assert!((a.gain * 0.05 * (1.0 + 4.0 * first * first) + first).abs() < 1e-15);
    }

    #[test]
    fn bad_parameters_are_named() {
        assert!(matches!(OnlineNewton::new(0.0), Err(Error::Parameter { name: "gamma", .. })));
        let rule = OnlineNewton::new(1.0).unwrap();
        assert!(matches!(
            rule.with_multiplier(f64::NAN),
            Err(Error::Parameter { name: "multiplier", .. })
        ));
        assert!(
            serde_json::from_str::<OnlineNewton>(r#"{"gamma":-1.0,"multiplier":1.0}"#).is_err()
        );
        let back: OnlineNewton =
            serde_json::from_str(&serde_json::to_string(&rule).unwrap()).unwrap();
        assert_eq!(back, rule);
    }
}
