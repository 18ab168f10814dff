//! Tables through the command's encoder: rows to predict, and rows to learn, whose new levels
//! become features.

use crate::error::input;
use crate::wide::WideRows;
use arrow_array::{
    ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use kalmia::rows::MAX_FEATURE;
use kalmia_data::{
    Block, Encoder, Error, Input, Mode, Reader, SourceOptions, SparseBlock, SparseRow, Target,
    ValueProblem,
};
use kalmia_model::number_text;
use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use std::sync::Arc;

/// The rows of a table that were not left out.
#[derive(Default)]
pub struct Encoded {
    /// Rows with their number of features, which grows from block to block.
    parts: Vec<Part>,
    /// The place of each row in the table.
    pub rows: Vec<u64>,
    pub offset: Option<Vec<f64>>,
    /// Values of each row whose level was never learned.
    pub unseen: Vec<u32>,
}

/// The rows of a block.
enum Part {
    Dense { dim: usize, x: Vec<f64> },
    Sparse(SparseBlock),
}

impl Encoded {
    /// The features of all rows: a matrix without the constant, or sparse rows if the encoder is
    /// wide.
    pub fn features<'py>(
        self,
        py: Python<'py>,
        encoder: &Encoder,
    ) -> PyResult<(Bound<'py, PyAny>, Self)> {
        if !encoder.is_wide() {
            return Ok((self.matrix(py, encoder)?.into_any(), self));
        }
        let sparse = |part| match part {
            Part::Sparse(block) => Some(block),
            Part::Dense { .. } => None,
        };
        let blocks: Vec<SparseBlock> = self.parts.into_iter().filter_map(sparse).collect();
        let rows = WideRows::of_blocks(&blocks, encoder.columns().len());
        Ok((Bound::new(py, rows)?.into_any(), Self { parts: Vec::new(), ..self }))
    }

    /// The features of all rows without the constant. A row has 0 for features that came after it.
    fn matrix<'py>(
        &self,
        py: Python<'py>,
        encoder: &Encoder,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let constant = usize::from(encoder.options().intercept);
        let dim = encoder.dim() - constant;
        let matrix = PyArray2::zeros(py, [self.rows.len(), dim], false);
        // SAFETY: nobody else has the new array.
        let numbers = unsafe { matrix.as_slice_mut() }.map_err(|error| input(error.to_string()))?;
        let mut rows = numbers.chunks_exact_mut(dim.max(1));
        for part in &self.parts {
            let Part::Dense { dim, x } = part else { continue };
            for (from, to) in x.chunks_exact((*dim).max(1)).zip(&mut rows) {
                to[..dim - constant].copy_from_slice(&from[constant..]);
            }
        }
        Ok(matrix)
    }
}

/// Encodes all rows. New levels are added to the encoder if the mode is to learn; the targets,
/// which Python keeps apart, are then stood in for.
pub fn encode(
    batches: impl RecordBatchReader + Send + 'static,
    encoder: &mut Encoder,
    mode: Mode,
) -> kalmia_data::Result<Encoded> {
    let options = SourceOptions { threaded: false, ..SourceOptions::default() };
    let offset = encoder.options().offset.is_some().then(Vec::new);
    let mut all = Encoded { offset, ..Encoded::default() };
    let input = if mode == Mode::Learn {
        Input::record_batches("X", with_roles(batches, encoder))
    } else {
        Input::record_batches("X", batches)
    };
    let mut reader = Reader::open(vec![input], options, encoder, mode)?;
    let mut block = Block::new();
    while reader.next_block(encoder, &mut block)? {
        check_sizes(&block, encoder)?;
        all.parts.push(match block.sparse.take() {
            Some(sparse) => Part::Sparse(sparse),
            None => Part::Dense { dim: block.dim, x: std::mem::take(&mut block.x) },
        });
        all.rows.extend((0..block.rows()).map(|i| block.input_row(i)));
        all.unseen.extend((0..block.rows()).map(|i| block.unseen(i)));
        if let (Some(offset), Some(part)) = (&mut all.offset, &block.offset) {
            offset.extend_from_slice(part);
        }
    }
    Ok(all)
}

/// Refuses a number that a learner would refuse by the place of its feature, which tells a caller
/// nothing: places are those of levels and tokens.
fn check_sizes(block: &Block, encoder: &Encoder) -> kalmia_data::Result<()> {
    let too_large = |value: &f64| value.abs() > MAX_FEATURE;
    let refuse = |row: usize, feature: String, value: f64| Error::Value {
        at: block.location(row),
        column: feature,
        value: number_text(value),
        problem: ValueProblem::TooLarge,
    };
    match &block.sparse {
        None => match block.x.iter().position(too_large) {
            Some(place) => {
                let name = encoder.features()[place % block.dim].name.clone();
                Err(refuse(place / block.dim, name, block.x[place]))
            }
            None => Ok(()),
        },
        Some(rows) => (0..block.rows()).try_for_each(|row| {
            let SparseRow { indices, values } = rows.row(row);
            match values.iter().position(too_large) {
                Some(place) => {
                    Err(refuse(row, encoder.feature_name(indices[place]), values[place]))
                }
                None => Ok(()),
            }
        }),
    }
}

/// A label that the target may have, if not every number is one. Any other would be a new class.
fn legal_label(target: &Target) -> Option<&str> {
    let class = || target.classes()?.as_slice().first().map(String::as_str);
    target.positive().or_else(class)
}

/// The batches with a column for the target and one for the weight, of legal values that nobody
/// reads.
fn with_roles(
    batches: impl RecordBatchReader + Send + 'static,
    encoder: &Encoder,
) -> impl RecordBatchReader + Send + 'static {
    let target = encoder.target().map(|target| (target.name.clone(), legal_label(target)));
    let label = target.as_ref().and_then(|(_, label)| label.map(str::to_owned));
    let weight = encoder.options().weight.clone();
    let roles: Vec<(String, Option<String>)> = target
        .map(|(name, _)| (name, label))
        .into_iter()
        .chain(weight.map(|name| (name, None)))
        .collect();
    let given = batches.schema();
    let kept: Vec<usize> = (0..given.fields().len())
        .filter(|&i| roles.iter().all(|(name, _)| name != given.field(i).name()))
        .collect();
    let mut fields: Vec<Field> = kept.iter().map(|&i| given.field(i).clone()).collect();
    fields.extend(roles.iter().map(|(name, label)| {
        let kind = if label.is_some() { DataType::Utf8 } else { DataType::Float64 };
        Field::new(name, kind, false)
    }));
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let wide = schema.clone();
    let widened = move |batch: Result<RecordBatch, ArrowError>| {
        let batch = batch?;
        let rows = batch.num_rows();
        let mut columns: Vec<ArrayRef> = kept.iter().map(|&i| batch.column(i).clone()).collect();
        columns.extend(roles.iter().map(|(_, label)| match label {
            Some(label) => Arc::new(StringArray::from(vec![label.as_str(); rows])) as ArrayRef,
            None => Arc::new(Float64Array::from(vec![1.0; rows])),
        }));
        RecordBatch::try_new(wide.clone(), columns)
    };
    RecordBatchIterator::new(batches.map(widened), schema)
}

/// The exception for a table that cannot be encoded. Rows count from 0, as everywhere in Python.
pub fn refuse(error: Error) -> PyErr {
    input(match error {
        Error::MissingValue { at, column } => format!(
            "column `{column}` has a missing value in row {}: fill it, or drop the row",
            at.row - 1
        ),
        Error::Value { at, column, value, problem } => {
            format!("column `{column}`, row {}: `{value}` {problem}", at.row - 1)
        }
        Error::Column { column, problem, .. } => format!("column `{column}`: {problem}"),
        Error::TooManyFeatures { at, column, limit } => format!(
            "column `{column}`, row {}: more than {limit} features, one per level; leave the \
             column out, or group its levels",
            at.row - 1
        ),
        Error::NoColumn { name, .. } => format!("the table has no column {name:?}"),
        other => other.to_string(),
    })
}
