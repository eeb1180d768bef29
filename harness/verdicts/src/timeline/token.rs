//! Whether a value and a token belong together.

/// Minimum length of a text that identifies an attempt wherever it occurs, because shorter texts occur by chance.
const MIN_LENGTH: usize = 4;

/// Returns `true` if a value names a token. The value must come from the attempt, or must be compared with its token
/// for another reason, so a short token counts, too. An empty token names nothing.
pub(crate) fn names_token(value: &str, token: &str) -> bool {
    !token.is_empty() && value.contains(token)
}

/// Returns `true` if a text is long enough to identify an attempt wherever it occurs.
pub(crate) fn is_distinctive(text: &str) -> bool {
    text.len() >= MIN_LENGTH
}

/// Returns `true` if token and value are equal, or if one contains the other and is distinctive.
pub(crate) fn are_related(token: &str, value: &str) -> bool {
    token == value
        || is_distinctive(token) && value.contains(token)
        || is_distinctive(value) && token.contains(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_token_is_named_but_not_distinctive() {
        assert!(names_token("17:a1", "a1"));
        assert!(!names_token("17:a1", ""));
        assert!(!is_distinctive("a1"));
        assert!(!are_related("a1", "17:a1"));
        assert!(are_related("a1", "a1"));
    }

    #[test]
    fn longer_of_token_and_value_contains_the_other() {
        assert!(are_related("token", "17:token"));
        assert!(are_related("17:token", "token"));
        assert!(!are_related("17:a1", "a1"));
    }
}
