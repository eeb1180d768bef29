//! Untrusted text on a page: truncated if it is long, with the whole text on hover.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::escape::{shortened, visible};

/// Longer names are truncated.
const MAX_NAME_LENGTH: usize = 48;
/// Longer sentences are truncated.
const MAX_SENTENCE_LENGTH: usize = 600;
/// The limit of the text on hover.
const MAX_WHOLE_LENGTH: usize = 12_000;

/// Untrusted text. In a template it renders as escaped HTML.
#[derive(Debug, Clone, PartialEq, Eq, Default, Template)]
#[template(
    source = r#"{% if whole.is_empty() %}{{ shown }}{% else %}<span class="cut" tabindex="0" title="{{ whole }}">{{ shown }}</span>{% endif %}"#,
    ext = "html"
)]
pub(super) struct Name {
    /// What the page shows.
    pub(super) shown: String,
    /// The text on hover; empty if nothing was truncated.
    pub(super) whole: String,
}

impl HtmlSafe for Name {}

/// A name, truncated to some fifty characters.
pub(super) fn name(text: &str) -> Name {
    cut(text, MAX_NAME_LENGTH)
}

/// A sentence, or a command.
pub(super) fn sentence(text: &str) -> Name {
    cut(text, MAX_SENTENCE_LENGTH)
}

fn cut(text: &str, most: usize) -> Name {
    let text = visible(text);
    let whole = match text.chars().nth(most) {
        Some(_) => text.chars().take(MAX_WHOLE_LENGTH).collect(),
        None => String::new(),
    };
    Name {
        shown: shortened(&text, most),
        whole,
    }
}

/// Something about how it was run.
pub(super) struct Fact {
    pub(super) what: &'static str,
    pub(super) value: Name,
}

pub(super) fn fact(what: &'static str, value: impl AsRef<str>) -> Fact {
    Fact {
        what,
        value: sentence(value.as_ref()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_and_whole_on_hover() {
        let long = "é".repeat(10_000);
        let cut = name(&long);
        assert_eq!(cut.shown.chars().count(), MAX_NAME_LENGTH);
        assert!(cut.shown.ends_with('…'));
        assert_eq!(cut.whole, long);
        assert_eq!(name("redlock").whole, "");
        assert_eq!(name(&"x".repeat(MAX_NAME_LENGTH)).whole, "");
    }

    #[test]
    fn a_name_is_escaped_on_its_own() {
        let name = name("<b onclick='x'>&\"");
        let html = name.render().unwrap();
        assert!(!html.contains(['<', '>', '\'', '"']), "{html}");
        let long = cut(&"<".repeat(100), 10).render().unwrap();
        assert_eq!(long.matches('<').count(), 2, "{long}");
    }

    #[test]
    fn what_turns_text_around_is_shown_as_what_it_is() {
        assert_eq!(name("\u{202e}evil").shown, r"\u{202e}evil");
    }
}
