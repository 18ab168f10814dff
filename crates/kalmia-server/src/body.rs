//! Bodies that hold rows: their format, their limits, and the way to a table.

use crate::config::Limits;
use crate::error::{ApiError, Code, Result};
use axum::http::{HeaderMap, header};
use kalmia_data::{Format, Input, Mode, SourceOptions, Table, TableSchema, json_lines};
use std::sync::Arc;

/// What the rows of a request are called in errors.
const REQUEST: &str = "request";

/// The content types that are read.
pub const CONTENT_TYPES: &str = "application/json, application/x-ndjson, text/csv and \
                                 application/vnd.apache.arrow.stream";

/// Bodies below this size are decoded where they arrive; larger ones would keep others waiting.
pub const SMALL_BODY: usize = 32 << 10;

/// A body with its format.
#[derive(Debug, Clone)]
pub struct Body {
    bytes: Arc<[u8]>,
    format: Format,
    max_rows: usize,
    max_columns: usize,
}

/// How the rows of a body are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFormat {
    /// An array of objects, or one object.
    Json,
    /// A format that files have too.
    File(Format),
}

impl BodyFormat {
    /// By the content type. Without one, or with that of a form, which `curl -d` sends, it is JSON.
    pub fn of(headers: &HeaderMap) -> Result<Self> {
        let given = headers.get(header::CONTENT_TYPE).map_or("", |v| v.to_str().unwrap_or("?"));
        let name = given.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        Ok(match name.as_str() {
            "" | "application/json" | "text/json" | "application/x-www-form-urlencoded" => {
                Self::Json
            }
            "application/x-ndjson"
            | "application/jsonl"
            | "application/json-lines"
            | "application/ndjson" => Self::File(Format::Jsonl),
            "text/csv" | "application/csv" => Self::File(Format::Csv),
            "text/tab-separated-values" => Self::File(Format::Tsv),
            "text/x-libsvm" => Self::File(Format::Libsvm),
            "application/vnd.apache.arrow.stream" | "application/vnd.apache.arrow.file" => {
                Self::File(Format::Arrow)
            }
            _ => {
                let message = format!("the content type `{given}` is not read");
                return Err(ApiError::new(Code::UnsupportedType, message)
                    .hint(format!("send one of {CONTENT_TYPES}")));
            }
        })
    }
}

impl Body {
    /// A body of rows.
    pub fn new(bytes: Vec<u8>, format: BodyFormat, limits: &Limits) -> Result<Self> {
        let (bytes, format) = match format {
            BodyFormat::File(format) => (bytes, format),
            BodyFormat::Json => {
                let mut lines = bytes;
                json_lines(REQUEST, &mut lines)?;
                (lines, Format::Jsonl)
            }
        };
        let max_columns = limits.columns;
        Ok(Self { bytes: bytes.into(), format, max_rows: limits.rows, max_columns })
    }

    /// As the readers take it.
    pub fn input(&self) -> Input {
        Input::memory(REQUEST, self.bytes.clone())
    }

    /// How it is read. Nothing is read ahead: a request is small.
    pub fn options(&self) -> SourceOptions {
        SourceOptions {
            format: Some(self.format),
            block_rows: self.max_rows,
            max_columns: self.max_columns,
            threaded: false,
            ..SourceOptions::default()
        }
    }

    /// The rows.
    pub fn table(&self, schema: &TableSchema, mode: Mode) -> Result<Table> {
        let table = Table::read(self.input(), &self.options(), schema, mode, self.max_rows)?;
        if table.rows() == 0 {
            return Err(ApiError::new(Code::BadRequest, "the request has no rows"));
        }
        Ok(table)
    }
}
