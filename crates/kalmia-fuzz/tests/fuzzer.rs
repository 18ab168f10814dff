//! The fuzzer finds a fault that is there, names its input, and fails on that input again.

use std::path::PathBuf;
use std::process::{Command, Output};

fn fuzz(folder: &PathBuf, args: &[&str]) -> Output {
    std::fs::create_dir_all(folder).unwrap();
    Command::new(env!("CARGO_BIN_EXE_kalmia-fuzz"))
        .args(args)
        .current_dir(folder)
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .unwrap()
}

#[test]
fn a_planted_fault_is_found_and_its_input_kept() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("planted");
    let found = fuzz(&folder, &["planted", "--seconds", "60"]);
    let report = String::from_utf8_lossy(&found.stderr);
    assert!(!found.status.success(), "{report}");
    assert!(report.contains("planted: ended with signal: 6"), "{report}");
    let input = "target/fuzz/planted/failed-1";
    assert!(report.contains(&format!("cargo xtask fuzz planted --file {input}")), "{report}");
    let again = fuzz(&folder, &["planted", "--file", input]);
    assert!(!again.status.success());
    let harmless = folder.join("harmless");
    std::fs::write(&harmless, [0; 8]).unwrap();
    let harmless = harmless.display().to_string();
    assert!(fuzz(&folder, &["planted", "--file", &harmless]).status.success());
}

#[test]
fn a_sound_target_passes_and_counts_its_executions() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sound");
    let passed = fuzz(&folder, &["libsvm", "--seconds", "0.1"]);
    let report = String::from_utf8_lossy(&passed.stdout);
    assert!(passed.status.success(), "{}", String::from_utf8_lossy(&passed.stderr));
    assert!(report.starts_with("fuzz libsvm") && report.contains(" executions in "), "{report}");
}
