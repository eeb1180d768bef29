//! Open loops: every arriving buyer is served, refused or counted, and all waiting is measured.

use std::collections::BTreeSet;

use picklock_harness::check::{Property, Status, judge};
use picklock_harness::history::{EndReason, EventKind, History};
use picklock_harness::latency::{REQUESTED, from_history};
use picklock_harness::sim::{LockFactory, run};
use picklock_impls::find;
use picklock_scenarios::Scenario;

use super::simulation;

fn simulate(text: &str, lock: &str, seed: u64) -> History {
    let strategy = find(lock).unwrap();
    let scenario = Scenario::parse(text, "open.toml").unwrap_or_else(|error| panic!("{error}"));
    let lock = LockFactory::built_in(strategy);
    run(simulation(scenario, &lock, seed)).unwrap().history
}

fn workload(lines: &str) -> String {
    format!("name = \"open\"\nsummary = \"An open loop.\"\n[workload]\n{lines}\n")
}

/// The fate of the arrived buyers.
#[derive(Debug, Default)]
pub struct Tally {
    /// Arrival times of the buyers for whom a worker has requested the lock at least once.
    pub attempted: BTreeSet<u64>,
    /// Arrival times of the buyers for whom a worker has got the lock.
    pub served: BTreeSet<u64>,
    /// Number of arrived buyers.
    pub arrived: u64,
    /// Number of buyers that no worker had begun to serve.
    pub unserved: u64,
}

/// Tallies the arrivals of a history, or returns `None` for a closed loop. Also asserts that buyers
/// are served in order.
pub fn tally(history: &History) -> Option<Tally> {
    let mut tally = Tally::default();
    let mut open = false;
    let mut attempts = std::collections::HashMap::new();
    for event in &history.events {
        match event.what {
            EventKind::Acquire {
                op,
                intended_ns: Some(intended_ns),
                ..
            } => {
                assert!(intended_ns <= event.at_ns, "requested before its arrival");
                let last = tally.attempted.last().copied();
                let is_first = tally.attempted.insert(intended_ns);
                assert!(
                    !is_first || last.is_none_or(|last| last < intended_ns),
                    "{intended_ns} was passed over for a later one"
                );
                attempts.insert(op, intended_ns);
            }
            EventKind::Granted { op, .. } => tally.served.extend(attempts.get(&op)),
            EventKind::Arrivals {
                came: arrived,
                unserved,
            } => {
                open = true;
                (tally.arrived, tally.unserved) = (arrived, unserved);
            }
            _ => {}
        }
    }
    assert!(
        open || tally.attempted.is_empty(),
        "the arrivals were not recorded"
    );
    open.then_some(tally)
}

fn end(history: &History) -> (EndReason, i64) {
    let ends = history.events.iter().find_map(|event| match &event.what {
        EventKind::End { reason, sold, .. } => Some((*reason, sold.iter().sum())),
        _ => None,
    });
    ends.unwrap()
}

fn refused(history: &History) -> usize {
    let events = history.events.iter();
    events
        .filter(|event| matches!(event.what, EventKind::Refused { .. }))
        .count()
}

/// The positive control of open loops: the freeze of one client shows in the latency from the
/// intended start, but not in the latency from the request.
#[test]
fn freeze_shows_only_in_latency_from_intended_start() {
    let rush = include_str!("../../../../docs/examples/rush.toml");
    for lock in ["set-nx-px", "redlock"] {
        for seed in 0..5 {
            let history = simulate(rush, lock, seed);
            let latency = from_history(&history);
            let (intended, from_request) = (&latency["acquire"], &latency[REQUESTED]);
            assert_eq!((intended.count, from_request.count), (400, 400));
            assert!(intended.p99_us > 500_000, "{lock} {seed}: {intended:?}");
            assert!(
                from_request.p99_us < 250_000,
                "{lock} {seed}: {from_request:?}"
            );
            // The only slow request was sent before the end of the freeze.
            assert!(
                from_request.max_us > 500_000,
                "{lock} {seed}: {from_request:?}"
            );
            for (property, verdict) in judge(&history) {
                let fine = [Status::Held, Status::NotApplicable].contains(&verdict.status);
                assert!(fine, "{lock} {seed}: {property} {verdict:?}");
            }
        }
    }
}

#[test]
fn buyers_are_served_in_order_of_arrival() {
    let text = workload("stock = 100\narrivals = \"50/s\"\nduration = \"1s\"\nsection = \"30ms\"");
    let history = simulate(&text, "set-nx-px", 1);
    let tally = tally(&history).unwrap();
    let every_20_ms: BTreeSet<u64> = (0..50).map(|number| number * 20_000_000).collect();
    assert_eq!(tally.served, every_20_ms);
    assert_eq!((tally.arrived, tally.unserved), (50, 0));
    assert_eq!(end(&history), (EndReason::Served, 50));
}

#[test]
fn buyers_waiting_at_the_limit_are_counted() {
    // Two seconds of work arrive within one second, and the run ends after 1.5 seconds.
    let text = workload(
        "stock = 100\narrivals = \"20/s\"\nduration = \"1s\"\nsection = \"100ms\"\nlimit = \"1500ms\"\nworkers = 2",
    );
    let history = simulate(&text, "set-nx-px", 1);
    let tally = tally(&history).unwrap();
    assert_eq!(tally.arrived, 20);
    assert!(tally.unserved >= 3, "{tally:?}");
    assert_eq!(tally.attempted.len() as u64 + tally.unserved, 20);
    assert_eq!(end(&history).0, EndReason::Limit);
}

#[test]
fn sold_out_stock_ends_the_run() {
    for sold_out in ["seen", "announced"] {
        let text = workload(&format!(
            "stock = 5\narrivals = \"100/s\"\nduration = \"2s\"\nsection = \"20ms\"\nsold_out = \"{sold_out}\""
        ));
        let history = simulate(&text, "set-nx-px", 1);
        let tally = tally(&history).unwrap();
        assert_eq!(end(&history), (EndReason::SoldOut, 5), "{sold_out}");
        // The run ends long before all 200 buyers have arrived. Every arrived buyer is counted.
        assert!(tally.arrived < 50 && tally.unserved > 0, "{tally:?}");
        assert_eq!(tally.attempted.len() as u64 + tally.unserved, tally.arrived);
    }
}

#[test]
fn refused_buyer_leaves_unless_again_is_set() {
    let impatient =
        "stock = 100\narrivals = \"40/s\"\nduration = \"1s\"\nsection = \"60ms\"\nwait = \"0s\"\n";
    let history = simulate(&workload(impatient), "set-nx-px", 1);
    let impatient_tally = tally(&history).unwrap();
    assert!(refused(&history) > 10);
    assert_eq!(impatient_tally.served.len() + refused(&history), 40);
    assert_eq!(
        (impatient_tally.attempted.len(), impatient_tally.unserved),
        (40, 0)
    );

    let stays = format!("{impatient}again = \"20ms\"\n");
    let history = simulate(&workload(&stays), "set-nx-px", 1);
    let patient_tally = tally(&history).unwrap();
    assert!(refused(&history) > 40);
    assert_eq!(patient_tally.served.len(), 40);
    assert_eq!(end(&history), (EndReason::Served, 40));
    // A buyer's wait starts at its arrival, not at its last request.
    let latency = from_history(&history);
    assert!(latency["acquire"].p50_us > 500_000, "{latency:?}");
    assert!(latency[REQUESTED].max_us < 10_000, "{latency:?}");
}

#[test]
fn idle_worker_serves_again_after_a_restart() {
    let text = workload(
        "workers = 2\nstock = 100\narrivals = \"10/s\"\nduration = \"2s\"\nsection = \"5ms\"\n[[fault]]\nkind = \"crash-client\"\nat = \"550ms\"\nfor = \"300ms\"\nworkers = [1]",
    );
    let history = simulate(&text, "set-nx-px", 1);
    let tally = tally(&history).unwrap();
    assert_eq!((tally.served.len(), tally.unserved), (20, 0));
    let back_ns = history.events.iter().find_map(|event| match event.what {
        EventKind::WorkerUp {
            worker: 1,
            incarnation: 1,
        } => Some(event.at_ns),
        _ => None,
    });
    // The worker restarts immediately, not only at its next turn.
    let back_ms = back_ns.unwrap() / 1_000_000;
    assert!((850..900).contains(&back_ms), "{back_ms} ms");
    let mut later = history.events.iter().rev();
    assert!(later.any(|event| matches!(event.what, EventKind::Granted { worker: 1, .. })));
    assert!(!worker_exited_on_its_own(&history));
}

fn worker_exited_on_its_own(history: &History) -> bool {
    let on_its_own =
        |what: &EventKind| matches!(what, EventKind::WorkerDown { by_fault, .. } if !by_fault);
    history.events.iter().any(|event| on_its_own(&event.what))
}

/// The same test in a closed loop. If a worker dies and restarts during its client's think time, the client must not
/// confuse the two incarnations and report that the worker exited on its own.
#[test]
fn restart_during_think_time_is_not_an_unexpected_exit() {
    let text = workload(
        "workers = 2\nstock = 10\nthink = \"300ms\"\nsection = \"5ms\"\n[[fault]]\nkind = \"crash-client\"\nat = \"150ms\"\nfor = \"50ms\"\nworkers = [1]",
    );
    let history = simulate(&text, "set-nx-px", 1);
    assert!(!worker_exited_on_its_own(&history));
    let mut events = history.events.iter();
    let back =
        events.find(|event| matches!(event.what, EventKind::WorkerUp { incarnation: 1, .. }));
    assert!(back.is_some());
    assert!(events.any(|event| matches!(event.what, EventKind::Granted { worker: 1, .. })));
}

#[test]
fn buyers_stay_queued_without_workers() {
    let text = workload(
        "workers = 2\nstock = 100\narrivals = \"20/s\"\nduration = \"2s\"\n[[fault]]\nkind = \"crash-client\"\nat = \"520ms\"\nworkers = \"all\"",
    );
    let history = simulate(&text, "set-nx-px", 1);
    let tally = tally(&history).unwrap();
    assert_eq!(end(&history).0, EndReason::NoWorkers);
    assert_eq!(tally.attempted.len() as u64 + tally.unserved, tally.arrived);
    assert!(
        !judge(&history)
            .values()
            .any(|verdict| verdict.status == Status::Violated)
    );
}

/// The lock is stuck, which is detected although no buyer of the open loop waits for long.
#[test]
fn probe_detects_a_stuck_lock() {
    let text = workload(
        "stock = 100\narrivals = \"10/s\"\nduration = \"6s\"\nsection = \"5ms\"\nwait = \"200ms\"\nstart = \"one-first\"\n[[fault]]\nkind = \"crash-client\"\nwhen = { on = \"reply\", names_key = true, during = \"acquire\", worker = 0, nth = 1 }",
    );
    let stuck = judge(&simulate(&text, "setnx-expire", 1));
    assert_eq!(stuck[&Property::Progress].status, Status::Violated);
    let fine = judge(&simulate(&text, "set-nx-px", 1));
    assert_eq!(fine[&Property::Progress].status, Status::Held);
}
