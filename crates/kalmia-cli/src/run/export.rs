//! `kalmia export`: a model for other programs.

use crate::args::{ExportArgs, ExportFormat};
use crate::error::{Failure, Result};
use crate::output;
use crate::plan::Files;
use kalmia_model::{ExportOptions, Loaded, Model, json_export, onnx};
use std::io::IsTerminal;

/// Runs the command.
pub fn run(args: &ExportArgs) -> Result<()> {
    let output = args.output.as_deref();
    Files::default().reads("the model", &args.model).writes("-o", output).check()?;
    let Loaded { content: model, version } = Model::load(&args.model)?;
    let offset = model.encoder.options().offset.is_some();
    let options = ExportOptions { version: &version, classes: &[], offset };
    let models = std::slice::from_ref(&model);
    let bytes = match args.format {
        ExportFormat::Json => output::json_line(&json_export(models, &options)?)?.into_bytes(),
        ExportFormat::Onnx => onnx(models, &options)?,
    };
    match &args.output {
        Some(path) => output::write_file(path, &bytes),
        None if args.format == ExportFormat::Onnx && std::io::stdout().is_terminal() => {
            Err(Failure::usage("an ONNX file is not for a terminal: give -o FILE.onnx"))
        }
        None => output::print_bytes(&bytes),
    }
}
