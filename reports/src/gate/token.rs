//! The tokens of a limit.

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A metric, `baseline`, `control`.
    Word(&'a str),
    /// Digits, and the letters that follow without a space.
    Number(&'a str, &'a str),
    /// An operator.
    Sign(&'a str),
}

const SIGNS: [&str; 9] = ["<=", ">=", "==", "!=", "<", ">", "+", "-", "*"];

/// All tokens with their offsets, or the offset of an invalid character.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token<'_>)>, (usize, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (token, length) = if c.is_ascii_alphabetic() {
            let word = leading(rest, |c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
            (Token::Word(word), word.len())
        } else if c.is_ascii_digit() {
            let digits = leading(rest, |c| c.is_ascii_digit() || c == '.');
            let unit = leading(&rest[digits.len()..], |c| c.is_ascii_alphabetic());
            (Token::Number(digits, unit), digits.len() + unit.len())
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            return Err((at, format!("unexpected `{}` in a limit", c.escape_debug())));
        };
        found.push((at, token));
        at += length;
    }
    Ok(found)
}

/// The prefix of `text` that consists of such characters.
fn leading(text: &str, fits: impl Fn(char) -> bool) -> &str {
    let end = text.find(|c| !fits(c)).unwrap_or(text.len());
    &text[..end]
}
