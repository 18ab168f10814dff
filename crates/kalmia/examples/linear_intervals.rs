//! Linear regression in one pass: the exact Kalman filter, a learned noise, and intervals with the
//! coverage that they claim.
//!
//! `cargo run --release --example linear_intervals`

use kalmia::{Auto, Family, Gaussian, Learner, Predict, Rows};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn main() -> kalmia::Result<()> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let noise = Gaussian::new(25.0)?;
    let mut auto = Auto::builder(Gaussian::default(), 3).intercept().build()?;
    let mut held = 0;
    let rows = 2000;
    for _ in 0..rows {
        let x = [1.0, 180.0 + 40.0 * rng.random::<f64>(), 0.01 * rng.random::<f64>()];
        let y = noise.sample(-300.0 + 2.0 * x[1] + 5000.0 * x[2], &mut rng);
        // the interval is computed before the row is learned
        let interval = auto.predict(&x, 0.0)?.interval(0.9)?;
        held += usize::from(interval.lower <= y && y <= interval.upper);
        auto.learn(Rows::new(3, &x, &[y])?)?;
    }
    println!("90 % intervals held {:.1} % of {rows} rows", 100.0 * held as f64 / rows as f64);
    println!("noise variance {:.2} (25 in truth)\n", auto.dispersion());
    println!("{:<10} {:>12} {:>12} {:>10}", "", "estimate", "std error", "truth");
    let truth = [-300.0, 2.0, 5000.0];
    for ((name, truth), (estimate, error)) in ["constant", "height", "dose"]
        .iter()
        .zip(truth)
        .zip(auto.coefficients().iter().zip(auto.standard_errors().unwrap()))
    {
        println!("{name:<10} {estimate:>12.3} {error:>12.3} {truth:>10}");
    }
    Ok(())
}
