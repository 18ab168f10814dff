//! The mixture's coefficients in the units of the data, and their covariance.

use super::Wide;
use super::belief::Terms;
use super::member::Member;
use crate::family::Family;

impl<F: Family> Wide<F> {
    /// The features that the coefficients belong to: the leading numbers, then the features in the
    /// order of their first row.
    pub fn features(&self) -> Vec<u32> {
        self.features.indices()
    }

    /// Rows that had each feature, in the order of [`features`](Self::features); `None` for the
    /// leading numbers, which every row has.
    pub fn seen(&self) -> Vec<Option<u32>> {
        self.features.seen()
    }

    fn mixture_mean(&self, terms: &Terms) -> f64 {
        let members = self.members.all.iter().enumerate();
        members.map(|(k, member)| member.weight * self.belief.mean(terms, k)).sum()
    }

    /// The mean of coefficient `i`.
    fn mean_of(&self, i: usize) -> f64 {
        let Some(slot) = self.features.tail_slot(i) else {
            return self.mixture_mean(&self.features.terms(i));
        };
        let means = self.members.all.iter().zip(self.belief.tail.record(slot));
        let mean: f64 = means.map(|(member, mean)| member.weight * f64::from(*mean)).sum();
        mean / self.features.slots.get(slot).scale
    }

    /// The variance of coefficient `i`, within the members and between them.
    fn variance_of(&self, i: usize) -> f64 {
        let Some(slot) = self.features.tail_slot(i) else { return self.entry(i, i) };
        let (means, variances) = self.belief.tail.record(slot).split_at(self.belief.lanes());
        let scale = self.features.slots.get(slot).scale;
        let mean = scale * self.mean_of(i);
        let members = self.members.all.iter().zip(means).zip(variances);
        let part = |((member, &own), &variance): ((&Member, &f32), &f32)| {
            let within = self.dispersion.estimate(member.residual) * f64::from(variance);
            member.weight * (within + (f64::from(own) - mean).powi(2))
        };
        members.map(part).sum::<f64>() / (scale * scale)
    }

    /// The mean of the coefficients.
    pub(super) fn mean(&self) -> Vec<f64> {
        (0..self.features.len()).map(|i| self.mean_of(i)).collect()
    }

    /// The standard errors of the coefficients.
    pub(super) fn deviations(&self) -> Vec<f64> {
        (0..self.features.len()).map(|i| self.variance_of(i).sqrt()).collect()
    }

    /// Entry $(i,j)$ of the coefficients' covariance, within the members and between them.
    pub(super) fn entry(&self, i: usize, j: usize) -> f64 {
        let a = self.features.terms(i);
        let b = self.features.terms(j);
        let mean_a = self.mixture_mean(&a);
        let mean_b = self.mixture_mean(&b);
        let part = |(k, member): (usize, &Member)| {
            let within = self.dispersion.estimate(member.residual) * self.belief.entry(&a, &b, k);
            let between = (self.belief.mean(&a, k) - mean_a) * (self.belief.mean(&b, k) - mean_b);
            member.weight * (within + between)
        };
        self.members.all.iter().enumerate().map(part).sum()
    }
}
