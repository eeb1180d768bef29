//! Lines of styled text with a known width.
//!
//! Text is escaped when it is added to a line, so that no part of a report can omit this step.

use anstyle::{AnsiColor, Effects, Style};
use picklock_verdicts::check::Status;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::escape::visible;
use crate::inert::Inert;
use crate::responsibility::Party;

/// A line: pieces of text, each with a style.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    pieces: Vec<(Style, String)>,
}

impl Line {
    pub(super) fn new() -> Self {
        Line::default()
    }

    /// Appends text without a style.
    pub(super) fn plain(self, text: &str) -> Self {
        self.styled(Style::new(), text)
    }

    /// Appends text in `style`.
    pub(super) fn styled(mut self, style: Style, text: &str) -> Self {
        self.pieces.push((style, visible(text).into_owned()));
        self
    }

    /// Appends blanks up to the column. Does nothing if the line is already that wide.
    pub(super) fn pad_to(self, column: usize) -> Self {
        let missing = column.saturating_sub(self.width());
        self.plain(&" ".repeat(missing))
    }

    /// Appends another line.
    pub(super) fn then(mut self, other: Line) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    /// Returns the width of the line in columns.
    pub(super) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| columns(text)).sum()
    }

    /// Truncates the line to `width` columns. A truncated line ends with `…`.
    pub(super) fn cut(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut left = width.saturating_sub(1);
        let mut cut = Line::new();
        for (style, text) in self.pieces {
            let head = head(&text, left);
            left -= columns(head);
            let whole = head.len() == text.len();
            cut.pieces.push((style, head.to_owned()));
            if !whole {
                break;
            }
        }
        cut.plain("…")
    }

    /// Wraps the line into lines of at most `width` columns. All but the first are indented. A word that is
    /// wider than a line is broken at the end of the line.
    pub(super) fn wrap(self, width: usize, indent: usize) -> Vec<Line> {
        let indent = indent.min(width / 2);
        let mut wrapped = Wrapped {
            lines: vec![Line::new()],
            used: 0,
            width,
            indent,
        };
        let mut begun = false;
        for mut word in self.words() {
            let wide: usize = word.iter().map(|(_, text)| columns(text)).sum();
            let is_wider = wrapped.used + wide > width;
            let is_blank = word
                .iter()
                .all(|(_, text)| text.trim_start_matches(' ').is_empty());
            if begun && is_wider && is_blank {
                // Blanks at the end of a full line do not begin another line.
                continue;
            }
            if begun && is_wider {
                wrapped.next_line();
                if let Some((_, text)) = word.first_mut() {
                    *text = text.trim_start_matches(' ').to_owned();
                }
            }
            for (style, text) in word {
                begun |= text.chars().any(|c| c != ' ');
                wrapped.put(style, &text);
            }
        }
        wrapped.lines
    }

    /// Splits the line into words, each with the spaces before it. The style may change within a word.
    fn words(self) -> Vec<Vec<(Style, String)>> {
        let (mut words, mut word) = (Vec::new(), Vec::new());
        let mut in_word = false;
        for (style, text) in self.pieces {
            let mut part = String::new();
            for c in text.chars() {
                if c == ' ' && in_word {
                    word.push((style, std::mem::take(&mut part)));
                    words.push(std::mem::take(&mut word));
                }
                in_word = c != ' ';
                part.push(c);
            }
            word.push((style, part));
        }
        words.push(word);
        words
    }

    /// Renders the line with escape sequences for its styles, without trailing spaces.
    pub(super) fn render(&self) -> Inert {
        let mut out = String::new();
        for run in self.pieces.chunk_by(|a, b| a.0 == b.0) {
            let style = run[0].0;
            let text: String = run.iter().map(|(_, text)| text.as_str()).collect();
            if style == Style::new() || text.is_empty() {
                out.push_str(&text);
            } else {
                out.push_str(&format!("{style}{text}{style:#}"));
            }
        }
        out.truncate(out.trim_end_matches(' ').len());
        // Non-breaking spaces kept words together; a reader searches for ordinary ones.
        let out = out.replace('\u{a0}', " ");
        // Wrapping may have moved text to the start of a line, where a workflow runner would execute it.
        Inert::with_styles(&out)
    }
}

/// Lines that are being filled.
struct Wrapped {
    lines: Vec<Line>,
    /// Columns used in the last line.
    used: usize,
    width: usize,
    indent: usize,
}

impl Wrapped {
    fn next_line(&mut self) {
        self.lines.push(Line::new().plain(&" ".repeat(self.indent)));
        self.used = self.indent;
    }

    /// Appends text, breaking it at the end of each line.
    fn put(&mut self, style: Style, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let mut fits = head(rest, self.width.saturating_sub(self.used));
            if fits.is_empty() && self.used > self.indent {
                self.next_line();
                continue;
            }
            if fits.is_empty() {
                // Show a character that is wider than a whole line anyway.
                fits = &rest[..rest.chars().next().map_or(0, char::len_utf8)];
            }
            self.used += columns(fits);
            if let Some(line) = self.lines.last_mut() {
                line.pieces.push((style, fits.to_owned()));
            }
            rest = &rest[fits.len()..];
        }
    }
}

/// Returns the number of columns that `text` occupies on a terminal.
pub(super) fn columns(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Returns the longest prefix of `text` that fits into `width` columns.
fn head(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += UnicodeWidthChar::width(c).unwrap_or(0);
        if used > width {
            return &text[..at];
        }
    }
    text
}

pub(super) const STRONG: Style = Style::new().bold();
pub(super) const FAINT: Style = Style::new().dimmed();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
pub(super) const WARN: Style = AnsiColor::Yellow.on_default();
pub(super) const FAULT: Style = AnsiColor::Magenta.on_default();
pub(super) const COOL: Style = AnsiColor::Cyan.on_default();

/// Returns the style of a violation for which `party` is at fault.
pub(super) fn style_of_party(party: Party) -> Style {
    match party {
        Party::Lock => BAD,
        Party::Redis => FAULT.effects(Effects::BOLD),
        Party::Client | Party::Outside => WARN.effects(Effects::BOLD),
        Party::Undetermined => STRONG,
    }
}

pub(super) fn style(status: Status) -> Style {
    match status {
        Status::Held => GOOD,
        Status::Violated => BAD,
        Status::Unknown => WARN,
        Status::NotApplicable => FAINT,
    }
}

#[cfg(test)]
mod tests {
    use anstyle::AnsiColor;

    use super::*;

    fn plain(lines: Vec<Line>) -> Vec<String> {
        let lines = lines.iter().map(Line::render);
        lines.map(|line| line.as_str().to_owned()).collect()
    }

    #[test]
    fn wrapping_breaks_at_blanks_and_indents_the_rest() {
        let line = Line::new().plain("the client outlived its lease");
        assert_eq!(
            plain(line.wrap(14, 2)),
            ["the client", "  outlived its", "  lease"]
        );
    }

    #[test]
    fn blanks_behind_a_full_line_are_no_line() {
        let line = Line::new().plain("the client").plain("  ");
        assert_eq!(plain(line.wrap(10, 2)), ["the client"]);
    }

    #[test]
    fn word_wider_than_a_line_is_broken() {
        let line = Line::new().plain("a bcdefghijkl m");
        assert_eq!(plain(line.wrap(6, 1)), ["a", " bcdef", " ghijk", " l m"]);
    }

    #[test]
    fn wide_characters_occupy_two_columns() {
        assert_eq!(
            plain(Line::new().plain("锁锁锁").wrap(5, 0)),
            ["锁锁", "锁"]
        );
        assert_eq!(
            Line::new().plain("锁锁锁").cut(5).render().as_str(),
            "锁锁…"
        );
    }

    #[test]
    fn style_is_reset_after_its_text() {
        let red = AnsiColor::Red.on_default();
        let line = Line::new().styled(red, "no").plain(" more  ");
        assert_eq!(line.render().as_str(), "\u{1b}[31mno\u{1b}[0m more");
    }

    #[test]
    fn wrapped_text_has_one_style_sequence_per_line() {
        let red = AnsiColor::Red.on_default();
        let line = Line::new().styled(red, "no two of them");
        assert_eq!(
            plain(line.wrap(8, 0)),
            ["\u{1b}[31mno two\u{1b}[0m", "\u{1b}[31mof them\u{1b}[0m"]
        );
    }
}
