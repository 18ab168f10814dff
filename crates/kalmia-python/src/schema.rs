//! What the columns of a model mean: the command's encoder, made from names or read from a file.

use crate::arrow::stream;
use crate::columns::record_batch;
use crate::encode::{Encoded, encode, refuse};
use crate::error::input;
use arrow_array::RecordBatchIterator;
use kalmia_data::{
    Block, Coding, Encoder, EncoderOptions, Format, Input, Kind, Meaning, Mode, Reader,
    SourceOptions, WideRows,
};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// The columns of a model and the coding of its target.
///
/// Parameters
/// ----------
/// names : list of str
///     Feature columns.
/// target : str
///     Name of the target.
/// labels : tuple of str, optional
///     The labels coded 0 and 1; None if the target is a number or a truth value.
/// intercept : bool
///     Whether a constant comes first.
/// boolean : bool
///     Whether the target is a truth value.
/// kinds : list of str, optional
///     ``"number"``, ``"boolean"``, ``"category"`` or ``"text"`` per column; all numbers by
///     default.
/// wide : {"never", "auto", "always"}
///     Whether rows are sparse, which texts and hash bits need.
/// analyzer : str
///     How texts are cut into tokens: ``"words"``, ``"words:2"``, ``"characters:2-4"``.
/// hash_bits : int, optional
///     If given, levels of categories are hashed too.
///
/// Examples
/// --------
/// >>> from kalmia._kalmia import Schema
/// >>> schema = Schema(["age", "dose"], "cured", ("no", "yes"))
/// >>> schema.columns, schema.labels, schema.is_numeric
/// (['age', 'dose'], ('no', 'yes'), True)
#[pyclass(frozen, module = "kalmia._kalmia")]
#[derive(Clone)]
pub struct Schema(pub Encoder);

/// Features, the rows that they belong to, offsets, and unseen levels per row.
type Arrays<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyArray1<u64>>,
    Option<Bound<'py, PyArray1<f64>>>,
    Option<Bound<'py, PyArray1<u32>>>,
);

impl Schema {
    /// The rows of a table by an encoder, which learns new levels if the mode is to learn.
    fn encoded(
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        encoder: &mut Encoder,
        mode: Mode,
    ) -> PyResult<Encoded> {
        let encoded = match table.cast::<PyDict>() {
            Ok(columns) => {
                let batch = record_batch(columns)?;
                let schema = batch.schema();
                let batches = RecordBatchIterator::new([Ok(batch)], schema);
                py.detach(|| encode(batches, encoder, mode))
            }
            Err(_) => {
                let batches = stream(table)?;
                py.detach(|| encode(batches, encoder, mode))
            }
        };
        encoded.map_err(refuse)
    }
}

/// The coding of a target by its labels; without labels it is a truth value or a number.
fn coding(labels: Option<(String, String)>, boolean: bool) -> Coding {
    match labels {
        Some((negative, positive)) => Coding::Labels { positive, negative: Some(negative) },
        None if boolean => Coding::Boolean,
        None => Coding::Number,
    }
}

/// The kind of a column by its name.
fn kind(name: &str) -> PyResult<Kind> {
    match name {
        "number" => Ok(Kind::Number),
        "boolean" => Ok(Kind::Boolean),
        "category" => Ok(Kind::Category),
        "text" => Ok(Kind::Text),
        other => Err(input(format!(
            "kind {other:?} of a column: give \"number\", \"boolean\", \"category\" or \"text\""
        ))),
    }
}

/// Whether rows are sparse, by name.
fn wide_rows(name: &str) -> PyResult<WideRows> {
    match name {
        "never" => Ok(WideRows::Never),
        "auto" => Ok(WideRows::Auto),
        "always" => Ok(WideRows::Always),
        other => Err(input(format!("wide is {other:?}: give \"never\", \"auto\" or \"always\""))),
    }
}

#[pymethods]
impl Schema {
    #[new]
    #[pyo3(signature = (names, target, labels=None, intercept=true, boolean=false, kinds=None, *,
                        wide="never", analyzer="words", hash_bits=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python class")]
    fn new(
        names: Vec<String>,
        target: &str,
        labels: Option<(String, String)>,
        intercept: bool,
        boolean: bool,
        kinds: Option<Vec<String>>,
        wide: &str,
        analyzer: &str,
        hash_bits: Option<u8>,
    ) -> PyResult<Self> {
        let defaults = EncoderOptions::target(target);
        let options = EncoderOptions {
            intercept,
            wide: wide_rows(wide)?,
            analyzer: analyzer.parse().map_err(refuse)?,
            hash_bits,
            // columns that the caller lists are no accident
            max_features: defaults.max_features.max(names.len()),
            ..defaults
        };
        let kinds = match kinds {
            Some(kinds) => kinds.iter().map(|name| kind(name)).collect::<PyResult<Vec<_>>>()?,
            None => vec![Kind::Number; names.len()],
        };
        if kinds.len() != names.len() {
            return Err(input(format!("{} names, but {} kinds", names.len(), kinds.len())));
        }
        let columns: Vec<_> = names.into_iter().zip(kinds).collect();
        Encoder::from_columns(options, &columns, coding(labels, boolean))
            .map(Self)
            .map_err(|error| input(format!("the columns cannot be stored: {error}")))
    }

    /// The schema of sparse matrices: column ``j`` is the index ``j`` of the libsvm format.
    ///
    /// Parameters
    /// ----------
    /// intercept : bool
    ///     Whether a constant comes first.
    #[staticmethod]
    #[pyo3(signature = (intercept=true))]
    fn sparse(intercept: bool) -> PyResult<Self> {
        let options = EncoderOptions { intercept, wide: WideRows::Always, ..Default::default() };
        let source = SourceOptions {
            format: Some(Format::Libsvm),
            threaded: false,
            ..SourceOptions::default()
        };
        let mut encoder = Encoder::new(options);
        // the reader settles an encoder by its first row; this one has no features
        let row = Input::memory("X", &b"0\n1\n"[..]);
        Reader::open(vec![row], source, &mut encoder, Mode::Learn)
            .and_then(|mut reader| reader.next_block(&mut encoder, &mut Block::new()))
            .map_err(refuse)?;
        encoder.reset_counts();
        Ok(Self(encoder))
    }

    /// Whether rows are sparse.
    #[getter]
    fn is_wide(&self) -> bool {
        self.0.is_wide()
    }

    /// Whether rows have indices in place of columns, as in the libsvm format.
    #[getter]
    fn is_sparse(&self) -> bool {
        self.0.is_wide() && self.0.columns().is_empty() && self.0.options().hash_bits.is_none()
    }

    /// The columns that are texts.
    #[getter]
    fn texts(&self) -> Vec<String> {
        self.0.options().text.clone()
    }

    /// How texts are cut into tokens.
    #[getter]
    fn analyzer(&self) -> String {
        self.0.options().analyzer.to_string()
    }

    /// Bits of the hash, if levels are hashed.
    #[getter]
    fn hash_bits(&self) -> Option<u8> {
        self.0.options().hash_bits
    }

    /// Number of columns of numbers and truth values.
    #[getter]
    fn numbers(&self) -> usize {
        self.0.number_features() - usize::from(self.0.options().intercept)
    }

    /// The names of features by their indices in sparse rows.
    fn feature_names(&self, indices: Vec<u32>) -> Vec<String> {
        indices.into_iter().map(|index| self.0.feature_name(index)).collect()
    }

    /// The same columns with another coding of the target; see the constructor.
    #[pyo3(signature = (labels=None, boolean=false))]
    fn with_coding(&self, labels: Option<(String, String)>, boolean: bool) -> PyResult<Self> {
        let mut encoder = self.0.clone();
        encoder
            .declare_target(coding(labels, boolean))
            .map_err(|error| input(format!("the labels cannot be stored: {error}")))?;
        Ok(Self(encoder))
    }

    /// The same columns with a target of several classes, named by their codes.
    fn with_classes(&self, names: Vec<String>) -> PyResult<Self> {
        let mut encoder = self.0.clone();
        encoder
            .declare_target(Coding::Classes { names: names.into() })
            .map_err(|error| input(format!("the classes cannot be stored: {error}")))?;
        Ok(Self(encoder))
    }

    /// The same columns with a target of ordered levels, the lowest first.
    fn with_levels(&self, names: Vec<String>) -> PyResult<Self> {
        let mut encoder = self.0.clone();
        encoder
            .declare_target(Coding::Levels { names: names.into() })
            .map_err(|error| input(format!("the levels cannot be stored: {error}")))?;
        Ok(Self(encoder))
    }

    /// The names of the classes by their codes; None if the target has not several.
    #[getter]
    fn classes(&self) -> Option<Vec<String>> {
        Some(self.0.target()?.classes()?.as_slice().to_vec())
    }

    /// The columns and what was learned of them, as text.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(|error| input(error.to_string()))
    }

    /// The schema of `to_json`.
    #[classmethod]
    fn from_json(_class: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
        let found = serde_json::from_str(text);
        found.map(Self).map_err(|error| input(format!("this is no stored schema: {error}")))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().to_json()?,)))
    }

    /// The number of levels of each column that is a category, by its name.
    #[getter]
    fn levels(&self) -> Vec<(String, usize)> {
        let categories =
            self.0.columns().iter().filter(|column| column.kind == Some(Kind::Category));
        categories.map(|column| (column.name.clone(), column.levels.as_slice().len())).collect()
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

    /// The places in `features`, with those of a column side by side.
    #[getter]
    fn features_by_column(&self) -> Vec<usize> {
        let constant = usize::from(self.0.options().intercept);
        let places = self.0.features_by_column().into_iter();
        places.filter_map(|place| place.checked_sub(constant)).collect()
    }

    /// The target's name.
    #[getter]
    fn target(&self) -> Option<String> {
        self.0.target().map(|target| target.name.clone())
    }

    /// The labels coded 0 and 1; None if the target is a number or a truth value.
    #[getter]
    fn labels(&self) -> Option<(String, String)> {
        match self.0.target()?.coding.as_ref()? {
            Coding::Labels { positive, negative } => {
                Some((negative.clone().unwrap_or_default(), positive.clone()))
            }
            Coding::Number | Coding::Boolean | Coding::Classes { .. } | Coding::Levels { .. } => {
                None
            }
        }
    }

    /// The offset's column, if there is one.
    #[getter]
    fn offset(&self) -> Option<String> {
        self.0.options().offset.clone()
    }

    /// Whether each column is one number, so rows need no encoding.
    #[getter]
    fn is_numeric(&self) -> bool {
        // a category has no feature before its second level, and a text never has one
        let is_number = |kind| !matches!(kind, Some(Kind::Category | Kind::Text));
        self.0.columns().iter().all(|column| is_number(column.kind))
            && self.0.options().hash_bits.is_none()
            && self
                .0
                .features()
                .iter()
                .all(|feature| matches!(feature.meaning, Meaning::Intercept | Meaning::Value))
            && self.0.options().missing == kalmia_data::Missing::Error
    }

    /// The features of the rows of a table, without the constant. Levels that were never learned
    /// are zeros, and counted.
    ///
    /// Parameters
    /// ----------
    /// table : object or dict
    ///     Anything with ``__arrow_c_stream__``, what that returns, or a dictionary of columns:
    ///     lists of numbers, booleans or texts, with None for a missing value.
    ///
    /// Returns
    /// -------
    /// X : ndarray of shape (n, features), or WideRows
    ///     Without the rows that a missing value leaves out.
    /// rows : ndarray of shape (n,)
    ///     The place of each row in the table.
    /// offset : ndarray of shape (n,), or None
    ///     The column of offsets, if there is one.
    /// unseen : ndarray of shape (n,), or None
    ///     The number of values per row whose level was never learned; None if no row has one.
    fn encode<'py>(&self, py: Python<'py>, table: &Bound<'py, PyAny>) -> PyResult<Arrays<'py>> {
        let mut encoder = self.0.clone();
        let found = Self::encoded(py, table, &mut encoder, Mode::Predict)?;
        arrays(py, found, &encoder)
    }

    /// As `encode`, for rows to learn: levels that were never learned become features, behind
    /// those that there are. The schema that knows them comes first; this one is unchanged.
    fn learn<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
    ) -> PyResult<(Self, Arrays<'py>)> {
        let mut encoder = self.0.clone();
        let found = Self::encoded(py, table, &mut encoder, Mode::Learn)?;
        let arrays = arrays(py, found, &encoder)?;
        Ok((Self(encoder), arrays))
    }
}

/// What `encode` returns.
fn arrays<'py>(py: Python<'py>, found: Encoded, encoder: &Encoder) -> PyResult<Arrays<'py>> {
    let (features, found) = found.features(py, encoder)?;
    let Encoded { rows, offset, unseen, .. } = found;
    Ok((
        features,
        PyArray1::from_vec(py, rows),
        offset.map(|offset| PyArray1::from_vec(py, offset)),
        unseen.iter().any(|count| *count > 0).then(|| PyArray1::from_vec(py, unseen)),
    ))
}
