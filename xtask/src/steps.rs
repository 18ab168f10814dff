//! The steps of `cargo xtask ci`, in the order in which they run.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::api;
use crate::cluster;
use crate::crash::crash;
use crate::fuzz;
use crate::page::page;
use crate::python::python;
use crate::runner::Outcome::{self, Passed, Skipped};
use crate::runner::Step;
use crate::style::style;

/// What `ci` runs: cheap checks first.
pub const STEPS: &[Step] = &[
    Step { name: "fmt", about: "formatting (cargo fmt --check)", run: fmt },
    Step { name: "style", about: "no line wider than 100 columns", run: style },
    Step { name: "api-check", about: "docs/public-api.txt matches the sources", run: api::check },
    Step { name: "lint", about: "clippy on every target, warnings are errors", run: lint },
    Step {
        name: "test",
        about: "unit, integration and documentation tests",
        run: |root| cargo(root, &workspace("test", "")),
    },
    Step {
        name: "fuzz",
        about: "mutated inputs for a minute: no panic, no abort",
        run: fuzz::step,
    },
    Step { name: "doc", about: "documentation builds, warnings are errors", run: doc },
    Step { name: "bench", about: "every benchmark once, as a test", run: bench },
    Step { name: "examples", about: "every example runs", run: examples },
    Step {
        name: "python",
        about: "the Python package, built and tested in target/venv",
        run: python,
    },
    Step { name: "page", about: "the page of the service, in Chromium", run: page },
    Step {
        name: "cluster",
        about: "Dask, DataFusion, Kafka, NATS; Spark if there is time, or by name",
        run: cluster::bounded,
    },
];

/// Steps that do more if they are asked for by name than in `ci`.
pub const WHOLE: &[Step] = &[Step {
    name: "cluster",
    about: "Dask, DataFusion, Kafka, NATS and Spark",
    run: cluster::all,
}];

/// What runs only by its name.
pub const TOOLS: &[Step] = &[
    Step { name: "api", about: "rewrite docs/public-api.txt", run: api::write },
    Step { name: "crash", about: "200 kills of the service under 64 clients", run: crash },
];

fn fmt(root: &Path) -> Result<Outcome, String> {
    component(root, "fmt", "rustfmt")?;
    cargo(root, "fmt --all --check")
}

fn lint(root: &Path) -> Result<Outcome, String> {
    component(root, "clippy", "clippy")?;
    cargo(root, &workspace("clippy", "--all-targets -- -D warnings"))?;
    // the command as the README builds it
    cargo(root, "clippy --package kalmia-cli --no-default-features -- -D warnings")
}

fn doc(root: &Path) -> Result<Outcome, String> {
    let args = workspace("doc", "--no-deps");
    execute(cargo_command(root, &args).env("RUSTDOCFLAGS", "-D warnings"))
}

/// `--bench *` rather than `--benches`: the latter would run every library's unit tests a second
/// time.
fn bench(root: &Path) -> Result<Outcome, String> {
    if targets(root, "benches")?.is_empty() {
        return Ok(Skipped("no crate has benches"));
    }
    cargo(root, &workspace("test", "--bench *"))
}

/// Every example is declared with `harness = false`, so its test is its own `main`. Built with the
/// whole workspace, as in the step `test`: crate by crate, cargo would select other features of the
/// dependencies and compile them again.
fn examples(root: &Path) -> Result<Outcome, String> {
    let found = targets(root, "examples")?;
    for (package, example) in &found {
        let manifest = root.join("crates").join(package).join("Cargo.toml");
        let text = fs::read_to_string(&manifest)
            .map_err(|error| format!("cannot read {}: {error}", manifest.display()))?;
        if !text.contains(&format!("[[example]]\nname = \"{example}\"\nharness = false")) {
            return Err(format!(
                "example {example} of {package} would not run: \
                 declare it with `harness = false` in its Cargo.toml"
            ));
        }
    }
    if found.is_empty() {
        Ok(Skipped("no crate has examples"))
    } else {
        cargo(root, &workspace("test", "--example *"))
    }
}

/// Targets of one kind ("examples" or "benches") by Cargo's own rule of discovery: `NAME.rs`, or
/// `NAME/main.rs`, in a crate's folder under `crates/`, which carries the package's name. Sorted.
fn targets(root: &Path, kind: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for krate in entries(&root.join("crates"))? {
        let folder = krate.join(kind);
        for path in if folder.is_dir() { entries(&folder)? } else { Vec::new() } {
            let is_target =
                path.extension().is_some_and(|ext| ext == "rs") || path.join("main.rs").is_file();
            if let (true, Some(package), Some(name)) =
                (is_target, krate.file_name(), path.file_stem())
            {
                found.push((
                    package.to_string_lossy().into_owned(),
                    name.to_string_lossy().into_owned(),
                ));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The paths in a folder.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let read = || {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()
    };
    read().map_err(|error| format!("cannot list {}: {error}", folder.display()))
}

fn cargo_command(root: &Path, args: &str) -> Command {
    let mut command =
        Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(root).args(args.split(' '));
    command
}

/// Runs cargo in the workspace's folder.
pub fn cargo(root: &Path, args: &str) -> Result<Outcome, String> {
    execute(&mut cargo_command(root, args))
}

/// Arguments for the whole workspace, always with the same features: with others cargo would
/// compile much of it again. They are those of a released binary.
pub fn workspace(subcommand: &str, rest: &str) -> String {
    format!("{subcommand} --workspace --features kalmia-cli/tls {rest}").trim_end().to_owned()
}

/// Fails with the command that installs it if a part of the toolchain is missing.
fn component(root: &Path, subcommand: &str, name: &str) -> Result<(), String> {
    if quiet(&mut cargo_command(root, &format!("{subcommand} --version"))) {
        return Ok(());
    }
    Err(format!("`cargo {subcommand}` is missing; install it with: rustup component add {name}"))
}

/// Whether the command succeeds; its output is not shown.
pub fn quiet(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs with the terminal passed through, so the lines of cargo and pytest are seen as they are.
pub fn execute(command: &mut Command) -> Result<Outcome, String> {
    let args = command.get_args().map(|arg| arg.to_string_lossy());
    let program =
        Path::new(command.get_program()).file_stem().unwrap_or_default().to_string_lossy();
    let words: Vec<_> = std::iter::once(program).chain(args).collect();
    let line = words.join(" ");
    match command.status() {
        Ok(status) if status.success() => Ok(Passed),
        Ok(status) => Err(format!("`{line}` ended with {status}")),
        Err(error) => Err(format!("`{line}` could not start: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workspace in a fresh folder, removed at the end.
    struct Workspace(PathBuf);

    impl Workspace {
        fn new(name: &str, files: &[&str]) -> Self {
            let root =
                std::env::temp_dir().join(format!("kalmia-xtask-{name}-{}", std::process::id()));
            fs::create_dir_all(root.join("crates")).unwrap();
            for file in files {
                let path = root.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "fn main() {}").unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Workspace {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn discovers_what_cargo_would() {
        let files = [
            "crates/b/examples/two.rs",
            "crates/b/examples/one.rs",
            "crates/a/examples/folder/main.rs",
            "crates/a/examples/folder/helper.rs",
            "crates/a/examples/data.csv",
            "crates/a/examples/shared/mod.rs",
            "crates/a/benches/speed.rs",
            "crates/c/src/lib.rs",
        ];
        let workspace = Workspace::new("discovery", &files);
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(
            targets(&workspace.0, "examples"),
            Ok(vec![pair("a", "folder"), pair("b", "one"), pair("b", "two")])
        );
        assert_eq!(targets(&workspace.0, "benches"), Ok(vec![pair("a", "speed")]));
    }

    #[test]
    fn steps_without_targets_are_skipped() {
        let workspace = Workspace::new("empty", &["crates/a/src/lib.rs"]);
        for step in [bench, examples, python, page, cluster::all, cluster::bounded] {
            assert!(matches!(step(&workspace.0), Ok(Skipped(_))));
        }
    }

    #[test]
    fn an_example_that_would_not_run_is_refused() {
        let workspace =
            Workspace::new("undeclared", &["crates/a/examples/one.rs", "crates/a/Cargo.toml"]);
        let error = examples(&workspace.0).unwrap_err();
        assert!(error.starts_with("example one of a would not run"), "{error}");
    }

    #[test]
    fn failures_name_the_command() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = execute(cargo_command(root, "no-such-subcommand --flag").stderr(Stdio::null()))
            .unwrap_err();
        assert!(error.contains("`cargo no-such-subcommand --flag` ended with"), "{error}");
        let error = component(root, "no-such-subcommand", "rustfmt").unwrap_err();
        assert!(error.ends_with("rustup component add rustfmt"), "{error}");
        let error = execute(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert!(error.contains("could not start"), "{error}");
    }
}
