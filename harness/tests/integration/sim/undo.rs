//! The effects of a fault are undone whenever the fault ends. A fault that never ends is not undone.

use picklock_harness::check::{Property, Status, Verdict, judge};
use picklock_harness::history::{EventKind, History};
use picklock_harness::sim::{LockFactory, run};
use picklock_impls::find;
use picklock_scenarios::Scenario;

use super::simulation;

const HALF_FROZEN_CLIENTS: &str = r#"
name = "half-frozen-clients"
summary = "Two workers are paused, and the second is dead already."
[workload]
workers = 3
stock = 20
purchases = 3
ttl = "400ms"
section = "0.3ttl"
limit = "16ttl"
command_timeout = "0.5ttl"
[[fault]]
kind = "crash-client"
at = "1ms"
workers = [2]
[[fault]]
kind = "pause-client"
when = { on = "granted", worker = 1, nth = 2 }
workers = [0, 2]
for = "0.5ttl"
optional = true
"#;

const HALF_FROZEN_NODES: &str = r#"
name = "half-frozen-nodes"
summary = "Two nodes are paused, and the second is down already."
[topology]
nodes = 2
[workload]
workers = 2
stock = 6
ttl = "500ms"
section = "0.2ttl"
limit = "10ttl"
[[fault]]
kind = "crash-node"
when = { on = "stock-read", nth = 2 }
nodes = [1]
for = "4ttl"
[[fault]]
kind = "pause-node"
when = { on = "stock-read", nth = 3 }
nodes = [0, 1]
for = "0.5ttl"
optional = true
"#;

const DEAD_NODE: &str = r#"
name = "dead-node"
summary = "The only node is killed for good while a client holds the lock."
[workload]
workers = 2
stock = 3
ttl = "500ms"
section = "0.2ttl"
limit = "8ttl"
[[fault]]
kind = "crash-node"
when = { on = "stock-read", nth = 3 }
nodes = [0]
"#;

const HALF_KILLED: &str = r#"
name = "half-killed"
summary = "Two workers are killed for good, and the second is dead already."
[workload]
workers = 3
stock = 6
ttl = "500ms"
limit = "10ttl"
[[fault]]
kind = "crash-client"
at = "1ms"
workers = [2]
[[fault]]
kind = "crash-client"
when = { on = "granted", worker = 1 }
workers = [0, 2]
optional = true
"#;

const FROZEN_TWICE: &str = r#"
name = "frozen-twice"
summary = "A worker is paused, and while it is, it is paused for a shorter time."
[workload]
workers = 2
stock = 40
ttl = "400ms"
section = "0.1ttl"
limit = "20ttl"
[[fault]]
kind = "pause-client"
at = "100ms"
workers = [0]
for = "4ttl"
[[fault]]
kind = "pause-client"
at = "200ms"
workers = [0]
for = "0.5ttl"
"#;

fn simulate(text: &str) -> History {
    let scenario = Scenario::parse(text, "undo.toml").unwrap();
    let lock = LockFactory::built_in(find("set-nx-px").unwrap());
    run(simulation(scenario, &lock, 2)).unwrap().history
}

/// Returns when each fault of this kind began and ended, in nanoseconds.
fn spans(history: &History, kind: &str) -> Vec<(u64, Option<u64>)> {
    let began = history.events.iter().filter_map(|event| match &event.what {
        EventKind::FaultBegan { id, fault, .. } if fault == kind => Some((event.at_ns, *id)),
        _ => None,
    });
    let end_of = |id: u32| {
        let mut events = history.events.iter();
        let end = events.find(|event| event.what == EventKind::FaultEnded { id });
        end.map(|event| event.at_ns)
    };
    began.map(|(at_ns, id)| (at_ns, end_of(id))).collect()
}

fn missed(history: &History, kind: &str) -> usize {
    let is_it = |what: &EventKind| matches!(what, EventKind::FaultMissed { fault, optional: true, .. } if fault == kind);
    let events = history.events.iter();
    events.filter(|event| is_it(&event.what)).count()
}

fn progress(history: &History) -> Verdict {
    judge(history).remove(&Property::Progress).unwrap()
}

#[test]
fn worker_continues_if_its_freeze_fails_midway() {
    let history = simulate(HALF_FROZEN_CLIENTS);
    let [(began_ns, ended_ns)] = spans(&history, "pause-client")[..] else {
        panic!("one pause was planned");
    };
    assert_eq!(ended_ns, Some(began_ns));
    assert_eq!(missed(&history, "pause-client"), 1);
    let later = history.events.iter().filter(|event| event.at_ns > began_ns);
    let grants = |event: &&picklock_harness::history::Event| {
        matches!(event.what, EventKind::Granted { worker: 0, .. })
    };
    assert!(later.filter(grants).count() > 0, "client 0 stays frozen");
    assert_eq!(progress(&history).status, Status::Held);
}

/// The end of the shorter pause does not end the longer one.
#[test]
fn worker_frozen_twice_continues_at_the_later_end() {
    let history = simulate(FROZEN_TWICE);
    let [(_, Some(late_ns)), (_, Some(early_ns))] = spans(&history, "pause-client")[..] else {
        panic!("both pauses end");
    };
    assert!(early_ns < late_ns);
    let of_worker_0 = |from_ns: u64, to_ns: u64| {
        let events = history.events.iter();
        let events = events.filter(|event| event.what.worker() == Some(0));
        events
            .filter(|event| from_ns < event.at_ns && event.at_ns < to_ns)
            .count()
    };
    assert_eq!(of_worker_0(early_ns, late_ns), 0);
    assert!(of_worker_0(late_ns, u64::MAX) > 0);
}

#[test]
fn node_continues_if_its_pause_fails_midway() {
    let history = simulate(HALF_FROZEN_NODES);
    let [(began_ns, ended_ns)] = spans(&history, "pause-node")[..] else {
        panic!("one pause was planned");
    };
    assert_eq!(ended_ns, Some(began_ns));
    assert_eq!(missed(&history, "pause-node"), 1);
    assert_eq!(progress(&history).status, Status::Held);
}

#[test]
fn worker_restarts_if_its_kill_fails_midway() {
    let history = simulate(HALF_KILLED);
    assert_eq!(missed(&history, "crash-client"), 1);
    let restarted = history.events.iter().any(|event| {
        matches!(
            event.what,
            EventKind::WorkerUp {
                worker: 0,
                incarnation: 1
            }
        )
    });
    assert!(restarted);
    // The first kill took effect and never ends.
    let ends: Vec<bool> = spans(&history, "crash-client")
        .into_iter()
        .map(|(_, ended_ns)| ended_ns.is_some())
        .collect();
    assert_eq!(ends, [false, true]);
}

#[test]
fn endless_fault_has_no_end_and_excuses_the_lock() {
    let history = simulate(DEAD_NODE);
    assert!(matches!(spans(&history, "crash-node")[..], [(_, None)]));
    let verdict = progress(&history);
    assert_eq!(verdict.status, Status::Unknown, "{:?}", verdict.story);
}

/// The partition lasts until the end of the run, so the frames that it holds back never arrive.
#[test]
fn frames_behind_an_endless_partition_never_arrive() {
    let history = super::simulate(
        "partition-minority",
        &LockFactory::built_in(find("redlock").unwrap()),
        1,
    );
    assert!(matches!(spans(&history, "partition")[..], [(_, None)]));
    let on_the_far_side = |what: &EventKind| matches!(what, EventKind::KeyLeft { node: 3 | 4, .. });
    assert!(
        !history
            .events
            .iter()
            .any(|event| on_the_far_side(&event.what))
    );
}

/// The backend declares before the run which faults it does not offer.
#[test]
fn unsupported_fault_is_recorded_at_the_start() {
    let text = r#"
name = "no-sentinels"
summary = "A failover by Sentinels, which the simulation does not have."
backends = ["process"]
[topology]
replicas = 1
sentinels = 3
[[fault]]
kind = "sentinel-failover"
at = "1s"
nodes = [0]
for = "1s"
"#;
    let history = simulate(text);
    let reasons: Vec<(u64, &str)> = history
        .events
        .iter()
        .filter_map(|event| match &event.what {
            EventKind::FaultMissed { fault, reason, .. } if fault == "sentinel-failover" => {
                Some((event.at_ns, reason.as_str()))
            }
            _ => None,
        })
        .collect();
    let expected = "the sim backend cannot do this: the simulation has no Sentinels";
    assert_eq!(reasons, [(0, expected)]);
}
