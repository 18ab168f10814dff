//! The step `python`: the package is built, installed into `target/venv` and tested there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::runner::Outcome::{self, Skipped};
use crate::steps::{cargo, execute, quiet, workspace};

/// Pip fetches what `pyproject.toml` asks for, the build backend included.
pub fn python(root: &Path) -> Result<Outcome, String> {
    if !root.join("python/pyproject.toml").is_file() {
        return Ok(Skipped("python/pyproject.toml does not exist"));
    }
    let environment = Environment::new(root, VENV)?;
    environment.run("pip install --quiet --disable-pip-version-check pytest ./python[test]")?;
    environment.run("pytest python")
}

/// The folder of the environment that most tests share.
pub(crate) const VENV: &str = "target/venv";

/// A virtual environment of tests, and the command that some of them run.
pub(crate) struct Environment<'a> {
    root: &'a Path,
    interpreter: PathBuf,
    command: PathBuf,
}

impl<'a> Environment<'a> {
    /// Makes what is missing.
    pub(crate) fn new(root: &'a Path, folder: &str) -> Result<Self, String> {
        let interpreter = interpreter(&root.join(folder))?;
        Ok(Self { root, interpreter, command: build_command(root)? })
    }

    /// Runs a module of Python with arguments that have no spaces.
    pub(crate) fn run(&self, line: &str) -> Result<Outcome, String> {
        let (module, args) = line.split_once(' ').unwrap_or((line, ""));
        self.run_module(module, &args.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs a module of Python with arguments.
    pub(crate) fn run_module(&self, module: &str, args: &[&str]) -> Result<Outcome, String> {
        let mut python = Command::new(&self.interpreter);
        python.current_dir(self.root).env("KALMIA_COMMAND", &self.command);
        execute(python.args(["-m", module]).args(args))
    }
}

/// The path of the command, which some tests run. The step `test` made it, and the same flags reuse
/// it.
fn build_command(root: &Path) -> Result<PathBuf, String> {
    cargo(root, &workspace("test", "--test cli --no-run"))?;
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |folder| root.join(folder));
    Ok(target.join("debug").join(format!("kalmia{}", std::env::consts::EXE_SUFFIX)))
}

/// The interpreter of a virtual environment, which is made anew if it has no pip.
fn interpreter(folder: &Path) -> Result<PathBuf, String> {
    let (system, inside) =
        if cfg!(windows) { ("python", "Scripts/python.exe") } else { ("python3", "bin/python") };
    let inside = folder.join(inside);
    if !quiet(Command::new(&inside).args(["-m", "pip", "--version"])) {
        execute(Command::new(system).args(["-m", "venv", "--clear"]).arg(folder))?;
    }
    Ok(inside)
}
