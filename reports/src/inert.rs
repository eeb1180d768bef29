//! The only type that is printed.
//!
//! Text from a lock, a server, a file, the environment or a library is a `&str`, a path or an error. Such values cannot
//! be printed: outputs accept only [`Inert`], which is created from texts of this program, or by escaping. [`inert!`]
//! corresponds to `format!`, and escapes all arguments that are not inert yet.
//!
//! [`inert!`]: crate::inert

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::ops::Deref;

use crate::escape::{
    has_marked_command, is_control, is_workflow_command, visible, visible_lines,
    without_marked_commands,
};

/// Text that can be written to a terminal or to the log of a CI job: its only control characters are line breaks, tabs
/// and the sequences of styles, and no line of it is a command for a runner, with or without its styles.
///
/// It has no `Display`, so that `format!` cannot turn it back into a string.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inert(String);

impl Inert {
    /// Returns a text of this program.
    pub fn literal(text: &'static str) -> Inert {
        Inert(text.to_owned())
    }

    /// Escapes the lines of a text, and keeps its line breaks, so a foreign text could add lines to the output. For a
    /// foreign text within a line, use [`inert!`].
    ///
    /// [`inert!`]: crate::inert
    pub fn lines(text: &str) -> Inert {
        Inert(visible_lines(text).into_owned())
    }

    /// Makes a text inert, but keeps its styles.
    pub fn with_styles(text: &str) -> Inert {
        let is_plain = |c: char| c == '\n' || c == '\t' || !is_control(c);
        if text.chars().all(is_plain) && !text.contains("::") && !text.contains("##") {
            return Inert(text.to_owned());
        }
        let lines: Vec<String> = text.split('\n').map(inert_line).collect();
        Inert(lines.join("\n"))
    }

    /// Creates annotations, which are themselves commands for the runner. All other commands are escaped.
    pub fn annotations(text: &str) -> Inert {
        let lines = text.split('\n').map(|line| {
            let shown: String = pieces(line).flat_map(Piece::shown).collect();
            without_marked_commands(shown, "\\u{23}#")
        });
        Inert(lines.collect::<Vec<String>>().join("\n"))
    }

    /// Returns the text of [`inert!`], which has escaped the arguments.
    ///
    /// [`inert!`]: crate::inert
    #[doc(hidden)]
    pub fn from_escaped(text: fmt::Arguments<'_>) -> Inert {
        // A runner command such as `::error` may be split between two arguments, so the joined text is checked again.
        Inert::with_styles(&text.to_string())
    }

    /// Appends another text.
    pub fn push(&mut self, other: &Inert) {
        self.0.push_str(&other.0);
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text again, checked as a whole, because joined texts may form a command together.
    pub fn checked(&self) -> Inert {
        Inert::with_styles(&self.0)
    }
}

/// An inert text can be read as a string, but a string cannot become an inert text in this way.
impl Deref for Inert {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<&str> for Inert {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl FromIterator<Inert> for Inert {
    fn from_iter<I: IntoIterator<Item = Inert>>(parts: I) -> Inert {
        let mut all = Inert::default();
        for part in parts {
            all.push(&part);
        }
        all
    }
}

/// Formats an [`Inert`] text like `format!`. All arguments that are not [`Inert`] are escaped, and stay on one line.
/// The format cannot capture variables, because it would not escape them:
///
/// ```
/// let name = "\u{1b}[2J\nx";
/// let text = picklock_reports::inert!("the lock {}", name);
/// assert_eq!(text.as_str(), r"the lock \u{1b}[2J\nx");
/// ```
///
/// ```compile_fail
/// let name = "\u{1b}[2J\nx";
/// let text = picklock_reports::inert!("the lock {name}");
/// ```
#[macro_export]
macro_rules! inert {
    ($format:literal $(, $argument:expr)* $(,)?) => {
        $crate::inert::Inert::from_escaped(format_args!(
            concat!($format, "") $(, $crate::inert::Escaped(&$argument))*
        ))
    };
}

/// An argument of [`inert!`](crate::inert).
pub trait Argument {
    /// Returns its inert text.
    fn text(&self) -> Cow<'_, str>;
}

impl<T: Display + ?Sized> Argument for T {
    fn text(&self) -> Cow<'_, str> {
        Cow::Owned(visible(&self.to_string()).into_owned())
    }
}

impl Argument for Inert {
    fn text(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
}

impl Argument for &Inert {
    fn text(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
}

/// An escaped argument.
#[doc(hidden)]
pub struct Escaped<'a, T: ?Sized>(pub &'a T);

impl<T: Argument + ?Sized> Display for Escaped<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.text())
    }
}

/// A part of a line.
enum Piece<'a> {
    /// The sequence of a style.
    Style(&'a str),
    Char(char),
}

impl Piece<'_> {
    fn shown(self) -> Vec<char> {
        match self {
            Piece::Style(style) => style.chars().collect(),
            Piece::Char('\t') => vec!['\t'],
            Piece::Char(c) if is_control(c) => c.escape_default().collect(),
            Piece::Char(c) => vec![c],
        }
    }
}

/// Returns the styles and the other characters of a line.
fn pieces(line: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if let Some(length) = style_length(rest) {
            let (style, after) = rest.split_at(length);
            rest = after;
            return Some(Piece::Style(style));
        }
        let mut chars = rest.chars();
        let next = chars.next()?;
        rest = chars.as_str();
        Some(Piece::Char(next))
    })
}

/// Returns the length of the sequence of a style with which `text` begins, such as `ESC[1;31m`.
fn style_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..].starts_with('m').then_some(end + 3)
}

fn inert_line(line: &str) -> String {
    let plain: String = pieces(line)
        .filter_map(|piece| match piece {
            Piece::Char(c) => Some(c),
            Piece::Style(_) => None,
        })
        .collect();
    let is_command = is_workflow_command(&plain) || has_marked_command(&plain);
    let mut shown = String::with_capacity(line.len() + 16);
    let mut is_first = true;
    for piece in pieces(line) {
        match piece {
            Piece::Char(c @ ('#' | ':')) if is_command && (c == '#' || is_first) => {
                shown.extend(c.escape_unicode());
                is_first = false;
            }
            Piece::Char(c) => {
                is_first &= c.is_whitespace();
                shown.extend(Piece::Char(c).shown());
            }
            style => shown.extend(style.shown()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escape::visible_json;

    #[test]
    fn argument_is_escaped_and_inert_argument_is_not() {
        let name = "a\n\u{1b}[2J\u{202e}";
        let shown = crate::inert!("{}: {:>3}|", name, 7);
        assert_eq!(shown.as_str(), r"a\n\u{1b}[2J\u{202e}:   7|");
        let whole = crate::inert!("\n  = help: {}\n", shown);
        assert_eq!(whole.as_str(), format!("\n  = help: {}\n", shown.as_str()));
    }

    #[test]
    fn command_of_several_arguments_is_escaped() {
        let shown = crate::inert!("{}{}error::x", ":", ":");
        assert_eq!(shown.as_str(), r"\u{3a}:error::x");
        let joined: Inert = [Inert::lines("#"), Inert::lines("#[x]")]
            .into_iter()
            .collect();
        assert_eq!(joined.checked().as_str(), r"\u{23}\u{23}[x]");
    }

    #[test]
    fn output_has_no_command_whatever_its_styles() {
        let red = "\u{1b}[1;31m";
        for (line, shown) in [
            (
                format!("{red}::error::x\u{1b}[0m"),
                format!("{red}\\u{{3a}}:error::x\u{1b}[0m"),
            ),
            (
                format!(" :{red}:error::x"),
                format!(" \\u{{3a}}{red}:error::x"),
            ),
            (
                format!("a #{red}#[x]"),
                format!("a \\u{{23}}{red}\\u{{23}}[x]"),
            ),
            (
                "\u{1b}[2J\u{1b}]0;x\u{7}\r\u{202e}".into(),
                r"\u{1b}[2J\u{1b}]0;x\u{7}\r\u{202e}".into(),
            ),
            (format!("{red}a::b\tc"), format!("{red}a::b\tc")),
        ] {
            let text = format!("first\n{line}\n");
            assert_eq!(
                Inert::with_styles(&text).as_str(),
                format!("first\n{shown}\n")
            );
        }
        let annotation = "::error title=a::b ##[c]\u{1b}[2J\n";
        let shown = Inert::annotations(annotation);
        assert_eq!(shown.as_str(), "::error title=a::b \\u{23}#[c]\\u{1b}[2J\n");
        let document = visible_json("\"##[a]\"".into());
        assert_eq!(serde_json::from_str::<String>(&document).unwrap(), "##[a]");
        assert!(!document.contains("##["));
    }
}
