//! Recognizes the field separator from the first line, if there is only one candidate.

use memchr::memchr;

use super::record::QUOTE;
use crate::chunks::Chunks;
use crate::error::Result;
use crate::options::SourceOptions;

/// The separators that are recognized besides the comma.
const OTHERS: [u8; 3] = [b';', b'\t', b'|'];

/// The separator of a text that starts with these lines: that of the first line which is neither
/// blank nor a comment, however many bytes of these stand before it.
pub(super) fn of_first_line(chunks: &mut Chunks, options: &SourceOptions) -> Result<u8> {
    let skipped =
        |line: &&[u8]| line.trim_ascii().is_empty() || (line.first().copied() == options.comment);
    loop {
        let mut lines = chunks.lines().split(|&byte| byte == b'\n');
        if let Some(line) = lines.find(|line| !skipped(line)) {
            return Ok(recognized(line, options.decimal_comma));
        }
        if !chunks.more(1, 1, false)? {
            return Ok(b',');
        }
    }
}

/// One of `;`, tab and `|` if it alone occurs outside of quotes, else the comma.
fn recognized(line: &[u8], decimal_comma: bool) -> u8 {
    let mut quoted = false;
    let mut plain = Vec::with_capacity(line.len());
    for &byte in line {
        quoted ^= byte == QUOTE;
        if !quoted {
            plain.push(byte);
        }
    }
    let mut found = OTHERS.into_iter().filter(|&other| memchr(other, &plain).is_some());
    match (found.next(), found.next()) {
        // Values with a decimal comma need another separator.
        (Some(only), None) if decimal_comma || memchr(b',', &plain).is_none() => only,
        _ => b',',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_candidate_is_taken_and_several_are_not() {
        for (line, expected) in [
            ("a,b", b','),
            ("a;b;c", b';'),
            ("a\tb", b'\t'),
            ("a|b", b'|'),
            ("a", b','),
            ("a;b|c", b','),
            ("a;b,c", b','),
            ("\"a;b\"", b','),
            ("\"a,b\";c", b';'),
        ] {
            assert_eq!(recognized(line.as_bytes(), false), expected, "{line}");
        }
        assert_eq!(recognized(b"1,5;2,5", true), b';');
    }
}
