//! What the user sees beside the data: progress and notes on standard error, and how the output is
//! written.

use crate::error::{Failure, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kalmia_data::Progress;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Set once Ctrl-C was pressed.
static STOP: AtomicBool = AtomicBool::new(false);

/// What the command says beside its data.
#[derive(Debug, Clone, Copy)]
pub struct Ui {
    quiet: bool,
}

impl Ui {
    /// Silent where `quiet`.
    pub fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Whether anything but errors is said.
    pub fn talks(&self) -> bool {
        !self.quiet
    }

    /// A line on standard error.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            // nobody to tell when standard error is closed
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// A bar over bytes, drawn only on a terminal.
    pub fn progress(&self, start: Progress) -> Meter {
        let shown = !self.quiet && io::stderr().is_terminal();
        let bar = shown.then(|| {
            let template = match start.total {
                Some(_) => "{bar:24} {bytes}/{total_bytes}  {msg}  {eta} left",
                None => "{spinner} {bytes}  {msg}",
            };
            let style = ProgressStyle::with_template(template)
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let target = ProgressDrawTarget::stderr_with_hz(8);
            ProgressBar::with_draw_target(Some(start.total.unwrap_or(0)), target).with_style(style)
        });
        Meter { bar, start: Instant::now(), last: Instant::now() }
    }
}

/// A running progress bar, or none.
pub struct Meter {
    bar: Option<ProgressBar>,
    start: Instant,
    last: Instant,
}

impl Meter {
    /// Moves the bar; cheap enough for every block.
    pub fn tick(&mut self, progress: Progress, rows: u64, loss: impl FnOnce() -> Option<f64>) {
        let Some(bar) =
            self.bar.as_ref().filter(|_| self.last.elapsed() >= Duration::from_millis(100))
        else {
            return;
        };
        self.last = Instant::now();
        let rate = rows as f64 / self.start.elapsed().as_secs_f64();
        let loss = loss().map_or(String::new(), |loss| format!("  loss {loss:.5}"));
        bar.set_position(progress.done);
        bar.set_message(format!("{} rows  {} rows/s{loss}", grouped(rows), grouped(rate as u64)));
    }

    /// Takes the bar away.
    pub fn finish(self) -> Duration {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        self.start.elapsed()
    }
}

/// Makes Ctrl-C ask for an orderly stop; pressed again it ends the process at once.
pub fn catch_interrupts() {
    // without a handler Ctrl-C simply ends the process, as everywhere
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(1);
        }
    });
}

/// The flag that Ctrl-C sets.
pub fn stop_flag() -> &'static AtomicBool {
    &STOP
}

/// Whether a stop was asked for.
pub fn stop_requested() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Writes text to standard output.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Stdout)
}

/// Writes a file as a whole, or not at all.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    kalmia::file::replace(path, |sink| sink.write_all(bytes)).map_err(Failure::output(path))
}

/// This command as it can be typed again.
pub fn command_line() -> String {
    std::env::args().map(|word| shell_word(&word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// So many things: `1 row`, `1 200 rows`.
pub fn counted(n: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// Digits in groups of three.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(shell_word("--target=y"), "--target=y");
        assert_eq!(shell_word("day *.csv"), "'day *.csv'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(
            [0, 1, 1200].map(|n| super::counted(n, "row")),
            ["0 rows", "1 row", "1 200 rows"]
        );
    }

    #[test]
    fn digits_are_grouped_from_the_right() {
        assert_eq!(
            [0, 12, 123, 1234, 1_234_567].map(super::grouped),
            ["0", "12", "123", "1 234", "1 234 567"]
        );
    }
}
