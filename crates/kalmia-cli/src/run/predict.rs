//! `kalmia predict`: one line per row, in the order of the input.

#[cfg(feature = "columnar")]
mod columnar;
mod csv_writer;
mod form;
mod predictor;
mod sink;

use crate::args::{Names, PredictArgs};
use crate::error::{Failure, Result};
use crate::format::counted;
use crate::interrupt;
use crate::learn::{Next, next, report_left_out};
use crate::plan::{Files, SourcePlan};
use crate::progress::Ui;
use form::{Form, Packed};
use kalmia_data::{Block, Mode, Reader, TextKind, TextReader};
use kalmia_model::AnyModel;
use predictor::Predictor;
use sink::{Head, Sink};
use std::io::IsTerminal;
use std::path::Path;

/// Runs the command.
pub fn run(args: &PredictArgs, ui: Ui) -> Result<()> {
    if !(args.level > 0.0 && args.level < 1.0) {
        return Err(Failure::usage(format!(
            "--level {}: give a probability strictly between 0 and 1",
            args.level
        )));
    }
    let mut job = Job::new(args, ui)?;
    let path = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let rows = match path {
        None => job.print()?,
        Some(path) => job.write(path)?,
    };
    report_left_out(&job.reader, ui);
    let skipped = job.predictor.encoder().counts().skipped;
    let unseen = job.predictor.encoder().counts().unseen;
    if unseen > 0 {
        ui.note(&format!(
            "note: {} of unknown levels, predicted with the prior of a new level",
            counted(unseen, "value")
        ));
    }
    if let Some(note) = job.predictor.note() {
        ui.note(&note);
    }
    if path.is_some() {
        let mut text = format!("{} predicted", counted(rows - skipped, "row"));
        if skipped > 0 {
            text.push_str(&format!(", {} left empty for a missing value", counted(skipped, "row")));
        }
        ui.note(&text);
    }
    Ok(())
}

/// Refuses columns that would stand twice in the output.
fn check_kept(names: &[String], columns: &[String]) -> Result<()> {
    for (i, name) in names.iter().enumerate() {
        if columns.contains(name) {
            return Err(Failure::usage(format!(
                "--keep: column `{name}` cannot be kept, because the output has a column of that \
                 name; rename it in the input, or keep others by name"
            )));
        }
        if names[..i].contains(name) {
            return Err(Failure::usage(format!("--keep names column `{name}` twice")));
        }
    }
    Ok(())
}

/// A model, the rows to predict and what is written for each.
struct Job {
    predictor: Predictor,
    reader: Reader,
    texts: Option<TextReader>,
    form: Form,
    ui: Ui,
}

impl Job {
    fn new(args: &PredictArgs, ui: Ui) -> Result<Self> {
        let kept = Names::all(&args.keep);
        let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
        let source = SourcePlan::new(&args.source)?;
        Files::default()
            .source(&source)
            .reads("the model", &args.model)
            .writes("-o", output)
            .check()?;
        let form = Form::new(output, args.output_format)?;
        let binary = !form.format.is_text();
        if output.is_none() && binary && std::io::stdout().is_terminal() {
            return Err(Failure::usage("such a file is not for a terminal: give -o FILE"));
        }
        if !kept.is_empty() && source.inputs.iter().any(|input| input.size().is_none()) {
            return Err(Failure::usage(
                "--keep reads the input twice, which standard input and pipes do not allow; write \
                 it to a file first",
            ));
        }
        let mut predictor = Predictor::new(AnyModel::load(&args.model)?.content, args)?;
        check_kept(&kept, &predictor.columns())?;
        let encoder = predictor.encoder_mut();
        encoder.reset_counts();
        args.missing.apply(encoder)?;
        let reader = source.open(encoder, Mode::Predict)?;
        let SourcePlan { inputs, options } = source;
        let texts = match &kept[..] {
            [] => None,
            [all] if all == "all" => Some(TextReader::open(inputs, options, None)?),
            names => Some(TextReader::open(inputs, options, Some(names))?),
        };
        if let Some(texts) = &texts {
            check_kept(texts.names(), &predictor.columns())?;
        }
        Ok(Self { predictor, reader, texts, form, ui })
    }

    /// Predicts to standard output; returns the number of rows.
    fn print(&mut self) -> Result<u64> {
        let mut sink = Sink::new(Box::new(std::io::stdout().lock()), self.form.format);
        let rows = self.run(&mut sink)?;
        sink.close().map_err(Failure::Stdout)?;
        Ok(rows)
    }

    /// Predicts to a file, which stays as it was if anything fails.
    fn write(&mut self, path: &Path) -> Result<u64> {
        // an interruption must remove the temporary file
        interrupt::catch();
        let form = self.form;
        let mut outcome = Ok(0);
        let written = kalmia::file::replace(path, |file| {
            let mut packed = Packed::new(file, form.packing)?;
            let mut sink = Sink::new(Box::new(&mut packed), form.format);
            outcome = self.run(&mut sink);
            match (&outcome, sink.close()) {
                // `outcome` holds the failure; here it only keeps the old file
                (Err(_), _) => Err(std::io::ErrorKind::Other.into()),
                (Ok(_), closed) => closed,
            }?;
            packed.finish()
        });
        let rows = outcome.map_err(|failure| match failure {
            Failure::Stdout(reason) => Failure::Output { path: path.into(), reason },
            other => other,
        })?;
        written.map_err(Failure::output(path))?;
        Ok(rows)
    }

    fn run(&mut self, sink: &mut Sink<'_>) -> Result<u64> {
        let names = self.texts.as_ref().map_or(Vec::new(), |texts| texts.names().to_vec());
        let head = Head {
            kept: &names,
            kinds: &self.kinds(),
            numbers: self.predictor.numbers(),
            label: self.predictor.label(),
        };
        sink.head(&head).map_err(Failure::Stdout)?;
        let mut block = Block::new();
        let mut rows = 0;
        let mut meter = self.ui.progress(self.reader.progress());
        loop {
            match next(&mut self.reader, self.predictor.encoder_mut(), &mut block)? {
                Next::Block => {}
                Next::End => break,
                Next::Stop => {
                    let rows = counted(rows, "row");
                    return Err(Failure::Interrupted(format!(
                        "interrupted after {rows}; the output file is unchanged"
                    )));
                }
            }
            let predicted = self.predictor.predict(&block)?;
            let texts = self.texts.as_mut().map(TextReader::next_block).transpose()?.flatten();
            for i in 0..block.rows_read {
                let text = |column| texts.as_ref().map_or(&b""[..], |texts| texts.get(i, column));
                let kept = (0..names.len()).map(text);
                sink.row(kept, predicted.cells(i)).map_err(Failure::Stdout)?;
            }
            rows += block.rows_read as u64;
            meter.tick(self.reader.progress(), rows, || None);
        }
        meter.finish();
        Ok(rows)
    }

    /// What the kept columns are: as the input's format says, else as the model knows them.
    fn kinds(&self) -> Vec<TextKind> {
        let Some(texts) = &self.texts else { return Vec::new() };
        let kind = |(name, kind): (&String, &TextKind)| match kind {
            TextKind::Text if self.predictor.encoder().is_number(name) => TextKind::Number,
            kind => *kind,
        };
        texts.names().iter().zip(texts.kinds()).map(kind).collect()
    }
}
