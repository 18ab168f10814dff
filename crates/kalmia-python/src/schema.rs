//! What the columns of a stored model mean: the command's encoder, made from names or read from a
//! file.

use crate::error::input;
use kalmia_data::{
    Block, Coding, Encoder, EncoderOptions, Format, Input, Meaning, Mode, Reader, SourceOptions,
};
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
///     The labels coded 0 and 1; None where the target is a number or a truth value.
/// intercept : bool
///     Whether a constant comes first.
/// boolean : bool
///     Whether the target is a truth value.
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

/// What was read of a CSV text: the rows that were not left out.
struct Read {
    encoder: Encoder,
    x: Vec<f64>,
    /// The place of each row in the text.
    rows: Vec<u64>,
    offset: Option<Vec<f64>>,
}

/// Reads all rows of CSV.
fn read(bytes: Vec<u8>, mut encoder: Encoder, mode: Mode) -> kalmia_data::Result<Read> {
    let options =
        SourceOptions { format: Some(Format::Csv), threaded: false, ..SourceOptions::default() };
    let has_offset = encoder.options().offset.is_some();
    let inputs = vec![Input::memory("table.csv", bytes)];
    let mut reader = Reader::open(inputs, options, &mut encoder, mode)?;
    let (mut block, mut x, mut rows, mut offset) =
        (Block::new(), Vec::new(), Vec::new(), has_offset.then(Vec::new));
    while reader.next_block(&mut encoder, &mut block)? {
        x.extend_from_slice(&block.x);
        rows.extend((0..block.rows()).map(|i| block.input_row(i)));
        if let (Some(all), Some(part)) = (&mut offset, &block.offset) {
            all.extend_from_slice(part);
        }
    }
    Ok(Read { encoder, x, rows, offset })
}

/// Features, the rows that they belong to, and offsets.
type Encoded<'py> =
    (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<u64>>, Option<Bound<'py, PyArray1<f64>>>);

#[pymethods]
impl Schema {
    #[new]
    #[pyo3(signature = (names, target, labels=None, intercept=true, boolean=false))]
    fn new(
        names: Vec<String>,
        target: &str,
        labels: Option<(String, String)>,
        intercept: bool,
        boolean: bool,
    ) -> PyResult<Self> {
        let positive = labels.as_ref().map(|labels| labels.1.clone());
        let options = EncoderOptions { intercept, positive, ..EncoderOptions::target(target) };
        // the encoder learns what it must know from two rows of its own
        let header: Vec<String> =
            names.iter().map(|name| quoted(name)).chain([quoted(target)]).collect();
        let mut table = header.join(",") + "\n";
        let values = match labels {
            Some((negative, positive)) => [quoted(&negative), quoted(&positive)],
            None if boolean => ["false".into(), "true".into()],
            None => ["0".into(), "1".into()],
        };
        for value in values {
            let row: Vec<String> = names.iter().map(|_| "0.5".into()).chain([value]).collect();
            table += &(row.join(",") + "\n");
        }
        let refuse =
            |error: kalmia_data::Error| input(format!("the columns cannot be stored: {error}"));
        let Read { mut encoder, .. } =
            read(table.into_bytes(), Encoder::new(options), Mode::Learn).map_err(refuse)?;
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
        let named =
            self.0.features().iter().filter(|feature| feature.meaning != Meaning::Intercept);
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
            Coding::Labels { positive, negative } => {
                Some((negative.clone().unwrap_or_default(), positive.clone()))
            }
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
        self.0
            .features()
            .iter()
            .all(|feature| matches!(feature.meaning, Meaning::Intercept | Meaning::Value))
            && self.0.options().missing == kalmia_data::Missing::Error
    }

    /// The features of the rows of a CSV text with a header, without the constant; levels never
    /// learned are zeros.
    ///
    /// Returns
    /// -------
    /// X : ndarray of shape (n, features)
    ///     Without the rows that a missing value leaves out.
    /// rows : ndarray of shape (n,)
    ///     The place of each row in the text.
    /// offset : ndarray of shape (n,), or None
    ///     The column of that role, where there is one.
    fn encode<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Encoded<'py>> {
        let bytes = table.as_bytes().to_vec();
        let (dim, constant) = (self.0.dim(), usize::from(self.0.options().intercept));
        let encoded = py
            .detach(|| read(bytes, self.0.clone(), Mode::Predict))
            .map_err(|error| input(error.to_string()))?;
        let Read { x, rows, offset, .. } = encoded;
        let features: Vec<f64> =
            x.chunks_exact(dim.max(1)).flat_map(|row| row[constant..].iter().copied()).collect();
        let features = PyArray1::from_vec(py, features).reshape([rows.len(), dim - constant])?;
        Ok((
            features,
            PyArray1::from_vec(py, rows),
            offset.map(|offset| PyArray1::from_vec(py, offset)),
        ))
    }
}
