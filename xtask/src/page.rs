//! The step `page`: the page of `kalmia serve` is tested in Chromium, against the real server.

use std::path::Path;
use std::process::Command;

use crate::python::{build_command, environment};
use crate::runner::Outcome::{self, Skipped};
use crate::steps::{execute, quiet};

const TESTS: &str = "crates/kalmia-server/tests/page";

/// Installs what is missing: Debian's Chromium, if this runs as root, and what the tests import.
pub fn page(root: &Path) -> Result<Outcome, String> {
    if !root.join(TESTS).is_dir() {
        return Ok(Skipped("crates/kalmia-server/tests/page does not exist"));
    }
    require_chromium()?;
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
    run("pip install --quiet --disable-pip-version-check pytest playwright")?;
    run(&format!("pytest -q {TESTS}"))
}

/// Debian's package, because playwright's own download of a browser is large and not needed.
fn require_chromium() -> Result<(), String> {
    if quiet(Command::new("chromium").arg("--version")) {
        return Ok(());
    }
    if !is_root() {
        return Err("`chromium` is not on the PATH and only root can install it; \
                    on Debian: sudo apt-get install chromium"
            .into());
    }
    execute(Command::new("apt-get").arg("update"))?;
    let install = ["install", "-y", "--no-install-recommends", "chromium"];
    execute(Command::new("apt-get").args(install).env("DEBIAN_FRONTEND", "noninteractive"))?;
    Ok(())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}
