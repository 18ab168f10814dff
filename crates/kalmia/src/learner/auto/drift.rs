//! Whether the mixture follows a drift, and how its random-walk members start.

use super::bank::Bank;
use super::dispersion::Dispersion;
use super::member::Member;
use super::member_prior::Basis;
use super::{PROCESS_NOISES, ROWS_BEFORE_DRIFT, Stage, chunk_rows};
use crate::covariance::{Covariance, Dense, Factored, Kernel};
use crate::error::{Error, Result};
use crate::family::Family;
use crate::learner::warm_up::WARM_UP_ROWS;
use crate::linalg::{Buffer, require_memory};
use crate::math::dot;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};
use std::str::FromStr;

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
    /// From the end of the warm-up on (128 rows, or 10 per feature if that is more), members with
    /// process noise of several sizes share the weight.
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
    /// The first row that [`DriftMode::Adapt`] predicts by random-walk members.
    pub fn first_followed_row(&self) -> u64 {
        let needed = ROWS_BEFORE_DRIFT * self.dim as u64;
        let start = if needed <= WARM_UP_ROWS as u64 {
            WARM_UP_ROWS as u64
        } else {
            needed.next_multiple_of(chunk_rows(self.dim))
        };
        start + 1
    }

    /// After the warm-up, and after each chunk: starts the random-walk members if the mode asks for
    /// it.
    pub(super) fn follow_drift(&mut self) {
        let Stage::Static(bank) = &self.stage else { return };
        let follows = match self.drift {
            DriftMode::Off => false,
            DriftMode::Adapt => true,
            DriftMode::Detect => self.sentinel.detected(),
        };
        if !follows || self.count < ROWS_BEFORE_DRIFT * self.dim as u64 {
            return;
        }
        // A copy of a member, its matrix and their mean, then the new members; without memory for
        // them the learner stays static.
        let matrices = Dense::bytes(self.dim).saturating_mul(3 + PROCESS_NOISES.len());
        if require_memory(matrices).is_err() {
            return;
        }
        let start = Start::of_mixture(bank, &self.dispersion, self.scales.centers());
        let noise = self.scales.variances(self.prior.scale.slopes, Basis::Centered);
        // a belief too ill-conditioned for the dense form stays static
        if let Ok(bank) = Bank::random_walk(start, &noise, self.scales.centers()) {
            self.stage = Stage::RandomWalk(bank);
            self.follows_from = Some(self.count);
        }
    }
}

/// The belief about centered features from which random-walk members start.
struct Start {
    /// Prior size: the members' geometric mean.
    p: f64,
    theta: Vec<f64>,
    /// Row-major, in units of the dispersion.
    covariance: Vec<f64>,
    residual: f64,
}

impl Start {
    /// The normal belief that has the mixture's moments, because after the warm-up no member need
    /// have most of the weight.
    fn of_mixture(bank: &Bank<Factored>, dispersion: &Dispersion, centers: &[f64]) -> Self {
        let members = &bank.members;
        let dim = bank.best().covariance.dim();
        let mean = |value: &dyn Fn(&Member<Factored>) -> f64| -> f64 {
            members.iter().map(|m| m.standing.weight * value(m)).sum()
        };
        let residual = mean(&|m| m.residual);
        let estimate = dispersion.estimate(residual);
        let coefficient = |m: &Member<Factored>, j: usize| {
            m.theta[j] + if j == 0 { dot(centers, &m.theta) } else { 0.0 }
        };
        let theta: Vec<f64> = (0..dim).map(|j| mean(&|m| coefficient(m, j))).collect();
        let mut covariance = vec![0.0; dim * dim];
        for member in members {
            let within = member.covariance.clone().recentered(centers).matrix();
            let away: Vec<f64> = (0..dim).map(|j| coefficient(member, j) - theta[j]).collect();
            for (k, (entry, within)) in covariance.iter_mut().zip(within).enumerate() {
                let between = away[k / dim] * away[k % dim] / estimate;
                *entry += member.standing.weight * (within + between);
            }
        }
        Self { p: mean(&|m| m.p.ln()).exp(), theta, covariance, residual }
    }
}

impl Bank<Dense> {
    /// Random-walk members that start from one belief; process noise is relative to the `unit`
    /// variances.
    fn random_walk(start: Start, unit: &[f64], centers: &[f64]) -> Result<Self> {
        let covariance = Dense::from_matrix(&start.covariance, unit.len())?;
        let member = |&q: &f64| {
            let theta = Buffer::from_slice(&start.theta);
            let mut member = Member::new(start.p, q, theta, covariance.clone());
            member.residual = start.residual;
            if q > 0.0 {
                member.process_noise = unit.iter().map(|v| q * v).collect();
            }
            member
        };
        let mut bank = Self::new(PROCESS_NOISES.iter().map(member).collect());
        if centers.iter().any(|center| *center != 0.0) {
            bank.centers = centers.to_vec();
        }
        Ok(bank)
    }
}
