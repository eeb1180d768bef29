//! Which messages the protocol has, with the fields of what a worker writes, as data.
//!
//! What is wrong with a line is told from this table. A test compares it with [`message`](super::message)
//! and with `docs/protocol.md`.

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A string.
    Text,
    /// A whole number, 0 or more.
    Whole,
    /// True or false.
    Boolean,
    /// True, false or null.
    BooleanOrNull,
}

impl FieldKind {
    /// What is expected, with its article.
    pub fn words(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Whole => "a whole number, 0 or more, without a point",
            Self::Boolean => "true or false",
            Self::BooleanOrNull => "true, false or null",
        }
    }
}

/// One field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldShape {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: FieldKind,
    /// False: it may be left out, or be null.
    pub required: bool,
}

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageShape {
    /// The value of `reply` or `event`.
    pub name: &'static str,
    /// Its fields, without `id` and without the one that holds its name.
    pub fields: &'static [FieldShape],
}

pub(super) const fn field(name: &'static str, kind: FieldKind) -> FieldShape {
    FieldShape {
        name,
        kind,
        required: true,
    }
}

const fn optional(name: &'static str, kind: FieldKind) -> FieldShape {
    FieldShape {
        name,
        kind,
        required: false,
    }
}

const fn message(name: &'static str, fields: &'static [FieldShape]) -> MessageShape {
    MessageShape { name, fields }
}

use FieldKind::{Boolean, BooleanOrNull, Text, Whole};

/// The requests, by `op`, each with the answers that it may get.
pub const REQUESTS: &[(&str, &[&str])] = &[
    ("init", &["ready", "error"]),
    ("join", &["joined", "error"]),
    ("acquire", &["granted", "refused", "cancelled", "error"]),
    ("extend", &["granted", "refused", "unsupported", "error"]),
    ("release", &["released", "error"]),
    ("section-failed", &["released", "error"]),
    ("release-unheld", &["released", "error"]),
    ("cancel", &[]),
    ("end-client", &["ended", "error"]),
    ("ping", &["pong"]),
    ("block", &["blocked", "error"]),
];

/// The answers, by `reply`.
pub const REPLIES: &[MessageShape] = &[
    message(
        "ready",
        &[
            optional("name", Text),
            optional("version", Text),
            optional("extends", Boolean),
            optional("protocol", Whole),
            optional("clients", Boolean),
            optional("own_connections", Boolean),
            optional("blocks_loop", Boolean),
            optional("blocks_thread", Boolean),
            optional("cancels", Boolean),
            optional("releases_unheld", Boolean),
            optional("fails_sections", Boolean),
            optional("reentrant", Boolean),
            optional("ends_clients", Boolean),
        ],
    ),
    message("joined", &[]),
    message(
        "granted",
        &[
            field("token", Text),
            optional("fence", Whole),
            optional("valid_ms", Whole),
            optional("elapsed_ms", Whole),
        ],
    ),
    message("refused", &[]),
    message("cancelled", &[]),
    message("unsupported", &[optional("message", Text)]),
    message("released", &[field("released", BooleanOrNull)]),
    message("pong", &[]),
    message("blocked", &[]),
    message("ended", &[]),
    message(
        "error",
        &[field("message", Text), field("definite", Boolean)],
    ),
];

/// The events, by `event`.
pub const EVENTS: &[MessageShape] = &[
    message(
        "extended",
        &[
            field("token", Text),
            field("valid_ms", Whole),
            optional("elapsed_ms", Whole),
            optional("client", Whole),
        ],
    ),
    message("lost", &[field("token", Text), optional("client", Whole)]),
];
