//! What `auto` found about a drift, and the words for it.

use kalmia::learner::AnyCategorical;
use kalmia::{AnyLearner, Auto, DriftMode, Family};
use serde::Serialize;

/// Whether a drift was found or is followed, and what following it would have gained.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DriftStatus {
    /// Loss per row that following the drift would have saved, in the units of the progressive
    /// loss; `None` once it is followed.
    pub gain: Option<f64>,
    /// Standard error of the gain.
    pub standard_error: Option<f64>,
    /// The gain as a share of the progressive loss, if that is known and both are above 0.
    pub share: Option<f64>,
    /// Whether the drift is certain.
    pub seen: bool,
    /// Whether it is followed.
    pub followed: bool,
    /// The row from which it is followed, or after which it was certain.
    pub row: Option<u64>,
    #[serde(skip)]
    mode: DriftMode,
    #[serde(skip)]
    first_followed_row: u64,
}

impl DriftStatus {
    /// Of a learner whose progressive loss per row is `loss`; `None` if the method looks for no
    /// drift.
    pub fn new<F: Family>(learner: &AnyLearner<F>, loss: Option<f64>) -> Option<Self> {
        let AnyLearner::Auto(auto) = learner else { return None };
        Some(Self::of_auto(auto, loss))
    }

    /// The same of the default learner.
    pub(crate) fn of_auto<F: Family>(auto: &Auto<F>, loss: Option<f64>) -> Self {
        auto.drift_report().map_or_else(
            || Self {
                gain: None,
                standard_error: None,
                share: None,
                seen: auto.drift_mode() == DriftMode::Detect,
                followed: auto.is_following(),
                row: auto.follows_from().map(|rows| rows + 1),
                mode: auto.drift_mode(),
                first_followed_row: auto.first_followed_row(),
            },
            |report| Self {
                gain: Some(report.gain),
                standard_error: Some(report.standard_error),
                share: share(report.gain, loss),
                seen: report.drift(),
                followed: false,
                row: report.detected_at,
                mode: auto.drift_mode(),
                first_followed_row: auto.first_followed_row(),
            },
        )
    }

    /// Of a learner of several classes, which knows no gain; `None` for sparse rows, where the
    /// weight of a member that follows it says as much.
    pub fn of_classes(learner: &AnyCategorical) -> Option<Self> {
        let learner = learner.dense()?;
        Some(Self {
            gain: None,
            standard_error: None,
            share: None,
            seen: learner.is_following(),
            followed: learner.is_following(),
            row: learner.follows_from().map(|rows| rows + 1),
            mode: learner.drift_mode(),
            first_followed_row: learner.first_followed_row(),
        })
    }

    /// What there is to say about it. `adapt` is how this front end asks to follow a drift.
    pub fn note(&self, adapt: &str) -> Option<String> {
        if self.followed {
            let detected = if self.mode == DriftMode::Adapt { "" } else { "detected and " };
            let from = self.row.map_or_else(String::new, |row| format!(" from row {row} on"));
            return Some(format!(
                "{detected}followed{from}; the coefficients are those of the last rows"
            ));
        }
        if self.mode == DriftMode::Adapt {
            let first = self.first_followed_row;
            return Some(format!("{adapt} follows it from row {first} on, so not yet"));
        }
        let row = self.row.filter(|_| self.seen)?;
        let saved = self.share.map_or_else(String::new, |share| {
            format!(" ({} lower loss for the next row)", percent(share))
        });
        Some(format!(
            "certain after row {row}: rows that stand together resemble each other more than the \
             model explains. If the relation changes over time, {adapt} follows it{saved}; it does \
             not help rows far ahead."
        ))
    }
}

fn share(gain: f64, loss: Option<f64>) -> Option<f64> {
    loss.filter(|loss| *loss > 0.0 && gain > 0.0).map(|loss| gain / loss)
}

/// Tenths of a percent below 1 %, whole percents above.
fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0..0.1 => "less than 0.1 %".into(),
        percent @ 0.1..1.0 => format!("about {percent:.1} %"),
        percent => format!("about {percent:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kalmia::{AnyFamily, Learner, Rows};

    /// A level that jumps by `jump` after half of 4000 rows.
    fn fitted(family: &str, drift: DriftMode, jump: f64, scale: f64, rows: usize) -> AnyLearner {
        let family: AnyFamily = family.parse().unwrap();
        let auto = Auto::builder(family, 1).intercept().drift(drift).build().unwrap();
        let mut learner = AnyLearner::Auto(auto);
        let y: Vec<f64> = (0..rows)
            .map(|i| {
                let noise = (i * 7919 % 101) as f64 / 50.0 - 1.0;
                scale * (noise + if i < rows / 2 { 0.0 } else { jump })
            })
            .collect();
        let x = vec![1.0; rows];
        learner.learn(Rows::new(1, &x, &y).unwrap()).unwrap();
        learner
    }

    #[test]
    fn the_gain_has_the_units_of_the_loss() {
        let of = |scale: f64| {
            let learner = fitted("gaussian", DriftMode::Off, 2.0, scale, 4000);
            DriftStatus::new(&learner, Some(scale * scale)).unwrap()
        };
        let [one, thousand] = [of(1.0), of(1000.0)];
        assert!(one.seen && !one.followed && one.gain.unwrap() > 0.05, "{one:?}");
        let ratio = thousand.gain.unwrap() / one.gain.unwrap();
        assert!((ratio / 1e6 - 1.0).abs() < 1e-6, "{ratio}");
        assert!((thousand.share.unwrap() / one.gain.unwrap() - 1.0).abs() < 1e-6);
        let note = thousand.note("--drift adapt").unwrap();
        assert!(note.contains("--drift adapt follows it (about "), "{note}");
        assert!(note.contains("not help rows far ahead"), "{note}");
    }

    #[test]
    fn a_note_says_from_which_row_a_drift_is_followed() {
        let status = |drift, jump, rows| {
            DriftStatus::new(&fitted("gaussian", drift, jump, 1.0, rows), None).unwrap()
        };
        let followed = status(DriftMode::Adapt, 0.0, 400);
        let note = "followed from row 129 on; the coefficients are those of the last rows";
        assert_eq!(followed.note("adapt").unwrap(), note);
        let early = status(DriftMode::Adapt, 0.0, 100);
        assert!(!early.followed);
        assert_eq!(early.note("adapt").unwrap(), "adapt follows it from row 129 on, so not yet");
        let detected = status(DriftMode::Detect, 2.0, 4000);
        let row = detected.row.unwrap();
        assert!(detected.followed && detected.seen && (2001..2600).contains(&row), "{row}");
        let note = detected.note("adapt").unwrap();
        assert!(note.starts_with(&format!("detected and followed from row {row} on")), "{note}");
        let still = status(DriftMode::Detect, 0.0, 4000);
        assert!(!still.seen && still.note("adapt").is_none());
    }

    #[test]
    fn percentages_are_short() {
        let texts = [0.0001, 0.004, 0.02, 0.256].map(percent);
        assert_eq!(texts, ["less than 0.1 %", "about 0.4 %", "about 2 %", "about 26 %"]);
    }
}
