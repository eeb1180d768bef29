//! The values and their ends in the lanes of nodes.

use picklock_verdicts::history::{Event, EventKind, KeyChange, read_history};
use picklock_verdicts::key_history::Fate;

use super::*;

fn changed(node: usize, key: KeyName, value: Option<&str>, why: KeyChange) -> EventKind {
    EventKind::KeyChanged {
        node,
        key,
        value: value.map(Into::into),
        ttl_ms: None,
        why,
    }
}

fn command(worker: usize, op: u64, phase: Phase, command: &str) -> KeyCommand {
    KeyCommand {
        worker,
        op,
        phase,
        command: command.into(),
        sent_ns: None,
        forwarded_at_ns: None,
        names_unread_value: false,
    }
}

fn history(key_history: bool, events: Vec<(u64, EventKind)>) -> History {
    let header = format!(
        concat!(
            r#"{{"format":"picklock-history/1","scenario":"s","lock":"s","backend":"sim","#,
            r#""seed":1,"workers":3,"nodes":2,"keys":["a"],"ttl_ms":100,"stock_start":3,"#,
            r#""update":"decrement","min_grants":0,"progress_within_ms":3000,"key_history":{}}}"#,
        ),
        key_history
    );
    let event = |(at_ns, what)| Event { at_ns, what };
    History {
        events: events.into_iter().map(event).collect(),
        ..read_history(header.as_bytes()).unwrap()
    }
}

/// Client 0 writes on two nodes. Client 1 removes one value; the other is lost.
fn story() -> Vec<(u64, EventKind)> {
    let set = || KeyChange::Command(command(0, 7, Phase::Acquire, "SET"));
    let other = || KeyName::Other("a:fence".into());
    vec![
        (10, changed(1, KeyName::Lock(0), Some("v"), set())),
        (11, changed(0, KeyName::Lock(0), Some("v"), set())),
        (12, changed(0, other(), Some("1"), set())),
        (
            20,
            changed(
                1,
                KeyName::Lock(0),
                None,
                KeyChange::Command(command(1, 8, Phase::Release, "DEL")),
            ),
        ),
        (30, changed(0, KeyName::Lock(0), None, KeyChange::Restarted)),
        (40, EventKind::Refused { worker: 2, op: 9 }),
    ]
}

#[test]
fn each_key_of_each_node_has_a_lane_lock_keys_first() {
    let lanes = node_lanes(&history(true, story())).unwrap();
    let seen: Vec<(usize, &str, Fate)> = lanes
        .iter()
        .map(|lane| (lane.node, &*lane.values[0].value, lane.values[0].fate()))
        .collect();
    assert_eq!(
        seen,
        [
            (0, "v", Fate::Lost),
            (1, "v", Fate::Taken),
            (0, "1", Fate::Stays)
        ]
    );
    let by = lanes[1].values[0].end.by().unwrap();
    assert_eq!(describe_command(by), "client 1, attempt 8, release: DEL");
}

#[test]
fn own_release_ends_a_value_without_taking_it() {
    let mut events = story();
    events[3].1 = changed(
        1,
        KeyName::Lock(0),
        None,
        KeyChange::Command(command(0, 7, Phase::Release, "DEL")),
    );
    let lanes = node_lanes(&history(true, events)).unwrap();
    assert_eq!(lanes[1].values[0].fate(), Fate::Ended);
}

#[test]
fn history_without_key_history_has_no_lanes() {
    assert!(node_lanes(&history(false, story())).is_none());
}
