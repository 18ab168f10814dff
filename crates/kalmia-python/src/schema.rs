//! What the columns of a stored model mean: the command's encoder, made from names or read from a file.

use crate::error::input;
use kalmia_data::{Block, Coding, Encoder, EncoderOptions, Format, Input, Meaning, Mode, Reader, SourceOptions};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

/// The columns of a model and the coding of its target.
///
/// Parameters
/// ----------
/// names : list of str
///     Feature columns, all numbers.
/// target : str
///     Name of the target.
/// labels : tuple of str, optional
///     The labels coded 0 and 1; None where the target is a number.
/// intercept : bool
///     Whether a constant comes first.
///
/// Examples
/// --------
/// >>> from kalmia._kalmia import Schema
/// >>> schema = Schema(["age", "dose"], "cured", ("no", "yes"))
/// >>> schema.columns, schema.labels, schema.is_numeric
/// (['age', 'dose'], ('no', 'yes'), True)
#[pyclass(frozen, module = "kalmia")]
pub struct Schema(pub Encoder);

/// A field of CSV.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Reads all rows of CSV.
fn read(bytes: Vec<u8>, encoder: Encoder, mode: Mode) -> kalmia_data::Result<(Encoder, Vec<f64>, usize)> {
    let options = SourceOptions { format: Some(Format::Csv), threaded: false, ..SourceOptions::default() };
    let mut reader = Reader::open(vec![Input::memory("table.csv", bytes)], options, encoder, mode)?;
    let (mut block, mut x, mut dim) = (Block::new(), Vec::new(), 0);
    while reader.next_block(&mut block)? {
        dim = block.dim;
        x.extend_from_slice(&block.x);
    }
    Ok((reader.into_encoder(), x, dim))
}

#[pymethods]
impl Schema {
    #[new]
    #[pyo3(signature = (names, target, labels=None, intercept=true))]
    fn new(names: Vec<String>, target: &str, labels: Option<(String, String)>, intercept: bool) -> PyResult<Self> {
        let positive = labels.as_ref().map(|labels| labels.1.clone());
        let options = EncoderOptions { intercept, positive, ..EncoderOptions::target(target) };
        // the encoder learns what it must know from two rows of its own
        let header: Vec<String> = names.iter().map(|name| quoted(name)).chain([quoted(target)]).collect();
        let mut table = header.join(",") + "\n";
        for i in 0..2 {
            let label =
                labels.as_ref().map_or(i.to_string(), |(negative, positive)| quoted(if i == 0 { negative } else { positive }));
            let row: Vec<String> = names.iter().map(|_| "0.5".into()).chain([label]).collect();
            table += &(row.join(",") + "\n");
        }
        let refuse = |error: kalmia_data::Error| input(format!("the columns cannot be stored: {error}"));
        let (mut encoder, ..) = read(table.into_bytes(), Encoder::new(options), Mode::Learn).map_err(refuse)?;
        encoder.reset_counts();
        Ok(Self(encoder))
    }

    /// The feature columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.columns().iter().map(|column| column.name.clone()).collect()
    }

    /// The coefficients' names, without the constant.
    #[getter]
    fn features(&self) -> Vec<String> {
        let named = self.0.features().iter().filter(|feature| feature.meaning != Meaning::Intercept);
        named.map(|feature| feature.name.clone()).collect()
    }

    /// The target's name.
    #[getter]
    fn target(&self) -> Option<String> {
        self.0.target().map(|target| target.name.clone())
    }

    /// The labels coded 0 and 1; None where the target is a number or a truth value.
    #[getter]
    fn labels(&self) -> Option<(String, String)> {
        match self.0.target()?.coding.as_ref()? {
            Coding::Labels { positive, negative } => Some((negative.clone().unwrap_or_default(), positive.clone())),
            Coding::Number | Coding::Boolean => None,
        }
    }

    /// The offset's column, where there is one.
    #[getter]
    fn offset(&self) -> Option<String> {
        self.0.options().offset.clone()
    }

    /// Whether each column is one number, so that rows need no encoding.
    #[getter]
    fn is_numeric(&self) -> bool {
        self.0.features().iter().all(|feature| matches!(feature.meaning, Meaning::Intercept | Meaning::Value))
            && self.0.options().missing == kalmia_data::Missing::Error
    }

    /// The features of the rows of a CSV text with a header, without the constant; levels never learned are zeros.
    fn encode<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let bytes = table.as_bytes().to_vec();
        let constant = usize::from(self.0.options().intercept);
        let width = self.0.dim() - constant;
        let encoded = py.detach(|| read(bytes, self.0.clone(), Mode::Predict)).map_err(|error| input(error.to_string()))?;
        let (_, x, dim) = encoded;
        let kept: Vec<f64> = x.chunks_exact(dim.max(1)).flat_map(|row| row[constant..].iter().copied()).collect();
        let rows = x.len() / dim.max(1);
        PyArray1::from_vec(py, kept).reshape([rows, width])
    }
}
