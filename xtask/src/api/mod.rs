//! `docs/public-api.txt`: the public items of the library, kept in the repository so that a change
//! of them is seen in review.

mod scan;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::runner::Outcome::{self, Passed};
use scan::Item;

const LISTING: &str = "docs/public-api.txt";
const SOURCES: &str = "crates/kalmia/src";

const HEAD: &str = "\
Public items of the crate kalmia, by module. Written by `cargo xtask api`; do not edit.
Items of a private module are listed if a `pub use` names them. Not seen: what macros and derives
make.
";

/// Rewrites the listing.
pub fn write(root: &Path) -> Result<Outcome, String> {
    let path = root.join(LISTING);
    fs::write(&path, listing(root)?)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(Passed)
}

/// Fails if the listing is not that of the sources.
pub fn check(root: &Path) -> Result<Outcome, String> {
    let now = listing(root)?;
    let kept = fs::read_to_string(root.join(LISTING)).unwrap_or_default();
    if kept == now {
        return Ok(Passed);
    }
    let differences = difference(&kept, &now);
    Err(format!(
        "the public API differs from {LISTING}; if that is intended, run `cargo xtask api` and \
         commit the file\n{differences}"
    ))
}

/// Lines of one text that the other has not, each after `-` (gone) or `+` (new).
fn difference(before: &str, after: &str) -> String {
    let old: BTreeSet<&str> = before.lines().collect();
    let new: BTreeSet<&str> = after.lines().collect();
    let gone = old.difference(&new).map(|line| format!("- {line}"));
    let come = new.difference(&old).map(|line| format!("+ {line}"));
    gone.chain(come).collect::<Vec<_>>().join("\n")
}

/// A source file.
struct Module {
    /// `learner::auto`, or empty for the root.
    path: String,
    items: Vec<Item>,
}

fn listing(root: &Path) -> Result<String, String> {
    let sources = root.join(SOURCES);
    let mut modules = Vec::new();
    for file in files(&sources)? {
        let text = fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let inside = file.strip_prefix(&sources).unwrap_or(&file);
        modules.push(Module { path: module_path(inside), items: scan::items(&text) });
    }
    modules.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(render(&modules))
}

fn render(modules: &[Module]) -> String {
    let names: BTreeSet<&str> =
        modules.iter().flat_map(|module| &module.items).flat_map(Item::reexports).collect();
    let mut text = HEAD.to_string();
    for module in modules {
        let public = is_public(modules, &module.path);
        let shown: BTreeSet<&str> = module
            .items
            .iter()
            .filter(|item| public || names.contains(item.owner.as_str()))
            .filter(|item| public || !item.is_reexport())
            .map(|item| item.line.as_str())
            .collect();
        if shown.is_empty() {
            continue;
        }
        let mark = if public { "" } else { " (private module)" };
        let path = if module.path.is_empty() { "" } else { "::" };
        text += &format!("\nkalmia{path}{}{mark}\n", module.path);
        shown.iter().for_each(|line| text += &format!("  {line}\n"));
    }
    text
}

/// Whether every module on the way from the root is declared `pub mod`.
fn is_public(modules: &[Module], path: &str) -> bool {
    if path.is_empty() {
        return true;
    }
    let (parent, name) = path.rsplit_once("::").unwrap_or(("", path));
    let declared = format!("pub mod {name}");
    let holder = modules.iter().find(|module| module.path == parent);
    holder.is_some_and(|module| module.items.iter().any(|item| item.line == declared))
        && is_public(modules, parent)
}

/// `learner/auto/mod.rs` is `learner::auto`, `lib.rs` the root.
fn module_path(file: &Path) -> String {
    let stem = file.with_extension("");
    let parts: Vec<String> = stem.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    match parts.as_slice() {
        [root] if root == "lib" => String::new(),
        [folder @ .., last] if last == "mod" => folder.join("::"),
        parts => parts.join("::"),
    }
}

/// All Rust files below a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in crate::steps::entries(folder)? {
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str, text: &str) -> Module {
        Module { path: path.into(), items: scan::items(text) }
    }

    #[test]
    fn private_modules_show_only_what_is_exported_by_name() {
        let modules = [
            module("", "pub mod open;\nmod hidden;\npub use hidden::{Shown, other as Renamed};\n"),
            module("hidden", "pub struct Shown;\npub fn unseen() {}\npub fn other() {}\n"),
            module("open", "pub fn seen(x: f64) -> f64 {\n    x\n}\n"),
            module("open::inner", "pub fn unreachable() {}\n"),
        ];
        let text = render(&modules);
        let body: Vec<&str> = text.strip_prefix(HEAD).unwrap().lines().collect();
        assert_eq!(
            body,
            [
                "",
                "kalmia",
                "  pub mod open",
                "  pub use hidden::{Shown, other as Renamed}",
                "",
                "kalmia::hidden (private module)",
                "  pub fn other()",
                "  pub struct Shown",
                "",
                "kalmia::open",
                "  pub fn seen(x: f64) -> f64",
            ]
        );
    }

    #[test]
    fn files_name_their_modules() {
        for (file, path) in
            [("lib.rs", ""), ("rows.rs", "rows"), ("a/mod.rs", "a"), ("a/b.rs", "a::b")]
        {
            assert_eq!(module_path(Path::new(file)), path);
        }
    }

    #[test]
    fn a_difference_names_what_went_and_what_came() {
        assert_eq!(difference("a\nb\n", "a\nc\n"), "- b\n+ c");
    }
}
