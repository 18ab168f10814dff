//! How wide a text is, near enough for margins and for cutting titles.

/// Mean advance of a character of the sans-serif fonts that draw the text, in font sizes.
const ADVANCE: f64 = 0.62;
/// The same for raised digits.
const RAISED_ADVANCE: f64 = 0.42;

/// About the width of a text.
pub fn width(text: &str, size: f64) -> f64 {
    let advance = |c: char| match c {
        '⁰'..='⁹' | '⁻' | '¹' | '²' | '³' => RAISED_ADVANCE,
        // East Asian letters are as wide as they are high
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}' => 1.0,
        _ => ADVANCE,
    };
    size * text.chars().map(advance).sum::<f64>()
}

/// The text, its end replaced by `…` if it would be wider than `room`.
pub fn shortened(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.into();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width(&kept, size) + width("…", size) > room {
            kept.pop();
            break;
        }
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_ends_in_dots_and_fits() {
        assert_eq!(shortened("loss", 12.0, 100.0), "loss");
        let cut = shortened(&"größe ".repeat(40), 14.0, 300.0);
        assert!(cut.starts_with("größe ") && cut.ends_with('…'), "{cut}");
        assert!(width(&cut, 14.0) <= 300.0 && width(&cut, 14.0) > 280.0);
        assert!(width("温度", 10.0) > width("ab", 10.0));
    }
}
