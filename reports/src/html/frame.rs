//! The frame around all pages, and parts that several pages share.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use super::name::{Name, name, sentence};
use crate::escape::visible;

/// The frame around a page, and its head.
pub(super) struct Frame {
    pub(super) style: &'static str,
    pub(super) script: &'static str,
    /// What the page's content security policy allows: this style and no other.
    pub(super) style_hash: String,
    /// The same for the script.
    pub(super) script_hash: String,
    pub(super) picklock: Name,
    pub(super) title: String,
    /// What a reader must know first.
    pub(super) notices: Vec<Name>,
    pub(super) counts: Vec<Count>,
}

impl Frame {
    /// A frame for a page made by this version of Picklock, without notices and counts.
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
            title,
            notices: Vec::new(),
            counts: Vec::new(),
        }
    }
}

/// SHA-256 in base64 of an element's content. The template begins it with a newline.
fn hash_in_page(text: &str) -> String {
    BASE64_STANDARD.encode(Sha256::digest(format!("\n{text}")))
}

/// A number at the top of a page.
pub(super) struct Count {
    pub(super) tone: &'static str,
    pub(super) sign: &'static str,
    pub(super) number: usize,
    pub(super) words: &'static str,
}

/// The counts from tone, sign, number and words. Zeros are omitted, except for the tone `always`.
pub(super) fn counts<const N: usize>(
    all: [(&'static str, &'static str, usize, &'static str); N],
    always: &str,
) -> Vec<Count> {
    let count = |(tone, sign, number, words)| Count {
        tone,
        sign,
        number,
        words,
    };
    let shown = |count: &Count| count.number > 0 || count.tone == always;
    all.map(count).into_iter().filter(shown).collect()
}

/// A command line, with a button that copies it.
pub(super) struct Command {
    pub(super) shown: Name,
    /// The text to copy; empty if the command has invisible characters, because a reader must not
    /// paste those into a shell.
    pub(super) copied: String,
}

impl Command {
    pub(super) fn for_command(command: &str) -> Self {
        Command {
            shown: sentence(command),
            copied: match visible(command) {
                Cow::Borrowed(plain) => plain.to_owned(),
                Cow::Owned(_) => String::new(),
            },
        }
    }
}
