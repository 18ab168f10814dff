//! Your own family: robust regression with Huber's loss, used like a family of the crate.
//!
//! `cargo run --release --example own_family`

use kalmia::{Family, Filter, Gaussian, Implicit, Learner, Predict, Prior, Rows};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Quadratic within `k` of `u`, linear beyond: $\ell(y,u) = r^2/2$ or $k|r| - k^2/2$, $r = y-u$.
#[derive(Debug, Clone, Copy)]
struct Huber {
    k: f64,
}

impl Huber {
    /// Mass of $e^{-\ell}$ beyond one elbow, $e^{-k^2/2}/k$.
    fn tail(&self) -> f64 {
        (-0.5 * self.k * self.k).exp() / self.k
    }

    /// Mass of $e^{-\ell}$ between 0 and `r`, for $0 \le r \le k$, by Simpson's rule.
    fn core(&self, r: f64) -> f64 {
        let n = 64;
        let h = r / f64::from(n);
        let weight = |i: i32| if i == 0 || i == n { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
        (0..=n).map(|i| weight(i) * (-0.5 * (f64::from(i) * h).powi(2)).exp()).sum::<f64>() * h
            / 3.0
    }

    /// Total mass of $e^{-\ell}$.
    fn total(&self) -> f64 {
        2.0 * (self.tail() + self.core(self.k))
    }
}

impl Family for Huber {
    fn name(&self) -> &str {
        "huber"
    }

    fn domain(&self) -> &str {
        "any finite number"
    }

    fn canonical(&self, y: f64) -> Option<f64> {
        y.is_finite().then_some(y)
    }

    fn loss(&self, y: f64, u: f64) -> f64 {
        let r = (y - u).abs();
        if r <= self.k { 0.5 * r * r } else { self.k * (r - 0.5 * self.k) }
    }

    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        let r = u - y;
        (r.clamp(-self.k, self.k), if r.abs() <= self.k { 1.0 } else { 0.0 })
    }

    fn log_base(&self, _y: f64) -> f64 {
        -self.total().ln()
    }

    fn mean(&self, u: f64) -> f64 {
        u
    }

    /// Both parts of $\int r^2 e^{-\ell}$ in closed form.
    fn variance(&self, _u: f64) -> f64 {
        let k = self.k;
        let inner = self.core(k) - k * (-0.5 * k * k).exp();
        let outer = self.tail() * (k * k + 2.0 + 2.0 / (k * k));
        2.0 * (inner + outer) / self.total()
    }

    fn quantile(&self, u: f64, q: f64) -> f64 {
        let lower = q.min(1.0 - q);
        let tail = self.tail() / self.total();
        let r = if lower <= tail {
            -self.k + (lower / tail).ln() / self.k
        } else {
            let mut low = -self.k;
            let mut high = 0.0;
            while high - low > 1e-13 {
                let middle = 0.5 * (low + high);
                if self.cdf(0.0, middle) < lower { low = middle } else { high = middle }
            }
            high
        };
        if q > 0.5 { u - r } else { u + r }
    }

    fn cdf(&self, u: f64, y: f64) -> f64 {
        let r = (y - u).abs();
        let upper = if r > self.k {
            self.tail() * (-self.k * (r - self.k)).exp()
        } else {
            self.tail() + self.core(self.k) - self.core(r)
        };
        if y < u { upper / self.total() } else { 1.0 - upper / self.total() }
    }

    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        // In (0, 1]: a quantile at 0 is infinite.
        self.quantile(u, 1.0 - 0.999_999_999 * rng.random::<f64>())
    }

    fn bounded_gradient(&self) -> bool {
        true
    }
}

fn main() -> kalmia::Result<()> {
    let huber = Huber { k: 1.345 };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    // y = 1 + 2 z with unit noise, but one row in ten is wrong by 50
    let mut x = Vec::new();
    let mut y = Vec::new();
    for i in 0..2000 {
        let z = rng.random::<f64>();
        x.extend([1.0, z]);
        y.push(
            Gaussian::default().sample(1.0 + 2.0 * z, &mut rng)
                + if i % 10 == 9 { 50.0 } else { 0.0 },
        );
    }
    let rows = Rows::new(2, &x, &y)?;
    let prior = Prior::isotropic(2, 100.0)?;
    let mut square = Filter::new(Gaussian::default(), Implicit, prior.clone())?;
    let mut robust = Filter::new(huber, Implicit, prior)?;
    square.learn(rows)?;
    robust.learn(rows)?;
    println!("{:<24} {:>10} {:>10}", "", "constant", "slope");
    println!("{:<24} {:>10} {:>10}", "truth", 1.0, 2.0);
    println!(
        "{:<24} {:>10.3} {:>10.3}",
        "least squares",
        square.coefficients()[0],
        square.coefficients()[1]
    );
    println!(
        "{:<24} {:>10.3} {:>10.3}",
        "Huber, your own family",
        robust.coefficients()[0],
        robust.coefficients()[1]
    );
    let interval = robust.predict(&[1.0, 0.5], 0.0)?.interval(0.9)?;
    println!(
        "\n90 % interval of the next y at z = 0.5: {:.2} to {:.2}",
        interval.lower, interval.upper
    );
    Ok(())
}
