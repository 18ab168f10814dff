//! The figures by name, and the settings of the simulations.

use crate::error::{Error, Result};
use std::path::PathBuf;
use std::str::FromStr;

/// Largest horizon accepted: the `bounds` figure runs 300 times as long.
const MAX_HORIZON: u64 = 10_000_000_000;

/// A figure of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Figure {
    /// Mean squared error for $\theta^*$.
    Comparison1,
    /// Density of the Bernoulli parameter for $\theta^*$ and $\theta^*/10$.
    Density,
    /// Mean squared error for $\theta^*/10$, with two exp-concavity constants.
    Comparison10,
    /// Density and mean squared error in the misspecified setting.
    Misspecified,
    /// The EKF beside the library's other rules.
    Beyond,
    /// Cumulative excess risk and $\lambda_{\max}(P_t)$ beside the paper's bounds.
    Bounds,
}

impl Figure {
    /// Every figure, in the order of the report.
    pub const ALL: [Figure; 6] = [
        Figure::Comparison1,
        Figure::Density,
        Figure::Comparison10,
        Figure::Misspecified,
        Figure::Beyond,
        Figure::Bounds,
    ];

    /// The name in commands and files.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Comparison1 => "comparison1",
            Figure::Density => "density",
            Figure::Comparison10 => "comparison10",
            Figure::Misspecified => "misspecified",
            Figure::Beyond => "beyond",
            Figure::Bounds => "bounds",
        }
    }

    /// What it shows, as a heading.
    pub fn title(self) -> &'static str {
        match self {
            Figure::Comparison1 => "Mean squared error for θ*",
            Figure::Density => "Density of the Bernoulli parameter",
            Figure::Comparison10 => "Mean squared error for θ*/10",
            Figure::Misspecified => "The misspecified setting",
            Figure::Beyond => "Beyond the paper: the library's other rules on the same rows",
            Figure::Bounds => "The theorems beside simulation",
        }
    }

    /// The named figures in the order of the report, without repetition; `all` means every one.
    ///
    /// ```
    /// use kalmia_lab::Figure;
    /// let figures = Figure::parse_list(["density", "comparison1"]).unwrap();
    /// assert_eq!(figures, [Figure::Comparison1, Figure::Density]);
    /// assert!(Figure::parse_list(["comparison2"]).is_err());
    /// ```
    pub fn parse_list<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Figure>> {
        let mut figures = Vec::new();
        for name in names {
            if name == "all" {
                figures.extend(Figure::ALL);
            } else {
                figures.push(name.parse()?);
            }
        }
        figures.sort();
        figures.dedup();
        Ok(figures)
    }
}

impl FromStr for Figure {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Figure::ALL.into_iter().find(|f| f.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Figure::ALL.iter().map(|f| f.name()).chain(["all"]).collect();
            Error::UnknownFigure { name: name.to_owned(), expected: names.join(", ") }
        })
    }
}

/// The settings of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Rows of each replicate.
    pub horizon: u64,
    /// Independent replicates, each with its own rows.
    pub replicates: usize,
    /// Seed of every random stream; the numbers do not depend on the threads.
    pub seed: u64,
    /// Threads, 0 for one per core.
    pub threads: usize,
    /// Folder for the figures and the report; created if absent.
    pub out: PathBuf,
}

impl Default for Settings {
    /// Horizon $10^5$ and 100 replicates, as in the paper.
    fn default() -> Self {
        Self {
            horizon: 100_000,
            replicates: 100,
            seed: 1,
            threads: 0,
            out: PathBuf::from("reproduction"),
        }
    }
}

impl Settings {
    /// An error that names the setting if one is out of range.
    pub fn validate(&self) -> Result<()> {
        let refuse = |name, value: String, expected| Err(Error::Setting { name, value, expected });
        if !(1..=MAX_HORIZON).contains(&self.horizon) {
            return refuse(
                "horizon",
                self.horizon.to_string(),
                "must be at least 1 and at most 1e10",
            );
        }
        if !(2..=1_000_000).contains(&self.replicates) {
            return refuse(
                "replicates",
                self.replicates.to_string(),
                "must be at least 2 (for a standard error) and at most 1e6",
            );
        }
        if self.threads > 1024 {
            return refuse(
                "threads",
                self.threads.to_string(),
                "must be at most 1024 (0 for one per core)",
            );
        }
        Ok(())
    }

    /// The number of threads to start.
    pub fn worker_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        }
    }

    /// The rows at which curves are evaluated; see [`checkpoints`].
    pub fn checkpoints(&self) -> Vec<u64> {
        checkpoints(self.horizon)
    }
}

/// Ten points per decade up to `horizon`, every power of ten among them, and `horizon` itself.
pub fn checkpoints(horizon: u64) -> Vec<u64> {
    let mut points: Vec<u64> = (0..=200)
        .map(|k| 10f64.powi(k / 10) * 10f64.powf(f64::from(k % 10) / 10.0))
        .map(|n| n.round() as u64)
        .take_while(|&n| n < horizon)
        .chain([horizon])
        .collect();
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_hold_every_power_of_ten() {
        for horizon in [1, 7, 100, 5_000, 100_000, 123_456_789] {
            let points = checkpoints(horizon);
            assert!(points.windows(2).all(|w| w[0] < w[1]));
            assert_eq!(points.last(), Some(&horizon));
            let powers = (0..=9).map(|k| 10u64.pow(k)).filter(|&p| p <= horizon);
            assert!(powers.into_iter().all(|p| points.contains(&p)), "{points:?}");
        }
    }

    #[test]
    fn bad_settings_are_named() {
        let bad = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            settings.validate().unwrap_err().to_string()
        };
        assert!(bad(|s| s.horizon = 0).contains("`horizon` is 0"));
        assert!(bad(|s| s.replicates = 1).contains("`replicates` is 1"));
        assert!(bad(|s| s.threads = 5000).contains("`threads` is 5000"));
        assert!("figure9".parse::<Figure>().unwrap_err().to_string().contains("comparison10"));
    }
}
