//! Notes on columns that look like something else than they are read as, and on rows left out.

use crate::format::{column_word, counted, shell_word};
use crate::progress::Ui;
use kalmia_data::{Encoder, Look, Reader, Remark};

/// Prints a note for each column whose first rows look like another notation or an identifier.
pub fn report_columns(encoder: &Encoder, ui: Ui) {
    encoder.remarks().iter().for_each(|remark| ui.note(&column_note(remark)));
}

fn column_note(remark: &Remark) -> String {
    let Remark { column, look, example } = remark;
    let word = column_word(column);
    let head = |what: &str| format!("note: column `{column}` {what}, such as `{example}`,");
    let categories = "and is read as categories";
    match look {
        Look::DecimalComma => format!(
            "{} {categories}; --decimal , reads them as numbers",
            head("holds numbers with a decimal comma")
        ),
        Look::Thousands => format!(
            "{} {categories}; write them without commas, or --exclude {word}",
            head("holds numbers with thousands separators")
        ),
        Look::Percent => format!(
            "{} {categories}; write them without the sign, or --exclude {word}",
            head("holds percentages")
        ),
        Look::Currency => format!(
            "{} {categories}; write them without the sign, or --exclude {word}",
            head("holds amounts of money")
        ),
        Look::Date => format!(
            "{} {categories}; turn them into numbers, such as days, or --exclude {word}",
            head("holds dates")
        ),
        Look::Placeholder => format!(
            "note: column `{column}` holds numbers and `{example}`, {categories}; --na-values {} \
             reads that as missing",
            shell_word(example)
        ),
        Look::LeadingZeros => format!(
            "{} and is read as a number; --categorical {word} if they are codes",
            head("holds numbers with leading zeros")
        ),
        // means of nothing are 0, and the mark of a missing value is then a second intercept
        Look::Empty => format!(
            "note: column `{column}` has no value in the first rows; --exclude {word} leaves it out"
        ),
        _ => format!(
            "note: column `{column}` grows from row to row; --exclude {word} if it is an \
             identifier or an index"
        ),
    }
}

/// Prints how many rows could not be read, and why.
pub fn report_left_out(reader: &Reader, ui: Ui) {
    if let Some(late) = reader.late_member() {
        ui.note(&format!(
            "note: member `{}` first appears in {}, after the rows that decide the columns, and is \
             not used; give the first row the member too, with null if it has no value",
            late.name, late.at
        ));
    }
    let left_out = reader.left_out();
    if left_out.rows == 0 {
        return;
    }
    ui.note(&format!("note: {} left out that could not be read:", counted(left_out.rows, "row")));
    left_out.errors.iter().for_each(|error| ui.note(&format!("  {error}")));
    if left_out.rows as usize > left_out.errors.len() {
        ui.note("  ...");
    }
}
