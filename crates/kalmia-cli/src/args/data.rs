//! Arguments about the files to read.

use super::names::{described, named};
use crate::error::{Failure, Result};
use clap::Args;
use clap::builder::TypedValueParser;
use kalmia_data::{BadRows, Encoder, Format, Missing};

/// Which files, and how their bytes are read.
#[derive(Debug, Clone, Args)]
pub struct SourceArgs {
    /// Files, read in this order: CSV, TSV, JSON Lines, libsvm (each also .gz or .zst), Parquet or
    /// Arrow; a quoted pattern such as 'day-*.csv' names several, `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub data: Vec<String>,
    /// The format, if neither the file name nor the first bytes show it; CSV by default
    #[arg(long, value_parser = formats(), help_heading = "Reading")]
    pub format: Option<Format>,
    /// The field separator of CSV: one character, or `tab`; by default a comma, or the one of `;`,
    /// tab and `|` that alone occurs in the first line
    #[arg(long, value_name = "CHAR", help_heading = "Reading")]
    pub delimiter: Option<String>,
    /// The first line is data, not column names; columns are named c1, c2, ...
    #[arg(long, help_heading = "Reading")]
    pub no_header: bool,
    /// Further texts that stand for a missing value, besides these: nothing at all, NA, N/A, n/a,
    /// #N/A, <NA>, NaN, nan, null, NULL and None. A model keeps those of its fit, so predict,
    /// evaluate and update need them no more
    #[arg(long, value_delimiter = ',', value_name = "A,B", help_heading = "Reading")]
    #[arg(allow_hyphen_values = true)]
    pub na_values: Vec<String>,
    /// The decimal separator of numbers in CSV and TSV, to be given with each such file
    #[arg(long, value_name = "CHAR", default_value = ".", value_parser = [".", ","])]
    #[arg(help_heading = "Reading")]
    pub decimal: String,
    /// What to do with rows that cannot be read: a wrong number of fields, a text among numbers
    #[arg(long, value_parser = bad_rows(), default_value = "refuse", help_heading = "Reading")]
    pub bad_rows: BadRows,
    /// Read the first N rows alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(help_heading = "Reading")]
    pub limit: Option<u64>,
    /// Pass over lines of CSV and TSV that start with this character
    #[arg(long, value_name = "CHAR", help_heading = "Reading")]
    pub comment: Option<String>,
    /// Pass over the first N lines of each CSV or TSV file, before its header
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Reading")]
    pub skip_lines: u64,
}

fn bad_rows() -> impl TypedValueParser<Value = BadRows> {
    named(BadRows::ALL.map(|policy| {
        let about = match policy {
            BadRows::Refuse => "Stop with an error that names file, row and line",
            BadRows::Skip => "Leave the row out; at the end a note says how many, and why",
        };
        described(policy.name(), about)
    }))
}

fn formats() -> impl TypedValueParser<Value = Format> {
    named(Format::ALL.map(|format| {
        let about = match format {
            Format::Csv => "Comma-separated",
            Format::Tsv => "Tab-separated",
            Format::Jsonl => "One JSON object per line",
            Format::Parquet => "Apache Parquet",
            Format::Arrow => "Arrow IPC, file or stream",
            Format::Libsvm => "Lines of the form: label index:value index:value ...",
        };
        described(format.name(), about)
    }))
}

/// The policies for missing values.
pub fn missing() -> impl TypedValueParser<Value = Missing> {
    named(Missing::ALL.map(|missing| {
        let about = match missing {
            Missing::Error => "Stop with an error that names file, row and column",
            Missing::Skip => "Leave the row out and count it",
            Missing::Mean => {
                "Use the mean of the rows before, and add a feature that marks such rows"
            }
        };
        described(missing.name(), about)
    }))
}

/// The policy for missing values in a run with a model, which has its own by default.
#[derive(Debug, Clone, Default, Args)]
pub struct MissingArgs {
    /// What to do with missing values in this run, by default what the fit did; `mean` needs a
    /// model that was fitted with `mean`
    #[arg(long, value_parser = missing(), help_heading = "Reading")]
    pub missing: Option<Missing>,
}

impl MissingArgs {
    /// Sets it for this run.
    pub fn apply(&self, encoder: &mut Encoder) -> Result<()> {
        let Some(missing) = self.missing else { return Ok(()) };
        encoder.set_missing(missing).map_err(|_| {
            Failure::usage(
                "--missing mean: the model was fitted without it and holds no means; use skip",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_help_lists_what_is_missing() {
        let command = crate::args::Cli::command();
        for name in ["fit", "update", "predict", "evaluate", "compare"] {
            let arguments = command.find_subcommand(name).unwrap().get_arguments();
            let values = arguments.into_iter().find(|arg| arg.get_id() == "na_values").unwrap();
            let help = values.get_help().unwrap().to_string();
            for text in kalmia_data::MISSING {
                assert!(help.contains(text), "{name}: {text}");
            }
        }
    }
}
