//! The bounds, convergence times and phases of a run as JSON and as tables of the page.

use crate::bounds::phases::PhaseCurve;
use crate::bounds::{BoundCurve, BoundPoint, Bounds, EventShare, TauRow, power};
use crate::number::{count, scientific};
use serde_json::{Map, Value, json};

/// `{"theorem_1": {..}, .., "lambda_max": {..}, "tau": [..], "events": [..]}`.
pub(super) fn bounds_json(bounds: &Bounds) -> Value {
    let theorems = bounds.curves.iter().map(|c| (format!("theorem_{}", c.theorem), curve(c)));
    let mut object: Map<String, Value> = theorems.collect();
    let mut eigenvalues = points(&bounds.eigenvalues.points);
    eigenvalues["applies_from"] = json!(bounds.eigenvalues.applies_from);
    object.insert("lambda_max".into(), eigenvalues);
    object.insert("tau".into(), bounds.taus.iter().map(tau).collect());
    object.insert("events".into(), bounds.events.iter().map(event).collect());
    object.into()
}

fn curve(curve: &BoundCurve) -> Value {
    let mut object = points(&curve.points);
    object["probability"] = json!(curve.probability());
    object["delta"] = json!(curve.delta);
    object["epsilon"] = json!(curve.epsilon);
    object["tau"] = json!(curve.tau.and_then(|t| t.tau));
    object["after_tau"] = json!(curve.local);
    object["lambda_max_precision"] = json!(curve.precision);
    object["exceeding"] = json!(curve.exceeding);
    object["replicates"] = json!(curve.replicates);
    object["stays_below"] = json!(curve.stays_below());
    object["smallest_ratio"] = json!(curve.smallest_ratio());
    object
}

fn points(points: &[BoundPoint]) -> Value {
    let column = |pick: fn(&BoundPoint) -> Value| -> Value { points.iter().map(pick).collect() };
    json!({
        "n": column(|p| json!(p.n)),
        "mean": column(|p| json!(p.mean)),
        "quantile": column(|p| json!(p.quantile)),
        "worst": column(|p| json!(p.worst)),
        "bound": column(|p| json!(p.bound)),
    })
}

fn tau(row: &TauRow) -> Value {
    json!({
        "setting": row.setting,
        "algorithm": row.algorithm,
        "epsilon": row.epsilon,
        "delta": row.delta,
        "measured": row.measured.tau,
        "rows": row.measured.rows,
        "ln_printed": row.theory.map(|t| t.ln_printed),
        "ln_corrected": row.theory.map(|t| t.ln_corrected),
        "applies": row.theory.map(|t| t.applies),
    })
}

fn event(event: &EventShare) -> Value {
    json!({
        "delta": event.delta,
        "c_delta": event.c_delta,
        "share": event.share,
        "c_measured": event.c_measured,
        "rows": event.rows,
    })
}

/// One object per filter and setting.
pub(super) fn phases_json(curves: &[PhaseCurve]) -> Value {
    let curve = |c: &PhaseCurve| {
        let column = |pick: fn(&crate::bounds::phases::PhasePoint) -> Value| -> Value {
            c.points.iter().map(pick).collect()
        };
        json!({
            "setting": c.setting,
            "algorithm": c.algorithm,
            "limit": c.limit,
            "n": column(|p| json!(p.n)),
            "distance": column(|p| json!(p.distance.mean)),
            "share": column(|p| json!(p.share)),
            "lambda_max": column(|p| json!(p.lambda_max.mean)),
        })
    };
    curves.iter().map(curve).collect()
}

/// The tables of convergence times and of the event $A_{C_\delta}$.
pub(super) fn tables(bounds: &Bounds) -> String {
    let mut out = String::from(
        "<details open><summary>Convergence times τ(ε, δ): measured, and by the paper</summary>\
         <table>\n<tr><th>setting</th><th>filter</th><th>ε</th><th>δ</th><th>measured</th>\
         <th>paper, printed</th><th>paper, corrected</th></tr>\n",
    );
    for row in &bounds.taus {
        let cell = |ln: Option<f64>| match (ln, row.theory) {
            (Some(ln), Some(theory)) if !theory.applies => format!("({})", power(ln)),
            (Some(ln), _) => power(ln),
            _ => "none".into(),
        };
        out.push_str(&format!(
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{:.4}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
            row.setting,
            row.algorithm,
            row.epsilon,
            row.delta,
            row.measured.to_string().replace('>', "&gt;"),
            cell(row.theory.map(|t| t.ln_printed)),
            cell(row.theory.map(|t| t.ln_corrected)),
        ));
    }
    out.push_str(
        "</table><p>In parentheses: the statement's own conditions on ε or δ do not hold. exp(x) \
         is a number that a double cannot hold. “&gt;” means that more than a share δ of the \
         replicates is outside at the end of the run.</p></details>\n\
         <details><summary>The event A_C: λ_max(P_t) ≤ C/t^(1−β) at every t</summary><table>\n\
         <tr><th>δ</th><th>C_δ</th><th>share of replicates</th><th>C that a share 1 − δ needs</th>\
         <th>rows</th></tr>\n",
    );
    for event in &bounds.events {
        out.push_str(&format!(
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td></tr>\n",
            event.delta,
            scientific(event.c_delta, 2),
            event.share,
            scientific(event.c_measured, 2),
            count(event.rows),
        ));
    }
    out + "</table></details>\n"
}
