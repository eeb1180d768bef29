//! Makes untrusted text safe to print.
//!
//! Names, tokens and error messages come from the lock under test, and run records may come from any source. Terminals
//! execute control characters, and bidirectional overrides make a line look like a different one. This module replaces
//! both with escapes.
//!
//! [`visible`] is for a piece of foreign text. [`crate::inert::Inert`] is the only type that is printed.

use std::borrow::Cow;

/// Returns `text` with every control character and invisible formatting character written as `\u{..}`. The
/// first character of a command of a CI runner is escaped too.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !is_workflow_command(text) && !has_marked_command(text) && !text.chars().any(is_control) {
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

/// Escapes the first characters of each command in this line that the runner of a CI job would execute.
fn inert(line: String) -> String {
    let line = without_marked_commands(line, "\\u{23}#");
    if !is_workflow_command(&line) {
        return line;
    }
    let (blanks, command) = line.split_at(line.len() - line.trim_start().len());
    // The first character of a command is ASCII, so it has one byte.
    let (first, rest) = command.split_at(1);
    format!("{blanks}{}{rest}", first.escape_unicode())
}

/// Returns `true` if a runner may execute a command that begins with `##` somewhere in the line: `##[group]` of GitHub,
/// `##vso[…]` of Azure Pipelines, `##teamcity[…]`.
pub(crate) fn has_marked_command(text: &str) -> bool {
    let mut chars = text.char_indices();
    chars.any(|(at, c)| is_name_of_command(c) && text[..at].ends_with("##"))
}

fn is_name_of_command(c: char) -> bool {
    c == '[' || c.is_ascii_alphabetic()
}

/// Replaces the `##` of each such command with `mark`.
pub(crate) fn without_marked_commands(text: String, mark: &str) -> String {
    if !has_marked_command(&text) {
        return text;
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_name_of_command(c) && shown.ends_with("##") {
            shown.truncate(shown.len() - 2);
            shown.push_str(mark);
        }
        shown.push(c);
    }
    shown
}

/// Returns `true` for `::name::…`. GitHub's runner skips leading whitespace.
pub(crate) fn is_workflow_command(text: &str) -> bool {
    let named = text.trim_start().strip_prefix("::");
    named.is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_alphabetic()) && rest.contains("::")
    })
}

/// Returns `true` for blanks other than the ordinary space, which become ordinary spaces when they are copied.
fn is_lost_in_copies(c: char) -> bool {
    is_control(c) || (c.is_whitespace() && c != ' ')
}

fn is_plain_in_shell(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c)
}

/// Returns a word as it must be typed in a POSIX shell. Braces, `!` and all other special characters are quoted, and a
/// word with control characters is written in the form `$'…'`, which bash and zsh read.
pub fn quoted(word: &str) -> String {
    let is_command = has_marked_command(word) || is_workflow_command(word);
    if !word.is_empty() && word.chars().all(is_plain_in_shell) && !is_command {
        return word.to_owned();
    }
    if !word.chars().any(is_lost_in_copies) && !is_command {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let mut typed = "$'".to_owned();
    for c in word.chars() {
        match c {
            '\\' | '\'' => typed.extend(['\\', c]),
            '\n' => typed.push_str("\\n"),
            c if is_lost_in_copies(c) || (is_command && matches!(c, '#' | ':')) => {
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

/// Splits a text at its backticks, so that every second part is code. If a backtick has no partner, the whole text is
/// the only part.
pub(crate) fn code_parts(text: &str) -> Vec<&str> {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return vec![text];
    }
    parts
}

/// Splits a command into words as a shell does, and keeps their quotes and backslashes.
pub(crate) fn shell_words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut quote, mut escaped) = (0, None, false);
    for (at, c) in command.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, ' ') => {
                words.push(&command[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&command[start..]);
    words.retain(|word| !word.is_empty());
    words
}

/// Minimum length of a token that is shortened. Tokens are random, and a reader distinguishes them by their beginning.
const MIN_LONG_TOKEN: usize = 20;

/// Number of characters of a long token that are shown.
const SHOWN_OF_TOKEN: usize = 8;

/// Shortens long tokens in a text for people: words of hexadecimal digits, and UUIDs, such as `dad7a2c1…`.
pub(crate) fn short_tokens(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
    let is_word = |c: char| c.is_alphanumeric() || "_-".contains(c);
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_inside = |c: char| is_word(c) == is_word(first);
        let end = rest.find(|c| !is_inside(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let is_token = word.len() >= MIN_LONG_TOKEN
            && word.chars().all(is_part)
            && word.contains(|c: char| c.is_ascii_digit());
        if is_token {
            shown.push_str(&word[..SHOWN_OF_TOKEN]);
            shown.push('…');
        } else {
            shown.push_str(word);
        }
        rest = after;
    }
    shown
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
        !text.chars().any(|c| c != '\n' && is_control(c)) && !has_marked_command(text);
    if is_harmless && !text.lines().any(is_workflow_command) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(visible).collect();
    Cow::Owned(lines.join("\n"))
}

/// Escapes these characters in a JSON document too: JSON itself requires it only for C0 controls. The same applies to
/// the commands of a runner.
pub fn visible_json(document: String) -> String {
    let document = without_marked_commands(document, "\\u0023#");
    // The syntax of JSON is ASCII, so all other characters are inside strings.
    let is_hidden = |c: char| c >= '\u{7f}' && is_control(c);
    if document.chars().any(is_hidden) {
        escaped_json(&document, is_hidden)
    } else {
        document
    }
}

/// Replaces these characters with escapes in a JSON document. They must occur only inside strings.
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

/// Escapes these characters in a TOML document. The document must come from a TOML library, and must not contain
/// comments. A string with such a character, or with a command of a runner, becomes a basic string on one line.
pub fn visible_toml(document: &str) -> String {
    let mut shown = String::with_capacity(document.len() + 16);
    let mut rest = document;
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, from_quote) = rest.split_at(at);
        shown.push_str(before);
        let quote = &from_quote[..1];
        let triple = quote.repeat(3);
        let delimiter = if from_quote.starts_with(&triple) {
            triple.as_str()
        } else {
            quote
        };
        let inside = &from_quote[delimiter.len()..];
        let length = length_of_toml_string(inside, delimiter);
        let (content, after) = inside.split_at(length);
        if is_harmless_in_toml(content) {
            shown.push_str(&from_quote[..delimiter.len() + length + delimiter.len()]);
        } else {
            // The first line break of a string of several lines does not belong to it.
            let content = content.strip_prefix('\n').unwrap_or(content);
            shown.push_str(&basic_string(content, quote == "'"));
        }
        rest = &after[delimiter.len().min(after.len())..];
    }
    shown.push_str(rest);
    shown
}

/// Returns the number of bytes before the delimiter that ends the string.
fn length_of_toml_string(inside: &str, delimiter: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in inside.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if c == '\\' && delimiter.starts_with('"') {
            is_escaped = true;
        } else if inside[at..].starts_with(delimiter) {
            // Quotes directly before the delimiter belong to the string.
            let after = &inside[at + delimiter.len()..];
            let quotes = after.len() - after.trim_start_matches(c).len();
            return at + if delimiter.len() == 3 { quotes } else { 0 };
        }
    }
    inside.len()
}

fn is_harmless_in_toml(content: &str) -> bool {
    !content.chars().any(|c| c != '\n' && is_control(c))
        && !has_marked_command(content)
        && !content.lines().any(is_workflow_command)
}

/// Returns the content of a TOML string as a basic string on one line.
fn basic_string(content: &str, is_literal: bool) -> String {
    let mut shown = "\"".to_owned();
    let mut chars = content.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if is_literal => shown.push_str("\\\\"),
            '\\' => shown.extend(std::iter::once(c).chain(chars.next())),
            '"' => shown.push_str("\\\""),
            '\n' => shown.push_str("\\n"),
            c if c == '#' || is_control(c) => {
                shown.push_str(&format!("\\U{:08x}", u32::from(c)));
            }
            c => shown.push(c),
        }
    }
    shown.push('"');
    shown
}

/// Returns `true` for control characters, and for invisible characters that change the text around them.
pub fn is_control(c: char) -> bool {
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

/// Returns `true` if a shell that executes this line starts Picklock and nothing else: all special characters are
/// quoted as [`quoted`] does.
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

/// Skips the rest of a word in the form `$'…'`. Returns `false` if it has no end.
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
mod tests;
