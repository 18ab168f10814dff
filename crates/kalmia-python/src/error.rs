//! The library's errors as the exceptions of `kalmia.errors`, in Python's terms.

use kalmia::Error;
use kalmia_data::Remedy;
use kalmia_model::number_text;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// An exception class of `kalmia.errors`, with a message; the classes live in Python because they
/// have two parents each.
pub fn raise(class: &str, message: String) -> PyErr {
    Python::attach(|py| {
        static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
        let module = MODULE.get_or_try_init(py, || py.import("kalmia.errors").map(Bound::unbind));
        let found = module.and_then(|module| {
            module.bind(py).getattr(class)?.cast_into::<PyType>().map_err(PyErr::from)
        });
        match found {
            Ok(class) => PyErr::from_type(class, message),
            Err(_) => PyRuntimeError::new_err(message),
        }
    })
}

/// Bad input, with a message.
pub fn input(message: impl Into<String>) -> PyErr {
    raise("InputError", message.into())
}

/// An error of a model file.
pub fn file(error: impl std::fmt::Display) -> PyErr {
    raise("ModelFileError", error.to_string())
}

/// An error of the library that no row is to blame for.
pub fn plain(error: Error) -> PyErr {
    if let Error::OutOfMemory { .. } = error {
        return PyMemoryError::new_err(error.to_string());
    }
    let class = match error {
        Error::Diverged { .. } | Error::PrecisionLost { .. } => "DivergenceError",
        Error::State(_) => "StateError",
        _ => "InputError",
    };
    raise(class, text(&error))
}

/// An error of the application layer.
pub fn model(error: kalmia_model::Error) -> PyErr {
    match error {
        kalmia_model::Error::Learner(error) => plain(error),
        kalmia_model::Error::Data(error) => data(error),
        kalmia_model::Error::File(error) => file(error),
        error @ kalmia_model::Error::Memory { .. } => {
            PyMemoryError::new_err(format!("{error}: leave features out"))
        }
        other => input(other.to_string()),
    }
}

/// An error of rows that were read by the names of their columns: where it is, and what to do.
pub fn data(error: kalmia_data::Error) -> PyErr {
    let hint = match error.remedy() {
        Some(Remedy::MissingPolicy) => {
            "; drop the row, or give missing=\"skip\" or \"mean\"".into()
        }
        Some(Remedy::Categorical { column }) => {
            format!("; if the column is a category, give categorical=[{column:?}]")
        }
        Some(Remedy::Exclude { column }) => format!("; leave it out with exclude=[{column:?}]"),
        Some(Remedy::Positive { .. } | Remedy::SingleLabel { .. }) => {
            "; name the label that counts as 1 with positive=".into()
        }
        _ => String::new(),
    };
    input(format!("{error}{hint}"))
}

/// Rows of a call, to name the one at fault as its caller counts.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Rows of the call before these.
    pub first: usize,
    /// Whether a constant stands before the caller's features.
    pub intercept: bool,
    /// The caller's number of each row of the call, if they were learned in another order.
    pub order: Option<&'a [usize]>,
}

impl Rows<'_> {
    /// The exception for an error of the library in these rows.
    pub fn refuse(self, error: Error) -> PyErr {
        let first_unnamed = kalmia_data::FIRST_UNNAMED as usize;
        let error = match error {
            Error::Feature { row, column, value } if column >= first_unnamed => {
                Error::Feature { row, column: column - first_unnamed, value }
            }
            Error::Feature { row, column, value } if self.intercept => {
                Error::Feature { row, column: column.saturating_sub(1), value }
            }
            other => other,
        };
        let error = error.after_rows(self.first);
        let place = self.order.zip(error.row()).and_then(|(order, row)| order.get(row));
        plain(match place {
            Some(&place) => error.at_row(place),
            None => error,
        })
    }
}

/// The message, with short numbers.
fn text(error: &Error) -> String {
    match error {
        Error::Feature { row, column, value } => format!(
            "row {row}, feature {column} is {}: features must be finite, at most 1e120 in size",
            number_text(*value)
        ),
        Error::Target { row, value, family, expected } => format!(
            "row {row}: target {} is not legal for the {family} family, which takes {expected}",
            number_text(*value)
        ),
        Error::RowExtra { row, name, value, expected } => {
            format!("row {row}: {name} is {}, expected {expected}", number_text(*value))
        }
        other => other.to_string(),
    }
}
