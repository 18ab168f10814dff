//! Whether the coefficients may move, the watch for it, and how random-walk members start.
//!
//! The watch is that of [`Auto`](crate::Auto), once per class: the score of class $k$ at a row is
//! its label less its probability, as with one label. Random-walk members keep their factors.
//! Process noise costs $d^3/3$ operations there, so it is added for [`NOISE_ROWS`] rows at once.

use super::Categorical;
use super::member::Member;
use super::mixture::Mixture;
use crate::covariance::{Covariance, Factored, FactoredBelief, Kernel};
use crate::error::{Result, require_len};
use crate::family::Bernoulli;
use crate::learner::auto::member_prior::Basis;
use crate::learner::auto::sentinel::{Sentinel, WatchedRow};
use crate::learner::auto::{DriftMode, PROCESS_NOISES, ROWS_BEFORE_DRIFT};
use crate::learner::standing::REVIEW_ROWS;
use crate::learner::warm_up::WARM_UP_ROWS;
use crate::linalg::{Buffer, require_memory};
use crate::math::dot;
use crate::rows::{Observation, Rows};
use serde::{Deserialize, Serialize};

/// Rows between two additions of process noise: also those of a block.
const NOISE_ROWS: u64 = 32;
/// Rows between two looks at the watch.
const WATCHED_ROWS: u64 = 32;
/// The watch takes no probability as closer to 0 or 1 than this.
const MIN_CHANCE: f64 = 1e-12;

/// A sentinel per class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Watch {
    sentinels: Vec<Sentinel>,
}

impl Watch {
    fn new(classes: usize) -> Self {
        Self { sentinels: vec![Sentinel::default(); classes] }
    }

    pub fn add_class(&mut self) {
        self.sentinels.push(Sentinel::default());
    }

    /// Watches row `i`, of which the mixture gave these probabilities; `count` includes it.
    pub fn row(
        &mut self,
        rows: &Rows<'_>,
        i: usize,
        probabilities: &[f64],
        centers: &[f64],
        count: u64,
    ) {
        let Observation { y: class, weight, .. } = rows.observation(i);
        let watches = self.sentinels.len();
        for (k, (sentinel, p)) in self.sentinels.iter_mut().zip(probabilities).enumerate() {
            let p = p.clamp(MIN_CHANCE, 1.0 - MIN_CHANCE);
            let y = f64::from(k == class as usize);
            let observation = Observation { y, weight, offset: 0.0 };
            let linear = (p / (1.0 - p)).ln();
            let watched = WatchedRow {
                x: rows.x(i),
                linear,
                dispersion: 1.0,
                precision: 1.0,
                count,
                centers,
                watches,
            };
            sentinel.row(&Bernoulli, &observation, &watched);
        }
    }

    fn detected(&self) -> bool {
        self.sentinels.iter().any(Sentinel::detected)
    }

    /// Checks a restored value.
    pub fn check(&self, classes: usize, dim: usize) -> Result<()> {
        require_len("watch", self.sentinels.len(), classes)?;
        self.sentinels.iter().try_for_each(|sentinel| sentinel.check(dim))
    }
}

impl Categorical {
    /// The drift mode.
    pub fn drift_mode(&self) -> DriftMode {
        self.drift
    }

    /// Whether the coefficients follow a drift; they then describe the last rows.
    pub fn is_following(&self) -> bool {
        self.follows_from.is_some()
    }

    /// Rows learned when the coefficients began to follow a drift; `None` while they are constant.
    pub fn follows_from(&self) -> Option<u64> {
        self.follows_from
    }

    /// The first row that a drift can be followed from: earlier ones only show the scales.
    pub fn first_followed_row(&self) -> u64 {
        let needed = (ROWS_BEFORE_DRIFT * self.dim as u64).next_multiple_of(WATCHED_ROWS);
        needed.max(WARM_UP_ROWS as u64) + 1
    }

    /// After the warm-up, begins to watch for a drift if the mode asks for it.
    pub(super) fn start_watch(&mut self) {
        // one class is always certain
        if self.drift == DriftMode::Detect && self.classes > 1 {
            self.mixture.watch = Some(Watch::new(self.classes));
        }
    }

    /// Rows that go through the members together: chunks end at multiples of it.
    pub(super) fn chunk_rows(&self) -> u64 {
        if self.is_following() {
            NOISE_ROWS
        } else if self.drift == DriftMode::Off {
            REVIEW_ROWS
        } else {
            WATCHED_ROWS
        }
    }

    /// At multiples of [`NOISE_ROWS`]: adds the process noise of the next rows.
    pub(super) fn add_process_noise(&mut self) {
        if !self.is_following() || !self.count.is_multiple_of(NOISE_ROWS) {
            return;
        }
        let Self { mixture, scales, .. } = self;
        for member in mixture.members.iter_mut().filter(|member| member.process_noise > 0.0) {
            member.add_process_noise(scales, NOISE_ROWS);
        }
    }

    /// After the warm-up, and after each chunk: starts the random-walk members if the mode asks for
    /// it.
    pub(super) fn follow_drift(&mut self) {
        let follows = match self.drift {
            DriftMode::Off => false,
            DriftMode::Adapt => true,
            DriftMode::Detect => self.mixture.watch.as_ref().is_some_and(Watch::detected),
        };
        let early = self.warm_up.is_some() || self.count < ROWS_BEFORE_DRIFT * self.dim as u64;
        if !follows || early || self.is_following() {
            return;
        }
        // The new members, and a matrix with its factors while a start is computed; without memory
        // for them the learner stays static.
        let matrices = (PROCESS_NOISES.len() + 3).saturating_mul(self.classes);
        if require_memory(Factored::bytes(self.dim).saturating_mul(matrices)).is_err() {
            return;
        }
        // a belief too ill-conditioned for a dense matrix stays static
        if let Ok(members) = self.random_walk_members() {
            let sharpening = self.mixture.sharpening.take();
            self.mixture = Mixture::new(members);
            self.mixture.sharpening = sharpening;
            self.follows_from = Some(self.count);
            self.remembered = None;
        }
    }

    /// Members of each process noise, which start from the belief of the mixture. If a drift was
    /// detected, one more starts from the prior: a sudden change leaves nothing to keep.
    fn random_walk_members(&self) -> Result<Vec<Member>> {
        let members = &self.mixture.members;
        let size = members.iter().map(|m| m.standing.weight * m.prior_size.ln()).sum::<f64>().exp();
        let blocks: Result<Vec<_>> = (0..self.classes).map(|k| self.mixed_block(k)).collect();
        let blocks = blocks?;
        let variance_share = self.mixture.variance_share();
        let mut walking: Vec<Member> = PROCESS_NOISES
            .iter()
            .map(|&noise| {
                let mut member = Member::new(size, Basis::Centered, blocks.clone());
                member.process_noise = noise;
                member.variance_share = variance_share;
                member
            })
            .collect();
        if self.drift == DriftMode::Detect {
            let prior = self.prior_blocks(size, Basis::Centered, Vec::new())?;
            walking.push(Member::new(size, Basis::Centered, prior));
        }
        Ok(walking)
    }

    /// The normal belief about a class that has the mixture's moments.
    fn mixed_block(&self, class: usize) -> Result<FactoredBelief> {
        let dim = self.dim;
        let centers = self.scales.centers();
        let members = &self.mixture.members;
        let mut theta = Buffer::zeros(dim);
        for member in members {
            let own = member.blocks[class].coefficients();
            theta.iter_mut().zip(own).for_each(|(sum, own)| *sum += member.standing.weight * own);
        }
        // of the coefficients of centered features, where a feature far from 0 costs no precision
        let mut covariance = vec![0.0; dim * dim];
        for member in members {
            let block = &member.blocks[class];
            let mut away: Vec<f64> = block
                .coefficients()
                .iter()
                .zip(theta.iter())
                .map(|(own, mean)| own - mean)
                .collect();
            away[0] += dot(centers, &away);
            let within = block.covariance.clone().recentered(centers).matrix();
            for (at, (entry, within)) in covariance.iter_mut().zip(within).enumerate() {
                *entry += member.standing.weight * (within + away[at / dim] * away[at % dim]);
            }
        }
        let back: Vec<f64> = centers.iter().map(|center| -center).collect();
        let covariance = Factored::from_matrix(&covariance, dim)?.recentered(&back);
        Ok(FactoredBelief { theta, covariance })
    }
}
