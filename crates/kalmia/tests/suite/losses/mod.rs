//! Families given by their loss alone, which is all that a rule uses.

use kalmia::Family;

/// A family of a loss and its derivatives in `u`.
#[derive(Debug, Clone, Copy)]
pub struct Loss {
    name: &'static str,
    loss: fn(f64, f64) -> f64,
    derivatives: fn(f64, f64) -> (f64, f64),
}

/// $\ell = e^u - yu$.
pub const POISSON: Loss = Loss {
    name: "poisson",
    loss: |y, u| u.exp() - y * u,
    derivatives: |y, u| (u.exp() - y, u.exp()),
};

/// $\ell = u + y e^{-u}$ (log link, shape 1: a weight is the shape).
pub const GAMMA: Loss = Loss {
    name: "gamma",
    loss: |y, u| u + y * (-u).exp(),
    derivatives: |y, u| (1.0 - y * (-u).exp(), y * (-u).exp()),
};

/// Huber's loss of width 1, with jumps of $\ell''$ at $y \pm 1$.
pub const HUBER: Loss = Loss {
    name: "huber",
    loss: |y, u| if (u - y).abs() <= 1.0 { 0.5 * (u - y) * (u - y) } else { (u - y).abs() - 0.5 },
    derivatives: |y, u| ((u - y).clamp(-1.0, 1.0), f64::from((u - y).abs() <= 1.0)),
};

/// $\ell = |u-y|$, with a jump of $\ell'$ at $y$.
pub const ABSOLUTE: Loss = Loss {
    name: "absolute",
    loss: |y, u| (u - y).abs(),
    derivatives: |y, u| (if u > y { 1.0 } else { -1.0 }, 0.0),
};

/// $\ell = (u-y)^2/2$ without the closed form of [`kalmia::family::Gaussian`].
pub const SQUARE: Loss =
    Loss { name: "square", loss: |y, u| 0.5 * (u - y) * (u - y), derivatives: |y, u| (u - y, 1.0) };

impl Family for Loss {
    fn name(&self) -> &str {
        self.name
    }
    fn domain(&self) -> &str {
        "a number"
    }
    fn canonical(&self, y: f64) -> Option<f64> {
        Some(y)
    }
    fn loss(&self, y: f64, u: f64) -> f64 {
        (self.loss)(y, u)
    }
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        (self.derivatives)(y, u)
    }
    fn log_base(&self, _y: f64) -> f64 {
        0.0
    }
    fn mean(&self, _u: f64) -> f64 {
        unreachable!("a rule asks for the loss alone")
    }
    fn variance(&self, _u: f64) -> f64 {
        unreachable!("a rule asks for the loss alone")
    }
    fn quantile(&self, _u: f64, _q: f64) -> f64 {
        unreachable!("a rule asks for the loss alone")
    }
    fn cdf(&self, _u: f64, _y: f64) -> f64 {
        unreachable!("a rule asks for the loss alone")
    }
    fn sample<R: rand::Rng + ?Sized>(&self, _u: f64, _rng: &mut R) -> f64 {
        unreachable!("a rule asks for the loss alone")
    }
}
