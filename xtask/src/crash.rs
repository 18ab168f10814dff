//! The tool `crash`: the service is killed 200 times while 64 clients learn a million rows.

use std::path::Path;
use std::process::Command;

use crate::runner::Outcome;
use crate::steps::execute;

/// The test of the suite, longer. It prints one line of what it counted.
pub fn crash(root: &Path) -> Result<Outcome, String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let args = "test --release -p kalmia-cli --test serve -- kills_lose_nothing --nocapture";
    let kills = std::env::var_os("KALMIA_CRASH_KILLS").unwrap_or_else(|| "200".into());
    execute(command.current_dir(root).args(args.split(' ')).env("KALMIA_CRASH_KILLS", kills))
}
