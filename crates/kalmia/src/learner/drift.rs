//! How the coefficients of a single filter may move between rows.

use super::Prior;
use crate::covariance::Covariance;
use crate::error::{Result, require, require_len};
use crate::linalg::{Buffer, Threads};
use crate::rule::Step;
use serde::{Deserialize, Serialize};

/// How the coefficients may move between rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Drift {
    /// Not at all: the paper's static setting.
    #[default]
    Off,
    /// Old rows count less. Each row multiplies the precision by `factor`, then returns some of the
    /// prior's precision to $k = \lceil d(1-\lambda)\rceil$ coordinates in turn, each with
    /// $d(1-\lambda)/(k v_j)$, $v_j$ its prior variance. On average $\Lambda \leftarrow
    /// \lambda\Lambda + (1-\lambda)\,\mathrm{diag}(1/v)$, so in directions without data the
    /// variance stays below $e$ times the prior's.
    Forget {
        /// $\lambda$, strictly between 0 and 1.
        factor: f64,
    },
    /// A random walk: $P \mathrel{+}= \mathrm{diag}(q)$ before each row. Cheap in the dense form,
    /// $O(d^3)$ per row in the factored one.
    Walk {
        /// $q_j \ge 0$, one per coefficient.
        variances: Vec<f64>,
    },
}

impl Drift {
    /// Checks the parameters for a filter of `dim` coefficients.
    pub(super) fn check(&self, dim: usize) -> Result<()> {
        match self {
            Drift::Off => Ok(()),
            Drift::Forget { factor } => require(
                *factor > 0.0 && *factor < 1.0,
                "factor",
                *factor,
                "must lie strictly between 0 and 1",
            ),
            Drift::Walk { variances } => {
                require_len("variances", variances.len(), dim)?;
                for &q in variances {
                    require(
                        q >= 0.0 && q.is_finite(),
                        "variances",
                        q,
                        "must be finite, 0 or more",
                    )?;
                }
                Ok(())
            }
        }
    }
}

/// Forgetting before row `t`, with `units` as scratch for the unit rows along which the prior's
/// precision returns.
pub(super) fn forget<C: Covariance>(
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
    let mut toward_prior = |i: usize, m: f64, s: f64| {
        let j = coordinate(i);
        let curvature = share / (k as f64 * prior.variance(j));
        Ok(Step::against(curvature * (m - prior.mean()[j]), curvature, s))
    };
    p.scale(1.0 / factor);
    p.learn(theta, units, &mut toward_prior, threads)
}
