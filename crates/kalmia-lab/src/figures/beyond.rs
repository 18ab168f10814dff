//! The figure `beyond`: the library's other rules on the rows of the paper, with the batch maximum
//! likelihood.

use super::{BANDS, Finished, mse, run_all, sample, sweep};
use crate::error::Result;
use crate::experiment::{Experiment, MethodSpec};
use crate::settings::{Figure, Settings};
use crate::workers::Workers;

const PAPER: &str = "Not in the paper: it takes P₁ = I and says that the initialization has no \
    impact on the leading terms of its bounds. Here the same rows are given to rules that cannot \
    overshoot.";

/// The first drawn number of rows: with fewer rows than coefficients, wide priors give arbitrary
/// ones. The CSV file has all rows.
const DRAWN_FROM: u64 = 11;

/// Prior variance of the two rules that cannot overshoot.
const WIDE_PRIOR: f64 = 100.0;

/// Runs both settings and draws them side by side.
pub(super) fn figure(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let length = settings.length();
    let experiments =
        [("comparison1", "beyond", "θ*"), ("comparison10_theory", "beyond10", "θ*/10")]
            .map(|(setting, name, title)| experiment(setting, name, title))
            .into_iter()
            .collect::<Result<Vec<_>>>()?;
    let panels = run_all(Figure::Beyond, &experiments, length, workers)?;
    let caption = format!(
        "Mean squared error on the rows of the comparisons, {}, {BANDS}. `auto` weighs \
         moment-matching filters of several prior variances by their past predictions. With θ*/10 \
         and few rows it is behind the EKF, because P₁ = I happens to be a good guess there and \
         `auto` has to consider large coefficients, too. The batch line starts where the maximum \
         exists in every replicate. Drawn from n = 11 on.",
        sample(length)
    );
    let plots: Vec<_> = panels.iter().map(|panel| mse::plot(panel, DRAWN_FROM)).collect();
    Ok(sweep::finished("beyond", PAPER, caption, &plots, panels))
}

fn experiment(setting: &str, name: &str, title: &str) -> Result<Experiment> {
    let wide = |method: &str, label: &str| MethodSpec::new(method, label).with("prior", WIDE_PRIOR);
    let methods = vec![
        MethodSpec::new("ekf", "EKF, P₁ = I"),
        wide("implicit", "implicit, 100 I"),
        wide("moment", "moment matching, 100 I"),
        MethodSpec::new("auto", "auto (default)"),
        MethodSpec::new("maximum_likelihood", "maximum likelihood (batch)"),
    ];
    let experiment = Experiment::on_rows_of(setting, name, methods)?;
    Ok(Experiment { title: title.into(), ..experiment })
}
