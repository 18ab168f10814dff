//! The step `page`: `kalmia serve` is tested by Chromium and by curl.

use std::path::Path;

use crate::debian::require;
use crate::python::{Environment, VENV};
use crate::runner::Outcome::{self, Skipped};

const TESTS: &str = "crates/kalmia-server/tests/page";

/// Installs what is missing: Debian's Chromium and curl, if this runs as root, and what the tests
/// import.
pub fn page(root: &Path) -> Result<Outcome, String> {
    if !root.join(TESTS).is_dir() {
        return Ok(Skipped("crates/kalmia-server/tests/page does not exist"));
    }
    // playwright's own download of a browser is large and not needed
    require("chromium", "chromium")?;
    require("curl", "curl")?;
    let environment = Environment::new(root, VENV)?;
    environment.run("pip install --quiet --disable-pip-version-check pytest playwright")?;
    environment.run(&format!("pytest -q {TESTS}"))
}
