//! The comparison as text: a table, best first, and what it says.

use super::ranking::{Place, Ranking};
use crate::format::{counted, number};
use crate::report::{self, Table};
use kalmia::{AnyFamily, Family};
use kalmia_model::{LastHalfScores, Scores};

/// The table and the verdict.
pub fn text(family: AnyFamily, target: &str, ranking: &Ranking) -> String {
    let rows = ranking.places.iter().map(|place| place.contestant.rows()).max().unwrap_or(0);
    let head = format!(
        "{} of {}, {}, each predicted before it was learned",
        family.name(),
        report::target(target, None),
        counted(rows, "row")
    );
    format!("{head}\n\n{}\n{}\n", table(family, ranking), verdict(ranking))
}

fn table(family: AnyFamily, ranking: &Ranking) -> String {
    let extra = match family {
        AnyFamily::Bernoulli(_) => "accuracy",
        AnyFamily::Gaussian(_) => "RMSE",
        AnyFamily::Quantile(_) => "share below",
        _ => "coverage",
    };
    let head = ["method", "loss", "above best", "std. error", "last half", extra, "seconds", ""];
    let mut table = Table::new(head);
    for place in &ranking.places {
        let one = &place.contestant;
        let scores = Scores::new(&one.model.metrics.progressive);
        let score = match family {
            AnyFamily::Bernoulli(_) => scores.accuracy,
            AnyFamily::Gaussian(_) => scores.rmse,
            AnyFamily::Quantile(_) => scores.share_below,
            _ => scores.coverage,
        };
        let difference = place.difference;
        table.row([
            one.name.clone(),
            number(scores.loss),
            optional(difference.map(|d| d.mean)),
            optional(difference.and_then(|d| d.std_error)),
            late(&scores, |half| half.loss),
            optional(score),
            format!("{:.2}", one.time.as_secs_f64()),
            place.note.clone().unwrap_or_default(),
        ]);
    }
    if let Some(longest) = ranking.places.iter().max_by_key(|place| place.contestant.rows()) {
        let scores = Scores::new(&longest.contestant.model.metrics.progressive);
        let mut cells: [String; 8] = Default::default();
        cells[0] = "constant predictor".into();
        cells[1] = number(scores.baseline_loss);
        cells[4] = late(&scores, |half| half.baseline_loss);
        table.row(cells);
    }
    table.render()
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(String::new, number)
}

fn late(scores: &Scores, of: fn(&LastHalfScores) -> f64) -> String {
    optional(scores.last_half.as_ref().map(of))
}

/// Who is best, and whether that is more than chance.
fn verdict(ranking: &Ranking) -> String {
    let Some(best) = ranking.best() else {
        return "no method came to the end of the rows".into();
    };
    let name = &best.name;
    let tied: Vec<&Place> = ranking.tied().collect();
    let Some(second) = ranking.places.get(1).filter(|place| place.difference.is_some()) else {
        return format!("lowest loss: {name}, the only method that came to the end");
    };
    if tied.is_empty() {
        let difference = second.difference.map_or(f64::NAN, |d| d.mean);
        let error = optional(second.difference.and_then(|d| d.std_error));
        return format!(
            "lowest loss: {name}. The next, {}, is {} higher (standard error {error}), more than \
             chance",
            second.contestant.name,
            number(difference)
        );
    }
    let names: Vec<&str> = tied.iter().map(|place| place.contestant.name.as_str()).collect();
    format!(
        "lowest loss: {name}, but not clearly: {} within two standard errors of it",
        match &names[..] {
            [one] => format!("{one} is"),
            [most @ .., last] => format!("{} and {last} are", most.join(", ")),
            [] => String::new(),
        }
    )
}
