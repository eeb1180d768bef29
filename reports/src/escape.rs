//! Makes untrusted text safe to print.
//!
//! Names, tokens and error messages come from the lock, and a run record may come from any
//! source. A terminal obeys control characters, and bidirectional overrides make a line look like a
//! different one. Both are written as escapes instead.

use std::borrow::Cow;

/// `text` with every control character and invisible formatting character written as `\u{..}`, and so the first character
/// of what the runner of a workflow would obey.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !is_workflow_command(text) && !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_obeyed(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(inert(shown))
}

/// A line that the runner of a workflow does not obey.
pub(crate) fn inert(line: String) -> String {
    if !is_workflow_command(&line) {
        return line;
    }
    let (blanks, command) = line.split_at(line.len() - line.trim_start().len());
    // What it begins with is of one byte.
    let (first, rest) = command.split_at(1);
    format!("{blanks}{}{rest}", first.escape_unicode())
}

/// `::name::…` and `##[name]…`: the runner of GitHub looks for them behind blanks, too.
fn is_workflow_command(text: &str) -> bool {
    let text = text.trim_start();
    let named = text.strip_prefix("::").is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_alphabetic()) && rest.contains("::")
    });
    named || text.starts_with("##[")
}

/// Visible text on one line, truncated to this many characters.
pub fn shortened(text: &str, longest: usize) -> String {
    let text = visible(text);
    if text.chars().count() <= longest {
        return text.into_owned();
    }
    let mut short: String = text.chars().take(longest - 1).collect();
    short.push('…');
    short
}

/// [`visible`] for a text of several lines, which stay lines.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    let is_harmless = !text.chars().any(|c| c != '\n' && is_obeyed(c));
    if is_harmless && !text.lines().any(is_workflow_command) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(visible).collect();
    Cow::Owned(lines.join("\n"))
}

/// A JSON document in which every such character is escaped: JSON itself asks for that of C0 only.
pub fn visible_json(document: String) -> String {
    // What JSON consists of is ASCII, so all others are within its strings.
    let is_hidden = |c: char| c >= '\u{7f}' && is_obeyed(c);
    match document.chars().any(is_hidden) {
        true => escaped_json(&document, is_hidden),
        false => document,
    }
}

/// A JSON document with an escape for each of these characters, which must be in its strings only.
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

/// True for control characters, and for invisible ones that change the text around them.
fn is_obeyed(c: char) -> bool {
    c.is_control()
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
    fn ordinary_text_is_left_alone() {
        assert!(matches!(
            visible("redlock × été 锁"),
            Cow::Borrowed("redlock × été 锁")
        ));
    }

    #[test]
    fn commands_to_the_terminal_become_text() {
        assert_eq!(visible("\x1b[31mred\x07"), r"\u{1b}[31mred\u{7}");
        assert_eq!(visible("a\r\nb\tc"), r"a\r\nb\tc");
        // The C1 form of the same: one character that some terminals treat as ESC [.
        assert_eq!(visible("\u{9b}2J"), r"\u{9b}2J");
        assert_eq!(visible("\u{202e}dleh"), r"\u{202e}dleh");
    }

    #[test]
    fn commands_to_the_runner_of_a_workflow_become_text() {
        assert_eq!(visible("  ::add-mask::a"), r"  \u{3a}:add-mask::a");
        assert_eq!(visible("##[group]a"), r"\u{23}#[group]a");
        for address in ["::1", "::ffff:1.2.3.4", "a ::b::c"] {
            assert!(matches!(visible(address), Cow::Borrowed(same) if same == address));
        }
    }

    #[test]
    fn lines_stay_lines() {
        let text = "one\n  two\n";
        assert!(matches!(visible_lines(text), Cow::Borrowed(same) if same == text));
        let text = "one\n\x1b[2J\rtwo\u{2028}\n";
        assert_eq!(visible_lines(text), "one\n\\u{1b}[2J\\rtwo\\u{2028}\n");
    }

    #[test]
    fn a_document_says_the_same_in_characters_that_are_seen() {
        let value = serde_json::json!({"a\u{9b}": "\u{7f}\u{202e}\u{e0001}é\n\u{1b}"});
        let shown = visible_json(serde_json::to_string_pretty(&value).unwrap());
        assert!(!shown.chars().any(|c| c != '\n' && is_obeyed(c)), "{shown}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
    }
}
