//! The mixture's coefficients, their covariance, and beliefs at a point.

use super::MemberWeight;
use super::bank::{Bank, MemberBelief};
use super::center::center;
use super::dispersion::Dispersion;
use super::member::Member;
use crate::covariance::Covariance;
use crate::learner::labels::LabelBelief;
use crate::linalg::{Threads, row_products};
use crate::math::dot;

/// The members' beliefs about the rows of a batch: member after member, row after row.
#[derive(Debug, Default)]
pub(super) struct RowBeliefs {
    rows: usize,
    linear: Vec<f64>,
    variance: Vec<f64>,
    /// The rows less their centers.
    centered: Vec<f64>,
}

impl<C: Covariance> Bank<C> {
    pub fn weights(&self) -> Vec<MemberWeight> {
        let weight = |m: &Member<C>| MemberWeight {
            prior_size: m.p,
            centered: m.basis.is_centered(),
            variance_share: 1.0,
            process_noise: m.q,
            weight: m.standing.weight,
        };
        self.members.iter().map(weight).collect()
    }

    /// The mean of the coefficients.
    pub fn mean(&self, mean: &mut [f64]) {
        self.centered_mean(mean);
        if !self.centers.is_empty() {
            mean[0] -= dot(&self.centers, mean);
        }
    }

    /// Coefficient `i` of a member, for features that are not centered.
    fn coefficient(&self, member: &Member<C>, i: usize) -> f64 {
        let shift = if i == 0 { dot(&self.centers, &member.theta) } else { 0.0 };
        member.theta[i] - shift
    }

    /// Entry $(i,j)$ of a member's covariance, for features that are not centered.
    fn member_entry(&self, member: &Member<C>, i: usize, j: usize) -> f64 {
        if self.centers.is_empty() || (i > 0 && j > 0) {
            return member.covariance.entry(i, j);
        }
        // coefficient i as a sum of (index, factor) over the member's own
        let parts = |i: usize| {
            let centers = if i == 0 { &self.centers[..] } else { &[] };
            std::iter::once((i, 1.0))
                .chain(centers.iter().enumerate().filter(|c| *c.1 != 0.0).map(|(k, c)| (k, -c)))
        };
        parts(i)
            .flat_map(|a| parts(j).map(move |b| (a, b)))
            .map(|(a, b)| a.1 * b.1 * member.covariance.entry(a.0, b.0))
            .sum()
    }

    /// Entry $(i,j)$ of the covariance, within the members and between them.
    pub fn entry(&self, dispersion: &Dispersion, mean: &[f64], i: usize, j: usize) -> f64 {
        let part = |m: &Member<C>| {
            let within = dispersion.estimate(m.residual) * self.member_entry(m, i, j);
            m.standing.weight * (within + self.distance(m, mean, i) * self.distance(m, mean, j))
        };
        self.members.iter().map(part).sum()
    }

    /// The part between the members.
    pub fn between(&self, mean: &[f64], i: usize, j: usize) -> f64 {
        let part = |m: &Member<C>| {
            m.standing.weight * self.distance(m, mean, i) * self.distance(m, mean, j)
        };
        self.members.iter().map(part).sum()
    }

    /// Coefficient `i` of a member less that of the mixture.
    fn distance(&self, member: &Member<C>, mean: &[f64], i: usize) -> f64 {
        self.coefficient(member, i) - mean[i]
    }

    /// Rows that follow each other as the members see them.
    pub fn centered_rows<'a>(
        &self,
        x: &'a [f64],
        dim: usize,
        centered: &'a mut Vec<f64>,
    ) -> &'a [f64] {
        if self.centers.is_empty() {
            return x;
        }
        centered.clear();
        centered.extend_from_slice(x);
        centered.chunks_exact_mut(dim).for_each(|x| center(&self.centers, x));
        centered
    }

    /// The mean of the coefficients of the features as the members see them.
    pub fn centered_mean(&self, mean: &mut [f64]) {
        mean.fill(0.0);
        for member in &self.members {
            let weight = member.standing.weight;
            mean.iter_mut().zip(member.theta.iter()).for_each(|(mean, t)| *mean += weight * t);
        }
    }

    /// The members' beliefs about the linear predictors of rows that follow each other.
    pub fn beliefs_of_rows(
        &self,
        x: &[f64],
        rows: usize,
        beliefs: &mut RowBeliefs,
        cores: Threads,
    ) {
        let RowBeliefs { centered, linear, variance, .. } = beliefs;
        let dim = x.len() / rows.max(1);
        let x = self.centered_rows(x, dim, centered);
        linear.resize(rows * self.members.len(), 0.0);
        variance.resize(rows * self.members.len(), 0.0);
        let parts = linear.chunks_mut(rows).zip(variance.chunks_mut(rows));
        for (member, (linear, variance)) in self.members.iter().zip(parts) {
            row_products(x, dim, &member.theta, linear);
            member.covariance.variances(x, variance, cores);
        }
        beliefs.rows = rows;
    }

    /// The belief of member `k` about row `i`.
    pub fn belief_of_row(&self, beliefs: &RowBeliefs, k: usize, i: usize) -> MemberBelief {
        let member = &self.members[k];
        MemberBelief {
            weight: member.standing.weight,
            prior_size: member.p,
            residual: member.residual,
            linear: beliefs.linear[k * beliefs.rows + i],
            variance: beliefs.variance[k * beliefs.rows + i],
        }
    }

    /// What the members know of signs; `None` if they center their features.
    pub fn label_beliefs(&self) -> Option<Vec<LabelBelief<'_>>> {
        let beliefs = self.members.iter().map(|m| LabelBelief::new(&m.theta, &m.covariance));
        self.centers.is_empty().then(|| beliefs.collect())
    }

    /// The members' beliefs about the linear predictor at `x`.
    pub fn beliefs(&self, x: &[f64]) -> Vec<MemberBelief> {
        let mut x = x.to_vec();
        center(&self.centers, &mut x);
        let belief = |m: &Member<C>| MemberBelief {
            weight: m.standing.weight,
            prior_size: m.p,
            residual: m.residual,
            linear: dot(&x, &m.theta),
            variance: m.covariance.variance(&x),
        };
        self.members.iter().map(belief).collect()
    }
}
