//! Notes on text columns with nearly one level per row, most often a mistake: an identifier, a
//! decimal comma, a percent sign.

use crate::format::{column_word, counted};
use crate::progress::Ui;
use kalmia_data::{Column, Encoder};

/// More levels than this are reported in any case.
const MANY_LEVELS: usize = 1000;
/// With fewer rows than this, a level per row proves nothing.
const MIN_ROWS: u64 = 50;

/// The columns already reported; each is reported once.
#[derive(Debug, Default)]
pub struct Levels {
    reported: Vec<String>,
}

impl Levels {
    /// For an encoder that learned before: its columns were reported then.
    pub fn new(encoder: &Encoder) -> Self {
        Self { reported: crowded(encoder).map(|column| column.name.clone()).collect() }
    }

    /// Prints a note for each column that the last block made suspicious.
    pub fn report_new(&mut self, encoder: &Encoder, ui: Ui) {
        for column in crowded(encoder) {
            if self.reported.contains(&column.name) {
                continue;
            }
            ui.note(&format!(
                "note: column `{}` has {} in {}, one feature each; a fit with --exclude {} \
                 leaves it out",
                column.name,
                counted(column.levels.as_slice().len() as u64, "level"),
                counted(encoder.counts().rows, "row"),
                column_word(&column.name)
            ));
            self.reported.push(column.name.clone());
        }
    }
}

/// Categories with very many levels, or nearly as many as rows.
fn crowded(encoder: &Encoder) -> impl Iterator<Item = &Column> {
    let rows = encoder.counts().rows;
    // a wide model is made for many levels
    let columns = if encoder.is_wide() { &[] } else { encoder.columns() };
    columns.iter().filter(move |column| {
        let levels = column.levels.as_slice().len();
        levels > MANY_LEVELS || (rows >= MIN_ROWS && 10 * levels as u64 >= 9 * rows)
    })
}
