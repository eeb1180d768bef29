//! The examples of `docs/protocol.md` are messages of the code.

use picklock_harness::adapter::message::{
    Answer, Notification, Request, RequestKind, WorkerMessage,
};
use serde_json::Value;

use super::talk::project_root;

fn document() -> String {
    std::fs::read_to_string(project_root().join("docs/protocol.md")).unwrap()
}

/// What the document writes after an arrow.
fn after<'a>(arrow: &'a str, text: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines()
        .filter_map(move |line| line.strip_prefix(arrow))
}

/// Every field of the example is known: it comes back when the message is written again.
fn assert_nothing_lost(line: &str, again: Value) {
    let Value::Object(original) = serde_json::from_str(line).unwrap() else {
        panic!("not an object: {line}");
    };
    for (name, value) in original {
        assert_eq!(again.get(&name), Some(&value), "`{name}` in {line}");
    }
}

#[test]
fn every_line_of_the_examples_is_a_message() {
    let text = document();
    let requests: Vec<Request> = after("-> ", &text)
        .map(|line| {
            let request: Request =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_nothing_lost(line, serde_json::to_value(&request).unwrap());
            request
        })
        .collect();
    let said: Vec<WorkerMessage> = after("<- ", &text)
        .map(|line| {
            let said: WorkerMessage =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_nothing_lost(line, serde_json::to_value(&said).unwrap());
            said
        })
        .collect();

    // The examples are complete: each kind of message is among them.
    let asks =
        |wanted: fn(&RequestKind) -> bool| requests.iter().any(|request| wanted(&request.ask));
    assert!(asks(|ask| matches!(ask, RequestKind::Init(_))));
    assert!(asks(|ask| matches!(ask, RequestKind::Acquire { .. })));
    assert!(asks(|ask| matches!(ask, RequestKind::Extend { .. })));
    assert!(asks(|ask| matches!(ask, RequestKind::Release { .. })));
    assert!(asks(|ask| matches!(ask, RequestKind::Ping)));
    let answers = |wanted: fn(&Answer) -> bool| {
        said.iter()
            .any(|said| matches!(said, WorkerMessage::Reply { answer, .. } if wanted(answer)))
    };
    assert!(answers(|answer| matches!(answer, Answer::Ready { .. })));
    assert!(answers(|answer| matches!(answer, Answer::Granted { .. })));
    assert!(answers(|answer| matches!(answer, Answer::Refused)));
    assert!(answers(|answer| matches!(
        answer,
        Answer::Unsupported { .. }
    )));
    assert!(answers(|answer| matches!(answer, Answer::Released { .. })));
    assert!(answers(|answer| matches!(answer, Answer::Pong)));
    assert!(answers(|answer| matches!(answer, Answer::Error { .. })));
    let events = |wanted: fn(&Notification) -> bool| {
        said.iter()
            .any(|said| matches!(said, WorkerMessage::Event(event) if wanted(event)))
    };
    assert!(events(|event| matches!(
        event,
        Notification::Extended { .. }
    )));
    assert!(events(|event| matches!(event, Notification::Lost { .. })));

    // And every request is answered, with several clients in any order, but for what has no answer of its own.
    let mut replied: Vec<u64> = said
        .iter()
        .filter_map(|said| match said {
            WorkerMessage::Reply { id, .. } => Some(*id),
            WorkerMessage::Event(_) => None,
        })
        .collect();
    let is_answered = |request: &&Request| !matches!(request.ask, RequestKind::Cancel { .. });
    let asked = requests.iter().filter(is_answered);
    let mut asked: Vec<u64> = asked.map(|request| request.id).collect();
    replied.sort_unstable();
    asked.sort_unstable();
    assert_eq!(asked, replied);
}
