//! Rows out of numpy arrays of any layout, block by block, and the learning loop that can be
//! interrupted.

use crate::engine::Engine;
use crate::error::{input, of_features, translate};
use kalmia::evaluate::{Metrics, MetricsThread};
use kalmia::{Observer, RowView, Rows};
use numpy::ndarray::{ArrayView1, ArrayView2};
use pyo3::prelude::*;
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// Numbers in a block: small enough for the cache, and a multiple of the library's own chunks in
/// rows.
const BLOCK_NUMBERS: usize = 1 << 15;
/// Rows of a table that are worth a thread of its own to judge them.
const LARGE: usize = 20_000;
/// How long learning goes on before signals (Ctrl-C) are looked at.
const PATIENCE: Duration = Duration::from_millis(50);

/// Features as Python gave them, with targets, weights and offsets, and whether a constant goes
/// before the features.
pub struct Table<'a> {
    pub x: ArrayView2<'a, f64>,
    pub y: Cow<'a, [f64]>,
    pub weight: Option<Cow<'a, [f64]>>,
    pub offset: Option<Cow<'a, [f64]>>,
    pub intercept: bool,
}

/// The numbers of a one-dimensional array in order, copied only where they are strided.
pub fn flat<'a>(view: ArrayView1<'a, f64>) -> Cow<'a, [f64]> {
    view.to_slice().map_or_else(|| Cow::Owned(view.iter().copied().collect()), Cow::Borrowed)
}

/// Copies rows `first..first + n` behind their constant into `buffer`.
fn gather(x: &ArrayView2<'_, f64>, first: usize, n: usize, intercept: bool, buffer: &mut Vec<f64>) {
    let constant = usize::from(intercept);
    let dim = x.ncols() + constant;
    buffer.resize(n * dim, 1.0);
    if intercept {
        buffer.chunks_exact_mut(dim).for_each(|row| row[0] = 1.0);
    }
    let by_column = x.strides()[0].unsigned_abs() <= x.strides()[1].unsigned_abs();
    if by_column && n > 1 {
        for (j, column) in x.columns().into_iter().enumerate() {
            let column = column.slice_move(numpy::ndarray::s![first..first + n]);
            buffer
                .iter_mut()
                .skip(constant + j)
                .step_by(dim)
                .zip(column)
                .for_each(|(to, from)| *to = *from);
        }
    } else {
        for (i, to) in buffer.chunks_exact_mut(dim).enumerate() {
            let from = x.row(first + i);
            match from.to_slice() {
                Some(from) => to[constant..].copy_from_slice(from),
                None => to[constant..].iter_mut().zip(from).for_each(|(to, from)| *to = *from),
            }
        }
    }
}

/// Rows of an array of features, behind their constant; in place where the layout allows it.
pub fn each_block(
    x: &ArrayView2<'_, f64>,
    intercept: bool,
    mut run: impl FnMut(usize, usize, &[f64]) -> PyResult<()>,
) -> PyResult<()> {
    let dim = x.ncols() + usize::from(intercept);
    let step = (BLOCK_NUMBERS / dim.max(1)).next_multiple_of(256);
    let whole = if intercept { None } else { x.to_slice() };
    let mut buffer = Vec::new();
    let mut first = 0;
    while first < x.nrows() {
        let n = step.min(x.nrows() - first);
        match whole {
            Some(all) => run(first, n, &all[first * dim..(first + n) * dim])?,
            None => {
                gather(x, first, n, intercept, &mut buffer);
                run(first, n, &buffer)?;
            }
        }
        first += n;
    }
    Ok(())
}

impl Table<'_> {
    /// Lengths that agree with each other and the learner.
    pub fn check(&self, dim: usize) -> PyResult<()> {
        let (rows, columns) = (self.x.nrows(), self.x.ncols() + usize::from(self.intercept));
        if columns != dim {
            let expected = dim - usize::from(self.intercept);
            return Err(input(format!(
                "X has {} features, but the learner expects {expected}",
                self.x.ncols()
            )));
        }
        let others = [
            ("y", Some(&self.y)),
            ("weight", self.weight.as_ref()),
            ("offset", self.offset.as_ref()),
        ];
        for (name, values) in others {
            if let Some(found) = values.map(|v| v.len()).filter(|&found| found != rows) {
                return Err(input(format!("X has {rows} rows, but {name} has {found}")));
            }
        }
        Ok(())
    }

    fn rows<'b>(&'b self, first: usize, n: usize, x: &'b [f64]) -> kalmia::Result<Rows<'b>> {
        let range = first..first + n;
        let mut rows = Rows::new(x.len() / n.max(1), x, &self.y[range.clone()])?;
        if let Some(weight) = &self.weight {
            rows = rows.with_weights(&weight[range.clone()])?;
        }
        if let Some(offset) = &self.offset {
            rows = rows.with_offsets(&offset[range])?;
        }
        Ok(rows)
    }

    /// Learns every row in order, without the interpreter's lock but for a look at signals now and
    /// then. `start` rows of the same call came before.
    pub fn learn(
        &self,
        engine: &mut Engine,
        mut metrics: Option<&mut Metrics>,
        mut means: Option<&mut Vec<f64>>,
        start: usize,
    ) -> PyResult<()> {
        let mut looked = Instant::now();
        let watched = metrics.is_some() || means.is_some();
        let judged = metrics.as_deref().filter(|_| self.x.nrows() >= LARGE);
        let mut judge = judged.map(|metrics| MetricsThread::start(metrics.clone()));
        each_block(&self.x, self.intercept, |first, n, x| {
            let rows = self.rows(first, n, x).map_err(|error| translate(error, start + first))?;
            let mut watch = |seen: &RowView<'_>| {
                match (&mut judge, &mut metrics) {
                    (Some(judge), _) => judge.row(seen),
                    (None, Some(metrics)) => metrics.row(seen),
                    (None, None) => {}
                }
                if let Some(means) = &mut means {
                    means.push(seen.mean);
                }
            };
            // without a watcher the default learner need not work out its mixture's mean
            let observer: Option<&mut dyn Observer> = if watched { Some(&mut watch) } else { None };
            engine
                .learn(rows, observer)
                .map_err(|error| of_features(error, start + first, self.intercept))?;
            if let Some(judge) = &mut judge {
                judge.flush();
            }
            if looked.elapsed() > PATIENCE {
                looked = Instant::now();
                Python::attach(|py| py.check_signals())?;
            }
            Ok(())
        })?;
        if let (Some(metrics), Some(judge)) = (metrics, judge) {
            *metrics = judge.finish();
        }
        Ok(())
    }
}
