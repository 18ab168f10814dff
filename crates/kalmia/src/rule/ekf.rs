//! Algorithm 1: the static extended Kalman filter.

use super::Rule;
use crate::family::{Family, FastPaths};
use crate::rows::Observation;
use crate::step::Step;

/// $\alpha = \ell''(m)$, $g = -\ell'(m)/(1+\alpha s)$.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Ekf;

impl Rule for Ekf {
    fn name(&self) -> &'static str {
        "ekf"
    }

    fn is_kalman(&self) -> bool {
        true
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
        family.fast().kalman_step(observation, m, s)
    }
}
