//! A window over a stream of text that always ends at the end of a line.

use std::io::{ErrorKind, Read};

use memchr::{memchr, memrchr};

use crate::error::{Error, FormatProblem, Location, Result, RowProblem};

/// The bytes read and not yet used.
pub(crate) struct Chunks {
    reader: Box<dyn Read + Send>,
    file: String,
    buf: Vec<u8>,
    /// Bytes of the stream before the buffer.
    gone: u64,
    /// First unused byte.
    pos: usize,
    /// End of the last complete line: `buf[pos..safe]` is whole lines, each with its newline.
    safe: usize,
    /// End of the bytes read.
    end: usize,
    eof: bool,
    chunk: usize,
    max_line: usize,
    /// Bytes used up since [`Chunks::begin_block`].
    used: usize,
    /// Whether lines end with a carriage return alone; they are then read as newlines.
    carriage_returns: bool,
    /// Whether the last line has got the newline that it lacked.
    completed: bool,
}

/// Bytes without any newline after which lines are taken to end with carriage returns.
const MAX_HEADER_BYTES: usize = 1 << 16;

/// Bytes of text that the rows of one block may hold; without it a hostile file fills the memory.
const MAX_BLOCK_BYTES: usize = 1 << 30;

impl Chunks {
    /// Starts reading; skips a byte-order mark, refuses UTF-16.
    pub fn new(
        reader: Box<dyn Read + Send>,
        file: &str,
        chunk: usize,
        max_line: usize,
    ) -> Result<Self> {
        let mut new = Self::continued(reader, file, chunk, max_line);
        let header = MAX_HEADER_BYTES.min(max_line);
        while (new.end < 3 || (new.safe == 0 && new.end < header)) && !new.eof {
            new.read()?;
        }
        new.recognize_line_ends();
        match &new.buf[..new.end] {
            [] => Err(Error::Empty { file: file.into() }),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                Err(Error::Format { file: file.into(), problem: FormatProblem::Utf16 })
            }
            [0xef, 0xbb, 0xbf, ..] => {
                new.pos = 3;
                new.safe = new.safe.max(3);
                Ok(new)
            }
            _ => Ok(new),
        }
    }

    /// Starts reading after the first line of a file, where no byte-order mark can be and lines end
    /// with a newline.
    pub fn continued(
        reader: Box<dyn Read + Send>,
        file: &str,
        chunk: usize,
        max_line: usize,
    ) -> Self {
        Self {
            reader,
            file: file.into(),
            buf: Vec::new(),
            gone: 0,
            pos: 0,
            safe: 0,
            end: 0,
            eof: false,
            chunk: chunk.max(1),
            max_line,
            used: 0,
            carriage_returns: false,
            completed: false,
        }
    }

    /// Whether lines end with a carriage return alone.
    pub fn has_carriage_returns(&self) -> bool {
        self.carriage_returns
    }

    /// Bytes of the stream that are used up.
    pub fn offset(&self) -> u64 {
        self.gone + self.pos as u64
    }

    /// The file's name.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The unused whole lines.
    #[inline]
    pub fn lines(&self) -> &[u8] {
        &self.buf[self.pos..self.safe]
    }

    /// Uses up `n` bytes of the lines.
    #[inline]
    pub fn advance(&mut self, n: usize) {
        self.pos += n;
        self.used += n;
        debug_assert!(self.pos <= self.safe);
    }

    /// Starts counting the bytes of a block.
    pub fn begin_block(&mut self) {
        self.used = 0;
    }

    /// Refuses a block whose rows hold too much text.
    #[inline]
    pub fn check_block(&self, row: u64, line: u64) -> Result<()> {
        if self.used <= MAX_BLOCK_BYTES {
            return Ok(());
        }
        let at = Location { file: self.file.clone(), row, line: Some(line) };
        Err(Error::Row { at, problem: RowProblem::BlockTooLarge { limit: MAX_BLOCK_BYTES } })
    }

    /// Makes the window longer by at least a line; false at the end of the stream. `row`, `line`
    /// and `may_be_quote` are for the error.
    #[cold]
    pub fn more(&mut self, row: u64, line: u64, may_be_quote: bool) -> Result<bool> {
        let before = self.safe - self.pos;
        // Twice what is there: parsing a record again after each call then costs linear time.
        let wanted = 2 * (self.end - self.pos);
        while !self.eof {
            self.buf.copy_within(self.pos..self.end, 0);
            self.end -= self.pos;
            self.safe -= self.pos;
            self.gone += self.pos as u64;
            self.pos = 0;
            if self.end > self.max_line {
                let at = Location { file: self.file.clone(), row, line: Some(line) };
                return Err(Error::LineTooLong { at, limit: self.max_line, may_be_quote });
            }
            self.read()?;
            if self.safe > before && self.end >= wanted {
                return Ok(true);
            }
        }
        Ok(self.safe - self.pos > before)
    }

    /// If the first bytes have carriage returns and no newline, these end the lines.
    fn recognize_line_ends(&mut self) {
        let text = &self.buf[..self.end - usize::from(self.completed)];
        self.carriage_returns = memchr(b'\n', text).is_none() && memchr(b'\r', text).is_some();
        if self.carriage_returns {
            self.translate(0);
            self.safe = memrchr(b'\n', &self.buf[..self.end]).map_or(0, |at| at + 1);
        }
    }

    fn translate(&mut self, start: usize) {
        let bytes = self.buf[start..self.end].iter_mut();
        bytes.filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
    }

    /// Reads once, at least as much as is buffered already: a long line costs linear time.
    fn read(&mut self) -> Result<()> {
        let room = self.chunk.max(self.end);
        if self.buf.len() < self.end + room + 1 {
            self.buf.resize(self.end + room + 1, 0);
        }
        let n = loop {
            match self.reader.read(&mut self.buf[self.end..self.end + room]) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                other => {
                    break other.map_err(|source| Error::Io { file: self.file.clone(), source })?;
                }
            }
        };
        let start = self.end;
        self.end += n;
        if self.carriage_returns {
            self.translate(start);
        }
        if n == 0 {
            self.eof = true;
            // The last line gets the newline it lacks: every line has one.
            if self.end > 0 && self.buf[self.end - 1] != b'\n' {
                self.buf[self.end] = b'\n';
                self.end += 1;
                self.completed = true;
            }
        }
        if let Some(at) = memrchr(b'\n', &self.buf[start..self.end]) {
            self.safe = start + at + 1;
        }
        Ok(())
    }

    /// The rest of the stream, unused bytes first.
    pub fn into_rest(mut self) -> Box<dyn Read + Send> {
        self.buf.truncate(self.end);
        self.buf.drain(..self.pos);
        Box::new(std::io::Cursor::new(self.buf).chain(self.reader))
    }

    /// The length of the next line with its newline, or `None` at the end of the stream.
    pub fn next_line(&mut self, row: u64, line: u64) -> Result<Option<usize>> {
        if self.pos == self.safe && !self.more(row, line, false)? {
            return Ok(None);
        }
        Ok(memchr(b'\n', self.lines()).map(|at| at + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8], chunk: usize) -> Vec<Vec<u8>> {
        let mut chunks =
            Chunks::new(Box::new(std::io::Cursor::new(bytes.to_vec())), "t", chunk, 1000).unwrap();
        let mut lines = Vec::new();
        while let Some(n) = chunks.next_line(1, 1).unwrap() {
            lines.push(chunks.lines()[..n].to_vec());
            chunks.advance(n);
        }
        lines
    }

    #[test]
    fn lines_are_the_same_for_every_chunk_size() {
        let text = b"\xef\xbb\xbfone\n\ntwo two two\r\nlast";
        let expected: Vec<&[u8]> = vec![b"one\n", b"\n", b"two two two\r\n", b"last\n"];
        for chunk in 1..40 {
            assert_eq!(lines(text, chunk), expected, "chunk {chunk}");
        }
    }

    #[test]
    fn lines_may_end_with_carriage_returns() {
        for chunk in 1..40 {
            let expected: Vec<&[u8]> = vec![b"one\n", b"\n", b"two\n", b"last\n"];
            assert_eq!(lines(b"one\r\rtwo\rlast", chunk), expected, "chunk {chunk}");
            assert_eq!(lines(b"one\r\n", chunk), [b"one\r\n"], "chunk {chunk}");
        }
    }

    #[test]
    fn long_lines_empty_files_and_utf16_are_refused() {
        let open =
            |bytes: Vec<u8>| Chunks::new(Box::new(std::io::Cursor::new(bytes)), "t", 64, 1000);
        assert!(matches!(open(vec![]), Err(Error::Empty { .. })));
        assert!(matches!(open(vec![0xff, 0xfe, b'a', 0]), Err(Error::Format { .. })));
        let mut long = open(vec![b'x'; 5000]).unwrap();
        assert!(matches!(long.next_line(1, 1), Err(Error::LineTooLong { .. })));
    }
}
