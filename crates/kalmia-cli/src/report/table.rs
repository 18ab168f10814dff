//! Plain tables, the first column to the left and the others to the right.

use crate::visible::visible_line;

/// Cells of text in rows of equal length.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with a head.
    pub fn new<const N: usize>(head: [&str; N]) -> Self {
        Self::of_head(head.map(String::from))
    }

    /// The same with a head of any length.
    pub fn of_head(head: impl IntoIterator<Item = String>) -> Self {
        let mut table = Self::default();
        table.row(head);
        table
    }

    /// One more row. Names and levels may hold line ends, which are shown as `\n`.
    pub fn row<I: IntoIterator<Item = String>>(&mut self, cells: I) {
        self.rows.push(cells.into_iter().map(|cell| visible_line(&cell).into_owned()).collect());
    }

    /// The text, two spaces between columns.
    pub fn render(&self) -> String {
        let width = |i: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(i))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.rows.first().map_or(0, Vec::len)).map(width).collect();
        let mut out = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).enumerate();
            let line: Vec<String> = cells
                .map(
                    |(i, (cell, &width))| {
                        if i == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                    },
                )
                .collect();
            out.push_str(line.join("  ").trim_end());
            out.push('\n');
        }
        out
    }
}
