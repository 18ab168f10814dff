//! Text as a terminal may show it: names, labels, values and messages come from files, and a
//! terminal would obey the escape sequences in them.

use std::borrow::Cow;

/// The text with every character visible that controls a terminal or turns the direction of text.
/// Line ends and tabs of the layout stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |c| acts(c) && !matches!(c, '\n' | '\t'))
}

/// The same for text that must stay on one line, such as a name.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    escaped(text, acts)
}

fn escaped(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match hidden(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out.into()
}

/// Whether a terminal acts on the character instead of showing it.
fn acts(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}');
    // line and paragraph separators, and marks that hide letters from the eye
    let hides = matches!(c, '\u{2028}' | '\u{2029}' | '\u{200b}' | '\u{feff}');
    c.is_control() || turns || hides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_bidi_marks_are_shown() {
        let hostile = "a\x1b[31m\x07\x7f\u{9b}\u{202e}b\tc\nd\r";
        let shown = "a\\u{1b}[31m\\u{7}\\u{7f}\\u{9b}\\u{202e}b\tc\nd\\r";
        assert_eq!(visible(hostile), shown);
        assert_eq!(visible_line("b\tc\nd"), "b\\tc\\nd");
        for plain in ["größe, ключ, 温度", "a 'b' \\ \"c\"", ""] {
            assert!(matches!(visible(plain), Cow::Borrowed(text) if text == plain));
        }
    }
}
