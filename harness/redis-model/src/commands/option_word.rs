//! The words of options, as in `SET key value NX PX 1000`.

/// True if an option is this word, in any case.
pub(super) fn is_word(option: &[u8], word: &str) -> bool {
    option.eq_ignore_ascii_case(word.as_bytes())
}
