//! Untrusted text in Markdown, shown literally.
//!
//! Every character that is special in Markdown, HTML or on GitHub becomes a character reference, which none
//! of them interprets. GitHub later searches the rendered text for mentions and links. Therefore names are in
//! `<code>`, which GitHub skips, and a word of prose that could be a mention, a reference or an address
//! contains empty comments.

use crate::escape::{code_parts, shortened};

/// Maximum length of quoted text in characters, so that one name cannot fill the page.
const MAX_LENGTH: usize = 160;

/// Separates parts of a word, so that GitHub does not recognise the whole as a link.
const PARTED: &str = "<!-- -->";

/// Maximum number of consecutive hexadecimal digits that GitHub does not recognise as a commit.
const MAX_HEX_DIGITS: usize = 6;

/// Quotes a name or a value as code.
pub fn code(text: &str) -> String {
    let shown: String = shortened(text, MAX_LENGTH).chars().map(reference).collect();
    format!("<code>{shown}</code>")
}

/// Quotes a sentence. Text between two backticks becomes code.
pub fn prose(text: &str) -> String {
    let text = shortened(text, 4 * MAX_LENGTH);
    let parts = code_parts(&text);
    let quoted = parts.iter().enumerate().map(|(index, part)| {
        if index.is_multiple_of(2) {
            words(part)
        } else {
            code(part)
        }
    });
    quoted.collect()
}

fn words(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let lower = word.to_lowercase();
        let mut links = ["@", "#", "://", "www."].iter();
        let is_link = links.any(|link| lower.contains(link));
        parted(word, is_link)
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Quotes a word with an empty comment wherever GitHub would see a link: after the signs of an address if it is one,
/// before the number of an issue (`GH-77`, and the prefixes that a repository defines), and within a long run of
/// hexadecimal digits.
fn parted(word: &str, is_link: bool) -> String {
    let mut shown = String::new();
    let mut hex_digits = 0;
    let mut before = ' ';
    for c in word.chars() {
        let is_number = before == '-' && c.is_ascii_digit();
        if is_number || (c.is_ascii_hexdigit() && hex_digits == MAX_HEX_DIGITS) {
            shown.push_str(PARTED);
            hex_digits = 0;
        }
        shown.push_str(&reference(c));
        if is_link && matches!(c, '@' | '#' | ':' | 'w' | 'W') {
            shown.push_str(PARTED);
        }
        hex_digits = if c.is_ascii_hexdigit() {
            hex_digits + 1
        } else {
            0
        };
        before = c;
    }
    shown
}

/// Quotes preformatted lines.
pub fn block(lines: &[impl AsRef<str>]) -> String {
    let mut out = String::from("<pre>");
    for line in lines {
        for c in shortened(line.as_ref(), 4 * MAX_LENGTH).chars() {
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
    fn pairs_of_backticks_in_prose_become_code() {
        assert_eq!(prose("see `a|b`."), "see <code>a&#124;b</code>.");
        assert_eq!(prose("a single ` stays"), "a single &#96; stays");
    }

    #[test]
    fn mentions_and_links_in_prose_are_broken_up() {
        let shown = prose("ask @team about #12 at https://evil.example www.x.y");
        for link in ["@team", "&#64;team", "&#35;12", "://", "www."] {
            assert!(!shown.contains(link), "{link} in {shown}");
        }
    }

    #[test]
    fn commits_and_issues_in_prose_are_broken_up() {
        let shown = prose("see GH-77 JIRA-1 0123456789abcdef0123456789abcdef01234567");
        let parts: Vec<&str> = shown.split(PARTED).collect();
        let is_commit = |part: &str| {
            let mut runs = part.split(|c: char| !c.is_ascii_hexdigit());
            runs.any(|run| run.len() >= 7)
        };
        assert!(!parts.iter().any(|part| is_commit(part)), "{shown}");
        assert!(
            !shown.contains("GH-7") && !shown.contains("JIRA-1"),
            "{shown}"
        );
        assert_eq!(
            shown.replace(PARTED, ""),
            "see GH-77 JIRA-1 0123456789abcdef0123456789abcdef01234567"
        );
        assert_eq!(prose("a read-only lock"), "a read-only lock");
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
