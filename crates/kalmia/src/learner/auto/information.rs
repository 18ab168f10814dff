//! What a default learner knows beyond its prior, and the learner that such information gives.

use super::bank::Bank;
use super::dispersion::Kind;
use super::member::Member;
use super::member_prior::{Basis, MemberPrior};
use super::scale::Scales;
use super::sentinel::Sentinel;
use super::shape::ShapeSums;
use super::{Auto, DriftMode, Stage};
use crate::covariance::{Covariance, Factored, Kernel};
use crate::error::{Error, Result, require_len};
use crate::family::{Family, FastPaths};
use crate::learner::information::{PartBelief, PartNoise};
use crate::learner::{FeatureMap, Information, Merged, MergedMany, PriorPrecision};
use crate::linalg::{Buffer, ScaledCholesky};
use crate::math::dot;

/// Share of the mixture below which a member is not built.
const MIN_BUILT_WEIGHT: f64 = 1e-6;

impl<F: Family> Auto<F> {
    pub(super) fn static_members(&self) -> Result<&Bank<Factored>> {
        match &self.stage {
            Stage::Static(bank) if self.drift != DriftMode::Adapt => Ok(bank),
            _ => Err(Error::State(
                "learners that follow a drift cannot be merged or polished: the order of their \
                 rows matters"
                    .into(),
            )),
        }
    }

    /// What the rows say beyond the prior, by the heaviest member, around a reference. Refuses a
    /// learner that follows a drift.
    pub fn information(&self, reference: Vec<f64>) -> Result<Information> {
        let best = self.static_members()?.best();
        let normal = self.dispersion.kind == Kind::Normal;
        let belief = PartBelief {
            mean: &best.theta[..self.dim],
            covariance: best.covariance.matrix(),
            prior: self.prior_precision(best.p, best.basis)?,
            noise: match normal {
                true => PartNoise::Squares(best.residual),
                false => PartNoise::Pearson(best.residual),
            },
            effective_rows: self.dispersion.rows,
            rows: self.count,
            shape: self.family.fast().shape().map(|shape| self.dispersion.shape.part(shape)),
        };
        Information::of(belief, reference)
    }

    /// The prior of the heaviest member, in units of the dispersion. Refuses a learner that follows
    /// a drift.
    pub fn fitted_prior(&self) -> Result<PriorPrecision> {
        let best = self.static_members()?.best();
        self.prior_precision(best.p, best.basis)
    }

    /// The inverse of [`Auto::prior_covariance`], without an inversion.
    fn prior_precision(&self, p: f64, basis: Basis) -> Result<PriorPrecision> {
        let variances = self.prior_variances(p, basis);
        let centered = self.scales.has_intercept() && basis.is_centered();
        let centers = centered.then(|| self.scales.centers());
        PriorPrecision::centered(self.prior_mean()[..self.dim].to_vec(), &variances, centers)
    }

    /// Takes over the scales of features that only `other` has seen.
    pub(super) fn adopt_scales(&mut self, other: &Self) {
        self.scales.adopt(&other.scales, |_, _| {});
    }

    /// A learner of the same priors for the features of a whole, before any row; the learner of the
    /// whole follows by [`Auto::with_information`]. A feature that this learner does not have is
    /// taken as a level: 0 or 1.
    pub fn mapped(&self, map: &FeatureMap) -> Result<Self> {
        require_len("features", map.part_dim(), self.dim)?;
        let mut whole = self.clone();
        whole.scales = self.scales.mapped(map);
        whole.dim = map.dim();
        // its matrices have another size
        whole.stage = Stage::default();
        whole.mean = vec![0.0; map.dim()];
        whole.forget()?;
        Ok(whole)
    }

    /// The learner of the rows that `information` is of, from the priors of this one.
    pub fn with_information(mut self, information: &Information) -> Result<MergedMany<Self>> {
        require_len("information", information.dim(), self.dim)?;
        self.dispersion.rows = information.effective_rows();
        self.take_shape(information);
        let likelihood = Likelihood::new(information);
        let mut candidates = Candidate::all(&self.scales);
        for Candidate { p, basis, log_weight } in &mut candidates {
            let posterior = likelihood.posterior(&self.prior_precision(*p, *basis)?)?;
            let volume = self.prior_log_det(*p, *basis) - posterior.factor.log_det();
            *log_weight += 0.5 * volume + self.log_fit(&posterior, information);
        }
        let mut members = Vec::new();
        for (&Candidate { p, basis, .. }, weight) in Candidate::heavy(&candidates) {
            // computed again: of many features, a matrix per candidate would take too much memory
            let posterior = likelihood.posterior(&self.prior_precision(p, basis)?)?;
            let covariance = Factored::from_matrix(&posterior.factor.inverse(), self.dim)?;
            let mean = Buffer::from_slice(&posterior.mean);
            let mut member = Member::new(p, 0.0, mean, covariance);
            member.basis = basis;
            member.standing.weight = weight;
            member.residual = self.residual(&posterior, information);
            members.push(member);
        }
        self.become_static(Bank::new(members), information.rows());
        let unit = self.dispersion.estimate(self.static_members()?.best().residual);
        let heterogeneity = information.heterogeneity(&self.mean, unit);
        Ok(MergedMany { merged: Merged::Approximate(self), heterogeneity })
    }

    /// The shape that all parts show, if the family has one.
    fn take_shape(&mut self, information: &Information) {
        let found = information.shape();
        if found.shape > 0.0 && self.family.fast().shape().is_some() {
            let family = self.family.fast().with_shape_unchecked(found.shape);
            self.family = family;
            self.dispersion.take_unit(&self.family);
            self.dispersion.shape = ShapeSums::from_part(&found);
        }
    }

    /// A member's residual sum.
    fn residual(&self, posterior: &Posterior, information: &Information) -> f64 {
        match self.dispersion.kind {
            // completing the square; a negative sum is rounding
            Kind::Normal => (information.reference_loss() - posterior.gain).max(0.0),
            _ => information.residual(),
        }
    }

    /// The log evidence of a member without its volumes, up to a constant that all members share.
    fn log_fit(&self, posterior: &Posterior, information: &Information) -> f64 {
        let residual = self.residual(posterior, information);
        match self.dispersion.kind {
            Kind::Normal => self.dispersion.log_marginal(residual),
            _ => 0.5 * posterior.gain / self.dispersion.estimate(residual),
        }
    }

    /// The log determinant of [`Auto::prior_precision`]: centering has determinant 1.
    fn prior_log_det(&self, p: f64, basis: Basis) -> f64 {
        -self.prior_variances(p, basis).into_iter().map(f64::ln).sum::<f64>()
    }

    /// One member with this belief, in units of the dispersion, and the prior of the heaviest one.
    pub(crate) fn with_belief(
        mut self,
        mean: &[f64],
        covariance: &[f64],
        residual: Residual,
        rows: u64,
        effective_rows: f64,
    ) -> Result<Self> {
        let best = self.static_members()?.best();
        let covariance = Factored::from_matrix(covariance, self.dim)?;
        let mut member = Member::new(best.p, 0.0, Buffer::from_slice(mean), covariance);
        member.basis = best.basis;
        self.dispersion.rows = effective_rows;
        member.residual = match residual {
            Residual::Sum(sum) => sum,
            Residual::Dispersion(dispersion) => self.dispersion.residual_of(dispersion),
        };
        self.become_static(Bank::new(vec![member]), rows);
        Ok(self)
    }

    fn become_static(&mut self, bank: Bank<Factored>, rows: u64) {
        self.stage = Stage::Static(bank);
        self.warm_up = None;
        self.sandwich = None;
        self.sentinel = Sentinel::default();
        self.follows_from = None;
        self.count = rows;
        self.stage.mean(&mut self.mean);
    }

    /// Whether the learner holds priors at known scales and no rows, as [`Auto::mapped`] returns
    /// it.
    pub(super) fn is_prior(&self) -> bool {
        self.count == 0 && self.warm_up.is_none()
    }

    /// Back to the priors, without rows.
    pub(super) fn forget(&mut self) -> Result<()> {
        self.rebuild()?;
        self.count = 0;
        self.warm_up = None;
        self.sandwich = None;
        self.sentinel = Sentinel::default();
        self.follows_from = None;
        self.stage.mean(&mut self.mean);
        Ok(())
    }
}

/// What a belief from elsewhere says about the noise.
pub(crate) enum Residual {
    /// The residual sum for normal noise, that of the prior included.
    Sum(f64),
    /// The dispersion itself.
    Dispersion(f64),
}

/// Information as a function of the prior.
pub(in crate::learner) struct Likelihood<'a> {
    reference: &'a [f64],
    precision: Vec<f64>,
    weighted: Vec<f64>,
}

pub(in crate::learner) struct Posterior {
    pub mean: Vec<f64>,
    pub factor: ScaledCholesky,
    /// By how much the posterior mean is better than the reference: twice the growth of the log
    /// posterior, $b^\top A^{-1}b - (m-r)^\top\Lambda(m-r)$.
    pub gain: f64,
}

/// A prior that may become a member.
pub(in crate::learner) struct Candidate {
    pub p: f64,
    pub basis: Basis,
    pub log_weight: f64,
}

impl Candidate {
    /// All priors of members at these scales, with the logarithms of their weights before any row.
    pub fn all(scales: &Scales) -> Vec<Self> {
        let candidate =
            |MemberPrior { size, basis, weight }| Self { p: size, basis, log_weight: weight.ln() };
        MemberPrior::all(scales.raw_differs()).into_iter().map(candidate).collect()
    }

    /// Those that are worth a member, with their weights relative to the heaviest.
    pub fn heavy(all: &[Self]) -> impl Iterator<Item = (&Self, f64)> {
        let log_weights = all.iter().map(|candidate| candidate.log_weight);
        let most = log_weights.fold(f64::NEG_INFINITY, f64::max);
        all.iter()
            .map(move |candidate| (candidate, (candidate.log_weight - most).exp()))
            .filter(|(_, weight)| *weight >= MIN_BUILT_WEIGHT)
    }
}

impl<'a> Likelihood<'a> {
    pub fn new(information: &'a Information) -> Self {
        Self {
            reference: information.reference(),
            precision: information.precision(),
            weighted: information.weighted(),
        }
    }

    pub fn posterior(&self, prior: &PriorPrecision) -> Result<Posterior> {
        let dim = self.reference.len();
        let total: Vec<f64> =
            self.precision.iter().zip(prior.matrix()).map(|(a, l)| a + l).collect();
        let factor = ScaledCholesky::new(&total, dim)?;
        // twice the penalty and the pull of the reference, both towards the prior mean
        let start = 2.0 * prior.penalty(self.reference);
        let pull = prior.pull(self.reference);
        let weighted: Vec<f64> = self.weighted.iter().zip(pull).map(|(b, p)| b - p).collect();
        let mut shift = weighted.clone();
        factor.solve(&mut shift);
        Ok(Posterior {
            gain: dot(&weighted, &shift) - start,
            mean: self.reference.iter().zip(&shift).map(|(r, s)| r + s).collect(),
            factor,
        })
    }
}
