//! The only module that prints. Colours respect NO_COLOR, CLICOLOR and pipes.
//!
//! It prints only [`Inert`] text, so that no text of a lock, a server, a file or a library can issue commands to a
//! terminal or to the runner of a CI job.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use picklock_reports::inert::Inert;

/// The first error of a write to standard output.
static LOST: OnceLock<String> = OnceLock::new();

/// Minimum width for reports, in columns.
const NARROWEST: usize = 36;

/// Writes to standard output. [`lost`] reports a write error at the end.
pub fn out(text: &Inert) {
    out_checked(&text.checked());
}

/// Writes a JSON document and a line break to standard output.
pub fn document(json: &str) {
    out(&Inert::lines(&format!("{json}\n")));
}

fn out_checked(text: &Inert) {
    let text = for_terminal(text.as_str(), std::io::stdout().is_terminal());
    let mut stdout = anstream::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        // A reader that has exited (`| head`) needs no more output.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            LOST.get_or_init(|| error.to_string());
        }
        _ => {}
    }
}

/// Returns the text as standard output would get it: without styles if they are not wanted.
pub fn styled(text: &Inert) -> String {
    let text = for_terminal(text.as_str(), std::io::stdout().is_terminal());
    match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(&text).to_string(),
        _ => text.into_owned(),
    }
}

/// Returns why some of the output could not be written, such as a full disk. The usual exit code would then mislead a
/// program that reads the output.
pub fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Writes to standard error.
pub fn err(text: &Inert) {
    err_checked(&text.checked());
}

fn err_checked(text: &Inert) {
    let text = for_terminal(text.as_str(), stderr_is_terminal());
    anstream::stderr().lock().write_all(text.as_bytes()).ok();
}

/// Writes output that is not part of the report: to standard error if standard output is one JSON document.
pub fn note(json: bool, text: &Inert) {
    if json { err(text) } else { out(text) }
}

/// Writes annotations for the runner of a CI job, to the same stream as [`note`].
pub fn annotations(json: bool, text: &Inert) {
    if json {
        err_checked(text);
    } else {
        out_checked(text);
    }
}

/// Returns the text as the terminal can display it. A file or a pipe gets it unchanged.
fn for_terminal(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal && !text.is_ascii() && !is_utf8_locale() {
        Cow::Owned(text.chars().map(in_ascii).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns `true` if the locale uses UTF-8. Also returns `true` if no locale is set, because UTF-8 is the usual
/// default.
fn is_utf8_locale() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let mut set = names.filter_map(|name| std::env::var(name).ok());
    let locale = set.find(|value| !value.is_empty());
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Returns an ASCII character that looks similar and has the same width.
fn in_ascii(c: char) -> char {
    match c {
        c if c.is_ascii() => c,
        '✔' | '✓' | '┼' | '┬' | '┴' => '+',
        '✘' | '✗' | '×' => 'x',
        '·' | '…' => '.',
        '–' | '—' | '─' | '−' => '-',
        '→' | '›' | '▸' | '≥' => '>',
        '←' | '‹' | '≤' => '<',
        '█' => '#',
        '░' => ':',
        '├' | '┤' | '│' => '|',
        'µ' => 'u',
        '‼' => '!',
        '◆' => '*',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        _ => '?',
    }
}

pub fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Returns the width of the terminal, or 100 columns without one.
pub fn width() -> usize {
    console::Term::stdout()
        .size_checked()
        .map_or(100, |(_, columns)| {
            usize::from(columns).clamp(NARROWEST, 160)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_of_a_report_has_a_likeness_in_ascii() {
        let text = "✘ redlock × gc-pause   █$░~ ├ c0 ┤ ─┬─ 120 µs → n0 …";
        let shown: String = text.chars().map(in_ascii).collect();
        assert_eq!(
            shown,
            "x redlock x gc-pause   #$:~ | c0 | -+- 120 us > n0 ."
        );
    }
}
