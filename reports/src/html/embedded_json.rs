//! JSON that is safe inside a script element, even with untrusted text in it.

use serde::Serialize;

use crate::escape::escaped_json;

/// Formats `value` as JSON without any character that is special in HTML.
///
/// In JSON, `<`, `>` and `&`, and the line separators that old scripts reject, occur only in strings, where
/// each can be escaped.
pub(super) fn json(value: &impl Serialize) -> String {
    let plain = serde_json::to_string(value).expect("columns, lists and words are always JSON");
    let is_special = |c: char| matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
    escaped_json(&plain, is_special)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_cannot_close_the_script_element() {
        let text = json(&"</script><!--<script>&amp;\u{2028}\u{2029}\"");
        assert_eq!(
            text,
            r#""\u003c/script\u003e\u003c!--\u003cscript\u003e\u0026amp;\u2028\u2029\"""#
        );
    }

    proptest! {
        #[test]
        fn json_parses_to_the_original_text(words in any::<String>()) {
            let text = json(&words);
            let safe = !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']);
            prop_assert!(safe);
            prop_assert_eq!(serde_json::from_str::<String>(&text).unwrap(), words);
        }
    }
}
