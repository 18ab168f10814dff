//! The report as one self-contained HTML page, with the figures as inline SVG.

use super::Report;
use super::claims::claims_section;
use crate::experiment::Panel;
use crate::figures::Finished;
use crate::number::{count, uncertain};
use kalmia_chart::escape;
use kalmia_theory::errata;

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
    page.push_str(&contents(report));
    let tables: Vec<String> =
        report.figures.iter().flat_map(|f| &f.panels).map(|panel| panel.name.clone()).collect();
    page.push_str(&claims_section(&report.claims, &tables));
    for finished in &report.figures {
        page.push_str(&figure_section(finished, report));
    }
    page.push_str(&errata_section(report));
    page.push_str("</body></html>\n");
    page
}

/// The contents list.
fn contents(report: &Report) -> String {
    let mut out = String::from("<nav><h2>Contents</h2>\n<ul>\n");
    if !report.claims.is_empty() {
        out.push_str("<li><a href=\"#claims\">The paper's claims</a></li>\n");
    }
    for finished in &report.figures {
        out.push_str(&format!(
            "<li><a href=\"#{}\">{}</a></li>\n",
            finished.name,
            escape(&finished.title)
        ));
    }
    out + "<li><a href=\"#errata\">Errata of the paper and open readings</a></li>\n</ul></nav>\n"
}

fn figure_section(finished: &Finished, report: &Report) -> String {
    let name = &finished.name;
    // A single narrow picture is drawn larger.
    let row = if matches!(&finished.pictures[..], [one] if one.scene.width < 600.0) {
        "row alone"
    } else {
        "row"
    };
    let mut out =
        format!("<h2 id=\"{name}\">{}<code>{name}</code></h2>\n", escape(&finished.title));
    if !finished.paper.is_empty() {
        out.push_str(&format!("<blockquote>{}</blockquote>\n", escape(&finished.paper)));
    }
    out.push_str(&format!("<div class=\"{row}\">\n"));
    for picture in &finished.pictures {
        let svg = picture.scene.to_svg();
        let caption = escape(&picture.caption);
        let file = &picture.name;
        out.push_str(&format!(
            "<figure>{svg}<figcaption>{caption} Data: <a href=\"{file}.csv\">{file}.csv</a>.\
             </figcaption></figure>\n"
        ));
    }
    out.push_str("</div>\n");
    out.push_str(&back_links(name, report));
    for panel in &finished.panels {
        out.push_str(&panel_table(panel));
    }
    out.extend(finished.bounds.as_ref().map(super::bounds::tables));
    out + &format!(
        "<p class=\"time\">Computed in {:.1} s. Make it again: <code>{}</code></p>\n",
        finished.elapsed.as_secs_f64(),
        escape(&finished.command)
    )
}

/// Links to the claims that a figure decides.
fn back_links(figure: &str, report: &Report) -> String {
    let claims = (1..).zip(&report.claims).filter(|(_, c)| c.figure.name() == figure);
    let links: Vec<String> = claims
        .map(|(k, claim)| format!("<a href=\"#claim{k}\">{k} ({})</a>", claim.verdict.word()))
        .collect();
    if links.is_empty() {
        return String::new();
    }
    format!("<p>Decides the claims {}.</p>\n", links.join(", "))
}

/// The mean squared errors at the powers of ten.
fn panel_table(panel: &Panel) -> String {
    let is_power = |n: u64| 10u64.pow(n.ilog10()) == n;
    let shown: Vec<usize> =
        (0..panel.checkpoints.len()).filter(|&k| is_power(panel.checkpoints[k])).collect();
    let mut out = format!(
        "<details id=\"table-{0}\"><summary>{0}: mean squared error ± standard error</summary>\
         <table>\n<tr><th></th>",
        escape(&panel.name)
    );
    shown
        .iter()
        .for_each(|&k| out.push_str(&format!("<th>n = {}</th>", count(panel.checkpoints[k]))));
    out.push_str("</tr>\n");
    for curve in &panel.curves {
        let mse = curve.mse();
        let error = curve.standard_error();
        out.push_str(&format!("<tr><td>{}</td>", escape(&curve.label)));
        for &k in &shown {
            let cell = if mse[k].is_finite() { uncertain(mse[k], error[k]) } else { "–".into() };
            out.push_str(&format!("<td class=\"n\">{cell}</td>"));
        }
        out.push_str("</tr>\n");
    }
    out + "</table></details>\n"
}

/// The whole list of errata, with links back to the claims that rest on each.
fn errata_section(report: &Report) -> String {
    let mut out = String::from(
        "<h2 id=\"errata\">Errata of the paper and open readings</h2>\n<p>All misprints that were \
         found and all choices that the paper leaves open, with the decision taken. The evidence \
         is in docs/errata.md of the repository.</p>\n<table>\n\
         <tr><th></th><th>subject</th><th>effect</th><th>decision</th><th>claims</th></tr>\n",
    );
    for erratum in errata() {
        let claims = (1..).zip(&report.claims).filter(|(_, c)| c.errata.contains(&erratum.id));
        let links: Vec<String> =
            claims.map(|(k, _)| format!("<a href=\"#claim{k}\">{k}</a>")).collect();
        out.push_str(&format!(
            "<tr id=\"{0}\"><td>{0}</td><td>{1}</td><td>{2}</td><td>{3}</td><td>{4}</td></tr>\n",
            erratum.id,
            escape(erratum.subject),
            erratum.effect,
            escape(erratum.decision),
            links.join(" ")
        ));
    }
    out + "</table>\n"
}
