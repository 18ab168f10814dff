//! Which rows several classes take.

use crate::error::{Error, Result};
use crate::rows::Rows;

/// Checks every number of every row of `dim` features, whose targets are indices below `classes`.
/// Returns whether none is so large that a recursion can overflow. `remedy` says what to do about
/// another class.
pub(crate) fn check_class_rows(
    rows: &Rows<'_>,
    dim: usize,
    classes: usize,
    remedy: &str,
) -> Result<bool> {
    let moderate = rows.check_features(dim)?;
    check_classes(rows, classes, remedy)?;
    Ok(moderate)
}

/// Refuses targets that are no index of a class below `classes`, illegal weights, and offsets.
pub(in crate::learner) fn check_classes(
    rows: &Rows<'_>,
    classes: usize,
    remedy: &str,
) -> Result<()> {
    let is_class = |y: f64| y >= 0.0 && y < classes as f64 && y.fract() == 0.0;
    if let Some(row) = rows.targets().iter().position(|&y| !is_class(y)) {
        let last = classes - 1;
        return Err(Error::Target {
            row,
            value: rows.targets()[row],
            family: "categorical".into(),
            expected: format!("a class from 0 to {last}; {remedy}"),
        });
    }
    rows.check_extras()?;
    let offsets = rows.offsets().unwrap_or(&[]);
    if let Some(row) = offsets.iter().position(|&offset| offset != 0.0) {
        let expected = "0: an offset that all classes share changes nothing";
        return Err(Error::RowExtra { row, name: "offset", value: offsets[row], expected });
    }
    Ok(())
}

/// What to do about a class that a learner does not have.
pub(in crate::learner) const GROW_CLASS: &str = "add a new class with grow_class";
