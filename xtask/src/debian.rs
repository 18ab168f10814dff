//! Programs that Debian packages bring.

use std::process::Command;

use crate::steps::{execute, quiet};

/// Installs a package if its program is not on the PATH and this runs as root.
pub fn require(program: &str, package: &str) -> Result<(), String> {
    if quiet(Command::new(program).arg("--version")) {
        return Ok(());
    }
    if !is_root() {
        return Err(format!(
            "`{program}` is not on the PATH and only root can install it; on Debian: \
             sudo apt-get install {package}"
        ));
    }
    execute(Command::new("apt-get").arg("update"))?;
    let install = ["install", "-y", "--no-install-recommends", package];
    execute(Command::new("apt-get").args(install).env("DEBIAN_FRONTEND", "noninteractive"))?;
    Ok(())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}
