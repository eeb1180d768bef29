//! Makes untrusted text safe to print.
//!
//! Names, tokens and error messages come from the lock under test, and run records may come from any source.
//! Terminals execute control characters, and bidirectional overrides make a line look like a different one.
//! This module replaces both by escapes.

use std::borrow::Cow;

/// Returns `text` with every control character and invisible formatting character written as `\u{..}`. The
/// first character of a GitHub workflow command is escaped too.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !is_workflow_command(text) && !text.chars().any(is_control) {
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

/// Escapes the first character of a line that a GitHub Actions runner would execute as a command.
pub(crate) fn inert(line: String) -> String {
    if !is_workflow_command(&line) {
        return line;
    }
    let (blanks, command) = line.split_at(line.len() - line.trim_start().len());
    // The first character of a command is ASCII, so it has one byte.
    let (first, rest) = command.split_at(1);
    format!("{blanks}{}{rest}", first.escape_unicode())
}

/// Returns true for `::name::…` and `##[name]…`. GitHub's runner skips leading whitespace.
fn is_workflow_command(text: &str) -> bool {
    let text = text.trim_start();
    let named = text.strip_prefix("::").is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_alphabetic()) && rest.contains("::")
    });
    named || text.starts_with("##[")
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
    let is_harmless = !text.chars().any(|c| c != '\n' && is_control(c));
    if is_harmless && !text.lines().any(is_workflow_command) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(visible).collect();
    Cow::Owned(lines.join("\n"))
}

/// Escapes these characters in a JSON document too: JSON itself requires it only for C0 controls.
pub fn visible_json(document: String) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

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
        for address in ["::1", "::ffff:1.2.3.4", "a ::b::c"] {
            assert!(matches!(visible(address), Cow::Borrowed(same) if same == address));
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
