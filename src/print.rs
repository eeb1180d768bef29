//! The only place that prints. Colours respect NO_COLOR, CLICOLOR and pipes.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

/// Why some of the output was lost.
static LOST: OnceLock<String> = OnceLock::new();

/// Writes to standard output. What cannot be written is told by [`lost`] at the end.
pub fn out(text: &str) {
    let mut stdout = anstream::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        // A reader that is gone (`| head`) wants no more.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            LOST.get_or_init(|| error.to_string());
        }
        _ => {}
    }
}

/// Why some of the output could not be written, if so: a full disk, for example. Then the exit code
/// is no answer to a program that reads the output.
pub fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Writes to standard error.
pub fn err(text: &str) {
    anstream::stderr().lock().write_all(text.as_bytes()).ok();
}

/// True if standard error is a terminal.
pub fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// The width of the terminal, or 100 columns without one.
pub fn width() -> usize {
    console::Term::stdout()
        .size_checked()
        .map_or(100, |(_, columns)| usize::from(columns).clamp(60, 160))
}
