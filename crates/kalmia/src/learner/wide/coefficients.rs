//! The mixture's coefficients in the units of the data, and their covariance.

use super::Wide;
use super::member::Member;
use super::tail::Place;
use crate::family::Family;

/// A coordinate of the belief.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Coordinate {
    Core(usize),
    Tail(u32),
}

/// A coefficient as a sum of coordinates of the belief, each with a factor.
type Terms = Vec<(Coordinate, f64)>;

impl<F: Family> Wide<F> {
    /// The features that the coefficients belong to: the leading numbers, then the features in the
    /// order of their first row.
    pub fn features(&self) -> Vec<u32> {
        let numbers = 0..self.numbers() as u32;
        numbers.chain(self.tail.slots().iter().map(|slot| slot.index)).collect()
    }

    /// Rows that had each feature, in the order of [`features`](Self::features); `None` for the
    /// leading numbers, which every row has.
    pub fn seen(&self) -> Vec<Option<u32>> {
        let numbers = std::iter::repeat_n(None, self.numbers());
        numbers.chain(self.tail.slots().iter().map(|slot| Some(slot.seen))).collect()
    }

    /// Coefficient `i` in coordinates of the belief. A number whose unit is not known yet has none.
    fn terms(&self, i: usize) -> Terms {
        let number = |j: usize| self.number_unit(j).map(|unit| (Coordinate::Core(j), 1.0 / unit));
        if i >= self.numbers() {
            let slot = (i - self.numbers()) as u32;
            let known = self.tail.slot(slot);
            let at = match self.tail.find(known.index) {
                Some(Place::Core(at)) => Coordinate::Core(at as usize),
                _ => Coordinate::Tail(slot),
            };
            return vec![(at, 1.0 / known.scale)];
        }
        if i > 0 || !self.scales.has_intercept() {
            return number(i).into_iter().collect();
        }
        // features are centered: the intercept of the data is that of the belief less the centers
        let centers = self.scales.centers();
        let shift = |j: usize| number(j).map(|(at, factor)| (at, -centers[j] * factor));
        let shifts = (1..self.numbers()).filter(|&j| centers[j] != 0.0).filter_map(shift);
        std::iter::once((Coordinate::Core(0), 1.0)).chain(shifts).collect()
    }

    /// Member `k`'s mean of a sum of coordinates.
    fn member_mean(&self, terms: &Terms, k: usize) -> f64 {
        let mean = |at: Coordinate| match at {
            Coordinate::Core(at) => self.core.mean(at, k),
            Coordinate::Tail(slot) => f64::from(self.tail.record(slot)[k]),
        };
        terms.iter().map(|&(at, factor)| factor * mean(at)).sum()
    }

    /// Member `k`'s covariance of two sums of coordinates, in units of the dispersion.
    fn member_entry(&self, a: &Terms, b: &Terms, k: usize) -> f64 {
        let entry = |a: Coordinate, b: Coordinate| match (a, b) {
            (Coordinate::Core(a), Coordinate::Core(b)) => self.core.entry(a, b, k),
            (Coordinate::Tail(slot), same) if Coordinate::Tail(slot) == same => {
                f64::from(self.tail.record(slot)[self.tail.lanes() + k])
            }
            _ => 0.0,
        };
        let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
        pairs.map(|(a, b)| a.1 * b.1 * entry(a.0, b.0)).sum()
    }

    fn mixture_mean(&self, terms: &Terms) -> f64 {
        let members = self.members.all.iter().enumerate();
        members.map(|(k, member)| member.weight * self.member_mean(terms, k)).sum()
    }

    /// The slot of coefficient `i`, if it is one of the tail. Nearly all are, and their moments
    /// need no terms.
    fn tail_slot(&self, i: usize) -> Option<u32> {
        let slot = i.checked_sub(self.numbers())? as u32;
        (!self.tail.slot(slot).in_core).then_some(slot)
    }

    /// The mean of coefficient `i`.
    fn mean_of(&self, i: usize) -> f64 {
        let Some(slot) = self.tail_slot(i) else { return self.mixture_mean(&self.terms(i)) };
        let means = self.members.all.iter().zip(self.tail.record(slot));
        let mean: f64 = means.map(|(member, mean)| member.weight * f64::from(*mean)).sum();
        mean / self.tail.slot(slot).scale
    }

    /// The variance of coefficient `i`, within the members and between them.
    fn variance_of(&self, i: usize) -> f64 {
        let Some(slot) = self.tail_slot(i) else { return self.entry(i, i) };
        let (means, variances) = self.tail.record(slot).split_at(self.tail.lanes());
        let scale = self.tail.slot(slot).scale;
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
        (0..self.numbers() + self.tail.len()).map(|i| self.mean_of(i)).collect()
    }

    /// The standard errors of the coefficients.
    pub(super) fn deviations(&self) -> Vec<f64> {
        (0..self.numbers() + self.tail.len()).map(|i| self.variance_of(i).sqrt()).collect()
    }

    /// Entry $(i,j)$ of the coefficients' covariance, within the members and between them.
    pub(super) fn entry(&self, i: usize, j: usize) -> f64 {
        let a = self.terms(i);
        let b = self.terms(j);
        let mean_a = self.mixture_mean(&a);
        let mean_b = self.mixture_mean(&b);
        let part = |(k, member): (usize, &Member)| {
            let within = self.dispersion.estimate(member.residual) * self.member_entry(&a, &b, k);
            let between = (self.member_mean(&a, k) - mean_a) * (self.member_mean(&b, k) - mean_b);
            member.weight * (within + between)
        };
        self.members.all.iter().enumerate().map(part).sum()
    }
}
