//! `NaN` and `Infinity` in JSON: not in the standard, but Python and others write them.

/// The names, and what stands for them: a missing value, and texts that a number column reports.
const NAMES: [(&[u8], &[u8]); 3] =
    [(b"NaN", b"null"), (b"-Infinity", b"\"-Infinity\""), (b"Infinity", b"\"Infinity\"")];

/// The line with these names replaced, `None` if it has none outside of quotes.
pub(super) fn usual(line: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(line.len() + 8);
    let mut rest = line;
    let mut quoted = false;
    let mut found = false;
    while let [byte, after @ ..] = rest {
        if !quoted && let Some((name, with)) = NAMES.iter().find(|(n, _)| rest.starts_with(n)) {
            out.extend_from_slice(with);
            rest = &rest[name.len()..];
            found = true;
            continue;
        }
        out.push(*byte);
        rest = after;
        match byte {
            b'"' => quoted = !quoted,
            b'\\' if quoted => {
                if let [escaped, after @ ..] = rest {
                    out.push(*escaped);
                    rest = after;
                }
            }
            _ => {}
        }
    }
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_outside_of_quotes_alone() {
        let text = |line: &str| usual(line.as_bytes()).map(|out| String::from_utf8(out).unwrap());
        assert_eq!(
            text(r#"{"NaN":NaN,"a":-Infinity}"#).unwrap(),
            r#"{"NaN":null,"a":"-Infinity"}"#
        );
        assert_eq!(text(r#"{"a\"NaN":1}"#), None);
        assert_eq!(text(r#"{"a":"Infinity"}"#), None);
    }
}
