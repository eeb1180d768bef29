//! Leases, deaths, freezes and overlaps in lanes.

use picklock_verdicts::check::{Property, judge};
use picklock_verdicts::history::{Event, History, read_history};

use super::*;

const MS: u64 = 1_000_000;

fn history(list: Vec<(u64, EventKind)>) -> History {
    let header = concat!(
        r#"{"format":"picklock-history/1","scenario":"s","lock":"s","backend":"sim","#,
        r#""seed":1,"workers":3,"nodes":1,"keys":["a","b"],"ttl_ms":100,"stock_start":3,"#,
        r#""update":"decrement","min_grants":0,"progress_within_ms":3000}"#,
    );
    let event = |(at_ms, what)| Event {
        at_ns: at_ms * MS,
        what,
    };
    History {
        events: list.into_iter().map(event).collect(),
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

fn granted(worker: usize, op: u64, valid_ms: Option<u64>, elapsed_ms: Option<u64>) -> EventKind {
    EventKind::Granted {
        worker,
        op,
        token: String::new(),
        fence: None,
        valid_ms,
        elapsed_ms,
    }
}

fn release(worker: usize, op: u64) -> EventKind {
    EventKind::Release { worker, op }
}

fn down(worker: usize) -> EventKind {
    EventKind::WorkerDown {
        worker,
        by_fault: true,
        reason: String::new(),
        ended_by: None,
    }
}

/// Returns the activities of client 0, with times in milliseconds.
fn activities(list: Vec<(u64, EventKind)>) -> Vec<(u64, u64, Activity)> {
    let lanes = lanes(&Timeline::new(&history(list)));
    let segments = lanes[&0].segments.iter();
    segments
        .map(|s| (s.from_ns / MS, s.to_ns / MS, s.activity))
        .collect()
}

#[test]
fn reported_lease_counts_from_the_request() {
    let list = vec![
        (0, acquire(0, 1)),
        (60, granted(0, 1, Some(90), Some(50))),
        (200, release(0, 1)),
    ];
    let expected = [
        (0, 60, Activity::Waiting),
        (60, 140, Activity::InLease),
        (140, 200, Activity::PastLease),
    ];
    assert_eq!(activities(list), expected);
}

#[test]
fn unreported_lease_is_over_only_when_certain() {
    let list = vec![
        (0, acquire(0, 1)),
        (60, granted(0, 1, None, None)),
        (200, release(0, 1)),
    ];
    let expected = [
        (0, 60, Activity::Waiting),
        (60, 100, Activity::InLease),
        (100, 160, Activity::PerhapsPast),
        (160, 200, Activity::PastLease),
    ];
    assert_eq!(activities(list), expected);
}

#[test]
fn renewal_extends_the_lease_and_a_loss_ends_it() {
    let extended = EventKind::Extended {
        worker: 0,
        op: 1,
        valid_ms: 100,
        elapsed_ms: Some(50),
    };
    let list = vec![
        (0, acquire(0, 1)),
        (0, granted(0, 1, Some(100), Some(0))),
        (50, extended),
        (120, EventKind::Lost { worker: 0, op: 1 }),
        (130, release(0, 1)),
    ];
    let expected = [(0, 120, Activity::InLease), (120, 130, Activity::PastLease)];
    assert_eq!(activities(list), expected);
}

#[test]
fn death_ends_the_current_activity() {
    let list = vec![
        (0, acquire(0, 1)),
        (10, granted(0, 1, Some(100), Some(10))),
        (30, down(0)),
        (500, acquire(1, 2)),
    ];
    let expected = [(0, 10, Activity::Waiting), (10, 30, Activity::InLease)];
    assert_eq!(activities(list.clone()), expected);
    let lanes = lanes(&Timeline::new(&history(list)));
    let death = Mark {
        since_ns: 30 * MS,
        at_ns: 30 * MS,
        kind: MarkKind::Died,
    };
    assert_eq!(lanes[&0].marks, [death]);
}

#[test]
fn freeze_without_an_end_lasts_until_the_run_ends() {
    let pause = |id, worker| EventKind::FaultBegan {
        id,
        fault: "pause-client".into(),
        detail: String::new(),
        workers: vec![worker],
        nodes: vec![],
        clock: None,
        delay_ms: None,
    };
    let list = vec![
        (10, pause(0, 0)),
        (20, pause(1, 1)),
        (30, EventKind::FaultEnded { id: 0 }),
        (40, acquire(2, 1)),
    ];
    let lanes = lanes(&Timeline::new(&history(list)));
    assert_eq!(lanes[&0].frozen_ns, [(10 * MS, 30 * MS)]);
    assert_eq!(lanes[&1].frozen_ns, [(20 * MS, 40 * MS)]);
}

#[test]
fn overlaps_require_different_workers_on_one_key() {
    let list = vec![
        (0, acquire(0, 1)),
        (0, granted(0, 1, Some(50), Some(0))),
        (60, acquire(1, 2)),
        (60, granted(1, 2, Some(50), Some(0))),
        (80, release(0, 1)),
        (80, acquire(2, 3)),
        (90, release(1, 2)),
        (90, granted(2, 3, Some(50), Some(10))),
        (99, release(2, 3)),
    ];
    let history = history(list);
    let timeline = Timeline::new(&history);
    assert_eq!(overlaps(&timeline, 0), [(60 * MS, 80 * MS)]);
    assert_eq!(overlaps(&timeline, 1), []);
}

#[test]
fn hold_of_zero_length_overlaps_the_hold_around_it() {
    let list = vec![
        (0, acquire(0, 1)),
        (0, granted(0, 1, Some(50), Some(0))),
        (30, acquire(1, 2)),
        (30, granted(1, 2, Some(50), Some(0))),
        (30, release(1, 2)),
        (80, release(0, 1)),
        (80, acquire(2, 3)),
        (80, granted(2, 3, Some(50), Some(0))),
        (80, release(2, 3)),
    ];
    let history = history(list);
    let timeline = Timeline::new(&history);
    assert_eq!(overlaps(&timeline, 0), [(30 * MS, 30 * MS)]);
    let exclusion = &judge(&history)[&Property::Exclusion];
    assert_eq!(exclusion.at_ns, Some(30 * MS), "same as the checker");
}
