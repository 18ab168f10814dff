//! The report as one self-contained HTML page, with the figures as inline SVG.

use super::{DECISIONS, Report};
use crate::claims::{Claim, Verdict};
use crate::experiment::Panel;
use crate::figures::Finished;
use crate::number::{count, uncertain};
use kalmia_chart::escape;

const STYLE: &str = include_str!("style.css");

/// The page of [`Report::to_html`].
pub(super) fn render(report: &Report) -> String {
    let settings = &report.settings;
    let interrupted = if report.interrupted {
        " <strong>The run was interrupted: only finished figures are shown.</strong>"
    } else {
        ""
    };
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <title>kalmia: the paper's experiments</title>\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <style>{STYLE}</style></head><body>\n\
         <h1>Stochastic online optimization with the static extended Kalman filter: \
         the experiments reproduced</h1>\n\
         <p>kalmia {}, seed {}, {} replicates of {} rows, computed in {:.1} s.{interrupted}</p>\n",
        env!("CARGO_PKG_VERSION"),
        settings.seed,
        settings.replicates,
        count(settings.horizon),
        report.elapsed.as_secs_f64(),
    );
    page.push_str(&claims_section(&report.claims));
    for finished in &report.figures {
        page.push_str(&figure_section(finished));
    }
    page.push_str(
        "<h2>Readings of the paper</h2>\n<p>If the paper leaves a choice open or misprints one, \
         the experiments use these.</p>\n<table>\n",
    );
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
        "<h2>The paper's claims</h2>\n<p>{} confirmed, {} contradicted, {} undecided, at the \
         horizon, by differences between algorithms on the same rows; three standard errors \
         decide.</p>\n<table>\n\
         <tr><th>claim</th><th>figure</th><th>verdict</th>\
         <th>evidence: mean squared errors</th></tr>\n",
        count(Verdict::Confirmed),
        count(Verdict::Contradicted),
        count(Verdict::Undecided)
    );
    for group in claims.chunk_by(|a, b| a.text == b.text) {
        let mut head = format!("<td rowspan=\"{}\">{}</td>", group.len(), escape(group[0].text));
        for claim in group {
            let word = claim.verdict.word();
            let evidence = unbroken(&claim.evidence);
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

fn figure_section(finished: &Finished) -> String {
    let name = finished.figure.name();
    // A single narrow picture is drawn larger.
    let row = if matches!(&finished.pictures[..], [one] if one.scene.width < 600.0) {
        "row alone"
    } else {
        "row"
    };
    let mut out = format!(
        "<h2 id=\"{name}\">{}<code>{name}</code></h2>\n<blockquote>{}</blockquote>\n\
         <div class=\"{row}\">\n",
        escape(finished.figure.title()),
        escape(finished.paper)
    );
    for picture in &finished.pictures {
        let svg = picture.scene.to_svg();
        let caption = escape(&picture.caption);
        let file = &picture.name;
        out.push_str(&format!(
            "<figure>{svg}<figcaption>{caption} Data: {file}.csv.</figcaption></figure>\n"
        ));
    }
    out.push_str("</div>\n");
    for panel in &finished.panels {
        out.push_str(&panel_table(panel));
    }
    out + &format!("<p class=\"time\">Computed in {:.1} s.</p>\n", finished.elapsed.as_secs_f64())
}

/// The mean squared errors at the powers of ten.
fn panel_table(panel: &Panel) -> String {
    let is_power = |n: u64| 10u64.pow(n.ilog10()) == n;
    let shown: Vec<usize> =
        (0..panel.checkpoints.len()).filter(|&k| is_power(panel.checkpoints[k])).collect();
    let mut out = format!(
        "<details><summary>{}: mean squared error ± standard error</summary><table>\n\
         <tr><th></th>",
        panel.name
    );
    shown
        .iter()
        .for_each(|&k| out.push_str(&format!("<th>n = {}</th>", count(panel.checkpoints[k]))));
    out.push_str("</tr>\n");
    for curve in &panel.curves {
        let mse = curve.mse();
        let error = curve.standard_error();
        out.push_str(&format!("<tr><td>{}</td>", escape(curve.label)));
        for &k in &shown {
            let cell = if mse[k].is_finite() { uncertain(mse[k], error[k]) } else { "–".into() };
            out.push_str(&format!("<td class=\"n\">{cell}</td>"));
        }
        out.push_str("</tr>\n");
    }
    out + "</table></details>\n"
}
