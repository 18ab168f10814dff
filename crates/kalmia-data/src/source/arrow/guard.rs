//! Runs decoders of other crates, which may panic on damaged files.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::error::{Error, Result};

thread_local! {
    /// Whether a decoder runs on this thread.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder. Its error, and its panic on a damaged file, become an error that names the file.
/// Such a panic prints nothing.
pub(in crate::source) fn guard<T, E: std::fmt::Display>(
    file: &str,
    format: &'static str,
    decode: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    silence_guarded_panics();
    let corrupt = |reason: String| Error::Corrupt { file: file.into(), format, reason };
    GUARDED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(decode));
    GUARDED.set(false);
    match outcome {
        Ok(outcome) => outcome.map_err(|e| corrupt(e.to_string())),
        Err(_) => Err(corrupt("the file is damaged".into())),
    }
}

/// Puts a hook before the one that is there, once per process; panics elsewhere go to that one.
fn silence_guarded_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // `try_with`: a thread may panic while its locals are being destroyed.
            if !GUARDED.try_with(Cell::get).unwrap_or(false) {
                before(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn only_panics_of_a_decoder_are_silent() {
        static REPORTED: AtomicUsize = AtomicUsize::new(0);
        // Other tests of this binary may panic on purpose too: only marked panics count.
        let marked = |panic: &std::panic::PanicHookInfo<'_>| {
            panic.payload().downcast_ref::<&str>().is_some_and(|text| text.contains("guard test"))
        };
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if marked(panic) {
                REPORTED.fetch_add(1, Ordering::SeqCst);
            } else {
                before(panic);
            }
        }));
        let decode = || -> std::result::Result<(), String> { panic!("guard test, inside") };
        let error = guard("t.arrow", "Arrow IPC", decode).unwrap_err();
        assert_eq!(error.to_string(), "t.arrow: not readable as Arrow IPC: the file is damaged");
        assert_eq!(REPORTED.load(Ordering::SeqCst), 0, "inside of a decoder nothing is printed");

        let outside = catch_unwind(|| panic!("guard test, outside"));
        assert!(outside.is_err());
        assert_eq!(REPORTED.load(Ordering::SeqCst), 1, "other panics are printed");

        assert!(guard("t.arrow", "Arrow IPC", || Ok::<_, String>(1)).is_ok());
        assert!(catch_unwind(|| panic!("guard test, after")).is_err());
        assert_eq!(REPORTED.load(Ordering::SeqCst), 2);
    }
}
