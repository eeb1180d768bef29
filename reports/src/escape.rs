//! Makes untrusted text safe to print.
//!
//! Names, tokens and error messages come from the lock under test, and run records may come from any source.
//! Terminals execute control characters, and bidirectional overrides make a line look like a different one.
//! This module replaces both by escapes.
//!
//! [`visible`] is for a piece of foreign text. [`Inert`] is the last gate before an output: whatever a report contains,
//! its lines cannot command a terminal or the runner of a CI job.

use std::borrow::Cow;

/// Returns the place of the next command for the runner of a CI job that is executed wherever it is in a line: two
/// number signs and a bracket or a name, as in `##[group]` (GitHub Actions), `##vso[` (Azure Pipelines) and `##teamcity[`.
fn hash_command(text: &str) -> Option<usize> {
    let mut signs = text.match_indices("##").map(|(at, _)| at);
    // The signs of `###[` overlap.
    let overlaps = |at: usize| text[at + 2..].starts_with('#').then_some(at + 1);
    let is_command =
        |at: &usize| text[at + 2..].starts_with(|c: char| c == '[' || c.is_ascii_alphabetic());
    signs.find_map(|at| {
        [Some(at), overlaps(at)]
            .into_iter()
            .flatten()
            .find(is_command)
    })
}

/// Writes the first character of each such command as `escape`.
pub(crate) fn without_hash_commands<'a>(text: &'a str, escape: &str) -> Cow<'a, str> {
    let Some(first) = hash_command(text) else {
        return Cow::Borrowed(text);
    };
    let (mut shown, mut rest, mut next) = (String::new(), text, Some(first));
    while let Some(at) = next {
        shown.push_str(&rest[..at]);
        shown.push_str(escape);
        rest = &rest[at + 1..];
        next = hash_command(rest);
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// The escape of a number sign.
const HASH: &str = "\\u{23}";

/// Returns `text` with every control character and invisible formatting character written as `\u{..}`. The
/// first character of a GitHub workflow command is escaped too.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_command = is_workflow_command(text) || hash_command(text).is_some();
    if !is_command && !text.chars().any(is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_control(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(inert(shown))
}

/// Escapes the first characters of what the runner of a CI job would execute as a command in this line.
fn inert(line: String) -> String {
    let line = without_hash_commands(&line, HASH).into_owned();
    if !is_workflow_command(&line) {
        return line;
    }
    let (blanks, command) = line.split_at(line.len() - line.trim_start().len());
    // The first character of a command is ASCII, so it has one byte.
    let (first, rest) = command.split_at(1);
    format!("{blanks}{}{rest}", first.escape_unicode())
}

/// Returns true for `::name::…`. GitHub's runner skips leading whitespace.
fn is_workflow_command(text: &str) -> bool {
    let named = text.trim_start().strip_prefix("::");
    named.is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_alphabetic()) && rest.contains("::")
    })
}

/// Text that can be written to a terminal or to the log of a CI job: its only control characters are line breaks, tabs
/// and the sequences of styles, and no line of it is a command for a runner, with or without its styles.
///
/// Only this type is printed, and it is made only from text that passes through here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inert(String);

impl Inert {
    /// Makes the text of an output inert.
    pub fn new(text: &str) -> Inert {
        let is_plain = |c: char| c == '\n' || c == '\t' || !is_control(c);
        if text.chars().all(is_plain) && !text.contains("::") && !text.contains("##") {
            return Inert(text.to_owned());
        }
        let lines: Vec<String> = text.split('\n').map(inert_line).collect();
        Inert(lines.join("\n"))
    }

    /// Makes annotations inert, which are commands for the runner themselves.
    pub fn annotations(text: &str) -> Inert {
        let lines = text.split('\n').map(|line| {
            let shown: String = pieces(line).flat_map(Piece::shown).collect();
            without_hash_commands(&shown, HASH).into_owned()
        });
        Inert(lines.collect::<Vec<String>>().join("\n"))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
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
    let is_command = is_workflow_command(&plain) || hash_command(&plain).is_some();
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

fn is_plain_in_shell(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c)
}

/// Returns a word as it must be typed in a POSIX shell. Braces, `!` and all other special characters are quoted, and a
/// word that would be changed on its way to a terminal is written in the form `$'…'`, which bash and zsh read.
pub fn quoted(word: &str) -> String {
    // A line shows a no-break space as a space, and escapes the commands of a runner.
    let begins_command = |at: usize| {
        let rest = &word[at..];
        hash_command(rest) == Some(0) || rest.starts_with("::") && is_workflow_command(rest)
    };
    let is_changed = |(at, c): (usize, char)| {
        is_control(c) || c == '\u{a0}' || matches!(c, '#' | ':') && begins_command(at)
    };
    if !word.char_indices().any(is_changed) {
        if !word.is_empty() && word.chars().all(is_plain_in_shell) {
            return word.to_owned();
        }
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let mut typed = "$'".to_owned();
    for (at, c) in word.char_indices() {
        match c {
            '\\' | '\'' => typed.extend(['\\', c]),
            '\n' => typed.push_str("\\n"),
            c if is_changed((at, c)) => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    typed.push_str(&format!("\\x{byte:02x}"));
                }
            }
            c => typed.push(c),
        }
    }
    typed.push('\'');
    typed
}

/// Returns visible text on one line, truncated to `max` characters.
pub fn shortened(text: &str, max: usize) -> String {
    let text = visible(text);
    if text.chars().count() <= max {
        return text.into_owned();
    }
    let mut short: String = text.chars().take(max - 1).collect();
    short.push('…');
    short
}

/// Applies [`visible`] to each line of a text.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    let is_harmless =
        !text.chars().any(|c| c != '\n' && is_control(c)) && hash_command(text).is_none();
    if is_harmless && !text.lines().any(is_workflow_command) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(visible).collect();
    Cow::Owned(lines.join("\n"))
}

/// Escapes these characters in a JSON document too: JSON itself requires it only for C0 controls. The same applies to
/// the commands of a runner.
pub fn visible_json(document: String) -> String {
    let document = without_hash_commands(&document, "\\u0023").into_owned();
    // The syntax of JSON is ASCII, so all other characters are inside strings.
    let is_hidden = |c: char| c >= '\u{7f}' && is_control(c);
    if document.chars().any(is_hidden) {
        escaped_json(&document, is_hidden)
    } else {
        document
    }
}

/// Replaces these characters by escapes in a JSON document. They must occur only inside strings.
pub(crate) fn escaped_json(document: &str, is_hidden: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(document.len() + 16);
    for c in document.chars() {
        if is_hidden(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Returns true for control characters, and for invisible characters that change the text around them.
fn is_control(c: char) -> bool {
    char::is_control(c)
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Returns true if a shell that executes this line starts Picklock and nothing else: all special characters are quoted
/// as [`quoted`] does.
pub fn is_picklock_command(line: &str) -> bool {
    let Some(words) = line.strip_prefix("picklock ") else {
        return false;
    };
    let mut chars = words.chars();
    while let Some(c) = chars.next() {
        let is_closed = match c {
            '\'' => chars.any(|c| c == '\''),
            '\\' => chars.next() == Some('\''),
            '$' => chars.next() == Some('\'') && is_closed_after_escapes(&mut chars),
            c => c == ' ' || is_plain_in_shell(c),
        };
        if !is_closed {
            return false;
        }
    }
    true
}

/// Skips the rest of a word in the form `$'…'`. Returns false if it has no end.
fn is_closed_after_escapes(chars: &mut std::str::Chars<'_>) -> bool {
    while let Some(c) = chars.next() {
        match c {
            '\'' => return true,
            '\\' => drop(chars.next()),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_that_starts_anything_else_is_not_picklocks() {
        let words = ["scenario", "{a,b}", "it's", "a\n'b\\", "$X;`y`", ""].map(quoted);
        let ours = format!("picklock {}", words.join(" "));
        assert!(is_picklock_command(&ours), "{ours}");
        for other in [
            "rm -rf ~",
            "picklock x; rm -rf ~",
            "picklock `rm x`",
            "picklock $(x)",
            "picklock x | sh",
            "picklock x > y",
            "picklock 'x",
            "picklock $'x\\'",
            "picklock \"$(x)\"",
            "picklock x\\; y",
            "",
        ] {
            assert!(!is_picklock_command(other), "{other}");
        }
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        assert!(matches!(
            visible("redlock × été 锁"),
            Cow::Borrowed("redlock × été 锁")
        ));
    }

    #[test]
    fn terminal_control_codes_are_escaped() {
        assert_eq!(visible("\x1b[31mred\x07"), r"\u{1b}[31mred\u{7}");
        assert_eq!(visible("a\r\nb\tc"), r"a\r\nb\tc");
        // The C1 form: one character that some terminals treat as ESC [.
        assert_eq!(visible("\u{9b}2J"), r"\u{9b}2J");
        assert_eq!(visible("\u{202e}dleh"), r"\u{202e}dleh");
    }

    #[test]
    fn workflow_commands_are_escaped() {
        assert_eq!(visible("  ::add-mask::a"), r"  \u{3a}:add-mask::a");
        assert_eq!(visible("##[group]a"), r"\u{23}#[group]a");
        assert_eq!(visible("a ##[group]a"), r"a \u{23}#[group]a");
        for (text, shown) in [
            ("a ##vso[task.x]/tmp", r"a \u{23}#vso[task.x]/tmp"),
            ("##teamcity[x] ##[y]", r"\u{23}#teamcity[x] \u{23}#[y]"),
            ("é###vso[x]", r"é#\u{23}#vso[x]"),
            ("####[", r"##\u{23}#["),
        ] {
            assert_eq!(visible(text), shown);
            assert_eq!(visible_lines(text), shown);
            assert_eq!(Inert::annotations(text).as_str(), shown);
            assert_eq!(hash_command(Inert::new(text).as_str()), None);
            let document = visible_json(serde_json::to_string(text).unwrap());
            assert_eq!(hash_command(&document), None);
            assert_eq!(serde_json::from_str::<String>(&document).unwrap(), text);
        }
        for harmless in ["## a", "#", "##", "###", "##1"] {
            assert_eq!(visible(harmless), harmless);
            assert_eq!(Inert::new(harmless).as_str(), harmless);
        }
        for address in ["::1", "::ffff:1.2.3.4", "a ::b::c"] {
            assert!(matches!(visible(address), Cow::Borrowed(same) if same == address));
        }
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
            assert_eq!(Inert::new(&text).as_str(), format!("first\n{shown}\n"));
        }
        let annotation = "::error title=a::b ##[c]\u{1b}[2J\n";
        let shown = Inert::annotations(annotation);
        assert_eq!(shown.as_str(), "::error title=a::b \\u{23}#[c]\\u{1b}[2J\n");
        let document = visible_json("\"##[a]\"".into());
        assert_eq!(serde_json::from_str::<String>(&document).unwrap(), "##[a]");
        assert!(!document.contains("##["));
    }

    #[test]
    fn word_is_quoted_for_the_shell_in_every_case() {
        for plain in ["gc-pause", "a/b_c.toml", "redis://h:1", "50%"] {
            assert_eq!(quoted(plain), plain);
        }
        for (word, typed) in [
            ("", "''"),
            ("{a,b}.toml", "'{a,b}.toml'"),
            ("a!b", "'a!b'"),
            ("$X `y` ~ *", "'$X `y` ~ *'"),
            ("it's", r"'it'\''s'"),
            ("a\n'b\\", r"$'a\n\'b\\'"),
            ("\u{1b}\u{202e}", r"$'\x1b\xe2\x80\xae'"),
            ("a\u{a0}b", r"$'a\xc2\xa0b'"),
            ("k=##[error]", r"$'k=\x23#[error]'"),
            ("a ###vso[b", r"$'a #\x23#vso[b'"),
            ("a ::error::b", r"$'a \x3a:error::b'"),
            ("::error::b", r"$'\x3a:error::b'"),
            ("redis://[::1]:7", "'redis://[::1]:7'"),
            ("## a", "'## a'"),
        ] {
            assert_eq!(quoted(word), typed);
            assert_eq!(Inert::new(typed).as_str(), typed);
            let shell = std::process::Command::new("bash")
                .args(["-c", &format!("printf %s {typed}")])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(shell.stdout).unwrap(), word);
        }
    }

    #[test]
    fn line_breaks_are_preserved() {
        let text = "one\n  two\n";
        assert!(matches!(visible_lines(text), Cow::Borrowed(same) if same == text));
        let text = "one\n\x1b[2J\rtwo\u{2028}\n";
        assert_eq!(visible_lines(text), "one\n\\u{1b}[2J\\rtwo\\u{2028}\n");
    }

    #[test]
    fn escaped_document_parses_to_the_same_value() {
        let value = serde_json::json!({"a\u{9b}": "\u{7f}\u{202e}\u{e0001}é\n\u{1b}"});
        let shown = visible_json(serde_json::to_string_pretty(&value).unwrap());
        assert!(
            !shown.chars().any(|c| c != '\n' && is_control(c)),
            "{shown}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
    }
}
