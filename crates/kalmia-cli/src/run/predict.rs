//! `kalmia predict`: one line a row, in the order of the input.

mod sink;

use crate::args::{IntervalOf, PredictArgs};
use crate::error::{Failure, Result, locate};
use crate::learn::{Next, next};
use crate::model::Model;
use crate::plan::{SourcePlan, writable};
use crate::ui::{self, Ui, counted};
use kalmia::{AnyFamily, Predict, Predictive};
use kalmia_data::{Block, Mode, Reader, TextKind, TextReader};
use sink::Sink;

/// What is written of a row.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// Mean of y, moderated by what is uncertain.
    pub mean: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// Mean of the linear predictor, the offset included.
    pub linear: f64,
    /// Its deviation.
    pub linear_sd: f64,
}

/// Names of the columns, in the order of [`Line::values`].
pub const COLUMNS: [&str; 5] = ["mean", "lower", "upper", "linear", "linear_sd"];

impl Line {
    /// The numbers in order.
    pub fn values(&self) -> [f64; 5] {
        [self.mean, self.lower, self.upper, self.linear, self.linear_sd]
    }
}

/// Runs the command.
pub fn run(args: &PredictArgs, ui: Ui) -> Result<()> {
    if !(args.level > 0.0 && args.level < 1.0) {
        return Err(Failure::usage(format!(
            "--level {}: give a probability strictly between 0 and 1",
            args.level
        )));
    }
    args.output.as_deref().map(writable).transpose()?;
    check_kept(&args.keep)?;
    let source = SourcePlan::new(&args.source)?;
    if !args.keep.is_empty() && source.inputs.iter().any(|input| input.name() == "-") {
        return Err(Failure::usage(
            "--keep reads the input twice, which standard input cannot be: write it to a file first",
        ));
    }
    let (model, _) = Model::load(&args.model)?;
    let mut encoder = model.encoder.clone();
    encoder.reset_counts();
    args.missing.apply(&mut encoder)?;
    let reader =
        Reader::open(source.inputs.clone(), source.options.clone(), encoder, Mode::Predict)?;
    let texts = match &args.keep[..] {
        [] => None,
        [all] if all == "all" => Some(TextReader::open(source.inputs, source.options, None)?),
        names => Some(TextReader::open(source.inputs, source.options, Some(names))?),
    };
    if let Some(texts) = &texts {
        check_kept(texts.names())?;
    }
    let of_mean = matches!(model.family(), AnyFamily::Bernoulli(_) | AnyFamily::Binomial(_));
    let of = args.interval.unwrap_or(if of_mean { IntervalOf::Mean } else { IntervalOf::Y });
    let mut job = Job { model, reader, texts, of, level: args.level, ui };
    let rows = match &args.output {
        None => {
            let out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
            let mut sink = Sink::csv(Box::new(out));
            let rows = job.run(&mut sink)?;
            sink.close().map_err(Failure::Stdout)?;
            rows
        }
        Some(path) => {
            // so that the temporary file goes
            ui::catch_interrupts();
            let parquet = path
                .extension()
                .is_some_and(|e| e.eq_ignore_ascii_case("parquet") || e.eq_ignore_ascii_case("pq"));
            let mut outcome = Ok(0);
            let written = kalmia::file::replace(path, |file| {
                let mut sink =
                    if parquet { Sink::parquet(file) } else { Sink::csv(Box::new(file)) };
                outcome = job.run(&mut sink);
                match (&outcome, sink.close()) {
                    // the failure itself is told below; here it only keeps the old file
                    (Err(_), _) => Err(std::io::ErrorKind::Other.into()),
                    (Ok(_), closed) => closed,
                }
            });
            let rows = outcome.map_err(|failure| match failure {
                Failure::Stdout(reason) => Failure::Output { path: path.clone(), reason },
                other => other,
            })?;
            written.map_err(Failure::output(path))?;
            rows
        }
    };
    let unseen = job.reader.encoder().counts().unseen;
    if unseen > 0 {
        ui.note(&format!(
            "note: {} of levels never seen, predicted as if at the prior mean",
            counted(unseen, "value")
        ));
    }
    if args.output.is_some() {
        ui.note(&format!("{} predicted", counted(rows, "row")));
    }
    Ok(())
}

/// Refuses columns that would stand twice in the output.
fn check_kept(names: &[String]) -> Result<()> {
    for (i, name) in names.iter().enumerate() {
        if COLUMNS.contains(&name.as_str()) {
            let reason = "the output has a column of that name itself; rename it in the input, or keep others by name";
            return Err(Failure::usage(format!(
                "--keep: column `{name}` cannot be kept: {reason}"
            )));
        }
        if names[..i].contains(name) {
            return Err(Failure::usage(format!("--keep names column `{name}` twice")));
        }
    }
    Ok(())
}

struct Job {
    model: Model,
    reader: Reader,
    texts: Option<TextReader>,
    of: IntervalOf,
    level: f64,
    ui: Ui,
}

impl Job {
    fn run(&mut self, sink: &mut Sink<'_>) -> Result<u64> {
        let names = self.texts.as_ref().map_or(Vec::new(), |texts| texts.names().to_vec());
        sink.head(&names, &self.kinds()).map_err(Failure::Stdout)?;
        let (mut block, mut rows) = (Block::new(), 0);
        let mut meter = self.ui.progress(self.reader.progress());
        loop {
            match next(&mut self.reader, &mut block)? {
                Next::Block => {}
                Next::End => break,
                Next::Stop => {
                    let rows = counted(rows, "row");
                    return Err(Failure::Interrupted(format!(
                        "interrupted after {rows}; the output is as it was before"
                    )));
                }
            }
            let mut lines = vec![None; block.rows_read];
            for i in 0..block.rows() {
                lines[(block.input_row(i) - block.first_row) as usize] =
                    Some(self.predict(&block, i)?);
            }
            let texts = self.texts.as_mut().map(TextReader::next_block).transpose()?.flatten();
            for (i, line) in lines.iter().enumerate() {
                let kept = (0..names.len())
                    .map(|column| texts.as_ref().map_or(&b""[..], |texts| texts.get(i, column)));
                sink.row(kept, line.as_ref()).map_err(Failure::Stdout)?;
            }
            rows += lines.len() as u64;
            meter.tick(self.reader.progress(), rows, || None);
        }
        meter.finish();
        Ok(rows)
    }

    /// What the kept columns are: as the input's format says, else as the model knows them.
    fn kinds(&self) -> Vec<TextKind> {
        let Some(texts) = &self.texts else { return Vec::new() };
        let kind = |(name, kind): (&String, &TextKind)| match kind {
            TextKind::Text if self.model.encoder.is_number(name) => TextKind::Number,
            kind => *kind,
        };
        texts.names().iter().zip(texts.kinds()).map(kind).collect()
    }

    fn predict(&self, block: &Block, i: usize) -> Result<Line> {
        let offset = block.offset.as_ref().map_or(0.0, |offset| offset[i]);
        let fail =
            |error: kalmia::Error| locate(error.at_row(i), block, &self.model.encoder, false);
        let prediction = self.model.learner.predict(block.row(i), offset).map_err(fail)?;
        let (lower, upper) = match self.of {
            IntervalOf::Mean => prediction.mean_interval(self.level)?,
            IntervalOf::Y => prediction.interval(self.level)?,
        };
        let linear_sd = prediction.linear_variance.sqrt();
        Ok(Line { mean: prediction.mean, lower, upper, linear: prediction.linear, linear_sd })
    }
}
