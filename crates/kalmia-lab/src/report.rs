//! What a run found: as numbers, as JSON, and as one HTML page.

use crate::claims::{Claim, Verdict};
use crate::experiment::Panel;
use crate::figures::Finished;
use crate::number::{count, uncertain};
use crate::settings::Settings;
use kalmia_chart::escape;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Decisions on the paper's open readings that the experiments follow; numbers of the project's
/// list of errata.
pub const DECISIONS: [(&str, &str); 7] = [
    (
        "E13",
        "The ONS evaluates its gradient at its own iterate w_t (the paper's Algorithm 3 prints θ_t).",
    ),
    (
        "E14",
        "The ONS starts from P₁⁻¹ = λI (Theorem 3 prints P₁ = λI, its constants are those of the inverse).",
    ),
    (
        "E15",
        "The ONS takes the step 1/γ of Algorithm 3 (the constants of Theorem 3 belong to 3/γ).",
    ),
    (
        "E16",
        "The ball has the radius R = 1.1 ‖θ*‖, and γ = ½ min(1/(4GR), α) with G = √d: the paper's D is that radius.",
    ),
    (
        "E26",
        "Exp-concavity constants: e^(−R√d), which gives the published 2.0·10⁻⁴ and 3.0·10⁻³, and the published optimistic 1.5·10⁻¹⁴ and \
         2.5·10⁻², which are minima over random points; θ* of the misspecified setting by quadrature.",
    ),
    (
        "E28",
        "The initial matrix of the ONS, not given in the paper, is P₁⁻¹ = I/(γR)², with w₁ = 0.",
    ),
    (
        "E29",
        "Averages are over the iterates that predicted, θ₁ to θ_n, the point 0 included; ASGD has a constant step for its horizon N and is re-run \
         for every plotted N.",
    ),
];

/// The figures of a run with their claims.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// What was asked for.
    pub settings: Settings,
    /// Finished figures, each with the time it took.
    pub figures: Vec<(Finished, Duration)>,
    /// The paper's claims with their verdicts.
    pub claims: Vec<Claim>,
    /// Every file written.
    pub files: Vec<PathBuf>,
    /// Time of the whole run.
    pub elapsed: Duration,
    /// Whether the caller stopped the run before its end.
    pub interrupted: bool,
}

impl Report {
    /// A panel of mean squared errors by name, such as `comparison10_theory`.
    pub fn panel(&self, name: &str) -> Option<&Panel> {
        self.figures.iter().flat_map(|(f, _)| &f.panels).find(|p| p.name == name)
    }

    /// `{"figures": {PANEL: {"checkpoints": [..], "algorithms": {NAME: {"mse": [..], "se":
    /// [..]}}}}, ...}`; densities, bounds and claims stand beside `figures`. A number that does not
    /// exist is null.
    pub fn to_json(&self) -> Value {
        let panels = self
            .figures
            .iter()
            .flat_map(|(f, _)| &f.panels)
            .map(|p| (p.name.to_owned(), panel_json(p)));
        let densities = self.figures.iter().flat_map(|(f, _)| &f.densities).map(|d| {
            let bins: Vec<Value> =
                d.bins().into_iter().map(|(from, to, height)| json!([from, to, height])).collect();
            (d.name.to_owned(), json!(bins))
        });
        let bounds = self
            .figures
            .iter()
            .filter_map(|(f, _)| f.bounds.as_ref())
            .flat_map(|b| b.spreads())
            .map(|s| {
                let column = |f: fn(&(u64, f64, f64)) -> Value| {
                    s.points.iter().map(f).collect::<Vec<Value>>()
                };
                let (n, mean, worst) =
                    (column(|p| json!(p.0)), column(|p| json!(p.1)), column(|p| json!(p.2)));
                (s.name.to_owned(), json!({"n": n, "mean": mean, "worst": worst, "bound": s.bound}))
            });
        let claims = self
            .claims
            .iter()
            .map(|c| json!({"claim": c.text, "figure": c.panel, "verdict": c.verdict.word(), "evidence": c.evidence}));
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "seed": self.settings.seed,
            "horizon": self.settings.horizon,
            "replicates": self.settings.replicates,
            "seconds": self.elapsed.as_secs_f64(),
            "interrupted": self.interrupted,
            "figures": panels.collect::<Map<String, Value>>(),
            "densities": densities.collect::<Map<String, Value>>(),
            "bounds": bounds.collect::<Map<String, Value>>(),
            "claims": claims.collect::<Vec<Value>>(),
            "files": self.files.iter().map(|f| f.display().to_string()).collect::<Vec<String>>(),
        })
    }
}

fn panel_json(panel: &Panel) -> Value {
    let algorithms = panel
        .curves
        .iter()
        .map(|c| (c.key.to_owned(), json!({"mse": c.mse(), "se": c.standard_error()})));
    json!({"checkpoints": panel.checkpoints, "algorithms": algorithms.collect::<Map<String, Value>>()})
}

const STYLE: &str = "body{font:16px/1.5 'DejaVu Sans',Verdana,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;color:#28282f}\
h1{font-size:1.7rem}h2{font-size:1.25rem;margin-top:2.5rem;border-bottom:1px solid #d8dade}h2 code{float:right;font-size:.9rem;font-weight:normal;color:#777}figure{margin:1rem 0}\
.row{display:flex;flex-wrap:wrap;gap:1rem}.row figure{flex:1 1 30rem}.alone svg{width:48rem}.time{font-size:.9rem;color:#777}svg{max-width:100%;height:auto}\
figcaption{font-size:.9rem;color:#555}blockquote{margin:.5rem 0;padding-left:1rem;border-left:3px solid #c8ccd2;color:#444}\
table{border-collapse:collapse;font-size:.9rem}td,th{padding:.3rem .6rem;border-bottom:1px solid #e2e4e8;text-align:left;vertical-align:top}\
td.n{text-align:right;white-space:nowrap}.confirmed{color:#00734f;font-weight:bold}.contradicted{color:#b33a00;font-weight:bold}\
.undecided{color:#666;font-weight:bold}details{margin:.5rem 0}";

/// The page: self-contained, its figures drawn inside.
pub(crate) fn html(report: &Report) -> String {
    let settings = &report.settings;
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>kalmia: the paper's experiments</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\n\
         <h1>Stochastic online optimization with the static extended Kalman filter: the experiments made anew</h1>\n\
         <p>kalmia {}, seed {}, {} replicates of {} rows; made on {} in {:.1} s.{}</p>\n",
        env!("CARGO_PKG_VERSION"),
        settings.seed,
        settings.replicates,
        count(settings.horizon),
        date(SystemTime::now()),
        report.elapsed.as_secs_f64(),
        if report.interrupted {
            " <strong>The run was interrupted: only finished figures are shown.</strong>"
        } else {
            ""
        }
    );
    page.push_str(&claims_section(&report.claims));
    for (finished, time) in &report.figures {
        page.push_str(&figure_section(finished, *time));
    }
    page.push_str("<h2>Readings of the paper</h2>\n<p>Where the paper leaves a choice open or misprints one, the experiments take these.</p>\n<table>\n");
    for (id, decision) in DECISIONS {
        page.push_str(&format!("<tr><td>{id}</td><td>{}</td></tr>\n", escape(decision)));
    }
    page.push_str("</table>\n</body></html>\n");
    page
}

fn claims_section(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let count = |verdict| claims.iter().filter(|c| c.verdict == verdict).count();
    let mut out = format!(
        "<h2>The paper's claims</h2>\n<p>{} confirmed, {} contradicted, {} undecided, at the horizon, by differences between \
         algorithms on the same rows; three standard errors decide.</p>\n<table>\n\
         <tr><th>claim</th><th>figure</th><th>verdict</th><th>evidence: mean squared errors</th></tr>\n",
        count(Verdict::Confirmed),
        count(Verdict::Contradicted),
        count(Verdict::Undecided)
    );
    for group in claims.chunk_by(|a, b| a.text == b.text) {
        let mut head = format!("<td rowspan=\"{}\">{}</td>", group.len(), escape(group[0].text));
        for claim in group {
            let (word, evidence) = (claim.verdict.word(), unbroken(&claim.evidence));
            out.push_str(&format!(
                "<tr>{head}<td>{}</td><td class=\"{word}\">{word}</td><td>{evidence}</td></tr>\n",
                claim.panel
            ));
            head.clear();
        }
    }
    out + "</table>\n"
}

/// Text whose `value ± error` stays on one line.
fn unbroken(text: &str) -> String {
    escape(text).replace(" ± ", "&nbsp;±&nbsp;").replace("n = ", "n&nbsp;=&nbsp;")
}

/// `2026-01-31 12:00 UTC`, by the civil calendar.
fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (minutes, days) = (seconds / 60 % 1440, seconds / 86_400);
    // Years begin in March, so that the day that comes and goes is the last one.
    let from = days + 719_468;
    let (era, day) = (from / 146_097, from % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

fn figure_section(finished: &Finished, time: Duration) -> String {
    let name = finished.figure.name();
    // One narrow picture is drawn larger.
    let row = if matches!(&finished.pictures[..], [one] if one.scene.width < 600.0) {
        "row alone"
    } else {
        "row"
    };
    let mut out = format!(
        "<h2 id=\"{name}\">{}<code>{name}</code></h2>\n<blockquote>{}</blockquote>\n<div class=\"{row}\">\n",
        escape(finished.figure.title()),
        escape(finished.paper)
    );
    for picture in &finished.pictures {
        let (svg, caption, file) =
            (picture.scene.to_svg(), escape(&picture.caption), &picture.name);
        out.push_str(&format!(
            "<figure>{svg}<figcaption>{caption} Data: {file}.csv.</figcaption></figure>\n"
        ));
    }
    out.push_str("</div>\n");
    for panel in &finished.panels {
        out.push_str(&panel_table(panel));
    }
    out + &format!("<p class=\"time\">Computed in {:.1} s.</p>\n", time.as_secs_f64())
}

/// The mean squared errors at the powers of ten.
fn panel_table(panel: &Panel) -> String {
    let is_power = |n: u64| 10u64.pow(n.ilog10()) == n;
    let shown: Vec<usize> =
        (0..panel.checkpoints.len()).filter(|&k| is_power(panel.checkpoints[k])).collect();
    let mut out = format!(
        "<details><summary>{}: mean squared error ± standard error</summary><table>\n<tr><th></th>",
        panel.name
    );
    shown
        .iter()
        .for_each(|&k| out.push_str(&format!("<th>n = {}</th>", count(panel.checkpoints[k]))));
    out.push_str("</tr>\n");
    for curve in &panel.curves {
        let (mse, error) = (curve.mse(), curve.standard_error());
        out.push_str(&format!("<tr><td>{}</td>", escape(curve.label)));
        for &k in &shown {
            let cell = if mse[k].is_finite() { uncertain(mse[k], error[k]) } else { "–".into() };
            out.push_str(&format!("<td class=\"n\">{cell}</td>"));
        }
        out.push_str("</tr>\n");
    }
    out + "</table></details>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        let at = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(at(1_735_689_599), "2024-12-31 23:59 UTC");
    }
}
