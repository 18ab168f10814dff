//! Recognizes formats by their first bytes: those that are read, and those that are not.

use crate::error::FormatProblem;
use crate::options::Format;

/// Bytes looked at.
pub(crate) const PEEKED_BYTES: u64 = 64;

/// The format that the first bytes show.
pub(crate) fn format(bytes: &[u8]) -> Option<Format> {
    match text(bytes) {
        [b'P', b'A', b'R', b'1', ..] => Some(Format::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Format::Arrow),
        [b'{', ..] => Some(Format::Jsonl),
        _ => None,
    }
}

/// Why no reader can read a file that starts with these bytes.
pub(crate) fn foreign(bytes: &[u8]) -> Option<FormatProblem> {
    match bytes {
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(FormatProblem::Bzip2),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(FormatProblem::Xz),
        [b'P', b'K', 3, 4, ..] if is_spreadsheet(bytes) => Some(FormatProblem::Spreadsheet),
        [b'P', b'K', 3, 4, ..] => Some(FormatProblem::Zip),
        // safetensors, the form of model files: a length of 8 bytes, then JSON
        [_, _, _, _, _, _, _, 0, rest @ ..] if rest.starts_with(b"{\"__metadata__\"") => {
            Some(FormatProblem::Model)
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some(FormatProblem::Utf16),
        // Without a mark: every second byte of plain letters is 0.
        [a, 0, b, 0, ..] | [0, a, 0, b, ..] if is_print(*a) && is_print(*b) => {
            Some(FormatProblem::Utf16)
        }
        _ => None,
    }
}

/// Whether a file without a telling name is a JSON array: other texts start with `[` too.
pub(crate) fn is_json_array(bytes: &[u8]) -> bool {
    let [b'[', rest @ ..] = text(bytes) else { return false };
    matches!(rest.trim_ascii_start(), [b'{' | b'[', ..])
}

/// Whether JSON starts as an array.
pub(crate) fn starts_array(bytes: &[u8]) -> bool {
    matches!(text(bytes), [b'[', ..])
}

/// Without a byte-order mark and blanks.
fn text(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start()
}

/// The first entry of an Office file has one of these names.
fn is_spreadsheet(bytes: &[u8]) -> bool {
    let name = bytes.get(30..).unwrap_or_default();
    [&b"[Content_Types].xml"[..], b"_rels/", b"xl/", b"docProps/"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Whether these are the first bytes of a text; the last character may be cut.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    let whole = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !whole.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\r' | '\n'))
}

fn is_print(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}
