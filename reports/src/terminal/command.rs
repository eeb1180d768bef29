//! The command that repeats a run.

use picklock_verdicts::check::Status;
use picklock_verdicts::record::RunRecord;

use super::detail::Detail;
use super::line::{COOL, FAINT, Line, STRONG, columns};
use crate::cell_status::overall;
use crate::escape::{shell_words, visible};

/// Returns the command that repeats the run, and the options that show more of it.
pub(super) fn again(record: &RunRecord, width: usize, detail: Detail) -> Vec<Line> {
    let mut lines = reproduce(&record.reproduce, width);
    if detail == Detail::Answer && overall(&record.verdicts) != Status::Held {
        let more = "  more: -v for the whole story, every verdict and the latencies; --out DIR for page and log";
        lines.extend(Line::new().styled(FAINT, more).wrap(width, 4));
    }
    lines
}

/// Formats the command so that it can be copied. A long command is broken between words with a backslash, as
/// a shell allows.
pub(super) fn reproduce(command: &str, width: usize) -> Vec<Line> {
    if command.is_empty() {
        return Vec::new();
    }
    let command = visible(command);
    let title = Line::new().plain("  ").styled(STRONG, "again: ");
    if columns(&command) + title.width() <= width {
        return vec![title.styled(COOL, &command)];
    }
    let mut lines = vec![title];
    let rows = break_command(&command, width.saturating_sub(8));
    let last = rows.len() - 1;
    for (index, row) in rows.iter().enumerate() {
        let indent = if index == 0 { "    " } else { "      " };
        let line = Line::new().plain(indent).styled(COOL, row);
        lines.push(if index == last {
            line
        } else {
            line.plain(" \\")
        });
    }
    lines
}

/// Breaks the command into rows of at most `width` columns, or of one word if it is wider. An option and its
/// value stay together if possible.
fn break_command(command: &str, width: usize) -> Vec<String> {
    let words = shell_words(command);
    let mut rows = vec![String::new()];
    for (index, word) in words.iter().enumerate() {
        let row = rows.last_mut().expect("begins with a row, and only grows");
        let alone = columns(word);
        let value = words.get(index + 1).filter(|next| !next.starts_with('-'));
        let value = value.filter(|_| word.starts_with("--"));
        let together = value.map_or(alone, |value| alone + 1 + columns(value));
        let together = if together <= width { together } else { alone };
        if row.is_empty() {
            row.push_str(word);
        } else if columns(row) + 1 + together <= width {
            row.push(' ');
            row.push_str(word);
        } else {
            rows.push((*word).to_owned());
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_broken_between_words_only() {
        let command = "picklock scenario calm --impl 'exec:python3 a.py' --seed 7";
        assert_eq!(
            break_command(command, 26),
            [
                "picklock scenario calm",
                "--impl 'exec:python3 a.py'",
                "--seed 7"
            ]
        );
        assert_eq!(
            break_command(command, 20),
            [
                "picklock scenario",
                "calm --impl",
                "'exec:python3 a.py'",
                "--seed 7"
            ]
        );
    }
}
