//! Which rows ordered levels take.

use super::layout::Layout;
use crate::error::{Error, Result};
use crate::rows::Rows;

/// Checks every number of every row. Returns whether none is so large that a recursion can
/// overflow.
pub(super) fn check_rows(rows: &Rows<'_>, layout: &Layout) -> Result<bool> {
    let moderate = rows.check_features(layout.dim)?;
    let levels = layout.levels;
    let is_level = |y: f64| y >= 0.0 && y < levels as f64 && y.fract() == 0.0;
    if let Some(row) = rows.targets().iter().position(|&y| !is_level(y)) {
        let last = levels - 1;
        return Err(Error::Target {
            row,
            value: rows.targets()[row],
            family: "ordinal".into(),
            expected: format!(
                "a level from 0 to {last}; the order of a new level is not known, so start again \
                 with all levels"
            ),
        });
    }
    rows.check_extras()?;
    let offsets = rows.offsets().unwrap_or(&[]);
    if let Some(row) = offsets.iter().position(|&offset| offset != 0.0) {
        let expected = "0: ordered levels take no offset";
        return Err(Error::RowExtra { row, name: "offset", value: offsets[row], expected });
    }
    Ok(moderate)
}
