//! Ctrl-C, also while standard input has nothing to give: the command ends at once, keeps what it
//! has and says how to continue. These tests wait for another process, never for a fixed time, and
//! each wait fails after `harness::PATIENCE`.

use crate::harness::{Folder, PATIENCE, table, wait_until};
use std::io::Write;
use std::process::{Child, ChildStdin, Output};
use std::time::{Duration, Instant};

/// More rows than pipe, buffers and blocks ahead hold, so the command has read some of them once
/// all are written.
const ROWS: usize = 200_000;

/// The command with bytes on a standard input that stays open.
fn start(folder: &Folder, words: &str, input: &[u8]) -> (Child, ChildStdin) {
    let mut child = folder.spawn(words);
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(input).unwrap();
    (child, pipe)
}

/// Interrupts it and waits for its end while the pipe is open.
fn interrupt((mut child, pipe): (Child, ChildStdin)) -> (Output, String) {
    let kill = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    let waits = child.try_wait().unwrap().is_none();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!waits, "it ended only with its input\n{error}");
    assert_eq!(output.status.code(), Some(1), "{error}");
    (output, error)
}

#[test]
fn a_fit_that_waits_for_rows_ends_with_its_checkpoint() {
    let folder = Folder::new("waits");
    let text = table(2000, ["0", "1"]);
    let running = start(&folder, "fit - -t y -o m.kalmia --checkpoint-every 1000", text.as_bytes());
    wait_until("the first checkpoint", || folder.exists("m.kalmia"));
    let (_, error) = interrupt(running);
    assert!(error.contains("interrupted after 1 024 rows, written to m.kalmia"), "{error}");
    folder.pipe("--quiet fit - -t y --resume m.kalmia", text.as_bytes()).ok();
    folder.pipe("--quiet fit - -t y -o whole.kalmia", text.as_bytes()).ok();
    assert!(folder.read("m.kalmia") == folder.read("whole.kalmia"));
    // a header without end
    let (_, error) = interrupt(start(&folder, "fit - -t y -o none.kalmia", &vec![b'a'; 4 << 20]));
    assert!(error.contains("nothing was learned") && !folder.exists("none.kalmia"), "{error}");
}

#[test]
fn an_update_into_another_file_continues_when_given_again() {
    let folder = Folder::new("goes-on");
    let text = table(4000, ["0", "1"]);
    folder.write("t.csv", &text);
    folder.ok("--quiet fit t.csv -t y -o m.kalmia");
    let before = folder.read("m.kalmia");
    let update = |output: &str| format!("update m.kalmia - -o {output} --checkpoint-every 1000");
    let running = start(&folder, &update("part.kalmia"), text.as_bytes());
    wait_until("the first checkpoint", || folder.exists("part.kalmia"));
    let (_, error) = interrupt(running);
    // as it can be pasted
    assert!(error.trim_end().ends_with(&update("part.kalmia")), "{error}");
    folder
        .run("update m.kalmia t.csv -o part.kalmia")
        .fails(2, &["part.kalmia holds an unfinished update"]);
    let again = folder.pipe(&update("part.kalmia"), text.as_bytes());
    assert!(again.stderr().contains("continuing after row"), "{}", again.stderr());
    again.ok();
    folder.pipe(&update("whole.kalmia"), text.as_bytes()).ok();
    assert!(folder.read("part.kalmia") == folder.read("whole.kalmia"));
    assert!(folder.read("m.kalmia") == before);
}

#[test]
fn a_comparison_says_that_it_was_interrupted() {
    let folder = Folder::new("race");
    let running =
        start(&folder, "compare - -t y --methods moment,ekf", table(ROWS, ["0", "1"]).as_bytes());
    let (output, error) = interrupt(running);
    assert!(error.contains("error: interrupted after "), "{error}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\nmoment "));
}

#[test]
fn interrupted_predictions_leave_nothing_behind() {
    let folder = Folder::new("behind");
    let text = table(ROWS, ["0", "1"]);
    folder
        .pipe("--quiet fit - -t y --method ekf -o m.kalmia", table(2000, ["0", "1"]).as_bytes())
        .ok();
    let (_, error) = interrupt(start(&folder, "predict m.kalmia - -o p.csv", text.as_bytes()));
    assert!(error.contains("error: interrupted after "), "{error}");
    assert_eq!(folder.names(), ["m.kalmia"]);
}
