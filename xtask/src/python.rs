//! The step `python`: the package is built, installed into `target/venv` and tested there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::runner::Outcome::{self, Skipped};
use crate::steps::{cargo, execute, quiet, workspace};

/// Makes the environment if it is missing; pip fetches what `pyproject.toml` asks for, the build
/// backend included.
pub fn python(root: &Path) -> Result<Outcome, String> {
    if !root.join("python/pyproject.toml").is_file() {
        return Ok(Skipped("python/pyproject.toml does not exist"));
    }
    let interpreter = environment(&root.join("target/venv"))?;
    let command = build_command(root)?;
    let run = |args: &str| {
        let mut python = Command::new(&interpreter);
        execute(
            python
                .current_dir(root)
                .env("KALMIA_COMMAND", &command)
                .arg("-m")
                .args(args.split(' ')),
        )
    };
    run("pip install --quiet --disable-pip-version-check pytest ./python[test]")?;
    run("pytest python")
}

/// The path of the command, which some tests run. The step `test` made it, and the same flags reuse
/// it.
pub(crate) fn build_command(root: &Path) -> Result<PathBuf, String> {
    cargo(root, &workspace("test", "--test cli --no-run"))?;
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |folder| root.join(folder));
    Ok(target.join("debug").join(format!("kalmia{}", std::env::consts::EXE_SUFFIX)))
}

/// The interpreter of a virtual environment, which is made anew if it has no pip.
pub(crate) fn environment(folder: &Path) -> Result<PathBuf, String> {
    let (system, inside) =
        if cfg!(windows) { ("python", "Scripts/python.exe") } else { ("python3", "bin/python") };
    let interpreter = folder.join(inside);
    if !quiet(Command::new(&interpreter).args(["-m", "pip", "--version"])) {
        execute(Command::new(system).args(["-m", "venv", "--clear"]).arg(folder))?;
    }
    Ok(interpreter)
}
