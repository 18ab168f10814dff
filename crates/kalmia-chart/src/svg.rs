//! A scene as SVG text.

use crate::scene::{Anchor, Color, Point, Scene, Shape};
use std::fmt::Write;

/// The document, with the description as its accessible title.
pub(crate) fn render(scene: &Scene) -> String {
    let w = number(scene.width);
    let h = number(scene.height);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" \
         width=\"{w}\" height=\"{h}\" role=\"img\" \
         font-family=\"'DejaVu Sans', Verdana, sans-serif\" fill=\"{}\">\n<title>{}</title>\n\
         <rect width=\"{w}\" height=\"{h}\" fill=\"#fff\"/>\n",
        hex(Color::INK),
        escape(&scene.description)
    );
    for shape in &scene.shapes {
        write_shape(&mut out, shape);
    }
    out.push_str("</svg>\n");
    out
}

/// One element on a line of its own.
fn write_shape(out: &mut String, shape: &Shape) {
    // Writing to a string cannot fail.
    let _ = match shape {
        Shape::Line { points, color, width, dash } => {
            let dash = if dash.is_empty() {
                String::new()
            } else {
                format!(" stroke-dasharray=\"{}\"", list(dash))
            };
            writeln!(
                out,
                "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" \
                 stroke-linejoin=\"round\"{dash}/>",
                path(points),
                hex(*color),
                number(*width)
            )
        }
        Shape::Area { points, color, opacity } => {
            writeln!(
                out,
                "<path d=\"{}Z\" fill=\"{}\" fill-opacity=\"{}\"/>",
                path(points),
                hex(*color),
                number(*opacity)
            )
        }
        Shape::Text { at, size, anchor, vertical, text } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let x = number(at.x);
            let y = number(at.y);
            let rotation = if *vertical {
                format!(" transform=\"rotate(-90 {x} {y})\"")
            } else {
                String::new()
            };
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" \
                 text-anchor=\"{anchor}\"{rotation}>{}</text>",
                number(*size),
                escape(text)
            )
        }
    };
}

fn path(points: &[Point]) -> String {
    let mut out = String::new();
    for (i, point) in points.iter().enumerate() {
        let command = if i == 0 { "M" } else { "L" };
        let _ = write!(out, "{command}{} {}", number(point.x), number(point.y));
    }
    out
}

fn list(values: &[f64]) -> String {
    values.iter().map(|v| number(*v)).collect::<Vec<_>>().join(" ")
}

/// At most two decimals: a screen shows no more, and files stay small.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn hex(Color(r, g, b): Color) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Text with the characters escaped that XML and HTML reserve. Control characters, which XML
/// forbids, and marks that reverse the order of letters become `U+FFFD`.
///
/// ```
/// assert_eq!(kalmia_chart::escape("a < b"), "a &lt; b");
/// assert_eq!(kalmia_chart::escape("red\u{1b}[31m"), "red\u{fffd}[31m");
/// ```
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_text_is_escaped() {
        assert_eq!(
            [number(3.0), number(0.5), number(-1.25), number(1.0 / 3.0)],
            ["3", "0.5", "-1.25", "0.33"]
        );
        let mut scene = Scene { width: 10.0, height: 5.0, ..Scene::default() };
        scene.text(Point::new(1.0, 2.0), 8.0, Anchor::End, "a < b & c");
        assert!(render(&scene).contains(">a &lt; b &amp; c</text>"));
    }
}
