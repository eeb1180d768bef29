//! The only place that prints. Colours respect NO_COLOR, CLICOLOR and pipes.

use std::io::{IsTerminal, Write};

/// Writes to standard output.
pub fn out(text: &str) {
    // A reader that is gone (`| head`) wants no more.
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes()).ok();
    stdout.flush().ok();
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
