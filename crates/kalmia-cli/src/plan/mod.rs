//! From arguments to a plan: everything that can be refused before a row is read.

mod files;
pub(crate) mod fit;

pub use files::Files;
pub use fit::{ComparePlan, Every, FitPlan, start_failure};

use crate::args::SourceArgs;
use crate::error::{Failure, Result};
use crate::interrupt;
use crate::output::ModelOutput;
use kalmia::file::Claim;
use kalmia_data::{Encoder, Format, Input, Mode, Reader, SourceOptions};
use std::path::Path;

/// Inputs that exist, and how they are read.
#[derive(Debug, Clone)]
pub struct SourcePlan {
    /// In order.
    pub inputs: Vec<Input>,
    /// How their bytes are read.
    pub options: SourceOptions,
}

impl SourcePlan {
    /// Resolves names and patterns.
    pub fn new(args: &SourceArgs) -> Result<Self> {
        let inputs =
            Input::resolve(&args.data)?.into_iter().map(|input| input.until(interrupt::flag()));
        Ok(Self { options: Self::reading(args)?, inputs: inputs.collect() })
    }

    /// Whether all inputs are files, which can be read several times.
    pub fn can_be_read_again(&self) -> bool {
        self.inputs.iter().all(|input| input.size().is_some())
    }

    /// Opens the inputs for an encoder.
    pub fn open(&self, encoder: &mut Encoder, mode: Mode) -> Result<Reader> {
        Ok(Reader::open(self.inputs.clone(), self.options.clone(), encoder, mode)?)
    }

    /// Where a model goes that these inputs continue: to `output`, else back to its own file. It is
    /// claimed before it is read, because the work of another process on it would be lost.
    pub fn continued_model(&self, model: &Path, output: Option<&Path>) -> Result<ModelOutput> {
        let option = if output.is_some() { "-o" } else { "the model" };
        let output = output.unwrap_or(model);
        Files::default()
            .source(self)
            .continues("the model", model, Some(output))
            .writes(option, Some(output))
            .check()?;
        Ok(ModelOutput::Continued(Claim::new(output)?))
    }

    /// How bytes are read, whatever the files.
    fn reading(args: &SourceArgs) -> Result<SourceOptions> {
        let delimiter = args.delimiter.as_deref().map(delimiter).transpose()?;
        let format = args.format;
        if delimiter.is_some() && !matches!(format, None | Some(Format::Csv | Format::Tsv)) {
            return Err(Failure::usage("--delimiter is for CSV and TSV only"));
        }
        let comment = args.comment.as_deref().map(comment).transpose()?;
        Ok(SourceOptions {
            format,
            delimiter,
            header: !args.no_header,
            na_values: args.na_values.clone(),
            decimal_comma: args.decimal == ",",
            bad_rows: args.bad_rows,
            limit: args.limit,
            comment,
            skip_lines: args.skip_lines,
            ..SourceOptions::default()
        })
    }
}

fn delimiter(text: &str) -> Result<u8> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err(Failure::usage(format!(
            "--delimiter `{text}`: give one ASCII character (not a quote), or `tab`"
        ))),
    }
}

fn comment(text: &str) -> Result<u8> {
    match text.as_bytes() {
        [byte] if byte.is_ascii_punctuation() && *byte != b'"' => Ok(*byte),
        _ => Err(Failure::usage(format!(
            "--comment `{text}`: give one character that no row starts with, such as #"
        ))),
    }
}

/// Refuses a path that no file can be written to, as far as can be known before the work.
fn writable(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Err(Failure::usage(format!(
            "{} is a folder; give the name of a file",
            path.display()
        )));
    }
    if !folder.is_dir() {
        return Err(Failure::usage(format!(
            "{}: there is no folder {}",
            path.display(),
            folder.display()
        )));
    }
    kalmia::file::check_writable(path).map_err(Failure::output(path))
}

/// Refuses a name that is not one of a picture that this build draws.
pub fn picture(path: &Path) -> Result<()> {
    match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("svg") => Ok(()),
        Some("png") if cfg!(feature = "png") => Ok(()),
        Some("png") => Err(Failure::usage(format!(
            "{}: this build draws no PNG; give a name in .svg, or build kalmia with --features png",
            path.display()
        ))),
        _ => Err(Failure::usage(format!("{}: pictures are .svg or .png", path.display()))),
    }
}
