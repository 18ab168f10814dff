//! The methods that the thresholds of the library are compared with, as they are published.

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
/// parameter. Universal portfolios (arXiv 2602.03168) and a method for groups of rows (arXiv
/// 2606.00419) refine it; they are not among the rivals.
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
