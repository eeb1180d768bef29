//! Histories in which commands belong to another attempt.

use super::*;

fn acquire(worker: usize, op: u64, key: u32) -> EventKind {
    EventKind::Acquire {
        worker,
        op,
        key,
        ttl_ms: 1000,
        wait_ms: 0,
        intended_ns: None,
        weight: 1,
    }
}

fn granted(worker: usize, op: u64, token: &str) -> EventKind {
    EventKind::Granted {
        worker,
        op,
        token: token.into(),
        fence: None,
        valid_ms: None,
        elapsed_ms: None,
    }
}

fn change(worker: usize, op: u64, phase: Phase, key: u32, value: Option<&str>) -> EventKind {
    EventKind::KeyChanged {
        node: 0,
        key: KeyName::Lock(key),
        value: value.map(Arc::from),
        ttl_ms: None,
        why: KeyChange::Command(KeyCommand {
            worker,
            op,
            phase,
            command: "EVAL".into(),
            sent_ns: None,
            forwarded_at_ns: None,
            names_unread_value: false,
        }),
    }
}

/// Returns the worker, the attempt and the value of each change.
fn attributed(all: Vec<EventKind>) -> Vec<(usize, u64, Option<String>)> {
    let events = all.into_iter().zip(0..);
    let mut events: Vec<Event> = events.map(|(what, at_ns)| Event { at_ns, what }).collect();
    correct_attempts(&mut events, &["one".into(), "two".into()]);
    let changes = events.into_iter().filter_map(|event| match event.what {
        EventKind::KeyChanged {
            value,
            why: KeyChange::Command(by),
            ..
        } => Some((by.worker, by.op, value.map(|value| value.to_string()))),
        _ => None,
    });
    changes.collect()
}

#[test]
fn value_that_a_release_passes_on_belongs_to_the_waiting_client() {
    let all = vec![
        acquire(0, 1, 0),
        change(0, 1, Phase::Acquire, 0, Some("token-a")),
        granted(0, 1, "token-a"),
        acquire(1, 2, 0),
        change(0, 1, Phase::Release, 0, Some("token-b")),
        granted(1, 2, "token-b"),
    ];
    let expected = [
        (0, 1, Some("token-a".into())),
        (0, 1, None),
        (1, 2, Some("token-b".into())),
    ];
    assert_eq!(attributed(all), expected);
}

/// The names of fields are not tokens.
#[test]
fn fields_of_a_record_do_not_identify_an_attempt() {
    let record = Some("{count: 2, owner: token-a}");
    let all = vec![
        acquire(0, 1, 0),
        granted(0, 1, "token-a"),
        acquire(1, 2, 0),
        change(1, 2, Phase::Acquire, 1, record),
        change(0, 1, Phase::Release, 0, Some("owner")),
    ];
    let owner = (0, 1, Some("owner".into()));
    assert_eq!(attributed(all).split_off(1), [owner]);
}

/// The waiting client has left, so its token is known from the queue only.
#[test]
fn value_passed_on_by_a_release_belongs_to_the_queued_client() {
    let all = vec![
        acquire(0, 1, 0),
        granted(0, 1, "token-a"),
        acquire(1, 2, 0),
        change(1, 2, Phase::Acquire, 1, Some("{token-b}")),
        EventKind::Refused { worker: 1, op: 2 },
        change(0, 1, Phase::Release, 0, Some("token-b")),
    ];
    let passed_on = attributed(all).split_off(1);
    assert_eq!(passed_on, [(0, 1, None), (1, 2, Some("token-b".into()))]);
}

/// The command that queued the token was late, so that the client was busy with its next attempt. The release of that
/// attempt passes the lock on to the client's own earlier attempt, which no longer waits.
#[test]
fn token_queued_by_a_late_command_belongs_to_its_own_attempt() {
    for (attributed_to, phase) in [(1, Phase::Idle), (2, Phase::Acquire)] {
        let all = vec![
            acquire(0, 1, 0),
            EventKind::Refused { worker: 0, op: 1 },
            acquire(0, 2, 0),
            change(0, attributed_to, phase, 1, Some("{token-a}")),
            change(0, 2, Phase::Acquire, 1, Some("{token-a, token-b}")),
            change(0, 2, Phase::Acquire, 0, Some("token-b")),
            granted(0, 2, "token-b"),
            change(0, 2, Phase::Release, 1, None),
            change(0, 2, Phase::Release, 0, Some("token-a")),
        ];
        let passed_on = attributed(all).split_off(4);
        assert_eq!(passed_on, [(0, 2, None), (0, 1, Some("token-a".into()))]);
    }
}

#[test]
fn late_command_belongs_to_the_attempt_that_its_key_names() {
    let all = vec![
        acquire(0, 1, 0),
        EventKind::Refused { worker: 0, op: 1 },
        acquire(0, 2, 1),
        change(0, 2, Phase::Acquire, 0, Some("token-a")),
        change(0, 2, Phase::Acquire, 1, Some("token-b")),
    ];
    let expected = [
        (0, 1, Some("token-a".into())),
        (0, 2, Some("token-b".into())),
    ];
    assert_eq!(attributed(all), expected);
}

#[test]
fn renewal_belongs_to_the_lock_that_its_client_holds_besides() {
    let all = vec![
        acquire(0, 1, 0),
        change(0, 1, Phase::Acquire, 0, Some("token-a")),
        granted(0, 1, "token-a"),
        acquire(0, 2, 1),
        change(0, 2, Phase::Acquire, 0, Some("token-a")),
    ];
    let renewed = attributed(all).split_off(1);
    assert_eq!(renewed, [(0, 1, Some("token-a".into()))]);
}

/// Two clients that take two locks in the same millisecond can write the same token.
#[test]
fn equal_token_on_another_lock_is_not_passed_on() {
    let all = vec![
        acquire(0, 1, 0),
        acquire(1, 2, 1),
        change(0, 1, Phase::Acquire, 0, Some("1767225600501")),
        change(1, 2, Phase::Acquire, 1, Some("1767225600501")),
        granted(1, 2, "1767225600501"),
    ];
    let expected = [(0, 1), (1, 2)].map(|(worker, op)| (worker, op, Some("1767225600501".into())));
    assert_eq!(attributed(all), expected);
}

#[test]
fn prolonged_value_of_another_client_is_not_passed_on() {
    let all = vec![
        acquire(0, 1, 0),
        acquire(1, 2, 0),
        change(1, 2, Phase::Acquire, 0, Some("token-b")),
        granted(1, 2, "token-b"),
        change(0, 1, Phase::Extend, 0, Some("token-b")),
    ];
    let prolonged = attributed(all).split_off(1);
    assert_eq!(prolonged, [(0, 1, Some("token-b".into()))]);
}

/// A lock that uses one key for two names is not excused.
#[test]
fn command_on_another_key_stays_with_the_current_request() {
    let all = vec![
        acquire(0, 1, 0),
        granted(0, 1, "token-a"),
        acquire(0, 2, 1),
        change(0, 2, Phase::Acquire, 0, Some("token-b")),
    ];
    assert_eq!(attributed(all), [(0, 2, Some("token-b".into()))]);
}
