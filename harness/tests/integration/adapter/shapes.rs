//! The messages in the code, the table of their fields and `docs/protocol.md` agree.

use std::collections::{BTreeMap, BTreeSet};

use picklock_harness::adapter::message::{
    Answer, Join, Mode, Notification, Offers, RequestKind, WorkerMessage,
};
use picklock_harness::adapter::message_shape::{
    EVENTS, FieldKind, MessageShape, REPLIES, REQUESTS,
};
use picklock_harness::adapter::protocol_fault::ProtocolFault;
use picklock_harness::conformance::checks::CHECKS;
use picklock_scenarios::{LockFeature, LockKind, TaskScope};
use serde_json::Value;

use super::talk::{extend, init, project_root, release};

fn document() -> String {
    std::fs::read_to_string(project_root().join("docs/protocol.md")).unwrap()
}

/// Returns the name of a message, and its fields except `id` and `tag`.
fn fields_of(message: &Value, tag: &str) -> (String, BTreeSet<String>) {
    let object = message.as_object().unwrap();
    let name = object[tag].as_str().unwrap().to_owned();
    let fields = object
        .keys()
        .filter(|field| *field != "id" && *field != tag);
    (name, fields.cloned().collect())
}

fn shape_of<'a>(
    shapes: impl IntoIterator<Item = &'a MessageShape>,
) -> BTreeMap<String, BTreeSet<String>> {
    let shapes = shapes.into_iter();
    let fields = |shape: &MessageShape| {
        shape
            .fields
            .iter()
            .map(|field| field.name.to_owned())
            .collect()
    };
    shapes
        .map(|shape| (shape.name.to_owned(), fields(shape)))
        .collect()
}

/// Returns one reply of each kind, with all its fields. A new kind breaks the compilation here.
fn answers() -> Vec<Answer> {
    let all = vec![
        Answer::Ready {
            name: Some("a".into()),
            version: Some("1".into()),
            extends: Some(false),
            min_hold_ms: Some(200),
            lease_margin_ms: Some(500),
            offers: Offers {
                protocol: Some(2),
                clients: Some(true),
                own_connections: Some(true),
                blocks_loop: Some(true),
                blocks_thread: Some(true),
                cancels: Some(true),
                releases_unheld: Some(true),
                fails_sections: Some(true),
                reentrant: Some(true),
                several_permits: Some(true),
                kinds: Some(vec![LockKind::Semaphore]),
                ends_clients: Some(true),
            },
        },
        Answer::Joined,
        Answer::Granted {
            token: "t".into(),
            fence: Some(1),
            valid_ms: Some(1),
            elapsed_ms: Some(1),
        },
        Answer::Refused,
        Answer::Acting { epoch: Some(1) },
        Answer::Cancelled,
        Answer::Unsupported {
            message: Some("no".into()),
        },
        Answer::Released {
            released: Some(true),
        },
        Answer::Pong,
        Answer::Blocked,
        Answer::Ended,
        Answer::Error {
            message: "no".into(),
            definite: true,
        },
    ];
    for answer in &all {
        match answer {
            Answer::Ready { .. }
            | Answer::Joined
            | Answer::Granted { .. }
            | Answer::Refused
            | Answer::Acting { .. }
            | Answer::Cancelled
            | Answer::Unsupported { .. }
            | Answer::Released { .. }
            | Answer::Pong
            | Answer::Blocked
            | Answer::Ended
            | Answer::Error { .. } => {}
        }
    }
    all
}

fn asks() -> Vec<RequestKind> {
    let all = vec![
        init(vec![]),
        RequestKind::Acquire {
            key: "k".into(),
            ttl_ms: 1,
            wait_ms: 0,
            mode: Some(Mode::Shared),
            permits: Some(2),
        },
        extend("k", "t", 1),
        RequestKind::Act {
            key: "k".into(),
            token: "t".into(),
        },
        release("k", "t"),
        RequestKind::Ping,
        RequestKind::ReleaseUnheld { key: "k".into() },
        RequestKind::SectionFailed {
            key: "k".into(),
            token: "t".into(),
        },
        RequestKind::EndClient,
        RequestKind::Cancel { of: 1 },
        RequestKind::Join(Join {
            nodes: vec![],
            seed: 1,
        }),
        RequestKind::Block {
            for_ms: 1,
            scope: TaskScope::Loop,
        },
    ];
    for ask in &all {
        match ask {
            RequestKind::Init(_)
            | RequestKind::Acquire { .. }
            | RequestKind::Extend { .. }
            | RequestKind::Act { .. }
            | RequestKind::Release { .. }
            | RequestKind::Ping
            | RequestKind::ReleaseUnheld { .. }
            | RequestKind::EndClient
            | RequestKind::SectionFailed { .. }
            | RequestKind::Cancel { .. }
            | RequestKind::Join(_)
            | RequestKind::Block { .. } => {}
        }
    }
    all
}

fn events() -> Vec<Notification> {
    let all = vec![
        Notification::Extended {
            token: "t".into(),
            valid_ms: 1,
            elapsed_ms: Some(1),
            client: Some(1),
        },
        Notification::Lost {
            token: "t".into(),
            client: Some(1),
        },
    ];
    for event in &all {
        match event {
            Notification::Extended { .. } | Notification::Lost { .. } => {}
        }
    }
    all
}

#[test]
fn field_table_agrees_with_the_code() {
    let requests: BTreeSet<_> = asks().iter().map(RequestKind::name).collect();
    assert_eq!(requests, REQUESTS.iter().map(|(op, _)| *op).collect());

    let written: BTreeMap<_, _> = answers()
        .into_iter()
        .map(|answer| {
            let reply = answer.reply();
            let message = WorkerMessage::Reply {
                id: 1,
                client: None,
                answer,
            };
            let (name, fields) = fields_of(&serde_json::to_value(message).unwrap(), "reply");
            assert_eq!(name, reply);
            (name, fields)
        })
        .collect();
    assert_eq!(written, shape_of(REPLIES));

    let written: BTreeMap<_, _> = events()
        .into_iter()
        .map(|event| {
            let kind = event.event();
            let (name, fields) = fields_of(&serde_json::to_value(event).unwrap(), "event");
            assert_eq!(name, kind);
            (name, fields)
        })
        .collect();
    assert_eq!(written, shape_of(EVENTS));
}

/// A field that the table marks as required cannot be omitted, and the others can.
#[test]
fn required_fields_agree_with_the_code() {
    for answer in answers() {
        let reply = answer.reply();
        let shape = REPLIES.iter().find(|shape| shape.name == reply).unwrap();
        for field in shape.fields {
            let message = WorkerMessage::Reply {
                id: 1,
                client: None,
                answer: answer.clone(),
            };
            let mut without = serde_json::to_value(message).unwrap();
            without.as_object_mut().unwrap().remove(field.name);
            let read = serde_json::from_value::<WorkerMessage>(without);
            assert_eq!(read.is_err(), field.required, "{reply}: {}", field.name);
        }
    }
}

/// Returns the text of each section, by its title as it appears in links.
fn sections(text: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut title = String::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if !is_code && line.starts_with('#') {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            title = words.replace(['`', ','], "").replace(' ', "-");
            assert!(
                all.insert(title.clone(), String::new()).is_none(),
                "{title} occurs twice"
            );
        } else if let Some(body) = all.get_mut(&title) {
            body.push_str(line);
            body.push('\n');
        }
    }
    all
}

/// Returns the document's name for the type of a request's field.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Array(values) if values.iter().any(Value::is_number) => "numbers",
        Value::Array(_) => "strings",
        Value::Object(_) => "strings by name",
        Value::Number(_) => "number",
        _ => "string",
    }
}

fn type_name(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Text => "string",
        FieldKind::Whole => "number",
        FieldKind::Boolean => "boolean",
        FieldKind::BooleanOrNull => "boolean or null",
        FieldKind::Texts => "array",
    }
}

#[test]
fn document_has_exactly_the_messages_and_fields_of_the_code() {
    let sections = sections(&document());
    let documented = |name: &str| -> Vec<(String, String)> {
        let body = sections
            .get(name)
            .unwrap_or_else(|| panic!("no section `{name}`"));
        let rows = body.lines().filter(|line| line.starts_with("| `"));
        rows.map(|row| {
            let mut cells = row.split('|').map(str::trim).skip(1);
            let name = cells.next().unwrap().trim_matches('`').to_owned();
            (name, cells.next().unwrap().to_owned())
        })
        .collect()
    };
    for ask in asks() {
        let op = ask.name();
        let written = serde_json::to_value(ask).unwrap();
        let fields = written.as_object().unwrap().iter();
        let expected: BTreeMap<_, _> = fields
            .filter(|(field, _)| *field != "op")
            .map(|(field, value)| (field.clone(), kind_of(value).to_owned()))
            .collect();
        assert_eq!(BTreeMap::from_iter(documented(op)), expected, "`{op}`");
    }
    for shape in REPLIES.iter().chain(EVENTS) {
        let expected: Vec<(String, String)> = shape
            .fields
            .iter()
            .map(|field| {
                let optional = if field.required { "" } else { ", optional" };
                (
                    field.name.to_owned(),
                    format!("{}{optional}", type_name(field.kind)),
                )
            })
            .collect();
        assert_eq!(documented(shape.name), expected, "`{}`", shape.name);
    }
}

/// The section of a request contains its possible replies.
#[test]
fn document_has_the_replies_to_every_request() {
    let sections = sections(&document());
    for (request, answers) in REQUESTS {
        let body = &sections[*request];
        let (_, replies) = body
            .split_once("Answer:")
            .expect("the section lists the replies");
        for answer in *answers {
            assert!(
                replies.contains(&format!("`{answer}`")),
                "{}: {answer}",
                request
            );
        }
    }
}

/// The sections to which checks and faults refer exist.
#[test]
fn every_referenced_section_is_in_the_document() {
    let sections = sections(&document());
    let wait = std::time::Duration::ZERO;
    let mut faults = vec![
        ProtocolFault::NotJson,
        ProtocolFault::NotAnObject,
        ProtocolFault::TooLong,
        ProtocolFault::NoKind,
        ProtocolFault::wrong_id(2, 1),
        ProtocolFault::wrong_id(2, 9),
        ProtocolFault::UnknownToken { event: "lost" },
    ];
    for tag in ["reply", "event"] {
        faults.push(ProtocolFault::UnknownKind {
            tag,
            found: String::new(),
            known: String::new(),
        });
    }
    for shape in REPLIES.iter().chain(EVENTS) {
        faults.push(ProtocolFault::MissingField {
            message: shape.name,
            field: "x",
        });
    }
    for (op, _) in REQUESTS {
        faults.push(ProtocolFault::wrong_answer(op, "pong"));
        faults.push(ProtocolFault::NoAnswer {
            op,
            within: wait,
            wait,
        });
        faults.push(ProtocolFault::Unfinished { op });
    }
    let faults = faults.iter().map(ProtocolFault::section);
    let checks = CHECKS.iter().map(|check| check.section);
    for section in faults.chain(checks) {
        assert!(sections.contains_key(section), "no section `{section}`");
    }
}

#[test]
fn check_names_are_unique() {
    let names: BTreeSet<&str> = CHECKS.iter().map(|check| check.name).collect();
    assert_eq!(names.len(), CHECKS.len());
}

#[test]
fn missing_release_after_a_refusal_names_its_field() {
    let text = LockFeature::ReleaseUnheld.to_string();
    let field = text.split('`').nth(1).unwrap();
    let ready = format!(r#"{{"protocol":2,"{field}":true}}"#);
    let offers: Offers = serde_json::from_str(&ready).unwrap();
    assert!(offers.has(LockFeature::ReleaseUnheld));
}
