//! Streams on which intervals are judged: static, drifting, and of a law that is not the model's.
//! The suite `tests/suite/conformal.rs` runs them too.

use kalmia::evaluate::Predicted;
use kalmia::observe::RowView;
use kalmia::{AnyFamily, AnyLearner, Auto, Filter, Learner, Prior, Rows};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Gamma, Poisson, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Rows that are learned before the first is judged, and rows judged.
pub const WARM_UP: usize = 1000;
pub const JUDGED: usize = 20_000;

/// A stream: what it is, the family of the model that predicts it, and its rows.
pub struct Stream {
    pub kind: &'static str,
    pub name: &'static str,
    pub family: &'static str,
    draw: fn(&mut World) -> f64,
}

/// What a row is drawn from.
struct World {
    rng: Xoshiro256PlusPlus,
    /// The share of the stream that is over.
    time: f64,
    x: [f64; 3],
    theta: [f64; 3],
    /// Variance and last value of noise whose variance depends on it.
    volatility: f64,
    last: f64,
}

impl World {
    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }

    fn linear(&self) -> f64 {
        1.0 + self.x.iter().zip(&self.theta).map(|(x, theta)| x * theta).sum::<f64>()
    }

    fn count(&mut self, mean: f64) -> f64 {
        Poisson::new(mean).map_or(0.0, |law| law.sample(&mut self.rng))
    }
}

/// The streams.
pub const STREAMS: [Stream; 15] = [
    Stream {
        kind: "static",
        name: "normal noise",
        family: "gaussian",
        draw: |world| world.linear() + world.normal(),
    },
    Stream {
        kind: "static",
        name: "Poisson counts of mean 1 to 20",
        family: "poisson",
        draw: |world| {
            let mean = (1.0 + 0.5 * world.linear()).exp();
            world.count(mean.min(1e4))
        },
    },
    Stream {
        kind: "static",
        name: "gamma amounts",
        family: "gamma",
        draw: |world| {
            let mean = (0.3 * world.linear()).exp();
            Gamma::new(2.0, 0.5 * mean).map_or(mean, |law| law.sample(&mut world.rng))
        },
    },
    Stream {
        kind: "drifting",
        name: "coefficients walk",
        family: "gaussian",
        draw: |world| {
            for j in 0..3 {
                world.theta[j] += 0.02 * world.normal();
            }
            world.linear() + world.normal()
        },
    },
    Stream {
        kind: "drifting",
        name: "noise variance grows tenfold at half time",
        family: "gaussian",
        draw: |world| {
            let scale = if world.time < 0.5 { 1.0 } else { 10f64.sqrt() };
            world.linear() + scale * world.normal()
        },
    },
    Stream {
        kind: "drifting",
        name: "noise variance falls tenfold at half time",
        family: "gaussian",
        draw: |world| {
            let scale = if world.time < 0.5 { 10f64.sqrt() } else { 1.0 };
            world.linear() + scale * world.normal()
        },
    },
    Stream {
        kind: "drifting",
        name: "noise deviation grows twentyfold, steadily",
        family: "gaussian",
        draw: |world| world.linear() + (1.0 + 20.0 * world.time) * world.normal(),
    },
    Stream {
        kind: "drifting",
        name: "volatility clusters (GARCH)",
        family: "gaussian",
        draw: |world| {
            world.volatility = 0.02 + 0.1 * world.last * world.last + 0.88 * world.volatility;
            world.last = world.volatility.sqrt() * world.normal();
            world.linear() + world.last
        },
    },
    Stream {
        kind: "misspecified",
        name: "quadratic truth, linear model",
        family: "gaussian",
        draw: |world| world.linear() + 2.0 * world.x[0] * world.x[0] + 0.5 * world.normal(),
    },
    Stream {
        kind: "misspecified",
        name: "noise of Student's law, 2 degrees of freedom",
        family: "gaussian",
        draw: |world| {
            let shrinkage = -(1.0 - world.rng.random::<f64>()).ln();
            world.linear() + world.normal() / shrinkage.sqrt()
        },
    },
    Stream {
        kind: "misspecified",
        name: "noise deviation depends on x",
        family: "gaussian",
        draw: |world| world.linear() + world.x[1].exp() * world.normal(),
    },
    Stream {
        kind: "misspecified",
        name: "noise with memory (correlation 0.95)",
        family: "gaussian",
        draw: |world| {
            world.last = 0.95 * world.last + 0.31 * world.normal();
            world.linear() + world.last
        },
    },
    Stream {
        kind: "misspecified",
        name: "skewed noise",
        family: "gaussian",
        draw: |world| world.linear() - (1.0 - world.rng.random::<f64>()).ln(),
    },
    Stream {
        kind: "misspecified",
        name: "log-normal amounts, gamma model",
        family: "gamma",
        draw: |world| (0.3 * world.linear() + 1.2 * world.normal()).exp(),
    },
    Stream {
        kind: "misspecified",
        name: "model's noise 1000 times too small",
        family: "filter",
        draw: |world| world.linear() + world.normal(),
    },
];

/// A row as it was predicted before it was learned, and its target.
pub struct PredictedRow {
    pub predicted: Predicted,
    pub y: f64,
}

impl Stream {
    /// The family of the model.
    pub fn family(&self) -> AnyFamily {
        let name = if self.family == "filter" { "gaussian" } else { self.family };
        name.parse().expect("a family's name")
    }

    /// A model that has learned nothing: the default learner, or a filter with a fixed noise.
    fn learner(&self) -> kalmia::Result<AnyLearner> {
        let family = self.family();
        if self.family == "filter" {
            let family = AnyFamily::from(kalmia::Gaussian::new(1e-6)?);
            let prior = Prior::isotropic(4, 10.0)?;
            return Ok(AnyLearner::Filter(Filter::new(family, "ekf".parse()?, prior)?));
        }
        Ok(AnyLearner::Auto(Auto::builder(family, 4).intercept().build()?))
    }

    /// The rows, each predicted before it was learned. The learner takes them in batches of
    /// `batch` rows.
    pub fn predicted(&self, seed: u64, batch: usize) -> kalmia::Result<Vec<PredictedRow>> {
        let mut world = World {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            time: 0.0,
            x: [0.0; 3],
            theta: [1.0, -0.5, 0.8],
            volatility: 1.0,
            last: 0.0,
        };
        let mut learner = self.learner()?;
        let total = WARM_UP + JUDGED;
        let mut found = Vec::with_capacity(total);
        let mut x = Vec::new();
        let mut y = Vec::new();
        for row in 0..total {
            world.time = row as f64 / total as f64;
            world.x = std::array::from_fn(|_| world.normal());
            x.push(1.0);
            x.extend(world.x);
            y.push((self.draw)(&mut world));
            if y.len() == batch || row + 1 == total {
                let mut keep = |row: &RowView<'_>| {
                    let y = row.observation.y;
                    found.push(PredictedRow { predicted: Predicted::from(row), y });
                };
                learner.learn_observed(Rows::new(4, &x, &y)?, Some(&mut keep))?;
                x.clear();
                y.clear();
            }
        }
        Ok(found)
    }
}
