//! The table of the claims, with links to figures, tables and errata.

use crate::claims::{Claim, Verdict};
use crate::number::count;
use kalmia_chart::escape;

/// The section of the page; empty without claims. `tables` are the panels that have a table on the
/// page.
pub(super) fn claims_section(claims: &[Claim], tables: &[String]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let counted = |verdict| {
        let number = claims.iter().filter(|c| c.verdict == verdict).count();
        match verdict {
            Verdict::Depends => format!("{number} that depend on a choice the paper does not give"),
            decided => format!("{number} {}", decided.words()),
        }
    };
    let mut out = format!(
        "<h2 id=\"claims\">The paper's claims</h2>\n<p>{}. Comparisons are between methods on the \
         same rows; three standard errors decide. A verdict holds for the number of rows that it \
         states, and the ONS claims are judged over its initial matrix, too.</p>\n<table>\n\
         <tr><th>claim</th><th></th><th>figure</th><th>at</th><th>verdict</th><th>evidence</th>\
         <th>rests on</th></tr>\n",
        Verdict::ALL.map(counted).join(", ")
    );
    let mut number = 1;
    for group in claims.chunk_by(|a, b| a.text == b.text) {
        let mut head = format!("<td rowspan=\"{}\">{}</td>", group.len(), escape(group[0].text));
        for claim in group {
            out.push_str(&row(claim, number, &head, tables));
            head.clear();
            number += 1;
        }
    }
    out + "</table>\n"
}

fn row(claim: &Claim, number: usize, head: &str, tables: &[String]) -> String {
    let figure = claim.figure.name();
    let place = escape(&claim.panel);
    let place = if tables.contains(&claim.panel) {
        format!("<a href=\"#table-{place}\">{place}</a>")
    } else {
        place
    };
    let choice = claim
        .choice
        .as_ref()
        .map_or(String::new(), |choice| format!("<br><em>Choice: {}.</em>", unbroken(choice)));
    let errata: Vec<String> =
        claim.errata.iter().map(|id| format!("<a href=\"#{id}\">{id}</a>")).collect();
    format!(
        "<tr id=\"claim{number}\">{head}<td>{number}</td><td><a href=\"#{figure}\">{figure}</a>, \
         {place}</td><td>{}</td><td class=\"{}\">{}</td><td>{}{choice}</td><td>{}</td></tr>\n",
        sample(claim),
        claim.verdict.word(),
        claim.verdict.words(),
        unbroken(&claim.evidence),
        errata.join(" ")
    )
}

/// `n = 10⁵, 100 replicates`.
fn sample(claim: &Claim) -> String {
    match (claim.horizon, claim.replicates) {
        (Some(n), Some(r)) => format!("n&nbsp;=&nbsp;{}, {r}&nbsp;replicates", count(n)),
        _ => "–".into(),
    }
}

/// Text whose `value ± error` stays on one line.
fn unbroken(text: &str) -> String {
    escape(text).replace(" ± ", "&nbsp;±&nbsp;").replace("n = ", "n&nbsp;=&nbsp;")
}
