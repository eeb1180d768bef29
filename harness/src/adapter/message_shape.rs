//! Which messages the protocol has, with the fields of each, as data.
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
    /// A list of strings.
    Texts,
    /// An object whose values are strings.
    TextsByName,
}

impl FieldKind {
    /// What is expected, with its article.
    pub fn words(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Whole => "a whole number, 0 or more, without a point",
            Self::Boolean => "true or false",
            Self::BooleanOrNull => "true, false or null",
            Self::Texts => "a list of strings",
            Self::TextsByName => "an object of strings",
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
    /// The value of `op`, `reply` or `event`.
    pub name: &'static str,
    /// Its fields, without `id` and without the one that holds its name.
    pub fields: &'static [FieldShape],
}

const fn field(name: &'static str, kind: FieldKind) -> FieldShape {
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

use FieldKind::{Boolean, BooleanOrNull, Text, Texts, TextsByName, Whole};

/// The requests, by `op`, each with the answers that it may get.
pub const REQUESTS: &[(MessageShape, &[&str])] = &[
    (
        message(
            "init",
            &[
                field("protocol", Whole),
                field("worker", Whole),
                field("nodes", Texts),
                field("timeout_ms", Whole),
                field("seed", Whole),
                field("options", TextsByName),
            ],
        ),
        &["ready", "error"],
    ),
    (
        message(
            "acquire",
            &[
                field("key", Text),
                field("ttl_ms", Whole),
                field("wait_ms", Whole),
            ],
        ),
        &["granted", "refused", "error"],
    ),
    (
        message(
            "extend",
            &[
                field("key", Text),
                field("token", Text),
                field("ttl_ms", Whole),
            ],
        ),
        &["granted", "refused", "unsupported", "error"],
    ),
    (
        message("release", &[field("key", Text), field("token", Text)]),
        &["released", "error"],
    ),
    (message("ping", &[]), &["pong"]),
];

/// The answers, by `reply`.
pub const REPLIES: &[MessageShape] = &[
    message(
        "ready",
        &[optional("name", Text), optional("version", Text)],
    ),
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
    message("unsupported", &[optional("message", Text)]),
    message("released", &[field("released", BooleanOrNull)]),
    message("pong", &[]),
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
        ],
    ),
    message("lost", &[field("token", Text)]),
];
