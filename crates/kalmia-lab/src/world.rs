//! The data of the paper's experiments: $X = (1, Z)$, $Z$ uniform on the unit cube of dimension 10,
//! and how $y$ follows from $X$.

use crate::lanes::{V, dispatch};
use crate::random::Streams;

/// $d$, the dimension of every experiment of the paper.
pub const D: usize = 11;

/// $\theta^*$ of the first experiment; the second uses a tenth of it.
pub const THETA: [f64; D] = [-9.0, 0.0, 3.0, -9.0, 4.0, -9.0, 15.0, 0.0, -7.0, 1.0, 0.0];

/// First coefficient of $\theta_2$ in the misspecified experiment; the others are those of
/// $\theta_1 = \theta^*/10$.
pub const SECOND_INTERCEPT: f64 = 1.5;

/// $E[XX^\top]$ of $X = (1, Z)$.
pub fn second_moment() -> [[f64; D]; D] {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| match (i, j) {
            (0, 0) => 1.0,
            (0, _) | (_, 0) => 0.5,
            _ if i == j => 1.0 / 3.0,
            _ => 0.25,
        })
    })
}

/// How $y$ follows from $X$.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum World {
    /// $P(y=1) = \sigma(\theta^{*\top}X)$ with $\theta^*$ of norm 23.3.
    Strong,
    /// The same with $\theta^*/10$.
    Weak,
    /// $\sigma(\theta_1^\top X)$ or $\sigma(\theta_2^\top X)$, chosen uniformly at random for every
    /// row.
    Misspecified,
    /// $y = \theta^{*\top}X/10 + N(0,1)$, for the theorems on the quadratic loss.
    Quadratic,
}

impl World {
    /// The vector that generates the data ($\theta_1$ in the misspecified world).
    pub fn generator(self) -> [f64; D] {
        match self {
            World::Strong => THETA,
            _ => THETA.map(|v| v / 10.0),
        }
    }

    /// Number that gives each world its own random streams.
    fn experiment(self) -> u64 {
        self as u64 + 1
    }

    /// The random streams of a group of replicates.
    pub fn streams(self, seed: u64, group: usize) -> Streams {
        Streams::new(seed, self.experiment(), group)
    }

    /// Draws the linear predictor of `rows` fresh rows of eight replicates.
    pub fn predictors(self, rows: usize, streams: &mut Streams) -> Vec<V> {
        let generator = self.generator().map(V::splat);
        dispatch(
            #[inline(always)]
            || (0..rows).map(|_| draw_features(self, &generator, streams).1).collect(),
        )
    }
}

/// Features and linear predictor of one row; in the misspecified world the predictor includes the
/// random choice of the process.
#[inline(always)]
fn draw_features(world: World, generator: &[V; D], streams: &mut Streams) -> ([V; D], V) {
    let mut x = [V::ONE; D];
    let mut u = generator[0];
    for j in 1..D {
        x[j] = streams.uniform();
        u = x[j].mul_add(generator[j], u);
    }
    if world == World::Misspecified {
        let shift = V::splat(SECOND_INTERCEPT) - generator[0];
        u += (streams.uniform() - V::splat(0.5)).select(shift, V::ZERO);
    }
    (x, u)
}

/// Rows of eight replicates, drawn together and read by every algorithm.
#[derive(Debug, Clone)]
pub struct Block {
    /// Features of each row, the intercept included.
    pub x: Vec<[V; D]>,
    /// Target of each row: -1 or 1, real in the quadratic world.
    pub y: Vec<V>,
}

impl Block {
    /// A block of `rows` rows, to be drawn by [`Block::fill`].
    pub fn new(rows: usize) -> Self {
        Self { x: vec![[V::ONE; D]; rows], y: vec![V::ZERO; rows] }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// Whether the block has no rows.
    pub fn is_empty(&self) -> bool {
        self.y.is_empty()
    }

    /// Fills all rows with the next ones of `world`.
    pub fn fill(&mut self, world: World, streams: &mut Streams) {
        dispatch(
            #[inline(always)]
            || self.draw(world, streams),
        );
    }

    #[inline(always)]
    fn draw(&mut self, world: World, streams: &mut Streams) {
        let generator = world.generator().map(V::splat);
        for (x, y) in self.x.iter_mut().zip(&mut self.y) {
            let (features, u) = draw_features(world, &generator, streams);
            *x = features;
            *y = if world == World::Quadratic {
                u + streams.normal()
            } else {
                draw_label(u, streams)
            };
        }
    }
}

/// 1 with probability $\sigma(u)$, else -1: $v < \sigma(u)$ without a division, for $v$ uniform.
#[inline(always)]
fn draw_label(u: V, streams: &mut Streams) -> V {
    let v = streams.uniform();
    let e = (-u.map(f64::abs)).exp_negative();
    // For u >= 0 compare v (1+e) with 1, for u < 0 with e.
    let edge = u.select(V::ONE, e);
    (edge - v.mul_add(e, v)).zip(V::ONE, |gap, one| if gap > 0.0 { one } else { -one })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::LANES;

    /// The mean of y against the expectations of the paper and its reference data.
    #[test]
    fn labels_have_their_probability() {
        // E sigma(theta_1'X) = 0.28464 and E sigma(theta_2'X) = 0.78507, so their mean in the
        // mixture.
        for (world, expected) in
            [(World::Weak, 0.28464), (World::Misspecified, (0.28464 + 0.78507) / 2.0)]
        {
            let mut streams = world.streams(11, 0);
            let mut block = Block::new(20_000);
            block.fill(world, &mut streams);
            let ones = block.y.iter().flat_map(|y| y.0).filter(|&y| y == 1.0).count() as f64;
            let total = (block.len() * LANES) as f64;
            let spread = (expected * (1.0 - expected) / total).sqrt();
            assert!((ones / total - expected).abs() < 4.0 * spread, "{world:?}: {}", ones / total);
            assert!(block.y.iter().flat_map(|y| y.0).all(|y| y.abs() == 1.0));
        }
    }

    #[test]
    fn quadratic_noise_is_standard() {
        let mut streams = World::Quadratic.streams(5, 1);
        let mut block = Block::new(20_000);
        block.fill(World::Quadratic, &mut streams);
        let theta = World::Quadratic.generator();
        let mut first = 0.0;
        let mut second = 0.0;
        for (x, y) in block.x.iter().zip(&block.y) {
            for lane in 0..LANES {
                let mean: f64 = (0..D).map(|j| theta[j] * x[j].0[lane]).sum();
                let noise = y.0[lane] - mean;
                first += noise;
                second += noise * noise;
            }
        }
        let total = (block.len() * LANES) as f64;
        assert!((first / total).abs() < 4.0 / total.sqrt());
        assert!((second / total - 1.0).abs() < 4.0 * (2.0 / total).sqrt());
    }
}
