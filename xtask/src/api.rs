//! `docs/public-api.txt`: the public items of the library, one line each. It shows a change of the
//! API in every review.

use std::fs;
use std::path::{Path, PathBuf};

use crate::runner::Outcome::{self, Passed};
use crate::steps::entries;

const LISTING: &str = "docs/public-api.txt";
const SOURCES: &str = "crates/kalmia/src";

const HEAD: &str = "\
Public items of the crate kalmia by source file. Written by `cargo xtask api`; do not edit.
An item of a private module is reachable only if a `pub use` names it. Not listed: items marked
`#[doc(hidden)]`, fields of enum variants, and what macros and derives generate.
";

/// Rewrites the listing.
pub fn write(root: &Path) -> Result<Outcome, String> {
    let path = root.join(LISTING);
    fs::write(&path, listing(root)?)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(Passed)
}

/// Fails if the listing does not match the sources.
pub fn check(root: &Path) -> Result<Outcome, String> {
    let kept = fs::read_to_string(root.join(LISTING)).unwrap_or_default();
    if kept == listing(root)? {
        return Ok(Passed);
    }
    Err(format!(
        "the public API differs from {LISTING}; if that is intended, run `cargo xtask api` and \
         commit the file"
    ))
}

fn listing(root: &Path) -> Result<String, String> {
    let sources = root.join(SOURCES);
    let mut texts = Vec::new();
    for file in files(&sources)? {
        let text = fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let name = file.strip_prefix(&sources).unwrap_or(&file).display().to_string();
        texts.push((name, text));
    }
    let types: Vec<&str> = texts.iter().flat_map(|(_, text)| public_types(text)).collect();
    let mut listing = HEAD.to_string();
    for (name, text) in &texts {
        let items = items(text, &types);
        if !items.is_empty() {
            listing += &format!("\n{name}\n");
            items.iter().for_each(|item| listing += &format!("  {item}\n"));
        }
    }
    Ok(listing)
}

/// All Rust files below a folder, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The public items of a file. Relies on rustfmt: an item starts in the first column, and its
/// members start in the fifth. `types` are the public types, whose `impl` blocks are listed.
fn items(source: &str, types: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut lines = code(source).lines();
    let mut listed = false;
    let mut all_members_are_public = false;
    let mut hidden = false;
    while let Some(line) = lines.next() {
        let start = line.trim_start();
        if start.is_empty() || start.starts_with("//") || line.starts_with("     ") {
            continue;
        }
        if start.starts_with('#') {
            hidden |= start.contains("doc(hidden)");
            continue;
        }
        let shown = !std::mem::take(&mut hidden);
        let public = start.starts_with("pub ");
        if line.starts_with("    ") {
            let by_default = all_members_are_public && start.starts_with(char::is_alphabetic);
            if shown && listed && (public || by_default) {
                found.push(format!("  {}", declaration(start, &mut lines)));
            }
            continue;
        }
        found.pop_if(|last| last.starts_with("impl"));
        let inherent = start.starts_with("impl") && !start.contains(" for ");
        let of_public_type = || words(start).any(|word| types.contains(&word));
        listed = shown && (public || (inherent && of_public_type()));
        all_members_are_public = words(start).any(|word| ["trait", "enum"].contains(&word));
        if listed {
            found.push(declaration(start, &mut lines));
        }
    }
    found.pop_if(|last| last.starts_with("impl"));
    found
}

/// The names of the public types that a file declares.
fn public_types(source: &str) -> impl Iterator<Item = &str> {
    code(source)
        .lines()
        .filter_map(|line| line.strip_prefix("pub struct ").or(line.strip_prefix("pub enum ")))
        .filter_map(|rest| words(rest).next())
}

/// A source without its unit tests.
fn code(source: &str) -> &str {
    source.split("\n#[cfg(test)]\nmod ").next().unwrap_or(source)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The declaration that starts with `first`, in one line and without its body.
fn declaration<'t>(first: &str, rest: &mut impl Iterator<Item = &'t str>) -> String {
    let mut text = first.to_string();
    let ends: &[char] = if first.starts_with("pub use ") { &[';'] } else { &[';', ',', '{', '}'] };
    while !text.ends_with(ends) || text.matches('(').count() > text.matches(')').count() {
        let Some(line) = rest.next() else { break };
        text += if text.ends_with(['(', '{']) { "" } else { " " };
        text += line.trim();
    }
    let end =
        if first.starts_with("pub use ") { None } else { text.find(" {").or(text.find(" = ")) };
    text.truncate(end.unwrap_or(text.len()));
    text.trim_end_matches([';', ',', '{', ' ']).replace(", )", ")").replace(", }", "}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_items_and_members_are_listed_without_bodies() {
        let source = "\
pub use a::{
    One, two as Two,
};
pub const LIMIT: f64 = 1e30;
pub fn long<F: Fn(f64) -> f64>(
    first: F,
    second: &[f64],
) -> Result<(), Error> {
    body();
}
pub struct Filter<F> {
    pub family: F,
}
impl<F> Filter<F> {
    pub fn new(family: F) -> Self {}
}
impl Secret {
    pub fn unseen() {}
}
impl<F> Learner for Filter<F> {
    fn learn(&self) {}
}
#[doc(hidden)]
pub trait Fast {
    fn unseen(&self);
}
pub enum Kind {
    Pair(f64, f64),
}

#[cfg(test)]
mod tests {
    pub fn helper() {}
}
";
        let expected = "\
pub use a::{One, two as Two}
pub const LIMIT: f64
pub fn long<F: Fn(f64) -> f64>(first: F, second: &[f64]) -> Result<(), Error>
pub struct Filter<F>
  pub family: F
impl<F> Filter<F>
  pub fn new(family: F) -> Self
pub enum Kind
  Pair(f64, f64)";
        assert_eq!(items(source, &public_types(source).collect::<Vec<_>>()).join("\n"), expected);
    }
}
