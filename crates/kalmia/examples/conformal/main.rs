//! Coverage and width of intervals, the model's own against conformal ones, on streams that are
//! static, drift, or are not what the model takes them for: the tables of docs/intervals.md.
//!
//! `cargo run --release -p kalmia --example conformal`

mod rivals;
mod streams;

use kalmia::evaluate::Conformal;
use kalmia::predict::Interval;
use rivals::{CoinBetting, DecayingSteps, Rival, UniversalPortfolio};
use streams::{JUDGED, PredictedRow, STREAMS, Stream, WARM_UP};

/// Replicates of each stream.
const SEEDS: u64 = 2;
/// The levels shown; the rivals are compared at the last one.
const LEVELS: [f64; 2] = [0.9, 0.95];

fn main() -> kalmia::Result<()> {
    println!(
        "Share of {JUDGED} rows held, lowest share of {WINDOW} rows in a row, and mean width, \
         after {WARM_UP} rows; {SEEDS} replicates"
    );
    let found: Vec<Found> = STREAMS.iter().map(Found::new).collect::<kalmia::Result<_>>()?;
    let named = || STREAMS.iter().zip(&found);
    for (i, level) in LEVELS.into_iter().enumerate() {
        let percent = 100.0 * level;
        println!("\n| {percent} % | model's own | lowest | width | conformal | lowest | width |");
        println!("|---|---|---|---|---|---|---|");
        for (stream, found) in named() {
            let model = found.model[i].long_text();
            let conformal = found.conformal[i].long_text();
            println!("| {}: {} | {model} | {conformal} |", stream.kind, stream.name);
        }
    }
    println!(
        "\n| 95 % | decaying steps | width | coin betting | width | universal portfolio | width \
         | conformal | width |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (stream, found) in named().filter(|(stream, _)| stream.family == "gaussian") {
        let texts = [&found.decaying, &found.betting, &found.portfolio, &found.conformal[1]];
        let texts = texts.map(Coverage::text).join(" | ");
        println!("| {}: {} | {texts} |", stream.kind, stream.name);
    }
    Ok(())
}

/// What each kind of interval held of a stream.
#[derive(Default)]
struct Found {
    /// Of the model's own intervals, which are those of thresholds that have learned nothing.
    model: [Coverage; 2],
    conformal: [Coverage; 2],
    decaying: Coverage,
    betting: Coverage,
    portfolio: Coverage,
}

impl Found {
    fn new(stream: &Stream) -> kalmia::Result<Self> {
        let own = Conformal::new(stream.family())?;
        let mut found = Self::default();
        for seed in 0..SEEDS {
            let rows = stream.predicted(seed, 256)?;
            let mut conformal = own.clone();
            for (i, PredictedRow { predicted, y }) in rows.iter().enumerate() {
                if i >= WARM_UP {
                    for (k, level) in LEVELS.into_iter().enumerate() {
                        found.model[k].count(own.interval(predicted, level)?, *y);
                        found.conformal[k].count(conformal.interval(predicted, level)?, *y);
                    }
                }
                conformal.learn(predicted, *y, 1.0);
            }
            rival(&rows, &mut found.decaying, || DecayingSteps::new(0.025));
            rival(&rows, &mut found.betting, || CoinBetting::new(0.025));
            rival(&rows, &mut found.portfolio, || UniversalPortfolio::new(0.025));
        }
        Ok(found)
    }
}

/// Sums over rows.
#[derive(Default)]
struct Coverage {
    rows: f64,
    held: f64,
    width: f64,
    /// Of the rows of the current window, and the smallest share of one.
    window: usize,
    window_held: usize,
    lowest: Option<f64>,
}

/// Rows of a window.
const WINDOW: usize = 1000;

impl Coverage {
    fn count(&mut self, Interval { lower, upper }: Interval, y: f64) {
        let inside = lower <= y && y <= upper;
        self.rows += 1.0;
        self.held += f64::from(inside);
        self.width += upper - lower;
        self.window += 1;
        self.window_held += usize::from(inside);
        if self.window == WINDOW {
            let share = self.window_held as f64 / WINDOW as f64;
            self.lowest = Some(self.lowest.map_or(share, |lowest| lowest.min(share)));
            self.window = 0;
            self.window_held = 0;
        }
    }

    /// With the lowest coverage of a window.
    fn long_text(&self) -> String {
        let lowest = self.lowest.unwrap_or(f64::NAN);
        let held = 100.0 * self.held / self.rows;
        format!("{held:.2} % | {:.1} % | {:.4}", 100.0 * lowest, self.width / self.rows)
    }

    fn text(&self) -> String {
        format!("{:.2} % | {:.4}", 100.0 * self.held / self.rows, self.width / self.rows)
    }
}

/// Counts the intervals of another method, for the Gaussian family.
fn rival<R: Rival>(rows: &[PredictedRow], sum: &mut Coverage, new: impl Fn() -> R) {
    let mut below = new();
    let mut above = new();
    for (i, PredictedRow { predicted, y }) in rows.iter().enumerate() {
        let scale = (predicted.dispersion + predicted.variance).sqrt();
        let score = (y - predicted.mean) / scale;
        if i >= WARM_UP {
            let lower = predicted.mean - scale * below.threshold();
            let upper = predicted.mean + scale * above.threshold();
            sum.count(Interval { lower, upper }, *y);
        }
        // the first rows of a learned noise have no scale
        if score.is_finite() {
            below.learn(-score);
            above.learn(score);
        }
    }
}
