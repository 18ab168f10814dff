//! The direction of the crate: a module imports only from the modules before its own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules from the lowest to the highest, as in the table of ARCHITECTURE.md.
///
/// `predict` comes before `learner`, because a learner returns a prediction, and a prediction needs
/// a belief but no learner.
const LAYERS: [&str; 16] = [
    "math",
    "memory",
    "error",
    "rows",
    "sparse",
    "step",
    "family",
    "rule",
    "linalg",
    "covariance",
    "predict",
    "observe",
    "learner",
    "sums",
    "evaluate",
    "file",
];

/// The place of a module of `src`, or `None` for another name.
fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| *layer == module)
}

/// Every source file below `folder`, without files of tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            sources(&path, found);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The modules from the root to a file of `src`: `family/any.rs` is `family`, `any`.
fn module_path(inside: &Path) -> Vec<String> {
    let names = inside.with_extension("");
    let names = names.iter().map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name != "mod").collect()
}

/// The code of a file: comments and everything from a test module on are left out.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The leading identifier, or `*`; empty before a group.
fn word(text: &str) -> &str {
    let text = text.trim_start();
    if text.starts_with('*') {
        return "*";
    }
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("")
}

/// The first names of a path, or of each path of the group `{a, b::{c, d}}` that opens `rest`.
fn first_names(rest: &str) -> Vec<&str> {
    let Some(group) = rest.trim_start().strip_prefix('{') else { return vec![word(rest)] };
    let mut found = vec![word(group)];
    let mut depth = 0;
    for (i, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => found.push(word(&group[i + 1..])),
            _ => {}
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

/// The names that code in a module `depth` levels below the root takes from the root: by
/// `crate::name`, or by as many `super::` as there are levels.
fn names_from_root(code: &str, depth: usize) -> Vec<&str> {
    let crates = code.split("crate::").skip(1);
    let mut found: Vec<&str> = crates.flat_map(first_names).collect();
    let supers = "super::".repeat(depth);
    found.extend(code.split(supers.as_str()).skip(1).flat_map(first_names));
    found
}

/// Imports against the direction, as `file: imports module`. A name that is no module, such as
/// `crate::Filter`, hides the module that it comes from and is refused too.
fn violations(src: &Path) -> Vec<String> {
    let mut files = Vec::new();
    sources(src, &mut files);
    let mut modules = BTreeSet::new();
    let mut found = Vec::new();
    for path in files {
        let inside = path.strip_prefix(src).unwrap();
        let names = module_path(inside);
        let module = names[0].as_str();
        if module == "lib" {
            continue;
        }
        let own = layer(module).unwrap_or_else(|| panic!("{module} has no layer: add it"));
        modules.insert(own);
        let text = code(&fs::read_to_string(&path).unwrap());
        for import in names_from_root(&text, names.len()) {
            if layer(import).is_none_or(|layer| layer > own) {
                found.push(format!("{}: imports {import}", inside.display()));
            }
        }
    }
    assert_eq!(modules.len(), LAYERS.len(), "every module is scanned: {modules:?}");
    found
}

#[test]
fn every_module_imports_from_the_modules_before_its_own() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let found = violations(&src);
    assert!(found.is_empty(), "imports against the direction:\n{}", found.join("\n"));
}

#[test]
fn the_table_of_the_architecture_has_the_same_order() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let text = fs::read_to_string(page).unwrap();
    let (_, table) = text.split_once("| layer | answers | members |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').nth(1).unwrap());
    let names =
        cells.flat_map(|cell| cell.split(',').map(|name| name.trim_matches([' ', '`', '/'])));
    assert_eq!(names.collect::<Vec<_>>(), LAYERS);
}

#[test]
fn the_scan_sees_each_way_to_import() {
    let text = "use crate::file::save;\n\
                let x = crate::learner::Auto;\n\
                use crate::{rows, evaluate::{Report, Trace}, Filter};\n\
                use super::super::predict;\n\
                use super::super::{rule::Ekf, math};\n\
                use super::near;\n\
                use crate::*;\n\
                // crate::family\n\
                #[cfg(test)]\nmod tests {\n use crate::observe;\n}";
    assert_eq!(
        names_from_root(&code(text), 2),
        ["file", "learner", "rows", "evaluate", "Filter", "*", "predict", "rule", "math"]
    );
    assert_eq!(module_path(Path::new("family/bernoulli/mod.rs")), ["family", "bernoulli"]);
    assert_eq!(module_path(Path::new("rows.rs")), ["rows"]);
}
