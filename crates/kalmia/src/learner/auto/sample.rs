//! Draws from the mixture: a member by its weight, the dispersion, then the coefficients.

use super::Auto;
use super::bank::Bank;
use super::dispersion::Kind;
use super::stage::each_bank;
use crate::covariance::Covariance;
use crate::error::Result;
use crate::family::{Family, FastPaths};
use crate::learner::sample::{PosteriorDraw, Sample, add_normal, place_of_share};
use crate::math::dot;
use rand::{Rng, RngExt};
use rand_distr::{ChiSquared, Distribution};

impl<F: Family> Auto<F> {
    /// The draws of each member together; `chosen[i]` is the member of draw `i`.
    fn draw_members<C: Covariance>(
        &self,
        bank: &Bank<C>,
        chosen: &[usize],
        rng: &mut dyn Rng,
    ) -> Result<Vec<PosteriorDraw<F>>> {
        let mut found: Vec<Option<PosteriorDraw<F>>> = vec![None; chosen.len()];
        for (k, member) in bank.members.iter().enumerate() {
            if !chosen.contains(&k) {
                continue;
            }
            let estimate = self.dispersion.estimate(member.residual);
            let reported = self.reported_root()?;
            let plain = reported.is_none();
            let root = reported.map_or_else(|| member.covariance.square_root(), Ok)?;
            let places = found.iter_mut().zip(chosen).filter(|(_, chosen)| **chosen == k);
            for (place, _) in places {
                let dispersion = self.draw_dispersion(estimate, rng);
                let mut coefficients = member.theta[..self.dim].to_vec();
                let unit = if plain { dispersion.sqrt() } else { 1.0 };
                add_normal(&mut coefficients, &root, unit, rng);
                if !bank.centers.is_empty() {
                    coefficients[0] -= dot(&bank.centers, &coefficients);
                }
                *place = Some(PosteriorDraw {
                    coefficients,
                    family: self.family.fast().with_dispersion_unchecked(dispersion),
                    overdispersion: (self.dispersion.kind == Kind::Quasi).then_some(dispersion),
                    unseen_variance: dispersion * member.p * self.prior.scale.slopes,
                });
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// The dispersion of a draw. Under normal noise $\sigma^2 = \nu\hat\sigma^2/\chi^2_\nu$;
    /// otherwise it is the point estimate.
    fn draw_dispersion(&self, estimate: f64, rng: &mut dyn Rng) -> f64 {
        let degrees = self.dispersion.degrees();
        if !degrees.is_finite() {
            return estimate;
        }
        match ChiSquared::new(degrees) {
            Ok(law) => estimate * degrees / law.sample(rng),
            Err(_) => estimate,
        }
    }
}

impl<F: Family> Sample for Auto<F> {
    fn draw(&self, draws: usize, rng: &mut dyn Rng) -> Result<Vec<PosteriorDraw<F>>> {
        each_bank!(&self.stage, bank => {
            let weights: Vec<f64> = bank.members.iter().map(|m| m.standing.weight).collect();
            let chosen: Vec<usize> =
                (0..draws).map(|_| place_of_share(&weights, rng.random())).collect();
            self.draw_members(bank, &chosen, rng)
        })
    }

    fn hide_features(&self, x: &mut [f64]) -> f64 {
        self.scales.hide_unseen(x)
    }
}
