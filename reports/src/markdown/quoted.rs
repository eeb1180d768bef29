//! Untrusted text in Markdown, shown literally.
//!
//! Every character that is special in Markdown, HTML or on GitHub becomes a character reference, which none
//! of them interprets. GitHub later searches the rendered text for mentions and links. Therefore names are in
//! `<code>`, which GitHub skips, and a word of prose that could be a mention, a reference or an address
//! contains empty comments.

use crate::escape::shortened;

/// Maximum length of quoted text in characters, so that one name cannot fill the page.
const MAX_LENGTH: usize = 160;

/// Quotes a name or a value as code.
pub fn code(text: &str) -> String {
    let shown: String = shortened(text, MAX_LENGTH).chars().map(reference).collect();
    format!("<code>{shown}</code>")
}

/// Quotes a sentence.
pub fn prose(text: &str) -> String {
    let text = shortened(text, 4 * MAX_LENGTH);
    let words = text.split(' ').map(|word| {
        let lower = word.to_lowercase();
        let mut links = ["@", "#", "://", "www."].iter();
        let is_link = links.any(|link| lower.contains(link));
        let parted = |c: char| match c {
            '@' | '#' | ':' | 'w' | 'W' if is_link => format!("{}<!-- -->", reference(c)),
            _ => reference(c),
        };
        word.chars().map(parted).collect::<String>()
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Quotes preformatted lines.
pub fn block(lines: &[String]) -> String {
    let mut out = String::from("<pre>");
    for line in lines {
        for c in shortened(line, 4 * MAX_LENGTH).chars() {
            match c {
                '&' | '<' | '>' | '"' => out.push_str(&format!("&#{};", u32::from(c))),
                _ => out.push(c),
            }
        }
        out.push('\n');
    }
    out.push_str("</pre>");
    out
}

fn reference(c: char) -> String {
    if c.is_alphanumeric() || " .,;:-=/()%×…".contains(c) {
        c.to_string()
    } else {
        format!("&#{};", u32::from(c))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_syntax_is_escaped() {
        let hostile = "a|b`c`<img src=x>*_[@team](#1)\n# h";
        let shown = code(hostile);
        let inside = &shown["<code>".len()..shown.len() - "</code>".len()];
        for c in ['|', '`', '<', '>', '*', '_', '[', ']', '@', '\n', '\\', '!'] {
            assert!(!inside.contains(c), "{c:?} in {shown}");
        }
        // The remaining `#` are part of character references.
        assert!(!inside.replace("&#", "").contains('#'), "{shown}");
    }

    #[test]
    fn mentions_and_links_in_prose_are_broken_up() {
        let shown = prose("ask @team about #12 at https://evil.example www.x.y");
        for link in ["@team", "&#64;team", "&#35;12", "://", "www."] {
            assert!(!shown.contains(link), "{link} in {shown}");
        }
    }

    #[test]
    fn block_content_cannot_close_the_block() {
        let shown = block(&["</pre><script>".to_owned(), "x\n\ny".to_owned()]);
        assert_eq!(shown.matches("</pre>").count(), 1);
        assert!(!shown.contains("<script"));
        assert_eq!(shown.lines().count(), 3, "{shown}");
    }

    #[test]
    fn long_name_is_truncated() {
        assert!(code(&"é".repeat(10_000)).len() < 400);
    }
}
