//! Violations of the adapter protocol and their messages, for `picklock adapter check` and for runs.

use std::time::Duration;

use serde_json::{Map, Value};

use super::message::WorkerMessage;
use super::message_shape::{EVENTS, FieldKind, FieldShape, REPLIES, REQUESTS, field};

/// Maximum number of characters of a line that are quoted.
pub const MAX_LINE_CHARS: usize = 200;
/// Maximum number of characters of a value that are quoted.
const MAX_VALUE_CHARS: usize = 60;

/// A violation of the protocol. Its message is a clause about the adapter, such as "it wrote …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the error messages describe the variants and their fields"
)]
pub enum ProtocolFault {
    #[error(
        "it wrote a line that is not JSON to its standard output, which is for the protocol only: log to standard error"
    )]
    NotJson,
    #[error("it wrote JSON that is not an object; every message is one object on one line")]
    NotAnObject,
    /// A line longer than [`MAX_LINE_BYTES`](super::line_reader::MAX_LINE_BYTES).
    #[error("it wrote a line longer than one mebibyte")]
    TooLong,
    #[error("it wrote a message with neither `reply` nor `event`")]
    NoKind,
    #[error(
        "it wrote `{found}` as `{tag}`, which the protocol does not define; expected one of {known}"
    )]
    UnknownKind {
        tag: &'static str,
        found: String,
        known: String,
    },
    #[error("it wrote `{message}` without `{field}`")]
    MissingField {
        message: &'static str,
        field: &'static str,
    },
    #[error("it wrote `{message}` with `{field}` = {found}; `{field}` must be {expected}")]
    WrongField {
        message: &'static str,
        field: &'static str,
        /// The value that was found, truncated.
        found: String,
        expected: &'static str,
    },
    #[error("it answered `{op}` with `{reply}`; expected {expected}")]
    WrongAnswer {
        op: &'static str,
        reply: &'static str,
        expected: String,
    },
    #[error("it answered with `id` {found}, but the request has `id` {expected}")]
    WrongId { expected: u64, found: u64 },
    #[error("it answered request {id} a second time")]
    SecondAnswer { id: u64 },
    #[error("it wrote `{message}` for client {found}{}", expected_client(*.expected))]
    WrongClient {
        message: &'static str,
        found: usize,
        /// The client that sent the request, or `None` if no client has the number `found`.
        expected: Option<usize>,
    },
    #[error("it wrote the event `{event}` for a token that it was never granted")]
    UnknownToken { event: &'static str },
    #[error("it wrote more than {max} events")]
    TooManyEvents { max: u32 },
    #[error("it did not answer `{op}` within {:.1} s{}", .within.as_secs_f64(), after_waiting(*.wait))]
    NoAnswer {
        op: &'static str,
        /// The time limit, including the wait.
        within: Duration,
        wait: Duration,
    },
    #[error(
        "it did not answer `{op}`: it wrote an incomplete line; end every line with a newline, and flush it"
    )]
    Unfinished { op: &'static str },
    #[error("it ended before it answered `{op}`: {how}")]
    Ended {
        op: &'static str,
        /// A description of its exit.
        how: String,
    },
}

fn expected_client(expected: Option<usize>) -> String {
    match expected {
        Some(client) => format!(", but client {client} sent the request"),
        None => ", but no such client has joined".to_owned(),
    }
}

fn after_waiting(wait: Duration) -> String {
    if wait.is_zero() {
        String::new()
    } else {
        format!(", although `wait_ms` was {}", wait.as_millis())
    }
}

impl ProtocolFault {
    /// Creates the fault for a kind of reply that does not fit the request.
    pub fn wrong_answer(op: &'static str, reply: &'static str) -> Self {
        let request = REQUESTS.iter().find(|(name, _)| *name == op);
        let allowed = request.map_or(&[][..], |(_, answers)| answers);
        let expected: Vec<String> = allowed.iter().map(|name| format!("`{name}`")).collect();
        ProtocolFault::WrongAnswer {
            op,
            reply,
            expected: expected.join(" or "),
        }
    }

    /// Creates the fault for a reply to a request that is not pending. The numbers of requests increase by one.
    pub fn wrong_id(expected: u64, found: u64) -> Self {
        if found.checked_add(1) == Some(expected) {
            ProtocolFault::SecondAnswer { id: found }
        } else {
            ProtocolFault::WrongId { expected, found }
        }
    }

    /// Returns `true` if both show the same mistake of an adapter, whatever their ids, times and values are.
    #[cfg(feature = "servers")]
    pub(crate) fn is_like(&self, other: &ProtocolFault) -> bool {
        use ProtocolFault::{NoAnswer, SecondAnswer, WrongField, WrongId};
        match (self, other) {
            (WrongId { .. }, WrongId { .. }) | (SecondAnswer { .. }, SecondAnswer { .. }) => true,
            (
                NoAnswer { op, wait, .. },
                NoAnswer {
                    op: other,
                    wait: other_wait,
                    ..
                },
            ) => op == other && wait.is_zero() == other_wait.is_zero(),
            (
                WrongField { message, field, .. },
                WrongField {
                    message: other,
                    field: other_field,
                    ..
                },
            ) => message == other && field == other_field,
            (one, other) => one == other,
        }
    }

    /// Returns the section of `docs/protocol.md` that describes the violated rule.
    pub fn section(&self) -> &'static str {
        match self {
            Self::NotJson | Self::NotAnObject | Self::TooLong | Self::Unfinished { .. } => "lines",
            Self::NoKind
            | Self::WrongId { .. }
            | Self::SecondAnswer { .. }
            | Self::TooManyEvents { .. } => "one-answer-each",
            Self::WrongClient { .. } => "clients",
            Self::UnknownKind { tag: "event", .. } | Self::UnknownToken { .. } => "events",
            Self::UnknownKind { .. } => "answers",
            Self::MissingField { message, .. } | Self::WrongField { message, .. } => message,
            Self::NoAnswer { op: "acquire", .. } => "waiting",
            Self::WrongAnswer { op, .. } | Self::NoAnswer { op, .. } | Self::Ended { op, .. } => op,
        }
    }
}

/// A line that is not a message, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault}: {line}")]
pub struct MalformedLine {
    /// The violation of the protocol.
    pub fault: ProtocolFault,
    /// The first [`MAX_LINE_CHARS`] characters of the line.
    pub line: String,
}

/// Parses the message in a line.
///
/// # Errors
/// Returns the fault if the line is not a message.
pub fn read_message(line: &str) -> Result<WorkerMessage, MalformedLine> {
    // A valid message is parsed only once, because every reply of a run passes here.
    serde_json::from_str(line).map_err(|error| MalformedLine {
        fault: diagnose(line, &error),
        line: truncate(line, MAX_LINE_CHARS),
    })
}

/// Returns the fault for a line that is too long, with the beginning of the line.
pub fn too_long(start: &str) -> MalformedLine {
    MalformedLine {
        fault: ProtocolFault::TooLong,
        line: truncate(start, MAX_LINE_CHARS),
    }
}

/// Returns the first `max_chars` characters of a text, with an ellipsis if it is longer.
pub fn truncate(text: &str, max_chars: usize) -> String {
    let start: String = text.chars().take(max_chars).collect();
    if start.len() == text.len() {
        start
    } else {
        format!("{start}…")
    }
}

fn diagnose(line: &str, error: &serde_json::Error) -> ProtocolFault {
    let object = match serde_json::from_str(line) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return ProtocolFault::NotAnObject,
        Err(_) => return ProtocolFault::NotJson,
    };
    let (tag, shapes) = if object.contains_key("reply") {
        ("reply", REPLIES)
    } else if object.contains_key("event") {
        ("event", EVENTS)
    } else {
        return ProtocolFault::NoKind;
    };
    let Some(shape) = shapes.iter().find(|shape| object[tag] == shape.name) else {
        let known = shapes.iter().map(|shape| format!("`{}`", shape.name));
        return ProtocolFault::UnknownKind {
            tag,
            found: quoted(&object[tag]),
            known: known.collect::<Vec<_>>().join(", "),
        };
    };
    const ID: FieldShape = field("id", FieldKind::Whole);
    let id = (tag == "reply").then_some(&ID);
    let mut fields = id.into_iter().chain(shape.fields);
    let wrong = fields.find_map(|field| wrong_field(shape.name, field, &object));
    // The table contains every field. The remaining errors are those that the table cannot express, such as a duplicate
    // field.
    wrong.unwrap_or_else(|| ProtocolFault::WrongField {
        message: shape.name,
        field: tag,
        found: error.to_string(),
        expected: "part of a message as the protocol defines it",
    })
}

fn wrong_field(
    message: &'static str,
    shape: &FieldShape,
    object: &Map<String, Value>,
) -> Option<ProtocolFault> {
    let field = shape.name;
    let found = match object.get(field) {
        None if shape.required => return Some(ProtocolFault::MissingField { message, field }),
        None => return None,
        Some(Value::Null) if !shape.required => return None,
        Some(found) => found,
    };
    let fits = match shape.kind {
        FieldKind::Text => found.is_string(),
        FieldKind::Whole => found.is_u64(),
        FieldKind::Boolean => found.is_boolean(),
        FieldKind::BooleanOrNull => found.is_boolean() || found.is_null(),
        FieldKind::Texts => (found.as_array()).is_some_and(|all| all.iter().all(Value::is_string)),
    };
    (!fits).then(|| ProtocolFault::WrongField {
        message,
        field,
        found: quoted(found),
        expected: shape.kind.describe(),
    })
}

fn quoted(value: &Value) -> String {
    truncate(&value.to_string(), MAX_VALUE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(line: &str) -> String {
        read_message(line).unwrap_err().fault.to_string()
    }

    #[test]
    fn fault_names_the_field() {
        for (line, words) in [
            ("Connected to Redis!", "log to standard error"),
            ("", "log to standard error"),
            ("[1]", "not an object"),
            (r#"{"id":1,"error":"x"}"#, "neither `reply` nor `event`"),
            (r#"{"id":1,"reply":"ok"}"#, "`\"ok\"` as `reply`"),
            (r#"{"event":"renewed"}"#, "`\"renewed\"` as `event`"),
            (r#"{"id":1,"reply":"granted"}"#, "`granted` without `token`"),
            (r#"{"reply":"pong"}"#, "`pong` without `id`"),
            (r#"{"id":"1","reply":"pong"}"#, "`id` = \"1\""),
            (
                r#"{"id":1,"reply":"granted","token":5}"#,
                "`token` = 5; `token` must be a string",
            ),
            (
                r#"{"id":1,"reply":"granted","token":"a","valid_ms":9.5}"#,
                "`valid_ms` = 9.5; `valid_ms` must be a non-negative integer",
            ),
            (
                r#"{"id":1,"reply":"granted","token":"a","elapsed_ms":-1}"#,
                "`elapsed_ms` = -1",
            ),
            (r#"{"id":1,"reply":"released"}"#, "without `released`"),
            (
                r#"{"id":1,"reply":"released","released":"yes"}"#,
                "true, false or null",
            ),
            (
                r#"{"id":1,"reply":"error","message":"x"}"#,
                "without `definite`",
            ),
            (r#"{"event":"lost"}"#, "`lost` without `token`"),
            (r#"{"id":1,"id":2,"reply":"pong"}"#, "part of a message"),
        ] {
            let message = fault(line);
            assert!(message.contains(words), "{line}: {message}");
        }
    }

    #[test]
    fn omitted_optional_and_unknown_fields_are_accepted() {
        for line in [
            r#"{"id":1,"reply":"granted","token":"a","fence":null,"colour":"red"}"#,
            r#"{"id":1,"reply":"released","released":null}"#,
            r#"{"id":1,"reply":"ready"}"#,
        ] {
            assert!(read_message(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn long_line_is_truncated() {
        let line = format!("\"{}\"", "é".repeat(300));
        let malformed = read_message(&line).unwrap_err();
        assert_eq!(malformed.line.chars().count(), MAX_LINE_CHARS + 1);
        assert!(malformed.line.ends_with('…'));
    }
}
