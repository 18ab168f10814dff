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
        if self.talks() {
            // if standard error is closed, nobody reads the note
            let _ = writeln!(io::stderr(), "{}", visible_line(text));
        }
    }

    /// A bar over bytes, drawn only on a terminal.
    pub fn progress(&self, start: Progress) -> Meter {
        let shown = self.talks() && io::stderr().is_terminal();
        let bar = shown.then(|| terminal_bar(start.total));
        Meter { bar, start: Instant::now(), last: Instant::now() }
    }
}

/// A bar on standard error; a spinner if the total is not known.
pub fn terminal_bar(total: Option<u64>) -> ProgressBar {
    bar_on(ProgressDrawTarget::stderr_with_hz(8), total)
}

/// What comes last is cut to the width of the terminal: a line that wraps is printed again at each
/// step. The rest takes 31 columns at most.
fn bar_on(target: ProgressDrawTarget, total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{bar:10} {percent:>3} %  {eta} left  {wide_msg}",
        None => "{spinner} {bytes}  {wide_msg}",
    };
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(total.unwrap_or(0)), target).with_style(style)
}

/// The most useful number first: a narrow terminal shows only the beginning.
fn message(rows: u64, loss: Option<f64>, rate: f64) -> String {
    let loss = loss.map_or(String::new(), |loss| format!("  loss {loss:.5}"));
    format!("{} rows{loss}  {} rows/s", grouped(rows), grouped(rate as u64))
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
        bar.set_position(progress.done);
        bar.set_message(message(rows, loss(), rate));
    }

    /// Removes the bar and returns the time since it was made.
    pub fn finish(self) -> Duration {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        self.start.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::TermLike;
    use std::sync::{Arc, Mutex};

    /// A terminal that keeps the longest line that it was given.
    #[derive(Debug, Clone)]
    struct Screen {
        columns: u16,
        longest: Arc<Mutex<String>>,
    }

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            self.columns
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            let mut longest = self.longest.lock().unwrap();
            // blanks clear the rest of the line
            if !text.trim().is_empty() && text.chars().count() > longest.chars().count() {
                *longest = text.to_owned();
            }
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The longest line of a bar in the middle of a large file.
    fn drawn(columns: u16, total: Option<u64>) -> String {
        let screen = Screen { columns, longest: Arc::default() };
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(screen.clone()), 1);
        let bar = bar_on(target, total);
        bar.set_position(170_000_000_000);
        bar.set_message(message(3_400_000_000, Some(110.233), 1_234_567.0));
        bar.force_draw();
        let line = screen.longest.lock().unwrap().clone();
        bar.finish_and_clear();
        line
    }

    #[test]
    fn the_bar_fits_the_terminal() {
        for total in [Some(294_000_000_000), None] {
            for columns in [32, 40, 60, 79, 80, 120, 200] {
                let line = drawn(columns, total);
                assert!(line.chars().count() <= usize::from(columns), "{columns}: {line:?}");
                assert!(line.contains(if total.is_some() { " 58 %" } else { "GiB" }), "{line:?}");
            }
            let line = drawn(80, total);
            let said = [&*format!("{} rows", grouped(3_400_000_000)), "loss 110.23300"];
            assert!(said.iter().all(|words| line.contains(words)), "{line:?}");
        }
        assert!(drawn(100, None).contains("rows/s"));
    }
}
