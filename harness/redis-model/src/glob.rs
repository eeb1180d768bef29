//! Glob patterns, as in `KEYS`.

/// True if the text matches the pattern: `*`, `?`, `[a-c]`, `[^a]`, `\x`.
pub(super) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', rest @ ..] => (0..=text.len()).any(|skip| matches(rest, &text[skip..])),
        [b'?', rest @ ..] => !text.is_empty() && matches(rest, &text[1..]),
        [b'[', rest @ ..] => {
            let Some((&first, after)) = text.split_first() else {
                return false;
            };
            let (fits, rest) = class(rest, first);
            fits && matches(rest, after)
        }
        [b'\\', literal, rest @ ..] | [literal, rest @ ..] => {
            text.first() == Some(literal) && matches(rest, &text[1..])
        }
    }
}

/// Whether a byte is in the class that begins here, and the rest of the pattern after the class.
fn class(pattern: &[u8], byte: u8) -> (bool, &[u8]) {
    let (negated, mut rest) = match pattern {
        [b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut found = false;
    loop {
        rest = match rest {
            [] => return (found != negated, rest),
            [b']', rest @ ..] => return (found != negated, rest),
            [b'\\', literal, rest @ ..] => {
                found |= *literal == byte;
                rest
            }
            [from, b'-', to, rest @ ..] => {
                let (low, high) = (from.min(to), from.max(to));
                found |= (*low..=*high).contains(&byte);
                rest
            }
            [literal, rest @ ..] => {
                found |= *literal == byte;
                rest
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_fit_what_they_should() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[^a]x", "ax", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("lock:*", "lock:1", true),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), text.as_bytes()),
                fits,
                "{pattern} {text}"
            );
        }
    }
}
