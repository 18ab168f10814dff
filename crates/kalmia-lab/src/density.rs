//! The density of the Bernoulli parameter, $10^6$ draws as in the paper.

use crate::lanes::LANES;
use crate::world::{SECOND_INTERCEPT, World};
use kalmia::{Bernoulli, Family};

/// Draws per density.
pub const SAMPLES: usize = 1_000_000;

/// Bins between 0 and 1.
const BINS: usize = 100;

/// Bins on each side that smooth the histogram for its modes.
const WINDOW: usize = 2;

/// One bin of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// Lower edge.
    pub from: f64,
    /// Upper edge.
    pub to: f64,
    /// Share of the draws over the width of the bin.
    pub density: f64,
}

/// A histogram of $\sigma(\theta^\top X)$, normalized to a density.
#[derive(Debug, Clone, PartialEq)]
pub struct Density {
    /// Name of the setting in the CSV file.
    pub name: &'static str,
    /// Draws in each of the equal bins between 0 and 1.
    pub counts: Vec<u64>,
}

impl Density {
    /// Draws the parameter of [`SAMPLES`] rows of a world.
    pub fn draw(name: &'static str, world: World, seed: u64) -> Self {
        // A group number far above those of the comparisons: no row is shared with them.
        let mut streams = world.streams(seed, 1 << 41);
        let mut counts = vec![0; BINS];
        for u in world.predictors(SAMPLES / LANES, &mut streams) {
            for p in u.0.map(|u| Bernoulli.mean(u)) {
                counts[((p * BINS as f64) as usize).min(BINS - 1)] += 1;
            }
        }
        Self { name, counts }
    }

    /// Every bin with its density.
    pub fn bins(&self) -> Vec<Bin> {
        let edge = |k: usize| k as f64 / BINS as f64;
        let height = |count: u64| count as f64 * BINS as f64 / SAMPLES as f64;
        self.counts
            .iter()
            .enumerate()
            .map(|(k, &count)| Bin { from: edge(k), to: edge(k + 1), density: height(count) })
            .collect()
    }

    /// The centers of the highest bins in the lower and in the upper half, after a mean over
    /// two bins on each side: the modes of a density with two.
    pub fn modes(&self) -> [f64; 2] {
        let height = |k: usize| -> f64 {
            let window = k.saturating_sub(WINDOW)..=(k + WINDOW).min(BINS - 1);
            let bins = window.clone().count() as f64;
            window.map(|k| self.counts[k] as f64).sum::<f64>() / bins
        };
        let highest = |range: std::ops::Range<usize>| {
            let best = range.max_by(|&a, &b| height(a).total_cmp(&height(b))).unwrap_or(0);
            (best as f64 + 0.5) / BINS as f64
        };
        [highest(0..BINS / 2), highest(BINS / 2..BINS)]
    }

    /// Draws within two bins of a value.
    pub fn around(&self, value: f64) -> u64 {
        let bin = ((value * BINS as f64) as usize).min(BINS - 1);
        self.counts[bin.saturating_sub(WINDOW)..=(bin + WINDOW).min(BINS - 1)].iter().sum()
    }

    /// The share of the draws in a range of the parameter; only bins inside the range count.
    pub fn mass(&self, from: f64, to: f64) -> f64 {
        let inside = |bin: &&Bin| bin.from >= from - 1e-9 && bin.to <= to + 1e-9;
        self.bins().iter().filter(inside).map(|bin| bin.density / BINS as f64).sum()
    }
}

/// $E[\sigma(\theta_1^\top X)]$ and $E[\sigma(\theta_2^\top X)]$ of the misspecified setting, by
/// the same number of draws.
pub fn group_means(seed: u64) -> [f64; 2] {
    let mut streams = World::Weak.streams(seed, 1 << 41);
    let shift = SECOND_INTERCEPT - World::Misspecified.generator()[0];
    let mut first = 0.0;
    let mut second = 0.0;
    for u in World::Weak.predictors(SAMPLES / LANES, &mut streams).into_iter().flat_map(|u| u.0) {
        first += Bernoulli.mean(u);
        second += Bernoulli.mean(u + shift);
    }
    [first / SAMPLES as f64, second / SAMPLES as f64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_have_the_shape_that_the_paper_describes() {
        let strong = Density::draw("theta_star", World::Strong, 3);
        assert_eq!(strong.counts.iter().sum::<u64>(), SAMPLES as u64);
        // Almost degenerate at 0 with a small mass at 1.
        assert!(
            strong.mass(0.0, 0.1) > 0.8
                && strong.mass(0.9, 1.0) > 0.02
                && strong.mass(0.9, 1.0) < 0.15
        );
        let mixed = Density::draw("misspecified", World::Misspecified, 3);
        let height = |p: f64| mixed.bins()[(p * BINS as f64) as usize].density;
        assert!(
            height(0.27) > 1.3 * height(0.52) && height(0.8) > 1.3 * height(0.52),
            "two groups"
        );
        let total: f64 = mixed.bins().iter().map(|b| b.density / BINS as f64).sum();
        assert!((total - 1.0).abs() < 1e-12);
        // The modes, by 4e6 draws: 0.215 and 0.855. The paper prints the means as modes (E32).
        let [low, high] = mixed.modes();
        assert!((low - 0.215).abs() < 0.03 && (high - 0.855).abs() < 0.03, "{low} {high}");
        // The means: the paper prints 0.28 and 0.79; quadrature gives 0.28464 and 0.78507.
        let [first, second] = group_means(3);
        assert!((first - 0.28464).abs() < 1e-3 && (second - 0.78507).abs() < 1e-3);
    }
}
