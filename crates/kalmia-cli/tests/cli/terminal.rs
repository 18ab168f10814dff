//! What reaches a terminal: hostile names, labels, values and file names are shown, never obeyed.

use crate::harness::{Folder, Run, forge, table};
use std::ffi::OsString;

/// Sets a title, colors, a C1 sequence, a delete, bidi marks and a backspace.
const HOSTILE: &str = "\u{1b}]0;T\u{7}\u{1b}[31m\u{9b}5m\u{7f}\u{202e}\u{2066}\u{200f}\u{8}x";

/// Only the line ends and tabs of the layout control anything.
#[track_caller]
fn assert_harmless(words: &str, text: &str) {
    let acts = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if let Some(found) = text.chars().find(|c| acts(*c)) {
        panic!("kalmia {words}\nprints {found:?} in\n{text:?}");
    }
}

/// Runs words in which `@` stands for the hostile text.
fn run(folder: &Folder, words: &str) -> Run {
    let args = words.split_whitespace().map(|word| OsString::from(word.replace('@', HOSTILE)));
    let output = folder.command("").args(args).output().unwrap();
    let run = Run::new(words, output);
    assert_harmless(words, &run.stderr());
    run
}

#[cfg(unix)]
#[test]
fn nothing_in_a_file_or_an_argument_controls_the_terminal() {
    let folder = Folder::new("terminal");
    let file = |name: &str, content: String| folder.write(&name.replace('@', HOSTILE), content);
    let rows = |line: &dyn Fn(usize) -> String| (0..80).map(line).collect::<String>();
    let quoted = HOSTILE;
    file(
        "@.csv",
        format!("\"{quoted}\",y{quoted}\n")
            + &rows(&|i| format!("{quoted}{},{}\n", i % 3, i * 7919 % 13)),
    );
    file("labels.csv", format!("x,y{quoted}\n") + &rows(&|i| format!("{i},{quoted}{}\n", i % 2)));
    file("many.csv", format!("c{quoted},y\n") + &rows(&|i| format!("{quoted}{i},{}\n", i % 7)));
    file("gap.csv", format!("c{quoted},y\n1,2\n,3\n2,4\n"));
    file("dates.csv", format!("c{quoted},y\n2024-01-01,2\n2024-01-02,3\n"));
    file("huge.csv", format!("c{quoted},y\n1,2\n1e200,3\n4,9\n"));
    file(
        "text.csv",
        format!("c{quoted},y\n") + &rows(&|i| format!("{i},{}\n", i % 9)) + quoted + ",1\n",
    );
    file("twice.csv", format!("{quoted},{quoted},y\n1,2,3\n"));
    file("twice.jsonl", format!("{{\"a\u{202e}\":1,\"a\u{202e}\":2,\"y{0}\":1}}\n", '\u{9b}'));
    file("third.csv", format!("x,y{quoted}\n1,{quoted}0\n2,{quoted}1\n3,{quoted}2\n"));
    file("not.kalmia", format!("{quoted}{quoted}"));
    std::fs::create_dir(folder.path(HOSTILE)).unwrap();
    for (words, code) in [
        ("fit @.csv -t y@ -o m@.kalmia --trace @.trace", 0),
        ("fit @.csv @.csv -t y@ --family poisson", 0),
        ("fit labels.csv -t y@ -o l.kalmia", 0),
        ("fit many.csv -t y", 0),
        ("inspect m@.kalmia", 0),
        ("inspect l.kalmia", 0),
        ("evaluate m@.kalmia @.csv", 0),
        ("update m@.kalmia @.csv -o u@.kalmia", 0),
        ("merge m@.kalmia u@.kalmia -o merged@.kalmia", 0),
        ("inspect merged@.kalmia", 0),
        ("compare @.csv -t y@ --methods ekf,auto", 0),
        ("compare labels.csv -t y@", 0),
        ("predict m@.kalmia @.csv -o p@.csv", 0),
        ("fit gap.csv -t y", 2),
        ("fit dates.csv -t y", 2),
        ("fit huge.csv -t y", 2),
        ("fit text.csv -t y", 2),
        ("fit twice.csv -t y", 2),
        ("fit twice.jsonl -t y", 2),
        ("fit third.csv -t y@", 0),
        ("fit third.csv -t y@ --family bernoulli", 2),
        ("fit many.csv -t y --max-features 2", 2),
        ("fit many.csv -t @", 2),
        ("fit many.csv -t y --features @", 2),
        ("fit many.csv -t y --family @", 2),
        ("fit many.csv -t y --delimiter @", 2),
        ("fit many.csv -t y --checkpoint-every @ -o x", 2),
        ("fit many.csv -t y --@", 2),
        ("fit @ -t y", 2),
        ("fit @.none -t y", 2),
        ("fit many.csv -t y -o @", 2),
        ("fit many.csv -t y -o @/@/x", 2),
        ("fit many.csv -t y --plot @", 2),
        ("fit @.csv -t y@ --resume l.kalmia", 2),
        ("inspect not.kalmia", 2),
        ("inspect @", 2),
        ("predict l.kalmia @.csv -o q.csv", 2),
        ("predict m@.kalmia @.csv --keep @,@", 2),
        ("predict m@.kalmia @.csv -o m@.kalmia", 2),
        ("merge m@.kalmia l.kalmia -o x", 2),
        ("export @ -o x", 2),
        ("reproduce @", 2),
        ("bounds @", 2),
        ("bounds uniform_design --@ 3", 2),
        ("bounds evaluate @", 2),
        ("@", 2),
    ] {
        let run = run(&folder, words);
        let found = run.output.status.code();
        assert_eq!(found, Some(code), "{words:?}\n{}{}", run.stdout(), run.stderr());
        assert_harmless(words, &run.stdout());
    }
    // data stay as they are
    let kept = run(&folder, "predict m@.kalmia @.csv --keep @");
    assert!(kept.stdout().contains(HOSTILE));
    let json = run(&folder, "inspect l.kalmia --json").stdout();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["target"]["name"], format!("y{}", HOSTILE));
}

/// A model of another program may hold anything, such as a version that is no version.
#[test]
fn nothing_in_a_model_file_controls_the_terminal() {
    let folder = Folder::new("terminal-model");
    folder.write("a.csv", table(60, ["no", "yes"]));
    folder.ok("-q fit a.csv -t y -o m.kalmia");
    let bytes = folder.read("m.kalmia");
    let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
    let hostile = r#""version":"\u001b\u202e""#;
    let forged = forge(&bytes, |header| header.replacen(&version, hostile, 1));
    folder.write("f.kalmia", &forged);
    let shown = run(&folder, "inspect f.kalmia").ok();
    assert!(shown.contains(r"written by kalmia \u{1b}\u{202e}"), "{shown}");
    assert_harmless("inspect", &shown);
}
