//! Glob patterns, as in `PUBSUB CHANNELS`.

/// Returns `true` if the text matches the pattern, which may contain `*`, `?`, `[a-c]`, `[^a]` and `\x`.
///
/// Commands that list keys or fields use [`matches_name`] instead.
///
/// Only the latest `*` is retried with more bytes, because extending an earlier `*` cannot lead to a match that
/// extending the latest one misses. So there is no recursion, and the time is bounded by the product of the lengths.
pub(super) fn matches<'a>(mut pattern: &'a [u8], mut text: &'a [u8]) -> bool {
    // Redis's loop does not start for an empty text, so not even `*` matches it. Observed on all versions.
    if text.is_empty() {
        return pattern.is_empty();
    }
    // The pattern after the latest `*`, and the rest of the text at which it is tried next.
    let mut latest: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', rest @ ..] = pattern {
            latest = Some((rest, text));
            pattern = rest;
            continue;
        }
        if pattern.is_empty() && text.is_empty() {
            return true;
        }
        if let Some((rest, after)) = one(pattern, text) {
            (pattern, text) = (rest, after);
            continue;
        }
        match latest {
            Some((rest, [_, after @ ..])) => {
                latest = Some((rest, after));
                (pattern, text) = (rest, after);
            }
            _ => return false,
        }
    }
}

/// Matches as for `KEYS` and `SCAN`, where `*` matches everything, including an empty name.
pub(super) fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    pattern == b"*" || matches(pattern, name)
}

/// Matches the first byte of the text with the start of the pattern, which must not be `*`. Returns the rest of the
/// pattern and of the text, or `None` if the byte does not match.
fn one<'a>(pattern: &'a [u8], text: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (&first, after) = text.split_first()?;
    let (fits, rest) = match pattern {
        [] => return None,
        [b'?', rest @ ..] => (true, rest),
        [b'[', rest @ ..] => class(rest, first),
        [b'\\', literal, rest @ ..] | [literal, rest @ ..] => (*literal == first, rest),
    };
    fits.then_some((rest, after))
}

/// Returns whether the byte is in the class with which the pattern begins, and the rest of the pattern after the class.
fn class(pattern: &[u8], byte: u8) -> (bool, &[u8]) {
    let (negated, mut rest) = match pattern {
        [b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut found = false;
    loop {
        let (from, to, after) = match rest {
            [] => return (found != negated, rest),
            [b']', after @ ..] => return (found != negated, after),
            [b'\\', literal, after @ ..] => (literal, literal, after),
            [from, b'-', to, after @ ..] => (from, to, after),
            [literal, after @ ..] => (literal, literal, after),
        };
        found |= (*from.min(to)..=*from.max(to)).contains(&byte);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    /// A matcher that tries all ways to divide the text among the stars would not finish in a reasonable time.
    #[test]
    fn pattern_with_many_stars_is_matched_quickly() {
        let text = vec![b'a'; 5000];
        assert!(!matches(&b"a*".repeat(1000), b""));
        let pattern = [b"a*".repeat(1000).as_slice(), b"b"].concat();
        assert!(!matches(&pattern, &text));
        let pattern = [b"a*".repeat(1000).as_slice(), b"a"].concat();
        assert!(matches(&pattern, &text));
    }

    #[test]
    fn patterns_match_as_on_a_real_server() {
        for (pattern, text, fits) in [
            ("", "", true),
            ("*", "", false),
            ("*", "a", true),
            ("a*", "a", true),
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
