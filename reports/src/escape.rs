//! Makes untrusted text safe to print.
//!
//! Names, tokens and error messages come from the subject, and a run record may come from any
//! source. A terminal obeys control characters, and bidirectional overrides make a line look like a
//! different one. Both are written as escapes instead.

use std::borrow::Cow;

/// `text` with every control character and invisible formatting character written as `\u{..}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
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
    Cow::Owned(shown)
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
}
