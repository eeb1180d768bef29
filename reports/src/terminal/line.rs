//! Lines of styled text with a known width.
//!
//! Every text is escaped when it is added, so no part of a report can forget to.

use anstyle::{AnsiColor, Effects, Style};
use picklock_verdicts::check::Status;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::escape::{inert, visible};

/// One line: pieces of text, each with its style.
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

    /// Appends blanks up to the column, or nothing if the line is already that wide.
    pub(super) fn pad_to(self, column: usize) -> Self {
        let missing = column.saturating_sub(self.width());
        self.plain(&" ".repeat(missing))
    }

    /// Appends another line.
    pub(super) fn then(mut self, other: Line) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    /// The number of columns.
    pub(super) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| columns(text)).sum()
    }

    /// Truncated to `width` columns, with `…` at the end.
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

    /// Wrapped into lines of at most `width` columns; all but the first are indented. A word that
    /// is wider than a line is broken at the end of the line.
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
            if begun && wrapped.used + wide > width {
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

    /// Words with the spaces before them, so that together they are the line. The style may change
    /// within a word.
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

    /// With escape sequences for its styles, without trailing spaces.
    pub(super) fn render(&self) -> String {
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
        // Wrapping may have put there what stood within a line.
        inert(out)
    }
}

/// Lines being filled.
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

    /// Appends text, broken at the end of each line.
    fn put(&mut self, style: Style, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let mut fits = head(rest, self.width.saturating_sub(self.used));
            if fits.is_empty() && self.used > self.indent {
                self.next_line();
                continue;
            }
            if fits.is_empty() {
                // A character wider than a whole line is shown nevertheless.
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

/// The number of columns of `text` on a terminal.
pub(super) fn columns(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The longest prefix of `text` that fits `width` columns.
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

/// The style of a status.
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
        lines.iter().map(Line::render).collect()
    }

    #[test]
    fn wraps_at_blanks_and_indents_what_follows() {
        let line = Line::new().plain("the client outlived its lease");
        assert_eq!(
            plain(line.wrap(14, 2)),
            ["the client", "  outlived its", "  lease"]
        );
    }

    #[test]
    fn breaks_a_word_that_fits_nowhere() {
        let line = Line::new().plain("a bcdefghijkl m");
        assert_eq!(plain(line.wrap(6, 1)), ["a", " bcdef", " ghijk", " l m"]);
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(
            plain(Line::new().plain("锁锁锁").wrap(5, 0)),
            ["锁锁", "锁"]
        );
        assert_eq!(Line::new().plain("锁锁锁").cut(5).render(), "锁锁…");
    }

    #[test]
    fn styles_end_where_they_should() {
        let red = AnsiColor::Red.on_default();
        let line = Line::new().styled(red, "no").plain(" more  ");
        assert_eq!(line.render(), "\u{1b}[31mno\u{1b}[0m more");
    }

    #[test]
    fn wrapping_does_not_multiply_the_styles() {
        let red = AnsiColor::Red.on_default();
        let line = Line::new().styled(red, "no two of them");
        assert_eq!(
            plain(line.wrap(8, 0)),
            ["\u{1b}[31mno two\u{1b}[0m", "\u{1b}[31mof them\u{1b}[0m"]
        );
    }
}
