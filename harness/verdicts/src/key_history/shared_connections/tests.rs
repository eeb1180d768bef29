use super::*;

const ACQUIRE: Phase = Phase::Acquire;

fn acquire(worker: usize) -> EventKind {
    EventKind::Acquire {
        worker,
        op: worker as u64 + 10,
        key: 0,
        ttl_ms: 1000,
        wait_ms: 0,
        intended_ns: None,
        weight: 1,
    }
}

fn granted(worker: usize, token: &str) -> EventKind {
    EventKind::Granted {
        worker,
        op: worker as u64 + 10,
        token: token.into(),
        fence: None,
        valid_ms: None,
        elapsed_ms: None,
    }
}

fn release(worker: usize) -> EventKind {
    let op = worker as u64 + 10;
    EventKind::Release { worker, op }
}

/// Returns a change that the proxy saw from process 0, or from client 9, which has its own process.
fn by(worker: usize, value: Option<&str>) -> EventKind {
    EventKind::KeyChanged {
        node: 0,
        key: KeyName::Lock(0),
        value: value.map(Arc::from),
        ttl_ms: value.map(|_| 1000),
        why: KeyChange::Command(KeyCommand {
            worker,
            op: worker as u64 + 10,
            phase: ACQUIRE,
            command: "EVAL".into(),
            sent_ns: None,
            forwarded_at_ns: None,
            names_unread_value: false,
        }),
    }
}

/// Returns the client and phase of each change. Clients 0 to 8 live in process 0.
fn named(all: Vec<EventKind>) -> Result<Vec<(usize, Phase)>, UnnamedClient> {
    let events = all.into_iter().zip(0..);
    let mut events: Vec<Event> = events.map(|(what, at_ns)| Event { at_ns, what }).collect();
    let workload = Workload {
        workers: 9,
        processes: Some(1),
        ..Workload::default()
    };
    name_clients(&mut events, &["stock".into(), "other".into()], &workload)?;
    let senders = events.iter().filter_map(|event| match &event.what {
        EventKind::KeyChanged {
            why: KeyChange::Command(by),
            ..
        } => Some((by.worker, by.phase)),
        _ => None,
    });
    Ok(senders.collect())
}

#[test]
fn value_with_a_token_belongs_to_the_client_that_received_it() {
    let all = vec![
        acquire(1),
        acquire(2),
        by(0, Some("token-2")),
        granted(2, "token-2"),
        release(2),
        by(0, None),
        by(0, Some("{holder: token-1}")),
        granted(1, "token-1"),
    ];
    let expected = [(2, ACQUIRE), (2, Phase::Release), (1, ACQUIRE)];
    assert_eq!(named(all).unwrap(), expected);
}

#[test]
fn client_that_is_granted_later_did_not_remove_its_value() {
    let removed = |again: bool| {
        let mut all = vec![
            acquire(1),
            acquire(2),
            by(0, Some("token-1")),
            by(0, None),
            granted(1, "token-1"),
        ];
        if again {
            all.insert(4, by(0, Some("token-1")));
        }
        named(all)
    };
    // Client 2, or a client that has not requested the lock, removed it.
    assert!(removed(false).is_err());
    assert_eq!(removed(true).unwrap(), [(1, ACQUIRE); 3]);
}

#[test]
fn value_that_a_release_passes_on_is_written_by_the_release() {
    let all = vec![
        acquire(1),
        by(0, Some("token-1")),
        granted(1, "token-1"),
        acquire(2),
        acquire(3),
        release(1),
        by(0, Some("token-2")),
        granted(2, "token-2"),
        release(2),
        by(0, Some("token-3")),
        granted(3, "token-3"),
        release(3),
        by(0, None),
    ];
    let release = Phase::Release;
    let expected = [(1, ACQUIRE), (1, release), (2, release), (3, release)];
    assert_eq!(named(all).unwrap(), expected);
}

#[test]
fn removal_of_a_held_value_belongs_to_the_only_releaser() {
    let begin = || {
        vec![
            acquire(1),
            by(0, Some("token-1")),
            granted(1, "token-1"),
            acquire(2),
            by(0, Some("token-2")),
            granted(2, "token-2"),
            acquire(3),
        ]
    };
    let mut one = begin();
    one.extend([release(1), by(0, None)]);
    assert_eq!(named(one).unwrap()[2], (1, Phase::Release));
    // Each of the two waiting clients and the holder could have removed the value.
    let mut several = begin();
    several.extend([acquire(4), by(0, None)]);
    assert!(named(several).is_err());
}

#[test]
fn value_with_a_shared_token_belongs_to_the_first_granted() {
    let all = vec![
        acquire(1),
        acquire(2),
        by(0, Some("process-0")),
        granted(2, "process-0"),
        granted(1, "process-0"),
    ];
    assert_eq!(named(all).unwrap(), [(2, ACQUIRE)]);
}

#[test]
fn value_without_a_token_belongs_to_the_next_granted() {
    let all = vec![
        acquire(1),
        acquire(2),
        by(0, Some("held")),
        granted(2, "a"),
        by(9, None),
    ];
    assert_eq!(named(all).unwrap(), [(2, ACQUIRE), (9, ACQUIRE)]);
}

/// All clients of a process write the same value, and each lock has its own key.
#[test]
fn key_of_a_lock_belongs_to_the_client_that_requested_it() {
    let for_lock = |worker: usize, key: u32| EventKind::Acquire {
        worker,
        op: worker as u64 + 10,
        key,
        ttl_ms: 1000,
        wait_ms: 0,
        intended_ns: None,
        weight: 1,
    };
    let change = |key: u32, value: Option<&str>| match by(0, value) {
        EventKind::KeyChanged {
            node,
            value,
            ttl_ms,
            why,
            ..
        } => EventKind::KeyChanged {
            node,
            key: KeyName::Lock(key),
            value,
            ttl_ms,
            why,
        },
        other => other,
    };
    let all = vec![
        for_lock(1, 0),
        for_lock(2, 1),
        change(1, Some("process")),
        change(0, Some("process")),
        granted(1, "a"),
        granted(2, "b"),
        release(2),
        for_lock(3, 0),
        change(1, None),
        release(1),
        change(0, None),
    ];
    let expected = [
        (2, ACQUIRE),
        (1, ACQUIRE),
        (2, Phase::Release),
        (1, Phase::Release),
    ];
    assert_eq!(named(all).unwrap(), expected);
}

#[test]
fn value_without_any_grant_is_ambiguous() {
    let problem = named(vec![acquire(1), acquire(2), by(0, Some("a"))]).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "the clients of process 0 share its connections, so the client that sent the EVAL that changed `stock` is \
         unknown"
    );
}

/// Forty clients of a web server use one pool, and each of them takes, renews and releases the lock once.
#[test]
fn every_change_of_forty_clients_is_named() {
    let clients = 0..40;
    let mut all: Vec<EventKind> = clients.clone().map(acquire).collect();
    let mut expected = Vec::new();
    for client in clients.clone() {
        let token = format!("token-{client:02}");
        all.extend([
            by(0, Some(&token)),
            granted(client, &token),
            by(0, Some(&token)),
            release(client),
            by(0, None),
        ]);
        let phases = [Phase::Acquire, Phase::Idle, Phase::Release];
        expected.extend(phases.map(|phase| (client, phase)));
    }
    let events = all.into_iter().zip(0..);
    let mut events: Vec<Event> = events.map(|(what, at_ns)| Event { at_ns, what }).collect();
    let workload = Workload {
        workers: clients.len(),
        processes: Some(1),
        ..Workload::default()
    };
    name_clients(&mut events, &["stock".to_owned()], &workload).unwrap();
    let commands = events.iter().filter_map(|event| match &event.what {
        EventKind::KeyChanged { why, .. } => why.command(),
        _ => None,
    });
    let named: Vec<_> = commands.map(|it| (it.worker, it.phase)).collect();
    assert_eq!(named, expected);
}
