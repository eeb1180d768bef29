//! Shows a long text in the user's pager, as git and man do.

use std::io::{IsTerminal, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use picklock_reports::inert::Inert;

use crate::print;

/// Options of `less`: end if the text fits on one screen, pass styles on, keep the text on the screen.
const LESS: &str = "FRX";

/// Prints the text. If it is longer than the terminal, this process becomes `$PAGER`, or `less` if that is not set. An
/// empty `$PAGER` prints the text without a pager.
pub fn show(text: &Inert) {
    let rows = console::Term::stdout().size_checked().map(|(rows, _)| rows);
    let is_long = rows.is_some_and(|rows| text.lines().count() >= usize::from(rows));
    if std::io::stdout().is_terminal() && is_long {
        become_pager(text);
    }
    print::out(text);
}

/// Replaces this process with the pager, which then receives the user's keys, such as Ctrl-C. Returns only if that is
/// not possible.
fn become_pager(text: &Inert) -> Option<()> {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    let words = shell_words::split(&pager).ok()?;
    let (program, arguments) = words.split_first()?;
    let mut file = tempfile::tempfile().ok()?;
    file.write_all(print::styled(text).as_bytes()).ok()?;
    file.rewind().ok()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::from(file));
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    // `exec` returns only if the pager cannot be started.
    let _error = command.exec();
    None
}
