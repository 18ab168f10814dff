//! Outputs: none overwrites an input, none is found unwritable after the work, and none is lost
//! to another process.

use crate::harness::{Folder, Run, table, wait_until};
use std::io::Write;
use std::process::Stdio;

/// A folder with data `a.csv` and a model `m.kalmia`.
fn prepared(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("a.csv", table(60, ["no", "yes"]));
    folder.ok("-q fit a.csv -t y -o m.kalmia");
    folder
}

#[test]
fn an_output_is_never_an_input_or_another_output() {
    let folder = prepared("same");
    folder.ok("-q fit a.csv -t y -o other.kalmia --method ekf");
    std::fs::create_dir(folder.path("sub")).unwrap();
    std::fs::hard_link(folder.path("a.csv"), folder.path("hard.csv")).unwrap();
    #[cfg(unix)]
    for (target, link) in [("a.csv", "link.svg"), ("m.kalmia", "link.kalmia"), ("new", "ahead")] {
        std::os::unix::fs::symlink(target, folder.path(link)).unwrap();
    }
    let before: Vec<_> = folder.names();
    let data = folder.text("a.csv");
    let model = folder.read("m.kalmia");
    let mut cases = vec![
        ("fit a.csv -t y -o a.csv", "-o a.csv is the same file as the input a.csv"),
        ("fit a.csv -t y -o ./sub/../a.csv", "-o ./sub/../a.csv is the same file"),
        ("fit a.csv -t y -o hard.csv", "-o hard.csv is the same file as the input a.csv"),
        ("fit *a.csv -t y --trace a.csv", "--trace a.csv is the same file as the input a.csv"),
        ("fit a.csv -t y -o x --trace x", "--trace x is the same file as -o x"),
        ("fit a.csv -t y -o x --trace ./sub/../x", "is the same file as -o x"),
        ("fit a.csv -t y -o x.svg --plot x.svg", "--plot x.svg is the same file as -o x.svg"),
        (
            "fit a.csv -t y --resume m.kalmia --trace m.kalmia",
            "--trace m.kalmia is the same file as -o m.kalmia",
        ),
        (
            "fit a.csv -t y --resume m.kalmia -o x --trace m.kalmia",
            "--trace m.kalmia is the same file as the checkpoint m.kalmia",
        ),
        ("predict m.kalmia a.csv -o m.kalmia", "-o m.kalmia is the same file as the model"),
        ("predict m.kalmia a.csv -o a.csv", "-o a.csv is the same file as the input a.csv"),
        ("export m.kalmia -o m.kalmia", "-o m.kalmia is the same file as the model m.kalmia"),
        ("update m.kalmia a.csv -o a.csv", "-o a.csv is the same file as the input a.csv"),
        ("update m.kalmia a.csv m.kalmia", "the model m.kalmia is the same file as the input"),
        ("merge m.kalmia other.kalmia -o other.kalmia", "is the same file as the model other"),
        ("merge m.kalmia other.kalmia -o m.kalmia", "is the same file as the model m.kalmia"),
    ];
    if cfg!(unix) {
        cases.extend([
            ("compare a.csv -t y --plot link.svg", "--plot link.svg is the same file as the input"),
            ("export m.kalmia -o link.kalmia", "-o link.kalmia is the same file as the model"),
            ("fit a.csv -t y -o new --trace ahead", "--trace ahead is the same file as -o new"),
        ]);
    }
    for (words, said) in cases {
        folder.run(words).fails(2, &[said, "which it would overwrite; give another name"]);
        assert_eq!(folder.names(), before, "{words}");
        assert_eq!(folder.text("a.csv"), data, "{words}");
        assert_eq!(folder.read("m.kalmia"), model, "{words}");
    }
    // their own models are replaced, by whatever name, and devices take any number of outputs
    folder.write("b.csv", table(50, ["no", "yes"]));
    folder.ok("-q update m.kalmia b.csv");
    folder.ok("-q update m.kalmia b.csv -o ./m.kalmia");
    folder.ok("-q fit a.csv -t y --method ekf --resume other.kalmia -o other.kalmia");
    if cfg!(target_os = "linux") {
        folder.ok("-q fit a.csv -t y -o /dev/null --trace /dev/null");
    }
}

#[cfg(unix)]
#[test]
fn standard_streams_are_files_too() {
    let folder = prepared("streams");
    let data = folder.text("a.csv");
    let open = || std::fs::OpenOptions::new().append(true).open(folder.path("a.csv")).unwrap();
    let append = |words: &str| {
        let output = folder.command(words).stdout(open()).output().unwrap();
        Run::new(words, output).fails(2, &["standard output is the same file as the input a.csv"]);
        assert_eq!(folder.text("a.csv"), data);
    };
    append("predict m.kalmia a.csv");
    append("evaluate m.kalmia a.csv");
    append("fit a.csv -t y");
    let words = "fit - -t y -o a.csv";
    let input = std::fs::File::open(folder.path("a.csv")).unwrap();
    let output = folder.command(words).stdin(input).output().unwrap();
    Run::new(words, output).fails(2, &["-o a.csv is the same file as standard input"]);
    assert_eq!(folder.text("a.csv"), data);
}

/// The input is a pipe that stays open: the refusal comes before anything is read from it.
#[cfg(target_os = "linux")]
#[test]
fn an_unwritable_output_is_found_before_the_pass() {
    let folder = prepared("unwritable");
    let said = "cannot write /proc/out";
    for words in [
        "fit - -t y -o /proc/out",
        "fit - -t y --trace /proc/out",
        "fit - -t y --plot /proc/out.svg",
        "compare - -t y --plot /proc/out.svg",
        "predict m.kalmia - -o /proc/out.csv",
        "update m.kalmia - -o /proc/out",
    ] {
        let mut child = folder.spawn(words);
        wait_until("the refusal", || child.try_wait().unwrap().is_some());
        Run::new(words, child.wait_with_output().unwrap()).fails(1, &[said]);
    }
    folder.run("merge m.kalmia m.kalmia -o /proc/out").fails(1, &[said]);
    folder.run("export m.kalmia -o /proc/out").fails(1, &[said]);
    folder.run("fit a.csv -t y -o a.csv/m").fails(2, &["there is no folder a.csv"]);
    assert_eq!(folder.names(), ["a.csv", "m.kalmia"]);
}

/// A full disk is met only at the end.
#[cfg(target_os = "linux")]
#[test]
fn the_summary_is_printed_even_if_nothing_can_be_written() {
    let folder = prepared("full");
    let said = "cannot write model file /dev/full: No space left on device";
    for words in ["fit a.csv -t y -o /dev/full --trace t.csv", "update m.kalmia a.csv -o /dev/full"]
    {
        let run = folder.run(words);
        assert!(run.stdout().contains("coefficient"), "{}", run.stdout());
        run.fails(1, &[said]);
    }
    assert!(folder.text("t.csv").starts_with("rows,loss"));
    let run = folder.run("fit a.csv -t y --trace /dev/full -o n.kalmia");
    assert!(run.stdout().contains("coefficient"), "{}", run.stdout());
    run.fails(1, &["cannot write /dev/full"]);
    assert!(folder.exists("n.kalmia"));
}

/// Its rows from `inspect`.
fn rows(folder: &Folder) -> u64 {
    folder.json("inspect m.kalmia --json")["rows"].as_u64().unwrap()
}

#[cfg(unix)]
#[test]
fn a_model_that_is_updated_cannot_be_updated_by_another_process() {
    let folder = prepared("busy");
    folder.write("b.csv", table(40, ["no", "yes"]));
    let text = table(3000, ["no", "yes"]);
    let mut first = folder.spawn("-q update m.kalmia - --checkpoint-every 1");
    let mut pipe = first.stdin.take().unwrap();
    pipe.write_all(text.as_bytes()).unwrap();
    // the checkpoint shows that it is at work, and that replacing the file keeps the claim
    wait_until("a checkpoint", || rows(&folder) > 60);
    let said = "another process is updating it";
    folder.run("update m.kalmia b.csv").fails(1, &["m.kalmia", said, "try again"]);
    folder.run("fit a.csv -t y --resume m.kalmia").fails(1, &[said]);
    drop(pipe);
    assert!(first.wait().unwrap().success());
    assert_eq!(rows(&folder), 60 + 3000);
    folder.ok("-q update m.kalmia b.csv");
    assert_eq!(rows(&folder), 60 + 3000 + 40);
}

#[cfg(unix)]
#[test]
fn a_model_that_another_program_replaced_is_not_overwritten() {
    let folder = prepared("replaced");
    let mut child = folder.spawn("update m.kalmia - --checkpoint-every 1");
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(table(3000, ["no", "yes"]).as_bytes()).unwrap();
    wait_until("a checkpoint", || rows(&folder) > 60);
    folder.ok("-q fit a.csv -t y -o m.kalmia");
    drop(pipe);
    let run = Run::new("update", child.wait_with_output().unwrap());
    run.fails(1, &["m.kalmia: another process changed it", "give the command again"]);
    assert_eq!(rows(&folder), 60);
}

/// Depends on timing by design: processes start at once, and every one must either add its rows
/// or say that it did not.
#[cfg(unix)]
#[test]
fn updates_at_the_same_time_lose_no_rows() {
    let folder = prepared("lost");
    folder.write("b.csv", table(500, ["no", "yes"]));
    let mut refused = 0;
    for _ in 0..10 {
        let before = rows(&folder);
        let start = |_| {
            let mut command = folder.command("-q update m.kalmia b.csv --checkpoint-every 100");
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = (0..4).map(start).collect();
        let mut added = 0;
        for child in children {
            let output = child.wait_with_output().unwrap();
            if output.status.success() {
                added += 500;
            } else {
                refused += 1;
                Run::new("update", output).fails(1, &["another process is updating it"]);
            }
        }
        assert!(added > 0);
        assert_eq!(rows(&folder), before + added, "after {refused} refusals");
    }
    assert_eq!(folder.names(), ["a.csv", "b.csv", "m.kalmia"]);
}

/// Depends on timing by design: writers of one file sweep the leftovers of others, never a live
/// temporary file.
#[test]
fn writers_of_one_checkpoint_do_not_disturb_each_other() {
    let folder = Folder::new("writers");
    folder.write("t.csv", table(20_000, ["no", "yes"]));
    for _ in 0..6 {
        let start = |_| {
            let words = "-q fit t.csv -t y --features a -o st.kalmia --checkpoint-every 1";
            let mut command = folder.command(words);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = (0..4).map(start).collect();
        for child in children {
            Run::new("fit", child.wait_with_output().unwrap()).ok();
        }
        assert_eq!(folder.names(), ["st.kalmia", "t.csv"]);
    }
}

#[test]
fn rows_that_are_learned_again_are_noted() {
    let folder = prepared("again");
    folder.write("copy.csv", folder.read("a.csv"));
    folder.write("b.csv", table(50, ["no", "yes"]));
    let notes = |words: &str| {
        let run = folder.run(words);
        let notes = run.stderr();
        run.ok();
        notes.lines().filter(|line| line.contains("count twice")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        notes("update m.kalmia a.csv -o n.kalmia"),
        "note: the model has learned from a.csv before; its rows count twice"
    );
    assert_eq!(
        notes("update m.kalmia copy.csv -o n.kalmia"),
        "note: the model has learned from copy.csv before, as a.csv; its rows count twice"
    );
    assert_eq!(notes("update m.kalmia b.csv"), "");
    assert_eq!(
        notes("fit a.csv b.csv a.csv -t y"),
        "note: a.csv is given twice; its rows count twice"
    );
    assert_eq!(
        notes("fit a.csv copy.csv -t y"),
        "note: copy.csv holds the same bytes as a.csv; its rows count twice"
    );
    assert_eq!(notes("fit a.csv b.csv -t y -o n.kalmia"), "");
    // a fit that is resumed reads its own files again
    assert_eq!(notes("fit a.csv b.csv -t y --resume n.kalmia"), "");
}
