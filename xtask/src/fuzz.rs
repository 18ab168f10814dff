//! Runs the fuzzer of `kalmia-fuzz`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::runner::Outcome;
use crate::steps::{cargo, execute, workspace};

/// Fuzzes every target for a minute in total.
pub fn step(root: &Path) -> Result<Outcome, String> {
    fuzz(root, &[])
}

/// Builds the fuzzer and runs it. Built with the whole workspace, as in the step `test`: alone it
/// would select other features of the dependencies and compile them again.
pub fn fuzz(root: &Path, args: &[String]) -> Result<Outcome, String> {
    cargo(root, &workspace("build --quiet", "--bin kalmia-fuzz"))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let program = target.join("debug").join(format!("kalmia-fuzz{}", std::env::consts::EXE_SUFFIX));
    execute(Command::new(program).current_dir(root).args(args))
}
