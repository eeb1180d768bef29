//! The examples in `docs/protocol.md` can be parsed as messages.

use picklock_harness::adapter::message::{
    Answer, Notification, Request, RequestKind, WorkerMessage,
};
use serde_json::Value;

use super::talk::project_root;

fn document() -> String {
    std::fs::read_to_string(project_root().join("docs/protocol.md")).unwrap()
}

/// Returns the texts that follow an arrow in the document.
fn after<'a>(arrow: &'a str, text: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines()
        .filter_map(move |line| line.strip_prefix(arrow))
}

/// Asserts that every field of the example is known, by checking that it is still present after the message is
/// serialized again.
fn assert_nothing_lost(line: &str, again: Value) {
    let Value::Object(original) = serde_json::from_str(line).unwrap() else {
        panic!("not an object: {line}");
    };
    for (name, value) in original {
        assert_eq!(again.get(&name), Some(&value), "`{name}` in {line}");
    }
}

#[test]
fn every_example_line_is_a_message() {
    let text = document();
    let requests: Vec<Request> = after("-> ", &text)
        .map(|line| {
            let request: Request =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_nothing_lost(line, serde_json::to_value(&request).unwrap());
            request
        })
        .collect();
    let messages: Vec<WorkerMessage> = after("<- ", &text)
        .map(|line| {
            let message: WorkerMessage =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_nothing_lost(line, serde_json::to_value(&message).unwrap());
            message
        })
        .collect();

    // The examples contain each kind of message.
    let asks =
        |wanted: fn(&RequestKind) -> bool| requests.iter().any(|request| wanted(&request.ask));
    assert!(asks(|ask| matches!(ask, RequestKind::Init(_))));
    assert!(asks(|ask| matches!(ask, RequestKind::Acquire { .. })));
    assert!(asks(|ask| matches!(ask, RequestKind::Extend { .. })));
    assert!(asks(|ask| matches!(ask, RequestKind::Release { .. })));
    assert!(asks(|ask| matches!(ask, RequestKind::Ping)));
    let answers = |wanted: fn(&Answer) -> bool| {
        messages
            .iter()
            .any(|message| matches!(message, WorkerMessage::Reply { answer, .. } if wanted(answer)))
    };
    assert!(answers(|answer| matches!(answer, Answer::Ready { .. })));
    assert!(answers(|answer| matches!(answer, Answer::Granted { .. })));
    assert!(answers(|answer| matches!(answer, Answer::Refused)));
    assert!(answers(|it| matches!(it, Answer::Unsupported { .. })));
    assert!(answers(|answer| matches!(answer, Answer::Released { .. })));
    assert!(answers(|answer| matches!(answer, Answer::Pong)));
    assert!(answers(|answer| matches!(answer, Answer::Error { .. })));
    let events = |wanted: fn(&Notification) -> bool| {
        messages
            .iter()
            .any(|message| matches!(message, WorkerMessage::Event(event) if wanted(event)))
    };
    assert!(events(|event| matches!(
        event,
        Notification::Extended { .. }
    )));
    assert!(events(|event| matches!(event, Notification::Lost { .. })));

    // Every request is answered, with several clients in any order, except requests without a reply of their own.
    let mut replies: Vec<u64> = messages
        .iter()
        .filter_map(|message| match message {
            WorkerMessage::Reply { id, .. } => Some(*id),
            WorkerMessage::Event(_) => None,
        })
        .collect();
    let is_answered = |request: &&Request| !matches!(request.ask, RequestKind::Cancel { .. });
    let mut answered: Vec<u64> = requests
        .iter()
        .filter(is_answered)
        .map(|request| request.id)
        .collect();
    replies.sort_unstable();
    answered.sort_unstable();
    assert_eq!(answered, replies);
}
