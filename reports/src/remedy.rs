//! The code of remedies, from `docs/remedies.md`.

use std::sync::LazyLock;

use picklock_verdicts::check::Cause;

const PAGE: &str = include_str!("../templates/remedies.md");

/// A paragraph of the page: a remedy, with its code for each client library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy {
    /// The name of the paragraph in links.
    pub anchor: String,
    /// The heading.
    pub title: String,
    /// The text before the code, as paragraphs, and the rows of a table.
    pub text: Vec<String>,
    /// Code that every client needs, such as a script.
    pub shared: Vec<String>,
    /// The client libraries, each with its code.
    pub clients: Vec<(&'static str, String)>,
}

/// Returns the paragraph with the code against a cause, or `None` if there is none.
pub fn remedy(cause: Cause) -> Option<&'static Remedy> {
    static REMEDIES: LazyLock<Vec<Remedy>> = LazyLock::new(|| parse(PAGE));
    let anchor = anchor(cause)?;
    REMEDIES.iter().find(|one| one.anchor == anchor)
}

/// Returns the name of the paragraph with the code against a cause, or `None` if there is none.
pub fn anchor(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::OutlivedLease | Cause::LateWrite => "check-a-fencing-token",
        Cause::StolenRelease | Cause::Race => "compare-the-token-and-delete-in-one-script",
        Cause::PhantomExtend
        | Cause::ForeignRenewal
        | Cause::LateExtension
        | Cause::RefusedExtension
        | Cause::RenewedAfterRelease
        | Cause::RenewedAfterEnd => "extend-only-what-is-yours",
        Cause::NoTtl | Cause::SharedToken | Cause::WrongExpiry | Cause::ClockSkew => {
            "acquire-in-one-command-with-a-random-token"
        }
        Cause::FalseRelease | Cause::AmbiguousAcquire | Cause::StaleReply => {
            "undo-an-attempt-without-an-answer"
        }
        Cause::ExpiredGrant | Cause::UnbackedGrant => "check-the-remaining-lease",
        Cause::ReleasedBeforeCommit | Cause::UncheckedWrite | Cause::StaleRead => {
            "write-before-the-release-and-only-there"
        }
        Cause::LostOnFailover
        | Cause::LostOnRestart
        | Cause::QuorumErosion
        | Cause::Evicted
        | Cause::ClockJump => "configure-the-servers",
        _ => return None,
    })
}

fn parse(page: &str) -> Vec<Remedy> {
    page.split("\n## ").skip(1).map(parse_paragraph).collect()
}

fn parse_paragraph(text: &str) -> Remedy {
    let (title, text) = text.split_once('\n').unwrap_or((text, ""));
    let words = title.chars().filter(|c| c.is_alphanumeric() || *c == ' ');
    let mut remedy = Remedy {
        anchor: words.collect::<String>().to_lowercase().replace(' ', "-"),
        title: title.to_owned(),
        text: Vec::new(),
        shared: Vec::new(),
        clients: Vec::new(),
    };
    // Odd parts are between two fences: the language, and the code.
    for (index, part) in text.split("```").enumerate() {
        if index % 2 == 1 {
            let (language, code) = part.split_once('\n').unwrap_or((part, ""));
            let code = code.trim_end().to_owned();
            match client(language) {
                Some(client) => remedy.clients.push((client, code)),
                None => remedy.shared.push(code),
            }
        } else if remedy.clients.is_empty() {
            remedy.text.extend(paragraphs(part));
        }
    }
    remedy
}

/// Returns the client library of a language, or `None` for a script that every client sends.
fn client(language: &str) -> Option<&'static str> {
    match language {
        "python" => Some("Python, redis-py"),
        "js" => Some("Node.js, ioredis"),
        "go" => Some("Go, go-redis"),
        "java" => Some("Java, Lettuce"),
        "csharp" => Some("C#, StackExchange.Redis"),
        _ => None,
    }
}

/// Returns the paragraphs of a text without the names of client libraries. A row of a table is a paragraph.
fn paragraphs(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for paragraph in text.split("\n\n").map(str::trim) {
        if paragraph.starts_with('|') {
            let rows = paragraph.lines().skip(2);
            let cells = rows.map(|row| row.trim_matches(['|', ' ']).replace(" | ", ": "));
            found.extend(cells);
        } else if !paragraph.is_empty() && !paragraph.ends_with("redis-py:") {
            found.push(paragraph.replace('\n', " "));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_anchor_is_a_paragraph_with_code() {
        for cause in Cause::ALL {
            if anchor(cause).is_some() {
                let remedy = remedy(cause).unwrap_or_else(|| panic!("{cause}"));
                let has_python = remedy.clients.iter().any(|(it, _)| it.contains("redis-py"));
                assert!(has_python && !remedy.text.is_empty(), "{remedy:?}");
            }
        }
    }

    #[test]
    fn paragraph_has_the_script_and_the_code_of_each_client() {
        let remedy = remedy(Cause::StolenRelease).expect("a paragraph");
        assert_eq!(remedy.clients.len(), 5);
        assert_eq!(remedy.shared.len(), 1);
        assert!(remedy.shared[0].starts_with("-- RELEASE"), "{remedy:?}");
    }
}
