//! Untrusted text on a page. Long text is truncated, with the whole text on hover.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::escape::{code_parts, shell_words, shortened, visible};

/// Maximum length of a name, in characters.
const MAX_NAME_LENGTH: usize = 48;
/// Maximum length of a sentence, in characters.
const MAX_SENTENCE_LENGTH: usize = 600;
/// Maximum length of a paragraph, in characters.
const MAX_PARAGRAPH_LENGTH: usize = 2_000;
/// Maximum length of the text on hover, in characters.
const MAX_WHOLE_LENGTH: usize = 12_000;

/// Untrusted text. In a template it renders as escaped HTML, with text in backticks as code.
#[derive(Debug, Clone, PartialEq, Eq, Default, Template)]
#[template(
    source = r#"{% if !whole.is_empty() %}<span class="cut" tabindex="0" title="{{ whole }}">{% endif %}{% for part in self.parts() %}{% if loop.index0 % 2 == 1 %}<code>{{ part }}</code>{% else %}{{ part }}{% endif %}{% endfor %}{% if !whole.is_empty() %}</span>{% endif %}"#,
    ext = "html"
)]
pub(super) struct Name {
    /// The text that the page shows.
    pub(super) shown: String,
    /// The text on hover. Empty if nothing was truncated.
    pub(super) whole: String,
}

impl HtmlSafe for Name {}

impl Name {
    fn parts(&self) -> Vec<&str> {
        code_parts(&self.shown)
    }
}

/// Returns a name, truncated to [`MAX_NAME_LENGTH`].
pub(super) fn name(text: &str) -> Name {
    cut(text, MAX_NAME_LENGTH)
}

/// Returns a sentence or a command, truncated to [`MAX_SENTENCE_LENGTH`].
pub(super) fn sentence(text: &str) -> Name {
    cut(text, MAX_SENTENCE_LENGTH)
}

/// Returns a paragraph, truncated to [`MAX_PARAGRAPH_LENGTH`].
pub(super) fn paragraph(text: &str) -> Name {
    cut(text, MAX_PARAGRAPH_LENGTH)
}

/// A command, truncated like a sentence. Each argument is an element that is broken only if it is wider than a line, so
/// that `--backend` is not read as two words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Template)]
#[template(
    source = r#"<code class="words{% if !whole.is_empty() %} cut" tabindex="0" title="{{ whole }}{% endif %}">{% for word in words %}{% if !loop.first %} {% endif %}<span>{{ word }}</span>{% endfor %}</code>"#,
    ext = "html"
)]
pub(super) struct CommandWords {
    words: Vec<String>,
    /// The text on hover. Empty if nothing was truncated.
    whole: String,
}

impl HtmlSafe for CommandWords {}

/// Returns the command by words.
pub(super) fn command_words(command: &str) -> CommandWords {
    let Name { shown, whole } = sentence(command);
    let words = shell_words(&shown).into_iter().map(str::to_owned);
    CommandWords {
        words: words.collect(),
        whole,
    }
}

fn cut(text: &str, max: usize) -> Name {
    let text = visible(text);
    let whole = match text.chars().nth(max) {
        Some(_) => text.chars().take(MAX_WHOLE_LENGTH).collect(),
        None => String::new(),
    };
    Name {
        shown: shortened(&text, max),
        whole,
    }
}

/// A fact about how a run or a matrix was run.
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
    fn long_name_is_truncated_and_whole_on_hover() {
        let long = "é".repeat(10_000);
        let cut = name(&long);
        assert_eq!(cut.shown.chars().count(), MAX_NAME_LENGTH);
        assert!(cut.shown.ends_with('…'));
        assert_eq!(cut.whole, long);
        assert_eq!(name("redlock").whole, "");
        assert_eq!(name(&"x".repeat(MAX_NAME_LENGTH)).whole, "");
    }

    #[test]
    fn arguments_of_a_command_are_not_broken() {
        let html = command_words("picklock --impl 'exec:a b'")
            .render()
            .unwrap();
        let words = "<span>picklock</span> <span>--impl</span> <span>&#39;exec:a b&#39;</span>";
        assert_eq!(html, format!("<code class=\"words\">{words}</code>"));
        let long = command_words(&"<x> ".repeat(1_000)).render().unwrap();
        assert!(long.starts_with("<code class=\"words cut\" tabindex=\"0\" title=\"&#60;x&#62;"));
    }

    #[test]
    fn name_renders_as_escaped_html() {
        let name = name("<b onclick='x'>&\"");
        let html = name.render().unwrap();
        assert!(!html.contains(['<', '>', '\'', '"']), "{html}");
        let long = cut(&"<".repeat(100), 10).render().unwrap();
        assert_eq!(long.matches('<').count(), 2, "{long}");
    }

    #[test]
    fn text_in_backticks_is_code() {
        let html = |text| sentence(text).render().unwrap();
        let code = "the workload <code>short</code>: 3 clients";
        assert_eq!(html("the workload `short`: 3 clients"), code);
        assert_eq!(html("one ` alone"), "one ` alone");
    }

    #[test]
    fn bidirectional_override_is_escaped() {
        assert_eq!(name("\u{202e}evil").shown, r"\u{202e}evil");
    }
}
