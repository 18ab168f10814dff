//! The inputs one after the other as a stream of batches, parsed on the caller's thread or ahead of
//! it on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::JoinHandle;

use crate::batch::{Batch, Slot, Want};
use crate::encoder::no_column;
use crate::error::{
    Change, Error, FormatProblem, HeaderProblem, Result, RowProblem, SettingProblem,
};
use crate::input::Input;
use crate::notation::Notation;
use crate::options::SourceOptions;
use crate::reader::Position;
use crate::source::{self, Plan, Source};
use crate::text::TextKind;

/// Reads batches; it knows nothing of encoding beyond the slots it was given.
pub(crate) struct Parser {
    inputs: Vec<Input>,
    files: Arc<Vec<String>>,
    options: SourceOptions,
    slots: Vec<Slot>,
    sparse: bool,
    source: Option<Box<dyn Source>>,
    position: Position,
    done: Arc<AtomicU64>,
    /// How texts write numbers and missing values, in formats that leave decimals open.
    notation: Option<Arc<Notation>>,
    /// The same for other formats.
    point_notation: Option<Arc<Notation>>,
}

impl Parser {
    pub fn new(inputs: Vec<Input>, options: SourceOptions) -> Self {
        let files = Arc::new(inputs.iter().map(|input| input.name().to_owned()).collect());
        Self {
            inputs,
            files,
            options,
            slots: Vec::new(),
            sparse: false,
            source: None,
            position: Position::default(),
            done: Arc::default(),
            notation: None,
            point_notation: None,
        }
    }

    /// Reads numbers and missing values as the options say; `missing` are further texts for these.
    pub fn read_values(&mut self, missing: &[String]) {
        let missing = || self.options.na_values.iter().chain(missing);
        self.notation = Notation::new(missing(), self.options.decimal_comma).map(Arc::new);
        self.point_notation = Notation::new(missing(), false).map(Arc::new);
    }

    /// Rows that may still be read.
    fn rows_left(&self) -> u64 {
        self.options.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.position.rows))
    }

    pub fn position(&self) -> Position {
        self.position
    }

    pub fn done(&self) -> Arc<AtomicU64> {
        self.done.clone()
    }

    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The columns of the current input, opened if need be, and whether it is sparse; `None` after
    /// the last.
    pub fn header(&mut self) -> Result<Option<(&[String], bool)>> {
        self.open()?;
        Ok(self.source.as_ref().map(|source| (source.names(), source.is_sparse())))
    }

    /// What the texts of these columns of the current input are.
    pub fn text_kinds(&self, names: &[String]) -> Vec<TextKind> {
        // A map, because a hostile header has very many names.
        let header = self.source.as_ref().map_or(&[][..], |source| source.names());
        let places: std::collections::HashMap<&str, usize> =
            header.iter().enumerate().map(|(i, name)| (&**name, i)).collect();
        let kind = |name: &String| Some(self.source.as_ref()?.text_kind(*places.get(&**name)?));
        names.iter().map(|name| kind(name).unwrap_or(TextKind::Text)).collect()
    }

    /// Sets what is read, of this input and those to come.
    pub fn bind(&mut self, slots: Vec<Slot>, sparse: bool) -> Result<()> {
        self.slots = slots;
        self.sparse = sparse;
        self.bind_source()
    }

    fn open(&mut self) -> Result<()> {
        if self.source.is_none()
            && let Some(input) = self.inputs.get(self.position.file)
        {
            let known = (!self.slots.is_empty()).then_some(&self.slots[..]);
            self.source = Some(source::open(input, &self.options, known, &self.done)?);
            if known.is_some() {
                self.bind_source()?;
            }
        }
        Ok(())
    }

    fn bind_source(&mut self) -> Result<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        let file = &self.files[self.position.file];
        if source.is_sparse() != self.sparse {
            return Err(Error::Format { file: file.clone(), problem: FormatProblem::Mixed });
        }
        let slots = self.slots.iter().enumerate();
        let places: std::collections::HashMap<&str, usize> =
            slots.flat_map(|(i, slot)| slot.names().map(move |name| (name, i))).collect();
        let columns: Vec<Option<usize>> =
            source.names().iter().map(|name| places.get(&**name).copied()).collect();
        let mut found = vec![false; self.slots.len()];
        for (slot, name) in columns.iter().zip(source.names()) {
            let Some(slot) = *slot else { continue };
            let twice = std::mem::replace(&mut found[slot], true);
            // each object may have either of a column's two names
            if twice && !source.has_named_values() {
                let column = self.slots[slot].name.clone();
                let problem = HeaderProblem::Alias { name: name.clone(), column };
                return Err(Error::Header { file: file.clone(), problem });
            }
        }
        let mut slots = self.slots.iter().zip(found);
        if let Some((slot, _)) = slots.find(|(slot, found)| slot.required && !found) {
            return Err(no_column(file, &slot.name, source.names()));
        }
        source.bind(&Plan { columns, slots: self.slots.clone() })
    }

    fn next_input(&mut self) {
        self.source = None;
        self.position.file += 1;
        self.position.row = 0;
    }

    /// Reads the next batch, which is short only at the end of the last input.
    pub fn fill(&mut self, batch: &mut Batch) -> Result<()> {
        batch.reset(&self.slots);
        batch.origin.files = self.files.clone();
        batch.first_row = self.position.rows;
        while batch.rows < self.options.block_rows && self.rows_left() > 0 {
            self.open()?;
            let left = self.rows_left();
            let Some(source) = &mut self.source else { break };
            let start = batch.rows;
            let part = self.inputs[self.position.file].part();
            let first_row = part.map_or(0, |part| part.before.rows) + self.position.row;
            batch.origin.open(start, self.position.file, first_row);
            if start > 0 {
                let open = batch
                    .columns
                    .iter_mut()
                    .zip(&self.slots)
                    .filter(|(_, slot)| slot.want == Want::Raw);
                open.for_each(|(column, _)| column.make_text());
            }
            let decimals = source.has_decimals();
            let notation = if decimals { &self.notation } else { &self.point_notation };
            batch.set_notation(notation);
            let wanted = ((self.options.block_rows - start) as u64).min(left) as usize;
            source.fill(batch, wanted)?;
            batch.pad();
            batch.drop_missing_numbers(start);
            check_texts(&self.slots, batch, start)?;
            let read = (batch.rows - start) as u64;
            self.position.row += read;
            self.position.rows += read;
            if batch.rows - start < wanted {
                self.next_input();
            }
        }
        batch.end = self.position;
        Ok(())
    }

    /// Skips up to `rows` rows; how many there were.
    pub fn skip(&mut self, rows: u64) -> Result<u64> {
        let rows = rows.min(self.rows_left());
        let mut skipped = 0;
        while skipped < rows {
            self.open()?;
            let Some(source) = &mut self.source else { break };
            let n = source.skip(rows - skipped)?;
            skipped += n;
            self.position.row += n;
            self.position.rows += n;
            if skipped < rows {
                self.next_input();
            }
        }
        Ok(skipped)
    }

    /// Goes to a place reached earlier, without reading the inputs before it.
    pub fn seek(&mut self, to: Position) -> Result<()> {
        if to.row > to.rows {
            return Err(SettingProblem::Position { rows: to.rows, row: to.row }.into());
        }
        if to.file != self.position.file {
            self.source = None;
        }
        self.position = Position { rows: to.rows - to.row, file: to.file, row: 0 };
        let skipped = self.skip(to.row)?;
        if skipped < to.row || self.position != to {
            let file = self.files.get(to.file).cloned().unwrap_or_default();
            return Err(Error::Changed { file, change: Change::Rows { rows: to.row } });
        }
        Ok(())
    }

    /// Continues on a thread of its own, a few batches ahead.
    pub fn spawn(self) -> Ahead {
        let (full_in, full) = sync_channel(3);
        let (spare, spare_out): (Sender<Box<Batch>>, Receiver<Box<Batch>>) = channel();
        let mut parser = self;
        let body = move || {
            loop {
                let mut batch = spare_out.try_recv().unwrap_or_default();
                let outcome = parser.fill(&mut batch).map(|()| batch);
                let last =
                    outcome.as_ref().map_or(true, |batch| batch.rows < parser.options.block_rows);
                // The reader is gone when nobody receives: the thread ends.
                if full_in.send(outcome).is_err() || last {
                    break;
                }
            }
        };
        // Detached: dropping the channel ends it at its next batch, and a blocked standard input
        // never holds the caller.
        let thread = Some(std::thread::spawn(body));
        Ahead { full, spare, thread }
    }
}

/// Refuses texts that are too long to be held; `start` is the first row that was added.
pub(crate) fn check_texts(slots: &[Slot], batch: &Batch, start: usize) -> Result<()> {
    let Some(slot) = batch.columns.iter().position(|column| column.texts.overflow) else {
        return Ok(());
    };
    let problem = RowProblem::TextsTooLong { column: slots[slot].name.clone() };
    Err(Error::Row { at: batch.origin.location(start), problem })
}

/// Batches read ahead.
pub(crate) struct Ahead {
    full: Receiver<Result<Box<Batch>>>,
    spare: Sender<Box<Batch>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// The next batch; `None` after the last, which is short, or after an error. A panic of the
    /// thread is resumed here.
    pub fn next(&mut self) -> Option<Result<Box<Batch>>> {
        let next = self.full.recv().ok();
        if next.is_none()
            && let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
        {
            std::panic::resume_unwind(panic);
        }
        next
    }

    /// Returns a used batch, for its buffers.
    pub fn recycle(&mut self, batch: Box<Batch>) {
        // The thread may have ended already; the batch is then dropped.
        let _ = self.spare.send(batch);
    }
}
