//! The inputs as columns of text, for callers that copy columns to their output.

use crate::batch::{Batch, Slot, Want};
use crate::encoder::no_column;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::options::SourceOptions;
use crate::parser::Parser;

/// What the texts of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// Anything.
    Text,
    /// Whole numbers of 64 bits.
    Integer,
    /// Numbers.
    Number,
}

/// Reads columns as text, in blocks with the boundaries of [`crate::Reader`]. Both can run side by
/// side over the same inputs: row `i` of a [`crate::Block`] is row `block.input_row(i)
/// - block.first_row` of the text block.
pub struct TextReader {
    parser: Parser,
    batch: Batch,
    names: Vec<String>,
    kinds: Vec<TextKind>,
    over: bool,
    block_rows: usize,
}

impl TextReader {
    /// Opens the first input. `columns` are those of its header unless they are named.
    pub fn open(
        inputs: Vec<Input>,
        options: SourceOptions,
        columns: Option<&[String]>,
    ) -> Result<Self> {
        let Some(file) = inputs.first().map(|input| input.name().to_owned()) else {
            return Err(Error::NoMatch { pattern: String::new() });
        };
        let block_rows = options.block_rows.max(1);
        let mut parser = Parser::new(inputs, options);
        let (header, sparse) =
            parser.header()?.map(|(names, sparse)| (names.to_vec(), sparse)).unwrap_or_default();
        if let Some(missing) =
            columns.unwrap_or_default().iter().find(|name| !header.contains(name))
        {
            return Err(no_column(&file, missing, &header));
        }
        let names = columns.map_or(header, <[String]>::to_vec);
        let kinds = parser.text_kinds(&names);
        let slots = names.iter().map(|name| Slot::new(name, Want::Text, true)).collect();
        parser.bind(slots, sparse)?;
        Ok(Self { parser, batch: Batch::default(), names, kinds, over: false, block_rows })
    }

    /// The columns, in the order of their texts.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What their texts are, if the first input's format has types, as Parquet and Arrow do.
    pub fn kinds(&self) -> &[TextKind] {
        &self.kinds
    }

    /// The next block; `None` at the end, or after an error.
    pub fn next_block(&mut self) -> Result<Option<TextBlock<'_>>> {
        if self.over {
            return Ok(None);
        }
        let outcome = self.parser.fill(&mut self.batch);
        self.over = outcome.is_err() || self.batch.rows < self.block_rows;
        outcome?;
        Ok((self.batch.rows > 0).then_some(TextBlock { batch: &self.batch }))
    }
}

/// A block of texts.
pub struct TextBlock<'a> {
    batch: &'a Batch,
}

impl TextBlock<'_> {
    /// Rows in the block.
    pub fn rows(&self) -> usize {
        self.batch.rows
    }

    /// The text of a row (within the block) and column, as in the file; empty if a typed format
    /// has a null there.
    pub fn get(&self, row: usize, column: usize) -> &[u8] {
        self.batch.columns[column].texts.get(row)
    }
}
