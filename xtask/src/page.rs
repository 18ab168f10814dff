//! The step `page`: `kalmia serve` is tested by Chromium and by curl.

use std::path::Path;
use std::process::Command;

use crate::python::Environment;
use crate::runner::Outcome::{self, Skipped};
use crate::steps::{execute, quiet};

const TESTS: &str = "crates/kalmia-server/tests/page";

/// Installs what is missing: Debian's Chromium and curl, if this runs as root, and what the tests
/// import.
pub fn page(root: &Path) -> Result<Outcome, String> {
    if !root.join(TESTS).is_dir() {
        return Ok(Skipped("crates/kalmia-server/tests/page does not exist"));
    }
    require("chromium")?;
    require("curl")?;
    let environment = Environment::new(root)?;
    environment.run("pip install --quiet --disable-pip-version-check pytest playwright")?;
    environment.run(&format!("pytest -q {TESTS}"))
}

/// Debian's packages: playwright's own download of a browser is large and not needed.
fn require(program: &str) -> Result<(), String> {
    if quiet(Command::new(program).arg("--version")) {
        return Ok(());
    }
    if !is_root() {
        return Err(format!(
            "`{program}` is not on the PATH and only root can install it; on Debian: \
             sudo apt-get install {program}"
        ));
    }
    execute(Command::new("apt-get").arg("update"))?;
    let install = ["install", "-y", "--no-install-recommends", program];
    execute(Command::new("apt-get").args(install).env("DEBIAN_FRONTEND", "noninteractive"))?;
    Ok(())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}
