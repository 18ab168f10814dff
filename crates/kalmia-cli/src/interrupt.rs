//! Ctrl-C: the first one asks for an orderly stop, the second one ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set once Ctrl-C was pressed.
static STOP: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C ask for an orderly stop; pressed again it ends the process at once.
pub fn catch() {
    // without a handler Ctrl-C simply ends the process, as everywhere
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(1);
        }
    });
}

/// The flag that Ctrl-C sets.
pub fn flag() -> &'static AtomicBool {
    &STOP
}

/// Whether a stop was asked for.
pub fn requested() -> bool {
    STOP.load(Ordering::Relaxed)
}
