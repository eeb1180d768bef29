//! Lines of styled text that know how wide they are.
//!
//! Every text that goes in is made safe first, so no part of a report can forget to.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::escape::visible;

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
        if !text.is_empty() {
            self.pieces.push((style, visible(text).into_owned()));
        }
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

    /// Columns that it takes.
    pub(super) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| columns(text)).sum()
    }

    /// Cut to `width` columns; what was cut shows as `…`.
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

    /// Broken at blanks into lines of at most `width` columns; all but the first are indented. A
    /// word that is wider than a line is broken where the line ends.
    pub(super) fn wrap(self, width: usize, indent: usize) -> Vec<Line> {
        let indent = indent.min(width / 2);
        let mut lines = vec![Line::new()];
        let (mut used, mut begun) = (0, false);
        for (style, word) in self.words() {
            let mut rest = word.as_str();
            if used + columns(rest) > width && begun {
                lines.push(Line::new().plain(&" ".repeat(indent)));
                used = indent;
                rest = rest.trim_start_matches(' ');
            }
            begun |= !rest.trim_start_matches(' ').is_empty();
            while !rest.is_empty() {
                let fits = head(rest, width.saturating_sub(used).max(1));
                let fits = if fits.is_empty() { first(rest) } else { fits };
                used += columns(fits);
                if let Some(line) = lines.last_mut() {
                    line.pieces.push((style, fits.to_owned()));
                }
                rest = &rest[fits.len()..];
                if !rest.is_empty() {
                    lines.push(Line::new().plain(&" ".repeat(indent)));
                    used = indent;
                }
            }
        }
        lines
    }

    /// Words with the blanks before them, so that joined they are the line.
    fn words(self) -> Vec<(Style, String)> {
        let mut words: Vec<(Style, String)> = Vec::new();
        for (style, text) in self.pieces {
            let mut word = String::new();
            let mut in_word = false;
            for c in text.chars() {
                if c == ' ' && in_word {
                    words.push((style, std::mem::take(&mut word)));
                    in_word = false;
                }
                in_word |= c != ' ';
                word.push(c);
            }
            words.push((style, word));
        }
        words
    }

    /// With escape sequences for its styles, without blanks at the end.
    pub(super) fn render(&self) -> String {
        let last = self
            .pieces
            .iter()
            .rposition(|(style, text)| !text.trim_end_matches(' ').is_empty() || styled(style));
        let shown = last.map_or(0, |last| last + 1);
        let mut out = String::new();
        for (index, (style, text)) in self.pieces[..shown].iter().enumerate() {
            if !styled(style) {
                let is_last = index + 1 == shown;
                out.push_str(if is_last {
                    text.trim_end_matches(' ')
                } else {
                    text
                });
            } else {
                out.push_str(&format!("{style}{text}{style:#}"));
            }
        }
        out
    }
}

fn styled(style: &Style) -> bool {
    *style != Style::new()
}

/// Columns that `text` takes on a terminal.
pub(super) fn columns(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The longest beginning of `text` that fits into `width` columns.
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

/// The first character of a text that is not empty.
fn first(text: &str) -> &str {
    let end = text.char_indices().nth(1).map_or(text.len(), |(at, _)| at);
    &text[..end]
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
}
