//! The messages of the protocol as data. Messages that a worker writes are listed with their fields.
//!
//! The diagnosis of malformed lines uses this table. A test compares it with [`message`](super::message) and with
//! `docs/protocol.md`.

use FieldKind::{Boolean, BooleanOrNull, Text, Texts, Whole};

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A string.
    Text,
    /// A non-negative integer.
    Whole,
    /// `true` or `false`.
    Boolean,
    /// `true`, `false` or `null`.
    BooleanOrNull,
    /// An array of strings.
    Texts,
}

impl FieldKind {
    /// Describes the expected value, with its article.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Whole => "a non-negative integer",
            Self::Boolean => "true or false",
            Self::BooleanOrNull => "true, false or null",
            Self::Texts => "an array of strings",
        }
    }
}

/// One field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldShape {
    /// Name of the field.
    pub name: &'static str,
    /// Type of its value.
    pub kind: FieldKind,
    /// Whether the field is required. An optional field may be omitted or `null`.
    pub required: bool,
}

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageShape {
    /// The value of `reply` or `event`.
    pub name: &'static str,
    /// The message's fields, except `id`, `reply` and `event`.
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

/// The requests, by `op`, each with its possible replies.
pub const REQUESTS: &[(&str, &[&str])] = &[
    ("init", &["ready", "error"]),
    ("join", &["joined", "error"]),
    ("acquire", &["granted", "refused", "cancelled", "error"]),
    ("extend", &["granted", "refused", "unsupported", "error"]),
    ("act", &["acting", "refused", "error"]),
    ("release", &["released", "error"]),
    ("section-failed", &["released", "error"]),
    ("release-unheld", &["released", "error"]),
    ("cancel", &[]),
    ("end-client", &["ended", "error"]),
    ("ping", &["pong"]),
    ("block", &["blocked", "error"]),
];

/// The replies, by `reply`.
pub const REPLIES: &[MessageShape] = &[
    message(
        "ready",
        &[
            optional("name", Text),
            optional("version", Text),
            optional("extends", Boolean),
            optional("min_hold_ms", Whole),
            optional("lease_margin_ms", Whole),
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
            optional("kinds", Texts),
            optional("several_permits", Boolean),
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
    message("acting", &[optional("epoch", Whole)]),
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
