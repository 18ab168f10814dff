//! The step `style`: no tracked Rust or Python line is wider than 100 columns.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::runner::Outcome::{self, Passed, Skipped};

/// Columns of a line, as in `rustfmt.toml`, which does not apply to comments and strings.
const MAX_COLUMNS: usize = 100;

/// A file that says this in its first five lines is generated, and not checked.
const GENERATED: &str = "@generated";

/// Fails with the place of every wide line. Runs on what git tracks, so build output is not seen.
pub fn style(root: &Path) -> Result<Outcome, String> {
    let git =
        Command::new("git").current_dir(root).args(["ls-files", "-z", "*.rs", "*.py"]).output();
    let Ok(listed) = git else {
        return Ok(Skipped("git is not installed"));
    };
    if !listed.status.success() {
        return Ok(Skipped("not a git checkout"));
    }
    let names = String::from_utf8_lossy(&listed.stdout);
    let mut wide = Vec::new();
    for name in names.split('\0').filter(|name| root.join(name).is_file()) {
        let text = fs::read_to_string(root.join(name))
            .map_err(|error| format!("cannot read {name}: {error}"))?;
        wide.extend(wide_lines(&text).into_iter().map(|line| format!("{name}:{line}")));
    }
    if wide.is_empty() {
        return Ok(Passed);
    }
    Err(format!(
        "{} lines are wider than {MAX_COLUMNS} columns; wrap them:\n{}",
        wide.len(),
        wide.join("\n")
    ))
}

/// Numbers of the lines that are too wide, from 1. Lines with a web address cannot be wrapped.
fn wide_lines(text: &str) -> Vec<usize> {
    if text.lines().take(5).any(|line| line.contains(GENERATED)) {
        return Vec::new();
    }
    let wide = |line: &str| line.chars().count() > MAX_COLUMNS && !line.contains("://");
    text.lines().zip(1..).filter(|(line, _)| wide(line)).map(|(_, number)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_count_and_addresses_and_generated_files_do_not() {
        let full = "é".repeat(100);
        let wide = "x".repeat(101);
        assert_eq!(wide_lines(&format!("{full}\n{wide}\n\n{wide}")), [2, 4]);
        assert_eq!(wide_lines(&format!("// https://{wide}")), [0; 0]);
        assert_eq!(wide_lines(&format!("// {GENERATED}\n{wide}")), [0; 0]);
    }
}
