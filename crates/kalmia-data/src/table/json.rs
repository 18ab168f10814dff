//! Turns a JSON document of rows, as requests have it, into JSON Lines.

use crate::error::{Error, Location, Result, RowProblem};

/// Turns a JSON array of objects, or one object, into JSON Lines, in place: line breaks between
/// values become blanks, and the commas between the elements of the array become line breaks.
/// Bodies that are JSON Lines already stay as they are. `name` stands for the body in errors.
///
/// Only the structure outside of the elements is checked here; whether an element is an object of
/// plain values is found by [`crate::Table::read`], which names its row. An empty array is
/// [`Error::NoRows`], an empty body [`Error::Empty`].
///
/// ```
/// let mut body = b"[\n  {\"x\": 1,\n   \"town\": \"a, b\"},\n  {\"x\": 2}\n]".to_vec();
/// kalmia_data::json_lines("request", &mut body)?;
/// let lines = String::from_utf8(body).unwrap();
/// let lines: Vec<_> = lines.lines().map(str::trim).collect();
/// assert_eq!(lines, [r#"{"x": 1,    "town": "a, b"}"#, r#"{"x": 2}"#]);
/// # Ok::<(), kalmia_data::Error>(())
/// ```
pub fn json_lines(name: &str, body: &mut [u8]) -> Result<()> {
    if body.starts_with(b"\xef\xbb\xbf") {
        body[..3].fill(b' ');
    }
    let Some(start) = body.iter().position(|byte| !byte.is_ascii_whitespace()) else {
        return Err(Error::Empty { file: name.into() });
    };
    match body[start] {
        b'[' => array(name, body, start),
        b'{' => {
            objects(&mut body[start..]);
            Ok(())
        }
        // no rows; the reader says what it is
        _ => Ok(()),
    }
}

/// Where a byte stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Outside,
    /// In a string.
    Text,
    /// After a backslash in a string.
    Escape,
}

impl Place {
    /// The place after a byte.
    #[inline]
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Outside, b'"') => Self::Text,
            (Self::Outside, _) | (Self::Text, b'"') => Self::Outside,
            (Self::Text, b'\\') => Self::Escape,
            (Self::Text | Self::Escape, _) => Self::Text,
        }
    }
}

/// Objects one after the other: line breaks inside of them become blanks.
fn objects(body: &mut [u8]) {
    let mut place = Place::Outside;
    let mut depth = 0_usize;
    for byte in body {
        if place == Place::Outside {
            match *byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                b'\n' | b'\r' if depth > 0 => *byte = b' ',
                _ => {}
            }
        }
        place = place.after(*byte);
    }
}

/// The elements of an array that starts at `start`.
fn array(name: &str, body: &mut [u8], start: usize) -> Result<()> {
    body[start] = b' ';
    let mut place = Place::Outside;
    // of brackets within the element
    let mut depth = 0_usize;
    let mut row = 1;
    let mut line = 1 + body[..start].iter().filter(|byte| **byte == b'\n').count() as u64;
    let mut is_blank = true;
    for at in start + 1..body.len() {
        let byte = body[at];
        let refuse = |reason: &str| {
            let location = Location { file: name.into(), row, line: Some(line) };
            Err(Error::Row { at: location, problem: RowProblem::Json { reason: reason.into() } })
        };
        if place != Place::Outside {
            if byte == b'\n' {
                return refuse("a string has a line break in it; write it as \\n");
            }
            place = place.after(byte);
            continue;
        }
        match byte {
            b'\n' | b'\r' => {
                line += u64::from(byte == b'\n');
                body[at] = b' ';
            }
            b' ' | b'\t' => {}
            b',' | b']' if depth == 0 => {
                if is_blank && byte == b']' && row == 1 {
                    return Err(Error::NoRows { file: name.into() });
                }
                if is_blank {
                    return refuse("an object is expected where the array has a comma or ends");
                }
                body[at] = b'\n';
                if byte == b']' {
                    return end(name, body, at + 1, row);
                }
                row += 1;
                is_blank = true;
            }
            b'}' if depth == 0 => return refuse("a closing brace has no opening one"),
            _ => {
                is_blank = false;
                match byte {
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                place = place.after(byte);
            }
        }
    }
    let at = Location { file: name.into(), row, line: Some(line) };
    let reason = match place {
        Place::Outside => "the array is never closed",
        Place::Text | Place::Escape => "a string is never closed",
    };
    Err(Error::Row { at, problem: RowProblem::Json { reason: reason.into() } })
}

/// Nothing may follow the array.
fn end(name: &str, body: &mut [u8], at: usize, row: u64) -> Result<()> {
    let rest = &mut body[at..];
    if !rest.trim_ascii().is_empty() {
        let at = Location { file: name.into(), row, line: None };
        let reason = "something follows the end of the array".into();
        return Err(Error::Row { at, problem: RowProblem::Json { reason } });
    }
    rest.fill(b' ');
    Ok(())
}
