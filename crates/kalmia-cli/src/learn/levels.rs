//! Columns of text that make a feature of nearly every row, most often by mistake: an identifier, a
//! decimal comma, a percent sign.

use crate::ui::{Ui, counted, shell_word};
use kalmia_data::{Column, Encoder};

/// Levels that are many in any case.
const MANY: usize = 1000;
/// Rows below which levels of their own prove nothing.
const FEW_ROWS: u64 = 50;

/// The columns that were told, each once.
#[derive(Debug, Default)]
pub struct Levels {
    told: Vec<String>,
}

impl Levels {
    /// Those of an encoder that goes on were told when it began.
    pub fn new(encoder: &Encoder) -> Self {
        Self { told: crowded(encoder).map(|column| column.name.clone()).collect() }
    }

    /// Tells what the last block brought.
    pub fn look(&mut self, encoder: &Encoder, ui: Ui) {
        for column in crowded(encoder) {
            if !self.told.contains(&column.name) {
                let (levels, rows) = (column.levels.as_slice().len() as u64, encoder.counts().rows);
                ui.note(&format!(
                    "note: column `{}` has {} in {}, each a feature; a fit with --exclude {} leaves it out",
                    column.name,
                    counted(levels, "level"),
                    counted(rows, "row"),
                    shell_word(&column.name)
                ));
                self.told.push(column.name.clone());
            }
        }
    }
}

/// Categories of very many levels, or of nearly as many as rows.
fn crowded(encoder: &Encoder) -> impl Iterator<Item = &Column> {
    let rows = encoder.counts().rows;
    encoder.columns().iter().filter(move |column| {
        let levels = column.levels.as_slice().len();
        levels > MANY || (rows >= FEW_ROWS && 10 * levels as u64 >= 9 * rows)
    })
}
