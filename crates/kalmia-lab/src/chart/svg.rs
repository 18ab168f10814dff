//! A scene as SVG text.

use super::scene::{Anchor, Color, Scene, Shape};
use std::fmt::Write;

/// The document, with the description as its accessible title.
pub(super) fn render(scene: &Scene) -> String {
    let (w, h) = (number(scene.width), number(scene.height));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
         font-family=\"'DejaVu Sans', Verdana, sans-serif\" fill=\"{}\">\n<title>{}</title>\n\
         <rect width=\"{w}\" height=\"{h}\" fill=\"#fff\"/>\n",
        hex(Color::INK),
        escape(&scene.description)
    );
    for shape in &scene.shapes {
        // Writing to a string cannot fail.
        let _ = match shape {
            Shape::Line { points, color, width, dash } => {
                let dash = if dash.is_empty() {
                    String::new()
                } else {
                    format!(" stroke-dasharray=\"{}\"", list(dash))
                };
                let (path, color, width) = (path(points), hex(*color), number(*width));
                writeln!(
                    out,
                    "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}/>"
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
                let (x, y, size, text) = (number(at.0), number(at.1), number(*size), escape(text));
                let turn = if *vertical {
                    format!(" transform=\"rotate(-90 {x} {y})\"")
                } else {
                    String::new()
                };
                writeln!(
                    out,
                    "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\"{turn}>{text}</text>"
                )
            }
        };
    }
    out.push_str("</svg>\n");
    out
}

fn path(points: &[(f64, f64)]) -> String {
    let mut out = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let _ = write!(out, "{}{} {}", if i == 0 { "M" } else { "L" }, number(*x), number(*y));
    }
    out
}

fn list(values: &[f64]) -> String {
    values.iter().map(|v| number(*v)).collect::<Vec<_>>().join(" ")
}

/// Two decimals at most: more than a screen can show, and small files.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn hex(Color(r, g, b): Color) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Text for XML and HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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
        scene.text((1.0, 2.0), 8.0, Anchor::End, "a < b & c");
        assert!(render(&scene).contains(">a &lt; b &amp; c</text>"));
    }
}
