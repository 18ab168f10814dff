//! One line per event on standard error, for journals. Callers pass no tokens and no values of
//! rows.

use std::io::Write;
use std::time::SystemTime;

/// Something that an operator may want to know.
pub fn info(message: &str) {
    line("info", message);
}

/// Something that went wrong.
pub fn error(message: &str) {
    line("error", message);
}

fn line(level: &str, message: &str) {
    let time = humantime::format_rfc3339_seconds(SystemTime::now());
    // a message never spans lines, whatever a client put into a name
    let message = message.replace(char::is_control, " ");
    // if standard error is closed, nobody reads the line
    let _ = writeln!(std::io::stderr(), "{time} {level} {message}");
}
