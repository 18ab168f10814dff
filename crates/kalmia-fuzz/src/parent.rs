//! Starts a process per target, so that an abort of one is seen and reported.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::target::Target;

/// Seconds that one input may take before the target has failed.
const MAX_INPUT_SECONDS: f64 = 60.0;

/// The folder of a target's files.
pub fn folder(target: &Target) -> PathBuf {
    let root = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root.join("fuzz").join(target.name)
}

/// Fuzzes a target in a process of its own. The error names the input that failed.
pub fn fuzz(target: &Target, seconds: f64, seed: u64) -> Result<(), String> {
    let folder = folder(target);
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .args([target.name, "--child", "--seconds", &seconds.to_string()])
        .args(["--seed", &seed.to_string()])
        .spawn()
        .map_err(|error| format!("cannot start a process: {error}"))?;
    let failure = match wait(&mut child, seconds + MAX_INPUT_SECONDS) {
        Ok(Some(status)) if status.success() => return Ok(()),
        Ok(Some(status)) => format!("ended with {status}"),
        Ok(None) => format!("took more than {MAX_INPUT_SECONDS} s for one input"),
        Err(error) => return Err(format!("cannot wait for a process: {error}")),
    };
    let kept = keep(&folder, seed);
    Err(format!(
        "{}: {failure}; the input is {}, run it again with: cargo xtask fuzz {} --file {}",
        target.name,
        kept.display(),
        target.name,
        kept.display()
    ))
}

/// Waits for the end of a process, which is ended after `seconds`.
fn wait(child: &mut Child, seconds: f64) -> std::io::Result<Option<ExitStatus>> {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    while Instant::now() < end {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// Copies the culprit to a name that the next run does not overwrite.
fn keep(folder: &Path, seed: u64) -> PathBuf {
    let current = folder.join("current");
    let kept = folder.join(format!("failed-{seed}"));
    if std::fs::copy(&current, &kept).is_ok() { kept } else { current }
}
