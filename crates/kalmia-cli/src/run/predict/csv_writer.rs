//! Separated text, one record after another.

use std::io::{self, Write};

/// Bytes gathered before a write to the system.
const BUFFER_BYTES: usize = 1 << 16;

/// Buffered; call [`CsvWriter::flush`] at the end, because dropping it hides a failed write.
pub struct CsvWriter<'a> {
    out: io::BufWriter<Box<dyn Write + 'a>>,
    delimiter: u8,
    /// Whether the record has a field already.
    begun: bool,
}

impl<'a> CsvWriter<'a> {
    /// Writes to `out`, with a comma or a tab between fields.
    pub fn new(out: Box<dyn Write + 'a>, delimiter: u8) -> Self {
        Self { out: io::BufWriter::with_capacity(BUFFER_BYTES, out), delimiter, begun: false }
    }

    /// Adds a field, in quotes if it holds the delimiter, a quote or a line end.
    pub fn field(&mut self, text: &[u8]) -> io::Result<()> {
        if self.begun {
            self.out.write_all(&[self.delimiter])?;
        }
        self.begun = true;
        let special = |byte: &u8| matches!(byte, b'"' | b'\n' | b'\r') || *byte == self.delimiter;
        if !text.iter().any(special) {
            return self.out.write_all(text);
        }
        self.out.write_all(b"\"")?;
        for (i, part) in text.split(|&byte| byte == b'"').enumerate() {
            if i > 0 {
                self.out.write_all(b"\"\"")?;
            }
            self.out.write_all(part)?;
        }
        self.out.write_all(b"\"")
    }

    /// Ends the record.
    pub fn end(&mut self) -> io::Result<()> {
        self.begun = false;
        self.out.write_all(b"\n")
    }

    /// Writes what is buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_those_of_the_csv_crate() {
        let records: [&[&str]; 5] = [
            &["plain", "", "1.5"],
            &["a,b", "say \"hi\"", "\""],
            &["two\nlines", "return\r", "\"\"\n"],
            &[" space ", "#", "é;\t|'"],
            &["", "", ""],
        ];
        let mut ours = Vec::new();
        let mut writer = CsvWriter::new(Box::new(&mut ours), b',');
        let mut reference = csv::Writer::from_writer(Vec::new());
        for record in records {
            record.iter().for_each(|text| writer.field(text.as_bytes()).unwrap());
            writer.end().unwrap();
            reference.write_record(record).unwrap();
        }
        writer.flush().unwrap();
        drop(writer);
        let expected = String::from_utf8(reference.into_inner().unwrap()).unwrap();
        assert_eq!(String::from_utf8(ours).unwrap(), expected);
    }
}
