//! Whether the mixture follows a drift, and how its random-walk members start.

use super::bank::Bank;
use super::dispersion::Dispersion;
use super::member::Member;
use super::{PROCESS_NOISES, Stage};
use crate::covariance::{Covariance, Dense, Factored, Kernel};
use crate::error::{Error, Result};
use crate::family::Family;
use crate::linalg::Buffer;
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
    /// After the warm-up, and after each chunk: starts the random-walk members if the mode asks for
    /// it.
    pub(super) fn follow_drift(&mut self) {
        let Stage::Static(bank) = &self.stage else { return };
        let follows = match self.drift {
            DriftMode::Off => false,
            DriftMode::Adapt => true,
            DriftMode::Detect => self.sentinel.detected(),
        };
        if !follows {
            return;
        }
        let how = std::env::var("KALMIA_START").unwrap_or_default();
        let heaviest = bank.best().weight;
        let starts: Vec<Start> = match how.as_str() {
            "best" => vec![Start::of(bank.best(), self.scales.centers())],
            "top" => {
                let mut starts: Vec<Start> = bank
                    .members
                    .iter()
                    .filter(|m| m.weight > 0.05 * heaviest)
                    .map(|m| Start::of(m, self.scales.centers()))
                    .collect();
                starts.sort_by(|a, b| b.weight.total_cmp(&a.weight));
                starts.truncate(3);
                starts
            }
            _ => vec![Start::matched(bank, &self.dispersion, self.scales.centers())],
        };
        // a belief too ill-conditioned for the dense form stays static
        let noise = |start: &Start| self.scales.variances(start.p * self.prior_scale.slopes);
        if let Ok(bank) = Bank::random_walk(&starts, noise, self.scales.centers()) {
            self.stage = Stage::RandomWalk(bank);
            self.follows_from = Some(self.count);
        }
    }
}

/// A belief about centered features from which random-walk members start.
struct Start {
    /// Prior size.
    p: f64,
    weight: f64,
    theta: Vec<f64>,
    /// Row-major, in units of the dispersion.
    matrix: Vec<f64>,
    residual: f64,
}

impl Start {
    fn of(member: &Member<Factored>, centers: &[f64]) -> Self {
        let dim = member.covariance.dim();
        let mut theta = member.theta[..dim].to_vec();
        theta[0] += crate::math::dot(centers, &member.theta);
        Self {
            p: member.p,
            weight: member.weight,
            theta,
            matrix: member.covariance.clone().recentered(centers).matrix(),
            residual: member.residual,
        }
    }

    /// The normal belief with the mixture's moments.
    fn matched(bank: &Bank<Factored>, dispersion: &Dispersion, centers: &[f64]) -> Self {
        let dim = bank.best().covariance.dim();
        let starts: Vec<Self> = bank.members.iter().map(|m| Self::of(m, centers)).collect();
        let mut all = Self {
            p: 0.0,
            weight: 1.0,
            theta: vec![0.0; dim],
            matrix: vec![0.0; dim * dim],
            residual: 0.0,
        };
        for start in &starts {
            all.p += start.weight * start.p.ln();
            all.residual += start.weight * start.residual;
            all.theta.iter_mut().zip(&start.theta).for_each(|(a, t)| *a += start.weight * t);
        }
        all.p = all.p.exp();
        let estimate = dispersion.estimate(all.residual);
        for start in &starts {
            let away: Vec<f64> = start.theta.iter().zip(&all.theta).map(|(t, a)| t - a).collect();
            for (i, row) in all.matrix.chunks_exact_mut(dim).enumerate() {
                for (j, entry) in row.iter_mut().enumerate() {
                    let between = away[i] * away[j] / estimate;
                    *entry += start.weight * (start.matrix[i * dim + j] + between);
                }
            }
        }
        all
    }
}

impl Bank<Dense> {
    /// Random-walk members that start from one belief; process noise is relative to the `prior`
    /// variances.
    fn random_walk(
        starts: &[Start],
        noise: impl Fn(&Start) -> Vec<f64>,
        centers: &[f64],
    ) -> Result<Self> {
        let mut members = Vec::new();
        for start in starts {
            let covariance = Dense::from_matrix(&start.matrix, start.theta.len())?;
            let prior = noise(start);
            for q in PROCESS_NOISES {
                let theta = Buffer::from_slice(&start.theta);
                let mut member = Member::new(start.p, q, theta, covariance.clone());
                member.weight = start.weight;
                member.residual = start.residual;
                if q > 0.0 {
                    member.process_noise = prior.iter().map(|v| q * v).collect();
                }
                members.push(member);
            }
        }
        let mut bank = Self::with_weights(members);
        bank.renormalize();
        if centers.iter().any(|center| *center != 0.0) {
            bank.centers = centers.to_vec();
        }
        Ok(bank)
    }
}
