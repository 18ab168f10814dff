//! Arrow IPC, read as a stream: the file format is that stream between a magic word and a footer
//! that is not needed.

use std::io::{BufReader, Read};

use arrow_ipc::reader::StreamReader;

use super::columnar::{Pending, check_types, guard, names, text_kind};
use super::{Plan, Source};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::options::SourceOptions;
use crate::text::TextKind;

const MAGIC: &[u8] = b"ARROW1\0\0";

pub(super) struct Ipc {
    file: String,
    reader: StreamReader<BufReader<Box<dyn Read + Send>>>,
    names: Vec<String>,
    plan: Plan,
    pending: Pending,
    row: u64,
}

impl Ipc {
    pub fn open(
        mut reader: Box<dyn Read + Send>,
        file: &str,
        options: &SourceOptions,
    ) -> Result<Self> {
        let word = |reader: &mut Box<dyn Read + Send>| {
            let mut word = Vec::new();
            let read = reader.by_ref().take(8).read_to_end(&mut word);
            read.map(|_| word).map_err(|source| Error::Io { file: file.into(), source })
        };
        let mut head = word(&mut reader)?;
        if head.is_empty() {
            return Err(Error::Empty { file: file.into() });
        }
        if head == MAGIC {
            // The magic word is padded with zeros to the writer's alignment.
            head = word(&mut reader)?;
            while head == [0; 8] {
                head = word(&mut reader)?;
            }
        }
        let reader: Box<dyn Read + Send> = Box::new(std::io::Cursor::new(head).chain(reader));
        let reader = guard(file, "Arrow IPC", || {
            StreamReader::try_new(BufReader::with_capacity(1 << 18, reader), None)
        })?;
        let names = names(&reader.schema(), file, options)?;
        Ok(Self {
            file: file.into(),
            reader,
            names,
            plan: Plan::default(),
            pending: Pending::default(),
            row: 0,
        })
    }

    /// Decodes until rows are pending; false at the end.
    fn advance(&mut self) -> Result<bool> {
        while self.pending.len() == 0 {
            match guard(&self.file, "Arrow IPC", || self.reader.next().transpose())? {
                Some(batch) => self.pending.put(batch),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl Source for Ipc {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn text_kind(&self, i: usize) -> TextKind {
        text_kind(&self.reader.schema(), i)
    }

    fn bind(&mut self, plan: &Plan) -> Result<()> {
        self.plan = plan.clone();
        check_types(&self.reader.schema(), &self.file, plan)
    }

    fn fill(&mut self, batch: &mut Batch, rows: usize) -> Result<()> {
        let end = batch.rows + rows;
        while batch.rows < end && self.advance()? {
            self.pending.take(
                &self.file,
                &self.plan.columns,
                &self.plan,
                &mut self.row,
                batch,
                end - batch.rows,
            )?;
        }
        Ok(())
    }

    fn skip(&mut self, rows: u64) -> Result<u64> {
        let mut skipped = 0;
        while skipped < rows && self.advance()? {
            skipped += self.pending.skip(rows - skipped);
        }
        self.row += skipped;
        Ok(skipped)
    }
}
