//! The form of an output file, by its name or by `--output-format`.

use crate::args::OutputFormat;
use crate::error::{Failure, Result};
use std::io::{self, Write};
use std::path::Path;

/// What an error says of Parquet and Arrow.
const COLUMNAR_ENDINGS: &str = if cfg!(feature = "columnar") {
    ", .parquet or .arrow"
} else {
    " (not .parquet or .arrow: this build lacks the feature `columnar`)"
};

/// What is written, and how it is compressed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Form {
    /// The format.
    pub format: OutputFormat,
    /// The compression of text.
    pub packing: Packing,
}

/// Compression of text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Packing {
    /// As it is.
    None,
    /// `.gz`.
    Gzip,
    /// `.zst`.
    Zstd,
}

impl Form {
    /// The form that the options ask for; CSV if nothing shows another.
    pub fn new(path: Option<&Path>, given: Option<OutputFormat>) -> Result<Self> {
        let name = path.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let lower = name.to_ascii_lowercase();
        let (packing, inner) = match (lower.strip_suffix(".gz"), lower.strip_suffix(".zst")) {
            (Some(inner), _) => (Packing::Gzip, inner),
            (_, Some(inner)) => (Packing::Zstd, inner),
            _ => (Packing::None, &*lower),
        };
        let ending = inner.rsplit_once('.').map(|(_, ending)| ending);
        let shown = match ending {
            None => Some(OutputFormat::Csv),
            Some("csv") => Some(OutputFormat::Csv),
            Some("tsv") => Some(OutputFormat::Tsv),
            Some("jsonl" | "ndjson") => Some(OutputFormat::Jsonl),
            #[cfg(feature = "columnar")]
            Some("parquet" | "pq") => Some(OutputFormat::Parquet),
            #[cfg(feature = "columnar")]
            Some("arrow" | "feather" | "ipc") => Some(OutputFormat::Arrow),
            Some(_) => None,
        };
        let Some(format) = given.or(shown) else {
            return Err(Failure::usage(format!(
                "-o {name}: the ending shows no format; give .csv, .tsv or .jsonl (each also with \
                 .gz or .zst){COLUMNAR_ENDINGS}, or name one with --output-format"
            )));
        };
        if !format.is_text() && packing != Packing::None {
            return Err(Failure::usage(format!(
                "-o {name}: Parquet and Arrow files are not compressed as a whole; leave .gz and \
                 .zst out"
            )));
        }
        Ok(Self { format, packing })
    }
}

/// A compressing writer that can be ended.
pub enum Packed<'a> {
    Plain(&'a mut dyn Write),
    Gzip(Box<flate2::write::GzEncoder<&'a mut dyn Write>>),
    Zstd(Box<zstd::stream::write::Encoder<'static, &'a mut dyn Write>>),
}

impl<'a> Packed<'a> {
    /// Compresses what is written to `out`.
    pub fn new(out: &'a mut dyn Write, packing: Packing) -> io::Result<Self> {
        Ok(match packing {
            Packing::None => Self::Plain(out),
            Packing::Gzip => {
                let level = flate2::Compression::default();
                Self::Gzip(Box::new(flate2::write::GzEncoder::new(out, level)))
            }
            Packing::Zstd => Self::Zstd(Box::new(zstd::stream::write::Encoder::new(out, 0)?)),
        })
    }

    /// Writes the end of the compressed stream.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Gzip(encoder) => encoder.finish()?.flush(),
            Self::Zstd(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl Write for Packed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Gzip(out) => out.write(bytes),
            Self::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Gzip(out) => out.flush(),
            Self::Zstd(out) => out.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_shows_the_form() {
        let of = |name: &str| Form::new(Some(Path::new(name)), None).ok();
        let form = |format, packing| Some(Form { format, packing });
        assert_eq!(of("p.csv"), form(OutputFormat::Csv, Packing::None));
        assert_eq!(of("a.b/p"), form(OutputFormat::Csv, Packing::None));
        assert_eq!(of("p.TSV.gz"), form(OutputFormat::Tsv, Packing::Gzip));
        assert_eq!(of("p.ndjson.zst"), form(OutputFormat::Jsonl, Packing::Zstd));
        assert_eq!(of("p.gz"), form(OutputFormat::Csv, Packing::Gzip));
        #[cfg(feature = "columnar")]
        assert_eq!(of("p.arrow"), form(OutputFormat::Arrow, Packing::None));
        for refused in ["p.json", "p.txt", "p.xlsx", "p.parquet.gz", "p.arrow.zst"] {
            assert_eq!(of(refused), None, "{refused}");
        }
        let named = Form::new(Some(Path::new("p.txt")), Some(OutputFormat::Tsv)).ok();
        assert_eq!(named, form(OutputFormat::Tsv, Packing::None));
    }
}
