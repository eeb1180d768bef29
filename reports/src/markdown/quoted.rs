//! Untrusted text in Markdown, shown literally.
//!
//! Every character that is special in Markdown, HTML or on GitHub becomes a character reference,
//! which none of them interprets. GitHub looks for mentions and links after that, in the finished
//! text. So names are in `<code>`, where it does not look, and a word of prose that could be a
//! mention, a reference or an address contains empty comments.

use crate::escape::shortened;

/// Longer text is truncated, so that one name cannot fill the page.
const LONGEST: usize = 160;

/// A name or a value, as code.
pub fn code(text: &str) -> String {
    let shown: String = shortened(text, LONGEST).chars().map(reference).collect();
    format!("<code>{shown}</code>")
}

/// A sentence.
pub fn prose(text: &str) -> String {
    let text = shortened(text, 4 * LONGEST);
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

/// Preformatted lines.
pub fn block(lines: &[String]) -> String {
    let mut out = String::from("<pre>");
    for line in lines {
        for c in shortened(line, 4 * LONGEST).chars() {
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
    match c.is_alphanumeric() || " .,;:-=/()%×…".contains(c) {
        true => c.to_string(),
        false => format!("&#{};", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_markdown_knows_stays() {
        let hostile = "a|b`c`<img src=x>*_[@team](#1)\n# h";
        let shown = code(hostile);
        let inside = &shown["<code>".len()..shown.len() - "</code>".len()];
        for c in ['|', '`', '<', '>', '*', '_', '[', ']', '@', '\n', '\\', '!'] {
            assert!(!inside.contains(c), "{c:?} in {shown}");
        }
        // What is left of `#` are references.
        assert!(!inside.replace("&#", "").contains('#'), "{shown}");
    }

    #[test]
    fn mentions_and_links_in_prose_are_parted() {
        let shown = prose("ask @team about #12 at https://evil.example www.x.y");
        for link in ["@team", "&#64;team", "&#35;12", "://", "www."] {
            assert!(!shown.contains(link), "{link} in {shown}");
        }
    }

    #[test]
    fn a_block_cannot_be_closed_from_inside() {
        let shown = block(&["</pre><script>".to_owned(), "x\n\ny".to_owned()]);
        assert_eq!(shown.matches("</pre>").count(), 1);
        assert!(!shown.contains("<script"));
        assert_eq!(shown.lines().count(), 3, "{shown}");
    }

    #[test]
    fn a_name_of_ten_thousand_letters_is_cut() {
        assert!(code(&"é".repeat(10_000)).len() < 400);
    }
}
