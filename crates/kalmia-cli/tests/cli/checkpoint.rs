//! Stopping and continuing: killed at any moment and resumed, the model is byte for byte that of an
//! uninterrupted run.

use crate::harness::{Folder, Uniform, table, wait_until};
use std::process::Stdio;
use std::time::Instant;

/// Runs per method that are killed and resumed until they finish.
const TRIES: usize = 12;

/// Starts per run; the last one is left to finish.
const MAX_STARTS: usize = 6;

/// Rows with a category whose levels appear over time: the schema grows during the fit.
fn growing(rows: usize) -> String {
    let plain = table(rows, ["no", "yes"]);
    let mut lines = plain.lines();
    let mut out = format!("k,{}\n", lines.next().unwrap());
    for (i, line) in lines.enumerate() {
        out.push_str(&format!("k{},{line}\n", (i / 4000) * 2 + i % 2));
    }
    out
}

/// Depends on timing by design: a run is killed at a random moment of the time that a whole run
/// takes, which is measured first, so a slow machine gets proportionally longer. Bounded by
/// `2 * TRIES * MAX_STARTS` processes, each at most as long as a whole run.
#[test]
fn killed_at_any_moment_and_resumed_it_is_the_same_model() {
    let folder = Folder::new("kill");
    let text = growing(60_000);
    let half = text.match_indices('\n').nth(25_000).unwrap().0 + 1;
    let head = text.split_inclusive('\n').next().unwrap();
    folder.write("1.csv", &text[..half]);
    folder.write("2.csv", format!("{head}{}", &text[half..]));
    let mut moments = Uniform(11);
    for method in ["auto", "ekf"] {
        let fit = format!("--quiet fit 1.csv 2.csv -t y --method {method}");
        let start = Instant::now();
        folder.ok(&format!("{fit} -o whole.kalmia"));
        let whole = start.elapsed();
        let mut kills = 0;
        for attempt in 1..=TRIES {
            let _ = std::fs::remove_file(folder.path("m.kalmia"));
            let mut starts = 0;
            loop {
                starts += 1;
                let resume = if folder.exists("m.kalmia") { " --resume m.kalmia" } else { "" };
                let words = format!("{fit} -o m.kalmia --checkpoint-every 2000{resume}");
                let mut child = folder
                    .command(&words)
                    .stdout(Stdio::null())
                    .stderr(Stdio::inherit())
                    .spawn()
                    .unwrap();
                if starts < MAX_STARTS {
                    std::thread::sleep(whole.mul_f64(moments.next()));
                    // SIGKILL; an error means that it has ended already
                    let _ = child.kill();
                }
                let status = child.wait().unwrap();
                if status.success() {
                    break;
                }
                assert_eq!(status.code(), None, "it failed instead of being killed");
                kills += 1;
            }
            assert!(
                folder.read("m.kalmia") == folder.read("whole.kalmia"),
                "{method}: attempt {attempt} differs after {starts} starts"
            );
        }
        // On average two or three starts per attempt are killed: the moments are spread over a
        // whole run, and writing checkpoints makes this one longer.
        assert!(kills >= TRIES, "only {kills} processes were killed before their end");
    }
    let left: Vec<String> =
        folder.names().into_iter().filter(|name| name.contains("kalmia-tmp")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[cfg(unix)]
#[test]
fn an_interruption_writes_a_checkpoint_and_says_how_to_continue() {
    let folder = Folder::new("interrupt");
    folder.write("t.csv", growing(200_000));
    folder.ok("--quiet fit t.csv -t y -o whole.kalmia");
    let command = |words: &str| {
        let mut command = folder.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    // a pipe that is not closed keeps the fit running until the signal
    let mut child = command("fit - -t y -o m.kalmia --checkpoint-every 1000")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let text = folder.read("t.csv");
    use std::io::Write;
    pipe.write_all(&text[..text.len() / 2]).unwrap();
    wait_until("the first checkpoint", || folder.exists("m.kalmia"));
    let kill = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    // the flag is read after the next block
    let _ = pipe.write_all(&text[text.len() / 2..]);
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("continue with\n") && error.contains("--resume m.kalmia"), "{error}");
    let resumed = folder.pipe("--quiet fit - -t y -o m.kalmia --resume m.kalmia", &text);
    resumed.ok();
    let whole = folder.json("inspect whole.kalmia --json");
    assert_eq!(folder.json("inspect m.kalmia --json")["coefficients"], whole["coefficients"]);
}

#[test]
fn other_arguments_or_files_are_refused() {
    let folder = Folder::new("refuse");
    let text = table(5000, ["0", "1"]);
    folder.write("t.csv", &text);
    folder.write("u.csv", text.replacen("0.", "1.", 1));
    let done = folder.ok("fit t.csv -t y -o m.kalmia");
    let before = folder.read("m.kalmia");
    folder
        .run("fit t.csv -t y --method ekf --resume m.kalmia")
        .fails(2, &["`method` was \"auto\" and is now \"ekf\""]);
    folder
        .run("fit t.csv -t y --exclude a --resume m.kalmia")
        .fails(2, &["`exclude` was [] and is now [\"a\"]"]);
    folder.run("fit t.csv -t y --family bernoulli --resume m.kalmia").fails(2, &["`family`"]);
    folder.run("fit u.csv -t y --resume m.kalmia").fails(2, &["it was learning t.csv"]);
    folder.write("t.csv", format!("{text}0,0,0,1\n"));
    folder.run("fit t.csv -t y --resume m.kalmia").fails(2, &["t.csv has changed"]);
    folder.write("t.csv", &text);
    let again = folder.run("fit t.csv -t y --resume m.kalmia");
    assert!(again.stderr().contains("nothing left to learn"));
    assert_eq!(again.ok(), done);
    assert!(folder.read("m.kalmia") == before);
    folder.run("fit t.csv -t y --resume no.kalmia").fails(2, &["no.kalmia"]);
    folder
        .run("fit t.csv -t y -o m.kalmia --checkpoint-every 5m")
        .fails(2, &["--checkpoint-every"]);
}
