//! `--sweep`: one input of a bound varies, the others stay.

use super::shown;
use crate::error::{Failure, Result};
use crate::format::brief;
use crate::report::Table;
use kalmia_chart::{Axis, Color, Plot, Point, Series, compose};
use kalmia_theory::{Entry, Inputs, Kind, Outputs, Parameter};
use serde_json::{Map, Value, json};

/// Points of a range whose number is not given.
const DEFAULT_COUNT: usize = 25;
/// More points are a mistake.
const MAX_COUNT: usize = 10_000;
/// Outputs that stand for a bound, the first one present.
const MAIN: [&str; 9] =
    ["total", "ln_total", "tau", "ln_tau", "bound", "ln_bound", "order", "ln_t_min", "level"];
/// From this ratio of the ends on, a range is spaced by factors and an axis is logarithmic.
const MIN_LOG_RATIO: f64 = 10.0;

/// A parameter and the values that it takes.
#[derive(Debug)]
pub struct Sweep {
    /// The parameter.
    pub parameter: &'static str,
    /// Its values, in order.
    pub values: Vec<f64>,
    /// Whether they are spaced by factors.
    pub log: bool,
}

/// The outputs at one value.
#[derive(Debug)]
pub struct SweepPoint {
    /// The value.
    pub x: f64,
    /// As printed, or the variant that was asked for.
    pub out: Outputs,
    /// Corrected, if both are shown.
    pub corrected: Option<Outputs>,
}

impl Sweep {
    /// `n=1:1e6:25`, `n=1:1e6`, `n=1:100:12:lin` or `eps=0.01,0.1,1`.
    pub fn parse(entry: &'static Entry, text: &str) -> Result<Self> {
        let bad = |reason: String| {
            Failure::usage(format!(
                "--sweep `{text}`: {reason}; give NAME=FROM:TO:COUNT, such as n=1:1e6:25, or a \
                 list such as eps=0.01,0.1,1"
            ))
        };
        let (name, values) = text.split_once('=').ok_or_else(|| bad("there is no `=`".into()))?;
        let name = name.replace('-', "_");
        let parameter = entry.parameters.iter().find(|p| p.name == name).ok_or_else(|| {
            let names: Vec<_> = numeric(entry).map(|p| p.name).collect();
            bad(format!("`{}` has no parameter `{name}`, it has {}", entry.name, names.join(", ")))
        })?;
        if parameter.kind == Kind::Variant {
            return Err(bad("both variants are shown anyway".into()));
        }
        let number = |part: &str| {
            let value: Option<f64> = part.trim().parse().ok();
            value.filter(|v| v.is_finite()).ok_or_else(|| bad(format!("`{part}` is not a number")))
        };
        let parts: Vec<&str> = values.split(':').collect();
        let (mut values, log) = match &parts[..] {
            [list] => (list.split(',').map(number).collect::<Result<Vec<_>>>()?, None),
            [from, to, rest @ ..] if rest.len() <= 2 => {
                let count = match rest.first() {
                    Some(count) => {
                        count.trim().parse().ok().filter(|n| (2..=MAX_COUNT).contains(n))
                    }
                    None => Some(DEFAULT_COUNT),
                };
                let count = count
                    .ok_or_else(|| bad(format!("COUNT is a whole number from 2 to {MAX_COUNT}")))?;
                let ends = (number(from)?, number(to)?);
                if ends.0 >= ends.1 {
                    return Err(bad("FROM must be below TO".into()));
                }
                let log = match rest.get(1).copied() {
                    None => ends.0 > 0.0 && ends.1 > MIN_LOG_RATIO * ends.0,
                    Some("log") if ends.0 > 0.0 => true,
                    Some("log") => return Err(bad("log needs FROM above 0".into())),
                    Some("lin") => false,
                    Some(other) => return Err(bad(format!("`{other}` is neither log nor lin"))),
                };
                (spaced(ends.0, ends.1, count, log), Some(log))
            }
            _ => return Err(bad("there are too many colons".into())),
        };
        if parameter.kind == Kind::Integer {
            values.iter_mut().for_each(|value| *value = value.round());
        }
        values.dedup();
        let log = log.unwrap_or_else(|| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            low > 0.0 && high > MIN_LOG_RATIO * low
        });
        Ok(Self { parameter: parameter.name, values, log })
    }

    /// The outputs at every value.
    pub fn run(&self, entry: &Entry, inputs: &Inputs, both: bool) -> Result<Vec<SweepPoint>> {
        let one = |&x: &f64| {
            let inputs = inputs.clone().with(self.parameter, x);
            let fail = |error: kalmia_theory::RegistryError| {
                Failure::usage(format!("--sweep, at {} = {}: {error}", self.parameter, brief(x)))
            };
            let out = entry.evaluate(&inputs).map_err(fail)?;
            let corrected =
                if both { entry.evaluate_corrected(&inputs).map_err(fail)? } else { None };
            Ok(SweepPoint { x, out, corrected })
        };
        self.values.iter().map(one).collect()
    }
}

/// `count` values from `from` to `to`, both included.
fn spaced(from: f64, to: f64, count: usize, log: bool) -> Vec<f64> {
    let value = |i: usize| {
        let share = i as f64 / (count - 1) as f64;
        match (i, log) {
            (0, _) => from,
            (i, _) if i + 1 == count => to,
            (_, true) => (from.ln() + share * (to / from).ln()).exp(),
            (_, false) => from + share * (to - from),
        }
    };
    (0..count).map(value).collect()
}

fn numeric(entry: &Entry) -> impl Iterator<Item = &'static Parameter> {
    entry.parameters.iter().filter(|parameter| parameter.kind != Kind::Variant)
}

/// The outputs to show: those asked for, or the one that stands for the bound.
pub fn chosen(entry: &Entry, asked: &[String], first: &Outputs) -> Result<Vec<String>> {
    let numbers: Vec<&str> =
        first.iter().filter(|(_, value)| value.as_bool().is_none()).map(|(name, _)| name).collect();
    if asked.is_empty() {
        let main = MAIN.iter().copied().find(|name| numbers.contains(name));
        return Ok(main.or(numbers.first().copied()).into_iter().map(str::to_owned).collect());
    }
    for name in asked {
        if !numbers.contains(&name.as_str()) {
            return Err(Failure::usage(format!(
                "--outputs: `{}` has no number `{name}`; it has {}",
                entry.name,
                numbers.join(", ")
            )));
        }
    }
    Ok(asked.to_vec())
}

/// One line per value.
pub fn table(sweep: &Sweep, points: &[SweepPoint], outputs: &[String]) -> String {
    let both = points.iter().any(|point| point.corrected.is_some());
    let with_applies = points.iter().any(|point| point.out.get("applies").is_some());
    let mut head = vec![sweep.parameter.to_owned()];
    for name in outputs {
        head.push(name.clone());
        head.extend(both.then(|| format!("{name} (corrected)")));
    }
    head.extend(with_applies.then(|| "applies".to_owned()));
    let mut table = Table::default();
    table.row(head);
    for point in points {
        let mut cells = vec![brief(point.x)];
        for name in outputs {
            let cell = |out: &Outputs| out.get(name).map_or(String::new(), shown);
            cells.push(cell(&point.out));
            cells.extend(point.corrected.as_ref().map(cell));
        }
        let applies = point.corrected.as_ref().unwrap_or(&point.out).get("applies");
        cells.extend(applies.map(shown));
        table.row(cells);
    }
    table.render()
}

/// All outputs at every value.
pub fn json(name: &str, sweep: &Sweep, points: &[SweepPoint]) -> Result<Value> {
    let mut rows = Vec::new();
    for point in points {
        let mut row = Map::from_iter([
            (sweep.parameter.to_owned(), json!(point.x)),
            ("out".to_owned(), super::value_of(&point.out)?),
        ]);
        if let Some(corrected) = &point.corrected {
            row.insert("out_corrected".into(), super::value_of(corrected)?);
        }
        rows.push(row);
    }
    Ok(json!({"name": name, "parameter": sweep.parameter, "sweep": rows}))
}

/// The outputs against the parameter, as printed solid and corrected dashed.
pub fn picture(entry: &Entry, sweep: &Sweep, points: &[SweepPoint], outputs: &[String]) -> Plot {
    let mut series = Vec::new();
    for (i, name) in outputs.iter().enumerate() {
        let curve = |pick: &dyn Fn(&SweepPoint) -> Option<f64>| -> Vec<Point> {
            points.iter().filter_map(|p| Some(Point::new(p.x, pick(p)?))).collect()
        };
        let number = |out: &Outputs| out.get(name).and_then(|value| value.as_number());
        let printed = curve(&|p| number(&p.out).filter(|y| y.is_finite()));
        let corrected = curve(&|p| p.corrected.as_ref().and_then(number).filter(|y| y.is_finite()));
        let color = Color::PALETTE[i % 6 + 1];
        let line = |label: String, points: Vec<Point>| Series::line(label, color, points);
        if corrected.is_empty() {
            series.push(line(name.clone(), printed));
        } else if corrected == printed {
            series.push(line(format!("{name}, printed and corrected"), printed));
        } else {
            series.push(line(format!("{name}, as printed"), printed));
            let dashed = line(format!("{name}, corrected"), corrected);
            series.push(Series { dash: vec![7.0, 4.0], ..dashed });
        }
    }
    let x = match sweep.log {
        true => Axis::log(sweep.parameter, sweep.values.iter().copied()),
        false => linear(sweep.parameter, &sweep.values),
    };
    let values: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.y).collect();
    let label = outputs.join(", ");
    let positive = values.iter().all(|&y| y > 0.0);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let y = match positive && high > MIN_LOG_RATIO * low {
        true => Axis::log(&label, values.iter().copied()),
        false => linear(&label, &values),
    };
    Plot { title: entry.name.into(), x, y, series, marks: Vec::new() }
}

fn linear(label: &str, values: &[f64]) -> Axis {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return Axis::linear(label, 0.0, 1.0);
    }
    let margin = 0.04 * (high - low).max(1e-6 * high.abs());
    Axis::linear(label, low - margin, high + margin)
}

/// The picture as the bytes of its file.
pub fn draw(path: &std::path::Path, entry: &Entry, plot: Plot) -> Result<()> {
    crate::report::write_picture(path, &compose(entry.summary, &[plot]))
}
