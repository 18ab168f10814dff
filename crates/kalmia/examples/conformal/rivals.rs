//! The methods that the thresholds of the library are compared with, as they are published but for
//! [`UniversalPortfolio`], which follows the abstract of its paper.

/// A threshold that a share of the scores should exceed.
pub trait Rival {
    /// For the next score.
    fn threshold(&self) -> f64;
    /// Takes it.
    fn learn(&mut self, score: f64);
}

/// Online conformal prediction with decaying step sizes (Angelopoulos, Barber and Bates 2024):
/// steps $t^{-0.6}$, in units of the mean score.
pub struct DecayingSteps {
    tail: f64,
    threshold: f64,
    rows: f64,
    total: f64,
}

impl DecayingSteps {
    pub fn new(tail: f64) -> Self {
        Self { tail, threshold: 0.0, rows: 0.0, total: 0.0 }
    }
}

impl Rival for DecayingSteps {
    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn learn(&mut self, score: f64) {
        self.rows += 1.0;
        self.total += score.abs();
        let step = self.total / self.rows * self.rows.powf(-0.6);
        self.threshold += step * (f64::from(score > self.threshold) - self.tail);
    }
}

/// Coin betting with the Krichevsky-Trofimov fraction (Podkopaev, Xu and Lee 2024): without a
/// parameter.
pub struct CoinBetting {
    tail: f64,
    threshold: f64,
    rows: f64,
    wealth: f64,
    total: f64,
}

impl CoinBetting {
    pub fn new(tail: f64) -> Self {
        Self { tail, threshold: 0.0, rows: 0.0, wealth: 1.0, total: 0.0 }
    }
}

impl Rival for CoinBetting {
    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn learn(&mut self, score: f64) {
        let coin = f64::from(score > self.threshold) - self.tail;
        self.rows += 1.0;
        self.wealth += coin * self.threshold;
        self.total += coin;
        self.threshold = self.total / (self.rows + 1.0) * self.wealth;
    }
}

/// A universal portfolio of two assets (Liu, Dobriban and Orabona 2026, arXiv 2602.03168): without
/// a parameter, too.
///
/// One asset pays after a miss, the other after a hit. Only these two things can happen, so Cover's
/// portfolio with the prior Beta(1/2, 1/2) is the Krichevsky-Trofimov estimate $p$ of the share of
/// misses: a miss multiplies the wealth by $p / tail$, a hit by $(1 - p) / (1 - tail)$. The
/// threshold is the stake that does so.
pub struct UniversalPortfolio {
    tail: f64,
    rows: f64,
    misses: f64,
    wealth: f64,
}

impl UniversalPortfolio {
    pub fn new(tail: f64) -> Self {
        Self { tail, rows: 0.0, misses: 0.0, wealth: 1.0 }
    }

    fn miss_share(&self) -> f64 {
        (self.misses + 0.5) / (self.rows + 1.0)
    }
}

impl Rival for UniversalPortfolio {
    fn threshold(&self) -> f64 {
        self.wealth * (self.miss_share() - self.tail) / (self.tail * (1.0 - self.tail))
    }

    fn learn(&mut self, score: f64) {
        let share = self.miss_share();
        let missed = score > self.threshold();
        self.wealth *= if missed { share / self.tail } else { (1.0 - share) / (1.0 - self.tail) };
        self.misses += f64::from(missed);
        self.rows += 1.0;
    }
}
