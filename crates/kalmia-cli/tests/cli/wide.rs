//! Files with so many columns that their matrices do not fit into memory.

use crate::harness::Folder;
use std::fmt::Write as _;
use std::process::Command;

/// Three rows of `columns` features.
fn wide(columns: usize) -> String {
    let mut text: String = (0..columns).map(|j| format!("c{j},")).collect();
    text.push_str("y\n");
    for i in 0..3 {
        for j in 0..columns {
            let _ = write!(text, "{},", (i * 7 + j) % 11);
        }
        let _ = writeln!(text, "{i}");
    }
    text
}

/// Under a limit of the address space, in kilobytes, as a shell sets it.
#[cfg(unix)]
#[test]
fn a_lack_of_memory_is_an_error_with_a_way_out() {
    let folder = Folder::new("wide");
    folder.write("w.csv", wide(4800));
    let limited = |words: &str| {
        let line = format!("ulimit -v 2000000; exec {} {words}", env!("CARGO_BIN_EXE_kalmia"));
        Command::new("sh").arg("-c").arg(line).current_dir(folder.path(".")).output().unwrap()
    };
    // 12 matrices of 4801^2 numbers are 2.2 GB
    let run = limited("fit w.csv -t y -o m.kalmia");
    let text = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{text}");
    for part in ["2.2 GB of memory", "hint: ", "--exclude", "--method ekf"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert_eq!(folder.names(), ["w.csv"]);
    // the same rows by a method with one matrix
    let run = limited("fit w.csv -t y --method ekf -o m.kalmia --json");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(folder.exists("m.kalmia"));
    // more columns are kept without a matrix
    folder.write("w.csv", wide(6000));
    let run = limited("fit w.csv -t y --json");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(String::from_utf8_lossy(&run.stdout).contains(r#""method":"wide""#));
}
