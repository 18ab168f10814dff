//! A fresh folder per test, and runs of the command that print what was expected and what came.

use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The longest wait for another process. Far beyond what a loaded machine needs: it only turns a
/// hang into a failure.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A folder that is removed with the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("kalmia-cli-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub fn names(&self) -> Vec<String> {
        self.names_in("")
    }

    /// The names in a folder below this one, sorted.
    pub fn names_in(&self, below: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(below))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = entries.collect();
        names.sort();
        names
    }

    /// The command in this folder, its words split at spaces.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kalmia"));
        command.current_dir(&self.0).args(words.split_whitespace()).stdin(Stdio::null());
        command
    }

    /// Runs it, successful or not.
    pub fn run(&self, words: &str) -> Run {
        Run { words: words.into(), output: self.command(words).output().unwrap() }
    }

    /// Starts it with pipes for input, output and errors.
    pub fn spawn(&self, words: &str) -> Child {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs it with bytes on standard input.
    pub fn pipe(&self, words: &str, input: &[u8]) -> Run {
        use std::io::Write;
        let mut child = self.spawn(words);
        // the command may refuse the input before its end
        let _ = child.stdin.take().unwrap().write_all(input);
        Run { words: words.into(), output: child.wait_with_output().unwrap() }
    }

    /// Runs it and takes what it prints; it must succeed.
    pub fn ok(&self, words: &str) -> String {
        self.run(words).ok()
    }

    /// As [`Folder::ok`], the output being JSON.
    pub fn json(&self, words: &str) -> Value {
        let text = self.ok(words);
        serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("kalmia {words}\n{error} in\n{text}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What came of a run.
pub struct Run {
    words: String,
    pub output: Output,
}

impl Run {
    pub fn new(words: &str, output: Output) -> Self {
        Self { words: words.into(), output }
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    fn describe(&self) -> String {
        let code = self.output.status;
        format!(
            "\nkalmia {}\n{code}\n--- standard output\n{}\n--- standard error\n{}",
            self.words,
            self.stdout(),
            self.stderr()
        )
    }

    #[track_caller]
    pub fn ok(self) -> String {
        assert!(self.output.status.success(), "expected success{}", self.describe());
        self.stdout()
    }

    /// The run failed with this code and says all of these.
    #[track_caller]
    pub fn fails(self, code: i32, said: &[&str]) -> String {
        assert_eq!(self.output.status.code(), Some(code), "exit code{}", self.describe());
        let error = self.stderr();
        let errors = error.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(errors, 1, "expected one rendered error{}", self.describe());
        for words in said {
            assert!(error.contains(words), "expected `{words}`{}", self.describe());
        }
        error
    }
}

/// A table of numbers whose label follows the first two columns; always the same.
pub fn table(rows: usize, labels: [&str; 2]) -> String {
    let mut uniform = Uniform(7);
    let mut out = String::from("a,b,c,y\n");
    for _ in 0..rows {
        let [a, b, c] = [(); 3].map(|()| (uniform.next() * 2000.0).round() / 1000.0 - 1.0);
        let label = labels[usize::from(2.0 * a - b + 2.0 * uniform.next() - 1.0 > 0.0)];
        writeln!(out, "{a},{b},{c},{label}").unwrap();
    }
    out
}

/// Numbers in [0, 1) by a linear congruential generator.
pub struct Uniform(pub u64);

impl Uniform {
    pub fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Waits until the condition holds; fails after [`PATIENCE`].
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The file at the root of the repository.
pub fn repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// The number under a path of keys.
#[track_caller]
pub fn number(value: &Value, path: &str) -> f64 {
    let found = path.split('.').try_fold(value, |value, key| match key.parse::<usize>() {
        Ok(index) => value.get(index),
        Err(_) => value.get(key),
    });
    found.and_then(Value::as_f64).unwrap_or_else(|| panic!("no number at {path} in {value}"))
}

/// A model file whose header was changed, with the length and the checksum mended.
pub fn forge(bytes: &[u8], change: impl FnOnce(&str) -> String) -> Vec<u8> {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
    let mut header = change(header).into_bytes();
    assert_ne!(header, bytes[8..8 + length], "nothing was changed");
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut forged = (header.len() as u64).to_le_bytes().to_vec();
    forged.extend(header);
    forged.extend(&bytes[8 + length..]);
    let start = 8 + br#"{"__metadata__":{"checksum":""#.len();
    let mut crc = crc32fast::Hasher::new();
    crc.update(&forged[..start]);
    crc.update(&forged[start + 8..]);
    forged[start..start + 8].copy_from_slice(format!("{:08x}", crc.finalize()).as_bytes());
    forged
}
