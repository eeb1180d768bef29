//! The frame around all pages, and parts that several pages share.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use picklock_verdicts::record::CiJob;
use sha2::{Digest, Sha256};

use super::name::{CommandWords, Name, command_words, name};
use super::tone::Tone;
use crate::escape::visible;
use crate::units::grouped;

/// The frame around a page: head, title, notices and counts.
pub(super) struct Frame {
    pub(super) style: &'static str,
    pub(super) script: &'static str,
    /// Hash of the style for the page's content security policy, which allows only this style.
    pub(super) style_hash: String,
    /// Hash of the script for the content security policy.
    pub(super) script_hash: String,
    pub(super) picklock: Name,
    /// The CI job that produced the results.
    pub(super) ci_job: Option<CiJobView>,
    pub(super) title: String,
    /// Notices that a reader must see first.
    pub(super) notices: Vec<Name>,
    pub(super) counts: Vec<Count>,
}

impl Frame {
    /// Creates a frame for a page of this version of Picklock, without notices and counts.
    pub(super) fn new(
        style: &'static str,
        script: &'static str,
        picklock: &str,
        title: String,
    ) -> Self {
        Frame {
            style,
            script,
            style_hash: hash_in_page(style),
            script_hash: hash_in_page(script),
            picklock: name(picklock),
            ci_job: None,
            title,
            notices: Vec::new(),
            counts: Vec::new(),
        }
    }
}

/// Returns the SHA-256 hash of an element's content in base64. The template puts a newline before the
/// content.
fn hash_in_page(text: &str) -> String {
    BASE64_STANDARD.encode(Sha256::digest(format!("\n{text}")))
}

/// Number of characters of a commit's hash.
const MAX_COMMIT_LENGTH: usize = 7;

/// A CI job, at the top of a page.
pub(super) struct CiJobView {
    pub(super) date: Name,
    /// Empty if it is unknown.
    pub(super) commit: Name,
    /// Empty if there is none, or if it is not the address of a web page.
    pub(super) url: String,
}

impl CiJobView {
    pub(super) fn new(job: &CiJob) -> Self {
        let commit = job.commit.iter().flat_map(|it| it.chars());
        let commit: String = commit.take(MAX_COMMIT_LENGTH).collect();
        let is_page = |url: &&String| {
            let is_web = url.starts_with("https://") || url.starts_with("http://");
            is_web && url.chars().all(|c| c.is_ascii_graphic())
        };
        CiJobView {
            date: name(&job.date),
            commit: name(&commit),
            url: job.url.iter().find(is_page).cloned().unwrap_or_default(),
        }
    }
}

/// A number at the top of a page.
pub(super) struct Count {
    pub(super) tone: Tone,
    pub(super) sign: &'static str,
    pub(super) number: usize,
    /// The number of further cells, in scenarios that do not count.
    pub(super) uncounted: usize,
    pub(super) words: &'static str,
}

impl Count {
    /// Formats the number.
    pub(super) fn shown(&self) -> String {
        grouped(self.number)
    }
}

/// Returns the counts with a tone, sign, number and label. Zeros are omitted, except for the tone `always`.
pub(super) fn counts<const N: usize>(
    all: [(Tone, &'static str, usize, &'static str); N],
    always: Tone,
) -> Vec<Count> {
    let count = |(tone, sign, number, words)| Count {
        tone,
        sign,
        number,
        uncounted: 0,
        words,
    };
    let shown = |count: &Count| count.number > 0 || count.tone == always;
    all.map(count).into_iter().filter(shown).collect()
}

/// A command line, with a button that copies it.
pub(super) struct Command {
    pub(super) shown: CommandWords,
    /// The text to copy. Empty if the command has invisible characters, because a reader must not paste those
    /// into a shell.
    pub(super) copied: String,
}

impl Command {
    pub(super) fn for_command(command: &str) -> Self {
        Command {
            shown: command_words(command),
            copied: match visible(command) {
                Cow::Borrowed(plain) => plain.to_owned(),
                Cow::Owned(_) => String::new(),
            },
        }
    }
}
