//! Tests of the timeline with small histories. Times are in milliseconds.

use picklock_scenarios::Phase;

use crate::history::{Event, EventKind, History, KeyChange, KeyCommand, KeyName, read_history};

use super::{LeaseState, OperationKind, OperationOutcome, Timeline};

const MS: u64 = 1_000_000;

fn history(events: Vec<(u64, EventKind)>) -> History {
    let header = concat!(
        r#"{"format":"picklock-history/1","scenario":"s","lock":"s","backend":"sim","#,
        r#""seed":1,"workers":2,"nodes":1,"keys":["a"],"ttl_ms":100,"stock_start":3,"#,
        r#""update":"decrement","min_grants":0,"progress_within_ms":3000}"#,
    );
    let event = |(at_ms, what)| Event {
        at_ns: at_ms * MS,
        what,
    };
    History {
        events: events.into_iter().map(event).collect(),
        ..read_history(header.as_bytes()).unwrap()
    }
}

fn acquire(worker: usize, op: u64) -> EventKind {
    EventKind::Acquire {
        worker,
        op,
        key: 0,
        ttl_ms: 100,
        wait_ms: 0,
        intended_ns: None,
        weight: 1,
    }
}

fn granted(valid_ms: Option<u64>, elapsed_ms: Option<u64>) -> EventKind {
    EventKind::Granted {
        worker: 0,
        op: 1,
        token: String::new(),
        fence: None,
        valid_ms,
        elapsed_ms,
    }
}

fn extended(valid_ms: u64, elapsed_ms: Option<u64>) -> EventKind {
    EventKind::Extended {
        worker: 0,
        op: 1,
        valid_ms,
        elapsed_ms,
    }
}

fn down(worker: usize) -> EventKind {
    EventKind::WorkerDown {
        worker,
        by_fault: true,
        reason: String::new(),
        ended_by: None,
    }
}

const RELEASE: EventKind = EventKind::Release { worker: 0, op: 1 };

/// Returns the phases of the first hold, each with its start, its end and its state.
fn phases(events: Vec<(u64, EventKind)>) -> Vec<(u64, u64, LeaseState)> {
    let history = history(events);
    let timeline = Timeline::new(&history);
    let phases = timeline.holds()[0].lease_phases();
    phases
        .map(|phase| (phase.from_ns / MS, phase.until_ns / MS, phase.state))
        .collect()
}

#[test]
fn reported_lease_counts_from_the_request() {
    let expected = [(60, 140, LeaseState::Running), (140, 200, LeaseState::Over)];
    let found = phases(vec![
        (0, acquire(0, 1)),
        (60, granted(Some(90), Some(50))),
        (200, RELEASE),
    ]);
    assert_eq!(found, expected);
}

fn written(ttl_ms: i64, phase: Phase) -> EventKind {
    EventKind::KeyChanged {
        node: 0,
        key: KeyName::Lock(0),
        value: Some("mine".into()),
        ttl_ms: Some(ttl_ms),
        why: KeyChange::Command(KeyCommand {
            worker: 0,
            op: 1,
            phase,
            command: "SET".into(),
            sent_ns: None,
            forwarded_at_ns: None,
            names_unread_value: false,
        }),
    }
}

/// The request was read at 9 ms or later. The report was written at 60 ms or later, and arrived at 75 ms.
#[test]
fn lease_with_an_uncertain_report_time_ends_with_its_key() {
    let late = |ttl_ms| {
        phases(vec![
            (0, acquire(0, 1)),
            (60, written(ttl_ms, Phase::Acquire)),
            (75, granted(Some(95), Some(50))),
            (200, RELEASE),
        ])
    };
    let over = (160, 200, LeaseState::Over);
    let open = |until_ms| (155, until_ms, LeaseState::PerhapsOver);
    assert_eq!(late(100), [(75, 155, LeaseState::Running), open(160), over]);
    // The key lives longer than the lock reports.
    let over = (170, 200, LeaseState::Over);
    assert_eq!(late(900), [(75, 155, LeaseState::Running), open(170), over]);
    // According to the report, the lease certainly lasts until 155 ms, although its key expires at 100 ms.
    let over = (155, 200, LeaseState::Over);
    assert_eq!(late(40), [(75, 155, LeaseState::Running), over]);
}

/// The request was read at 9 ms or later, so the renewal was reported at 99 ms or later. Earlier writes do not count.
#[test]
fn renewal_with_an_uncertain_report_time_ends_with_its_key() {
    let requested = [
        (80, EXTEND),
        (85, written(100, Phase::Extend)),
        (90, extend_granted(Some(95), Some(5))),
    ];
    for between in [Vec::new(), requested.into()] {
        let mut events = vec![
            (0, acquire(0, 1)),
            (60, written(100, Phase::Acquire)),
            (75, granted(Some(95), Some(50))),
        ];
        events.extend(between);
        events.extend([
            (100, written(100, Phase::Idle)),
            (115, extended(95, Some(90))),
            (240, RELEASE),
        ]);
        let expected = [
            (75, 194, LeaseState::Running),
            (194, 200, LeaseState::PerhapsOver),
            (200, 240, LeaseState::Over),
        ];
        assert_eq!(phases(events), expected);
    }
}

/// The start of such a lease is unknown, so a lock that counts it from a late reply must not pass because of that.
#[test]
fn lease_without_a_report_age_may_outlive_its_key() {
    for elapsed_ms in [None, Some(5000)] {
        let found = phases(vec![
            (0, acquire(0, 1)),
            (10, written(100, Phase::Acquire)),
            (75, granted(Some(95), elapsed_ms)),
            (200, RELEASE),
        ]);
        let last = found[found.len() - 2];
        assert_eq!(last, (last.0, 170, LeaseState::PerhapsOver), "{found:?}");
    }
}

#[test]
fn lease_without_a_report_ends_one_ttl_after_its_grant() {
    let expected = [
        (60, 100, LeaseState::Running),
        (100, 160, LeaseState::PerhapsOver),
        (160, 200, LeaseState::Over),
    ];
    let found = phases(vec![
        (0, acquire(0, 1)),
        (60, granted(None, None)),
        (200, RELEASE),
    ]);
    assert_eq!(found, expected);
}

#[test]
fn extension_after_the_end_leaves_a_gap() {
    let expected = [
        (0, 100, LeaseState::Running),
        (100, 150, LeaseState::Over),
        (150, 250, LeaseState::Running),
        (250, 300, LeaseState::Over),
    ];
    let found = phases(vec![
        (0, acquire(0, 1)),
        (0, granted(Some(100), Some(0))),
        (150, extended(100, Some(150))),
        (300, RELEASE),
    ]);
    assert_eq!(found, expected);
}

/// Only the latest possible end moves. The certain end stays.
#[test]
fn extension_without_an_age_leaves_the_end_uncertain() {
    let expected = [
        (0, 100, LeaseState::Running),
        (100, 190, LeaseState::PerhapsOver),
        (190, 200, LeaseState::Over),
    ];
    let found = phases(vec![
        (0, acquire(0, 1)),
        (0, granted(None, None)),
        (90, extended(100, None)),
        (200, RELEASE),
    ]);
    assert_eq!(found, expected);
}

const EXTEND: EventKind = EventKind::Extend {
    worker: 0,
    op: 1,
    ttl_ms: 100,
};

fn extend_granted(valid_ms: Option<u64>, elapsed_ms: Option<u64>) -> EventKind {
    EventKind::ExtendGranted {
        worker: 0,
        op: 1,
        token: String::new(),
        valid_ms,
        elapsed_ms,
    }
}

/// A background renewal counts from the request to acquire instead.
#[test]
fn requested_extension_counts_from_its_own_request() {
    let expected = [(0, 145, LeaseState::Running), (145, 200, LeaseState::Over)];
    let found = phases(vec![
        (0, acquire(0, 1)),
        (0, granted(Some(100), Some(0))),
        (50, EXTEND),
        (60, extend_granted(Some(90), Some(5))),
        (200, RELEASE),
    ]);
    assert_eq!(found, expected);
}

#[test]
fn extension_without_a_report_lasts_one_ttl() {
    let expected = [
        (0, 150, LeaseState::Running),
        (150, 160, LeaseState::PerhapsOver),
        (160, 200, LeaseState::Over),
    ];
    let found = phases(vec![
        (0, acquire(0, 1)),
        (0, granted(Some(100), Some(0))),
        (50, EXTEND),
        (60, extend_granted(None, None)),
        (200, RELEASE),
    ]);
    assert_eq!(found, expected);
}

#[test]
fn refused_extension_ends_the_lease_but_a_failed_one_does_not() {
    let (worker, op) = (0, 1);
    let refused = EventKind::ExtendRefused { worker, op };
    let failed = EventKind::ExtendFailed {
        worker,
        op,
        message: "no answer".into(),
        definite: false,
    };
    for (answer, lease_ms) in [(refused, 60), (failed, 100)] {
        let found = phases(vec![
            (0, acquire(0, 1)),
            (0, granted(Some(100), Some(0))),
            (50, EXTEND),
            (60, answer),
            // No request preceded this answer, so it is ignored.
            (70, extend_granted(Some(500), Some(0))),
            (110, RELEASE),
        ]);
        let expected = [
            (0, lease_ms, LeaseState::Running),
            (lease_ms, 110, LeaseState::Over),
        ];
        assert_eq!(found, expected);
    }
}

#[test]
fn lost_lease_is_over_at_once() {
    let expected = [(0, 40, LeaseState::Running), (40, 50, LeaseState::Over)];
    let found = phases(vec![
        (0, acquire(0, 1)),
        (0, granted(Some(100), Some(0))),
        (40, EventKind::Lost { worker: 0, op: 1 }),
        (50, RELEASE),
    ]);
    assert_eq!(found, expected);
}

#[test]
fn request_ends_with_its_answer_its_worker_or_the_history() {
    let history = history(vec![
        (0, acquire(0, 1)),
        (10, granted(None, None)),
        (15, acquire(1, 2)),
        (20, RELEASE),
        (30, down(0)),
        // This answer comes too late.
        (
            40,
            EventKind::Released {
                worker: 0,
                op: 1,
                released: Some(true),
                last_command_ns: None,
            },
        ),
    ]);
    let timeline = Timeline::new(&history);
    let operations = timeline.operations().iter();
    let found: Vec<_> = operations
        .map(|o| {
            (
                o.op,
                o.kind,
                o.requested_at_ns / MS,
                o.ended_at_ns / MS,
                o.outcome,
            )
        })
        .collect();
    use OperationKind::{Acquire, Release};
    assert_eq!(
        found,
        [
            (1, Acquire, 0, 10, OperationOutcome::Done),
            (1, Release, 20, 30, OperationOutcome::Unanswered),
            (2, Acquire, 15, 40, OperationOutcome::Unanswered),
        ]
    );
}

/// Clients 0 and 1 are frozen.
fn pause(id: u32) -> EventKind {
    EventKind::FaultBegan {
        id,
        fault: "pause-client".into(),
        detail: String::new(),
        workers: vec![0, 1],
        nodes: vec![],
        clock: None,
        delay_ms: None,
    }
}

#[test]
fn freeze_ends_with_its_fault_or_its_worker() {
    let history = history(vec![
        (10, pause(0)),
        (20, pause(1)),
        (30, EventKind::FaultEnded { id: 0 }),
        (40, down(1)),
        (60, EventKind::FaultEnded { id: 1 }),
    ]);
    let timeline = Timeline::new(&history);
    assert_eq!(timeline.frozen()[&0], [(10 * MS, 60 * MS)]);
    assert_eq!(timeline.frozen()[&1], [(10 * MS, 40 * MS)]);
}

#[test]
fn worker_that_breached_its_freeze_was_not_frozen() {
    let began = pause(0);
    let breach = EventKind::FreezeBreach {
        id: 0,
        worker: 1,
        node: Some(0),
        arrived_at_ns: 20 * MS,
    };
    let ended = EventKind::FaultEnded { id: 0 };
    let history = history(vec![(10, began), (20, breach), (30, ended)]);
    let timeline = Timeline::new(&history);
    assert_eq!(timeline.frozen()[&0], [(10 * MS, 30 * MS)]);
    assert!(!timeline.frozen().contains_key(&1));
}
