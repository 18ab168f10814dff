//! `kalmia export`: a model for other programs.

use crate::args::{ExportArgs, ExportFormat};
use crate::error::{Failure, Result};
use crate::output;
use crate::plan::Files;
use kalmia_model::{
    AnyModel, ExportOptions, Loaded, Model, class_json_export, class_onnx, json_export, onnx,
    quantile_json_export, quantile_onnx,
};
use std::io::IsTerminal;

/// Runs the command.
pub fn run(args: &ExportArgs) -> Result<()> {
    let output = args.output.as_deref();
    Files::default().reads("the model", &args.model).writes("-o", output).check()?;
    let Loaded { content: model, version } = AnyModel::load(&args.model)?;
    let bytes = match model {
        AnyModel::Numbers(model) => export(&model, &version, args.format)?,
        AnyModel::Classes(model) => match args.format {
            ExportFormat::Json => {
                json_bytes(&class_json_export(&model, &model.labels(), &version)?)?
            }
            ExportFormat::Onnx => class_onnx(&model, &model.labels(), &version)?,
        },
        AnyModel::Quantiles(model) => match args.format {
            ExportFormat::Json => json_bytes(&quantile_json_export(&model, &version)?)?,
            ExportFormat::Onnx => quantile_onnx(&model, &version, false),
        },
    };
    match &args.output {
        Some(path) => output::write_file(path, &bytes),
        None if args.format == ExportFormat::Onnx && std::io::stdout().is_terminal() => {
            Err(Failure::usage("an ONNX file is not for a terminal: give -o FILE.onnx"))
        }
        None => output::print_bytes(&bytes),
    }
}

fn export(model: &Model, version: &str, format: ExportFormat) -> Result<Vec<u8>> {
    let offset = model.encoder.options().offset.is_some();
    let options = ExportOptions { version, classes: &[], offset };
    let models = std::slice::from_ref(model);
    Ok(match format {
        ExportFormat::Json => json_bytes(&json_export(models, &options)?)?,
        ExportFormat::Onnx => onnx(models, &options)?,
    })
}

fn json_bytes(value: &serde_json::Value) -> Result<Vec<u8>> {
    Ok(output::json_line(value)?.into_bytes())
}
