//! The direction of the crate: a module imports only from the layers before its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers from the lowest to the highest. Modules of one layer may import each other.
///
/// `predict` comes before `learner`, because a learner returns a prediction, and a prediction needs
/// a belief but no learner.
const LAYERS: &[&[&str]] = &[
    &["math"],
    &["error", "rows", "step"],
    &["family"],
    &["rule"],
    &["predict"],
    &["linalg", "covariance"],
    &["observe"],
    &["learner"],
    &["evaluate"],
    &["file"],
];

/// The layer of a module of `src`, or `None` for a name that is none.
fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
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

/// The code of a file: comments and everything from a test module on are left out.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The modules named as `crate::module`, or in a group `crate::{module, ...}`.
fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let group = match rest.strip_prefix('{') {
            Some(inner) => inner.split(';').next().unwrap_or(inner),
            None => rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(rest),
        };
        let words = group.split(|c: char| !c.is_alphanumeric() && c != '_');
        found.extend(words.filter(|word| layer(word).is_some()).map(str::to_owned));
    }
    found
}

/// Imports against the direction, as `file: imports module`.
fn violations(src: &Path) -> Vec<String> {
    let mut files = Vec::new();
    sources(src, &mut files);
    assert!(files.len() > 50, "the sources are found: {}", files.len());
    let mut modules = BTreeMap::new();
    let mut found = Vec::new();
    for path in files {
        let inside = path.strip_prefix(src).unwrap();
        let first = inside.components().next().unwrap().as_os_str().to_string_lossy();
        let module = first.trim_end_matches(".rs").to_owned();
        if module == "lib" {
            continue;
        }
        let own = layer(&module).unwrap_or_else(|| panic!("{module} has no layer: add it"));
        *modules.entry(module).or_insert(0) += 1;
        for import in imports(&code(&fs::read_to_string(&path).unwrap())) {
            if layer(&import).unwrap() > own {
                found.push(format!("{}: imports {import}", inside.display()));
            }
        }
    }
    assert!(modules.len() > 10, "every module is scanned: {modules:?}");
    found
}

#[test]
fn every_module_imports_from_the_layers_before_its_own() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let found = violations(&src);
    assert!(found.is_empty(), "imports against the direction:\n{}", found.join("\n"));
}

#[test]
fn the_scan_sees_each_way_to_import() {
    let text = "use crate::file::save;\nlet x = crate::learner::Auto;\nuse crate::{rows, evaluate};\n\
                // crate::family\n#[cfg(test)]\nmod tests {\n use crate::predict;\n}";
    assert_eq!(imports(&code(text)), ["file", "learner", "rows", "evaluate"]);
}
