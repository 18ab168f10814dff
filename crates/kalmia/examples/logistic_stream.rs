//! Labels from a stream with unscaled features: predict each row, then learn it; nothing to tune.
//!
//! `cargo run --release --example logistic_stream`

use kalmia::{Auto, Bernoulli, Family, Learner, Predict, RowView, Rows};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn main() -> kalmia::Result<()> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut auto = Auto::builder(Bernoulli, 3).intercept().build()?;
    let mut loss = 0.0;
    let mut constant = 0.0;
    let mut ones = 0.5;
    for batch in 0..40 {
        // a constant, a year and an amount of money: gradient descent fails on such scales
        let mut x = Vec::new();
        let mut y = Vec::new();
        for _ in 0..250 {
            let year = 2000.0 + 25.0 * rng.random::<f64>();
            let amount = 1e6 * rng.random::<f64>();
            x.extend([1.0, year, amount]);
            y.push(Bernoulli.sample(0.2 * (year - 2012.0) - 4e-6 * (amount - 4e5), &mut rng));
        }
        let first = 250 * batch;
        let mut observer = |seen: &RowView<'_>| {
            let t = (first + seen.index) as f64 + 1.0;
            loss += (seen.loss - loss) / t;
            let share = ones / t;
            constant +=
                (-(if seen.observation.y > 0.5 { share } else { 1.0 - share }).ln() - constant) / t;
            ones += seen.observation.y;
        };
        auto.learn_observed(Rows::new(3, &x, &y)?, Some(&mut observer))?;
        if (batch + 1) % 10 == 0 {
            println!(
                "{:>6} rows: progressive log-loss {loss:.4} (constant predictor {constant:.4})",
                auto.count()
            );
        }
    }
    println!("\n{:<10} {:>12} {:>12}", "", "estimate", "std error");
    for (name, (estimate, error)) in ["constant", "year", "amount"]
        .iter()
        .zip(auto.coefficients().iter().zip(auto.standard_errors().unwrap()))
    {
        println!("{name:<10} {estimate:>12.4e} {error:>12.2e}");
    }
    let next = auto.predict(&[1.0, 2020.0, 3e5], 0.0)?;
    let interval = next.mean_interval(0.95)?;
    println!(
        "\nP(y = 1 | year 2020, amount 300 000) = {:.3}, 95 % interval {:.3} to {:.3}",
        next.mean, interval.lower, interval.upper
    );
    Ok(())
}
