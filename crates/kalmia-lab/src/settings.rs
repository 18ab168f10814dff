//! The figures by name, and the settings of the simulations.

use crate::error::{Error, Result};
use crate::experiment::Length;
use std::path::PathBuf;
use std::str::FromStr;

/// Largest horizon accepted: the `bounds` figure runs 150 times as long.
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
    /// The ONS over its initial matrix.
    Lambda,
    /// The filters over their prior variance.
    Prior,
    /// The truncated EKF over its threshold.
    Truncation,
    /// Coverage of the filters' intervals.
    Coverage,
    /// Linear regression.
    Quadratic,
    /// Errors and time over the dimension, errors over the conditioning.
    Scaling,
    /// The EKF beside the library's other rules.
    Beyond,
    /// Cumulative excess risks and convergence times beside the paper's bounds.
    Bounds,
    /// Distance, truncation and $\lambda_{\max}(P_t)$ over the two phases.
    Phases,
}

impl Figure {
    /// Every figure, in the order of the report.
    pub const ALL: [Figure; 13] = [
        Figure::Comparison1,
        Figure::Density,
        Figure::Comparison10,
        Figure::Misspecified,
        Figure::Lambda,
        Figure::Prior,
        Figure::Truncation,
        Figure::Coverage,
        Figure::Quadratic,
        Figure::Scaling,
        Figure::Beyond,
        Figure::Bounds,
        Figure::Phases,
    ];

    /// The name in commands and files.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Comparison1 => "comparison1",
            Figure::Density => "density",
            Figure::Comparison10 => "comparison10",
            Figure::Misspecified => "misspecified",
            Figure::Lambda => "lambda",
            Figure::Prior => "prior",
            Figure::Truncation => "truncation",
            Figure::Coverage => "coverage",
            Figure::Quadratic => "quadratic",
            Figure::Scaling => "scaling",
            Figure::Beyond => "beyond",
            Figure::Bounds => "bounds",
            Figure::Phases => "phases",
        }
    }

    /// What it shows, as a heading.
    pub fn title(self) -> &'static str {
        match self {
            Figure::Comparison1 => "Mean squared error for θ*",
            Figure::Density => "Density of the Bernoulli parameter",
            Figure::Comparison10 => "Mean squared error for θ*/10",
            Figure::Misspecified => "The misspecified setting",
            Figure::Lambda => "The initial matrix of the ONS",
            Figure::Prior => "The first variance of the filters",
            Figure::Truncation => "The threshold of the truncated EKF",
            Figure::Coverage => "Do the filters' intervals hold?",
            Figure::Quadratic => "Linear regression: the Kalman filter is ridge regression",
            Figure::Scaling => "Dimension, conditioning and cost",
            Figure::Beyond => "Beyond the paper: the library's other rules on the same rows",
            Figure::Bounds => "The theorems beside simulation",
            Figure::Phases => "The two phases of the EKF",
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
    /// $\lambda$ of the first matrix $P_1^{-1} = \lambda I$ of every ONS of the comparisons; `None`
    /// for $1/(\gamma R)^2$ (erratum E28).
    pub ons_lambda: Option<f64>,
}

impl Default for Settings {
    /// 100 replicates, as in the paper, of $10^5$ rows. The paper's text gives no horizon.
    fn default() -> Self {
        Self {
            horizon: 100_000,
            replicates: 100,
            seed: 1,
            threads: 0,
            out: PathBuf::from("reproduction"),
            ons_lambda: None,
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
        if let Some(lambda) = self.ons_lambda.filter(|v| !(1e-150..=1e150).contains(v)) {
            return refuse(
                "ons-lambda",
                format!("{lambda:e}"),
                "must be positive, from 1e-150 to 1e150",
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

    /// The length of the paper's experiments.
    pub fn length(&self) -> Length {
        Length { horizon: self.horizon, replicates: self.replicates, seed: self.seed }
    }

    /// The length of an experiment with many runs: fewer rows and replicates by these factors, but
    /// at least 10 rows and 2 replicates.
    pub fn shorter(&self, rows: u64, replicates: usize) -> Length {
        Length {
            horizon: (self.horizon / rows).max(self.horizon.min(10)),
            replicates: (self.replicates / replicates).max(2),
            seed: self.seed,
        }
    }

    /// The command that makes a figure again with these settings.
    pub fn command(&self, figure: &str) -> String {
        let lambda = self.ons_lambda.map_or(String::new(), |v| format!(" --ons-lambda {v:e}"));
        format!(
            "kalmia reproduce {figure} --horizon {} --replicates {} --seed {}{lambda}",
            self.horizon, self.replicates, self.seed
        )
    }

    /// The number of threads to start.
    pub fn worker_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        }
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
