//! The library's own speed, for `python/benchmarks/partial_fit.py`: learns rows from a file of
//! float64 (features row after row behind their constant, then targets) and prints rows per second;
//! without a file, a few rows of its own.

use kalmia::{AnyFamily, Auto, Learner, Rows};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (x, y, dim) = match (args.next(), args.next()) {
        (Some(path), Some(dim)) => {
            let dim: usize = dim.parse()?;
            let bytes = std::fs::read(path)?;
            let (numbers, _) = bytes.as_chunks::<8>();
            let numbers: Vec<f64> =
                numbers.iter().map(|eight| f64::from_le_bytes(*eight)).collect();
            let rows = numbers.len() / (dim + 1);
            (numbers[..rows * dim].to_vec(), numbers[rows * dim..].to_vec(), dim)
        }
        _ => (
            (0..600).map(|i| if i % 3 == 0 { 1.0 } else { f64::from(i * 7 % 11) }).collect(),
            (0..200).map(|i| f64::from(i % 2)).collect(),
            3,
        ),
    };
    let mut learner = Auto::builder("bernoulli".parse::<AnyFamily>()?, dim).intercept().build()?;
    let start = Instant::now();
    learner.learn(Rows::new(dim, &x, &y)?)?;
    println!("{}", y.len() as f64 / start.elapsed().as_secs_f64());
    Ok(())
}
