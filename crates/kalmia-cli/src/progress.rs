//! What the command says on standard error: notes, and a progress bar on a terminal.

use crate::format::grouped;
use crate::visible::visible_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kalmia_data::Progress;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Notes and progress, unless `--quiet`.
#[derive(Debug, Clone, Copy)]
pub struct Ui {
    quiet: bool,
}

impl Ui {
    /// Silent if `quiet`.
    pub fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Whether anything but errors is printed.
    pub fn talks(&self) -> bool {
        !self.quiet
    }

    /// Prints a line on standard error.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            // if standard error is closed, nobody reads the note
            let _ = writeln!(io::stderr(), "{}", visible_line(text));
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
        let due = self.last.elapsed() >= Duration::from_millis(100);
        let Some(bar) = self.bar.as_ref().filter(|_| due) else { return };
        self.last = Instant::now();
        let rate = rows as f64 / self.start.elapsed().as_secs_f64();
        let loss = loss().map_or(String::new(), |loss| format!("  loss {loss:.5}"));
        bar.set_position(progress.done);
        bar.set_message(format!("{} rows  {} rows/s{loss}", grouped(rows), grouped(rate as u64)));
    }

    /// Removes the bar and returns the time since it was made.
    pub fn finish(self) -> Duration {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        self.start.elapsed()
    }
}
