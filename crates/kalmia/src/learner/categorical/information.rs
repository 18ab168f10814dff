//! What a learner of several classes knows beyond its prior, and the learner that such information
//! gives.

use super::Categorical;
use super::member::Member;
use super::mixture::Mixture;
use crate::covariance::{Covariance, Factored, FactoredBelief, Kernel};
use crate::error::{Error, Result, require_count, require_len};
use crate::learner::auto::information::{Candidate, Likelihood, Posterior};
use crate::learner::auto::member_prior::Basis;
use crate::learner::information::{PartBelief, PartNoise};
use crate::learner::{
    FeatureMap, Heterogeneity, Information, InformationState, Merged, MergedMany, PriorPrecision,
};
use crate::linalg::Buffer;
use serde::{Deserialize, Serialize};

/// The rows' part of the beliefs of one or several learners of several classes: an [`Information`]
/// per class, around 0.
///
/// It adds in any order and in any tree. Beliefs of a class are those of its coefficients less the
/// mean over all classes, because rows say nothing about what all classes share.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassInformation {
    dim: usize,
    blocks: Vec<Information>,
    parts: u64,
    rows: u64,
}

/// What [`ClassInformation`] needs to be added elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassInformationState {
    dim: usize,
    blocks: Vec<InformationState>,
    parts: u64,
    rows: u64,
}

impl ClassInformation {
    /// Of no rows, about `classes` classes of `dim` features.
    pub fn none(classes: usize, dim: usize) -> Self {
        let block = Information::none(vec![0.0; dim]);
        Self { dim, blocks: vec![block; classes], parts: 0, rows: 0 }
    }

    /// Adds the information of other rows. Refuses other numbers of classes or features, and then
    /// changes nothing.
    pub fn add(&mut self, other: &Self) -> Result<()> {
        require_len("classes", other.classes(), self.classes())?;
        require_len("features", other.dim, self.dim)?;
        for (own, other) in self.blocks.iter_mut().zip(&other.blocks) {
            own.add(other)?;
        }
        self.parts += other.parts;
        self.rows += other.rows;
        Ok(())
    }

    /// The same information about the features and classes of a whole. `classes` has, for each
    /// class of the whole, the class of this part, or `None` if the part does not know it.
    ///
    /// ```
    /// use kalmia::learner::{ClassInformation, FeatureMap};
    ///
    /// let part = ClassInformation::none(2, 1);
    /// let whole = part.mapped(&FeatureMap::identity(1), &[Some(1), None, Some(0)])?;
    /// assert_eq!(whole.classes(), 3);
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn mapped(&self, map: &FeatureMap, classes: &[Option<usize>]) -> Result<Self> {
        let reference = vec![0.0; map.dim()];
        let block = |class: &Option<usize>| match *class {
            None => Ok(Information::none(reference.clone())),
            Some(own) => match self.blocks.get(own) {
                Some(block) => block.mapped(map, reference.clone()),
                None => Err(Error::State(format!(
                    "class {own} of a part that has {} classes",
                    self.classes()
                ))),
            },
        };
        let blocks = classes.iter().map(block).collect::<Result<_>>()?;
        Ok(Self { dim: map.dim(), blocks, parts: self.parts, rows: self.rows })
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.blocks.len()
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Learners that were added.
    pub fn parts(&self) -> u64 {
        self.parts
    }

    /// Rows of all parts.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The state, to be stored or shipped; each sum is rounded once.
    pub fn state(&self) -> ClassInformationState {
        ClassInformationState {
            dim: self.dim,
            blocks: self.blocks.iter().map(Information::state).collect(),
            parts: self.parts,
            rows: self.rows,
        }
    }

    /// Continues from a state. Refuses lengths that do not fit and numbers that are not finite.
    pub fn restore(state: ClassInformationState) -> Result<Self> {
        let ClassInformationState { dim, blocks, parts, rows } = state;
        require_count("parts", parts)?;
        require_count("rows", rows)?;
        let blocks: Vec<Information> =
            blocks.into_iter().map(Information::restore).collect::<Result<_>>()?;
        for block in &blocks {
            require_len("reference", block.dim(), dim)?;
            if block.reference().iter().any(|&r| r != 0.0) {
                return Err(Error::State("information of several classes is around 0".into()));
            }
            for (name, own, of_block) in
                [("parts", parts, block.parts()), ("rows", rows, block.rows())]
            {
                if of_block > own {
                    return Err(Error::State(format!(
                        "{of_block} {name} of a class, {own} in all"
                    )));
                }
            }
        }
        Ok(Self { dim, blocks, parts, rows })
    }

    /// Whether the parts agree, given the members of all. Two classes have one difference. With
    /// more there is no test, and no degrees of freedom: a belief per class leaves out how classes
    /// are correlated, and $Q$ of parts that agree was 1.2 to 3.7 times its degrees of freedom.
    fn heterogeneity(&self, members: &[Member]) -> Heterogeneity {
        if self.classes() > 2 {
            return Heterogeneity::new(0.0, 0);
        }
        let mean = |class: usize| -> Vec<f64> {
            let of = |j: usize| {
                members.iter().map(|m| m.standing.weight * m.blocks[class].theta[j]).sum()
            };
            (0..self.dim).map(of).collect()
        };
        let found = self.blocks.iter().enumerate();
        let found: Vec<Heterogeneity> =
            found.map(|(class, block)| block.heterogeneity(&mean(class), 1.0)).collect();
        let q = found.iter().map(|one| one.q).sum();
        let degrees: u64 = found.iter().map(|one| one.degrees).sum();
        let most = found.iter().map(|one| one.degrees).max().unwrap_or(0);
        Heterogeneity::new(q, degrees - most)
    }
}

impl Categorical {
    /// What the rows say beyond the prior, by the heaviest member. Refuses a learner that follows a
    /// drift.
    pub fn information(&self) -> Result<ClassInformation> {
        self.require_static()?;
        let best = self.best();
        let prior = self.prior_precision(best.prior_size, best.basis)?;
        let share = 1.0 / self.classes as f64;
        let mean = |j: usize| best.blocks.iter().map(|block| share * block.theta[j]).sum();
        let common: Vec<f64> = (0..self.dim).map(mean).collect();
        let block = |block: &FactoredBelief| {
            let own = block.coefficients().iter().zip(&common);
            let mean: Vec<f64> = own.map(|(own, common)| own - common).collect();
            let belief = PartBelief {
                mean: &mean,
                covariance: block.covariance.matrix(),
                prior: prior.clone(),
                noise: PartNoise::Pearson(0.0),
                effective_rows: self.count as f64,
                rows: self.count,
                shape: None,
            };
            Information::of(belief, vec![0.0; self.dim])
        };
        let blocks = best.blocks.iter().map(block).collect::<Result<_>>()?;
        Ok(ClassInformation { dim: self.dim, blocks, parts: 1, rows: self.count })
    }

    /// A learner of the same priors for the features and for `classes` classes of a whole, before
    /// any row; the learner of the whole follows by
    /// [`with_information`](Self::with_information). A feature that this learner does not have is
    /// taken as a level: 0 or 1.
    pub fn mapped(&self, map: &FeatureMap, classes: usize) -> Result<Self> {
        require_len("features", map.part_dim(), self.dim)?;
        self.require_static()?;
        let mut whole = Self::untrained(classes, self.scales.mapped(map), self.drift)?;
        whole.warm_up = None;
        Ok(whole)
    }

    /// The learner of the rows that `information` is of, from the priors of this one. Every prior
    /// gets a member, with a weight that follows from the information itself.
    pub fn with_information(mut self, information: &ClassInformation) -> Result<MergedMany<Self>> {
        require_len("classes", information.classes(), self.classes)?;
        require_len("features", information.dim, self.dim)?;
        let likelihoods: Vec<Likelihood<'_>> =
            information.blocks.iter().map(Likelihood::new).collect();
        let mut candidates = Candidate::all(&self.scales);
        for Candidate { p, basis, log_weight } in &mut candidates {
            let prior = self.prior_precision(*p, *basis)?;
            let prior_volume: f64 =
                -self.prior_variances(*p, *basis).into_iter().map(f64::ln).sum::<f64>();
            let mut volume = 0.0;
            let mut gain = 0.0;
            for likelihood in &likelihoods {
                let posterior = likelihood.posterior(&prior)?;
                volume += prior_volume - posterior.factor.log_det();
                gain += posterior.gain;
            }
            // a belief per class has one class more than the differences that rows determine
            let share = 1.0 - 1.0 / self.classes as f64;
            *log_weight += 0.5 * (share * volume + gain);
        }
        let mut members = Vec::new();
        for (&Candidate { p, basis, .. }, weight) in Candidate::heavy(&candidates) {
            let prior = self.prior_precision(p, basis)?;
            let block = |likelihood: &Likelihood<'_>| {
                let Posterior { mean, factor, .. } = likelihood.posterior(&prior)?;
                Ok(FactoredBelief {
                    theta: Buffer::from_slice(&mean),
                    covariance: Factored::from_matrix(&factor.inverse(), self.dim)?,
                })
            };
            let blocks = likelihoods.iter().map(block).collect::<Result<_>>()?;
            let mut member = Member::new(p, basis, blocks);
            member.standing.weight = weight;
            members.push(member);
        }
        self.joint = None;
        self.become_static(Mixture::new(members), information.rows());
        let heterogeneity = information.heterogeneity(&self.mixture.members);
        Ok(MergedMany { merged: Merged::Approximate(self), heterogeneity })
    }

    /// The inverse of the prior covariance of a class.
    pub(super) fn prior_precision(&self, size: f64, basis: Basis) -> Result<PriorPrecision> {
        let centered = self.scales.has_intercept() && basis.is_centered();
        let centers = centered.then(|| self.scales.centers());
        PriorPrecision::centered(vec![0.0; self.dim], &self.prior_variances(size, basis), centers)
    }

    /// Takes over the scales of features that only `other` has seen.
    pub(super) fn adopt_scales(&mut self, other: &Self) {
        self.scales.adopt(&other.scales, |_, _| {});
    }
}
