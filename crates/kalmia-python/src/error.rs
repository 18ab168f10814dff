//! The library's errors as the exceptions of `kalmia.errors`.

use pyo3::exceptions::PyRuntimeError;
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

/// An error of the library, its row counted from the start of the call.
pub fn translate(error: kalmia::Error, first: usize) -> PyErr {
    let error = error.after_rows(first);
    let class = match error {
        kalmia::Error::Diverged { .. } | kalmia::Error::PrecisionLost { .. } => "DivergenceError",
        kalmia::Error::State(_) => "StateError",
        _ => "InputError",
    };
    raise(class, error.to_string())
}

/// [`translate`] where a constant may stand before the caller's features.
pub fn of_features(error: kalmia::Error, first: usize, intercept: bool) -> PyErr {
    let error = match error {
        kalmia::Error::Feature { row, column, value } if intercept => {
            kalmia::Error::Feature { row, column: column.saturating_sub(1), value }
        }
        other => other,
    };
    translate(error, first)
}

/// [`translate`] for what has no row.
pub fn plain(error: kalmia::Error) -> PyErr {
    translate(error, 0)
}

/// An error of a model file.
pub fn file(error: impl std::fmt::Display) -> PyErr {
    raise("ModelFileError", error.to_string())
}
