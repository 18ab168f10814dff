//! Scales, ticks and tick labels.

/// One axis of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// Whether the scale is logarithmic.
    pub log: bool,
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// A tick; only the main ones have a label.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub value: f64,
    pub label: Option<String>,
}

impl Axis {
    /// A logarithmic axis over the positive values, with ends 1, 2 or 5 times a power of ten.
    ///
    /// Values that are not positive or not finite are ignored; without any the axis runs from 1 to
    /// 10.
    pub fn log(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let mut low = f64::INFINITY;
        let mut high = f64::NEG_INFINITY;
        for value in values.into_iter().filter(|v| v.is_finite() && *v > 0.0) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            low = 1.0;
            high = 10.0;
        }
        // A value up to 0.2 % outside a round end does not move that end.
        let low = round_down(low * 1.002);
        let mut high = round_up(high / 1.002);
        if high <= low {
            high = 10.0 * low;
        }
        Self { label: label.into(), log: true, low, high }
    }

    /// A linear axis between two ends; an empty range gets length 1.
    pub fn linear(label: &str, low: f64, high: f64) -> Self {
        Self {
            label: label.into(),
            log: false,
            low,
            high: if high > low { high } else { low + 1.0 },
        }
    }

    /// Where a value lies: 0 at the lower end, 1 at the upper one.
    pub(crate) fn place(&self, value: f64) -> f64 {
        if self.log {
            // differences of logarithms, because quotients of huge values overflow
            (value.max(f64::MIN_POSITIVE).ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// The ticks, in ascending order.
    pub(crate) fn ticks(&self) -> Vec<Tick> {
        if self.log { self.log_ticks() } else { self.linear_ticks() }
    }

    fn log_ticks(&self) -> Vec<Tick> {
        let inside = |value: f64| value > self.low * 0.999 && value < self.high * 1.001;
        let first = (self.low.log10() + 1e-3).floor() as i32;
        let last = (self.high.log10() - 1e-3).ceil() as i32;
        let stride = ((last - first) / 9 + 1).max(1);
        // With fewer than three powers of ten in range, 2 and 5 times a power get labels too.
        let short = (first..=last).filter(|&decade| inside(10f64.powi(decade))).count() < 3;
        let text = |k: i32, decade: i32| match (short, decade) {
            // in full, because there are few
            (true, -4..=5) => plain(f64::from(k) * 10f64.powi(decade), (-decade).max(0) as usize),
            (_, _) if k == 1 => power_of_ten(decade),
            _ => format!("{k}·{}", power_of_ten(decade)),
        };
        let mut ticks = Vec::new();
        for decade in first..=last {
            let label = (decade - first) % stride == 0;
            let value = 10f64.powi(decade);
            ticks.push(Tick { value, label: label.then(|| text(1, decade)) });
            if stride == 1 {
                let label = |k: i32| (short && (k == 2 || k == 5)).then(|| text(k, decade));
                let between = |k| Tick { value: f64::from(k) * value, label: label(k) };
                ticks.extend((2..10).map(between));
            }
        }
        ticks.retain(|tick| inside(tick.value));
        ticks
    }

    fn linear_ticks(&self) -> Vec<Tick> {
        let raw = (self.high - self.low) / 5.0;
        let magnitude = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|k| k * magnitude)
            .into_iter()
            .find(|s| *s >= raw * 0.999)
            .unwrap_or(raw);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last)
            .map(|k| k as f64 * step)
            .map(|value| Tick { value, label: Some(linear_label(value, step, self.largest())) })
            .collect()
    }

    fn largest(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }
}

/// A value of a linear axis with ticks `step` apart: in full, or in units of a power of ten if the
/// largest value is too long for that.
fn linear_label(value: f64, step: f64, largest: f64) -> String {
    let decimals = |step: f64| (-(step.log10() + 1e-9).floor()).max(0.0) as usize;
    if value == 0.0 || (MIN_PLAIN_STEP..).contains(&step) && largest < MAX_PLAIN {
        return plain(value, decimals(step));
    }
    let decade = (largest.log10() + 1e-9).floor();
    let unit = 10f64.powf(decade);
    format!("{}·{}", plain(value / unit, decimals(step / unit)), power_of_ten(decade as i32))
}

/// Larger values, and smaller steps, are written with a power of ten.
const MAX_PLAIN: f64 = 1e7;
const MIN_PLAIN_STEP: f64 = 1e-6;

fn plain(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

/// The largest of 1, 2 and 5 times a power of ten that is not above the value.
fn round_down(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    [5.0, 2.0].into_iter().find(|k| k * power <= value).unwrap_or(1.0) * power
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below the value.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0].into_iter().find(|k| k * power >= value).unwrap_or(10.0) * power
}

/// A power of ten with a raised exponent, such as `10⁻⁵`.
pub fn power_of_ten(exponent: i32) -> String {
    let raise = |c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32('⁰' as u32 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    };
    format!("10{}", exponent.to_string().chars().map(raise).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_axes_cover_their_values_to_round_ends() {
        let axis = Axis::log("n", [0.013, 7.0, f64::NAN, -1.0]);
        assert!((axis.low / 0.01 - 1.0).abs() < 1e-12 && (axis.high / 10.0 - 1.0).abs() < 1e-12);
        let labels: Vec<String> = axis.ticks().into_iter().filter_map(|t| t.label).collect();
        assert_eq!(labels, ["10⁻²", "10⁻¹", "10⁰", "10¹"]);
        assert!((axis.place(1.0) - 2.0 / 3.0).abs() < 1e-12);
        let exact = Axis::log("n", [1.0, 1000.0]);
        assert!((exact.low - 1.0).abs() < 1e-12 && (exact.high - 1000.0).abs() < 1e-9);
        let tight = Axis::log("n", [56.0, 543.0]);
        assert!((tight.low - 50.0).abs() < 1e-9 && (tight.high - 1000.0).abs() < 1e-9, "{tight:?}");
        let labels =
            |axis: Axis| axis.ticks().into_iter().filter_map(|t| t.label).collect::<Vec<String>>();
        assert_eq!(labels(tight), ["50", "100", "200", "500", "1000"]);
        assert_eq!(labels(Axis::log("n", [2.5, 40.0])), ["2", "5", "10", "20", "50"]);
        assert_eq!(labels(Axis::log("n", [0.03, 0.4])), ["0.02", "0.05", "0.1", "0.2", "0.5"]);
        assert_eq!(labels(Axis::log("n", [2e9, 3e9])), ["2·10⁹", "5·10⁹"]);
        assert_eq!(power_of_ten(-10), "10⁻¹⁰");
    }

    #[test]
    fn linear_ticks_are_round() {
        let labels: Vec<String> =
            Axis::linear("p", 0.0, 1.0).ticks().into_iter().filter_map(|t| t.label).collect();
        assert_eq!(labels, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let last = |high: f64| {
            let ticks = Axis::linear("p", 0.0, high).ticks();
            ticks.into_iter().filter_map(|t| t.label).next_back().unwrap()
        };
        assert_eq!([2e5, 4e7, 1e289, 2e-8].map(last), ["200000", "4·10⁷", "1.0·10²⁸⁹", "2.0·10⁻⁸"]);
    }
}
