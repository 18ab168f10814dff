//! Whether the mixture follows a drift, and how its random-walk members start.

use super::bank::Bank;
use super::member::Member;
use super::{PROCESS_NOISES, Stage};
use crate::covariance::{Covariance, Dense, Factored, Kernel};
use crate::error::{Error, Result};
use crate::family::Family;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};
use std::str::FromStr;

/// Row count from which random-walk members start at the latest.
const RANDOM_WALK_ROWS: u64 = 4096;
/// Weight of one member from which they may start earlier.
const RANDOM_WALK_WEIGHT: f64 = 0.99;

/// Whether the coefficients of an [`Auto`](super::Auto) may move.
///
/// ```
/// use kalmia::DriftMode;
/// assert_eq!("detect".parse::<DriftMode>()?, DriftMode::Detect);
/// let error = "sometimes".parse::<DriftMode>().unwrap_err();
/// assert_eq!(error.to_string(), r#"`drift` is "sometimes", expected off, adapt or detect"#);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftMode {
    /// Static; [`Auto::drift_report`](super::Auto::drift_report) says whether following a drift
    /// would have helped.
    #[default]
    Off,
    /// Members with process noise of several sizes share the weight.
    Adapt,
    /// Static until a drift is detected beyond doubt, then as [`DriftMode::Adapt`].
    Detect,
}

impl DriftMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Off, Self::Adapt, Self::Detect];

    /// Name in settings and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Adapt => "adapt",
            Self::Detect => "detect",
        }
    }
}

impl Display for DriftMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DriftMode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| Error::Choice {
            name: "drift",
            value: name.into(),
            expected: "off, adapt or detect",
        })
    }
}

impl<F: Family> super::Auto<F> {
    /// After `count` rows, at multiples of the chunk: drops members that no longer matter, and
    /// starts the random-walk members once the mixture has decided and the mode asks for it.
    pub(super) fn review_members(&mut self) {
        let Stage::Static(bank) = &mut self.stage else { return };
        if !self.keeps_all {
            bank.drop_idle(self.count);
        }
        let decided = self.count >= RANDOM_WALK_ROWS || bank.best().weight > RANDOM_WALK_WEIGHT;
        let follows = match self.drift {
            DriftMode::Off => false,
            DriftMode::Adapt => true,
            DriftMode::Detect => self.sentinel.report().drift(),
        };
        if follows && decided {
            let best = bank.best();
            let prior = self.scales.variances(best.p * self.prior_scale.slopes, best.basis);
            // a belief too ill-conditioned for the dense form stays static
            if let Ok(bank) = Bank::random_walk(best, &prior, self.scales.centers()) {
                self.stage = Stage::RandomWalk(bank);
            }
        }
    }
}

impl Bank<Dense> {
    /// Random-walk members that start from one belief; process noise is relative to the `prior`
    /// variances.
    fn random_walk(start: &Member<Factored>, prior: &[f64], centers: &[f64]) -> Result<Self> {
        let centers = if centers.iter().all(|center| *center == 0.0) { &[] } else { centers };
        let covariance = Dense::from_matrix(
            &start.covariance.clone().recentered(centers).matrix(),
            prior.len(),
        )?;
        let mut theta = start.theta.clone();
        theta[0] += crate::math::dot(centers, &start.theta);
        let member = |&q: &f64| {
            let mut member = Member::new(start.p, q, theta.clone(), covariance.clone());
            member.basis = start.basis;
            member.residual = start.residual;
            if q > 0.0 {
                member.process_noise = prior.iter().map(|v| q * v).collect();
            }
            member
        };
        let mut bank = Self::new(PROCESS_NOISES.iter().map(member).collect());
        bank.centers = centers.to_vec();
        Ok(bank)
    }
}
