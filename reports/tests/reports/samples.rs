//! Handwritten runs and their records.

use std::collections::BTreeMap;

use picklock_verdicts::assemble::counts;
use picklock_verdicts::check::{Cause, Property, Status, Verdict, Verdicts};
use picklock_verdicts::history::{EndReason, EventKind, History, Misbehaviour};
use picklock_verdicts::latency;
use picklock_verdicts::record::{Counts, FORMAT, FiredFault, LockInfo, Phases, Redis, RunRecord};

use crate::history_builder::HistoryBuilder;

pub type Sample = (RunRecord, History);

fn violated(cause: Cause, at_ms: u64, story: &[&str]) -> Verdict {
    Verdict {
        status: Status::Violated,
        cause: Some(cause),
        story: story.iter().map(|line| (*line).to_owned()).collect(),
        violations: 1,
        at_ns: Some(at_ms * 1_000_000),
        ..Verdict::held()
    }
}

fn all_held() -> Verdicts {
    let mut verdicts: Verdicts = Property::ALL.map(|p| (p, Verdict::held())).into();
    verdicts.insert(Property::Fencing, Verdict::not_applicable());
    verdicts
}

fn record(scenario: &str, summary: &str, history: &History) -> RunRecord {
    RunRecord {
        format: FORMAT.into(),
        picklock: "0.1.0".into(),
        lock: LockInfo {
            name: "set-nx-px".into(),
            version: "0.1.0".into(),
        },
        scenario: scenario.into(),
        summary: summary.into(),
        backend: picklock_scenarios::BackendName::Process,
        backend_reason: "asked for with --backend".into(),
        seed: 7,
        redis: Redis {
            server: "redis".into(),
            version: "7.0.15".into(),
        },
        workers: history.header.workers,
        nodes: 1,
        ttl_ms: 1_000,
        verdicts: all_held(),
        counts: Counts {
            granted: 3,
            refused: 0,
            failed: 0,
            extended: 0,
            released: 3,
            sold: 3,
            stock_start: 3,
            stock_left: 0,
            ..Counts::default()
        },
        latency: latency::from_history(history),
        faults: Vec::new(),
        warnings: Vec::new(),
        trouble: Vec::new(),
        phases: Phases {
            setup_ms: 12,
            workload_ms: 3_410,
            teardown_ms: 3,
        },
        interrupted: false,
        reproduce: format!(
            "picklock scenario {scenario} --impl set-nx-px --backend sim --seed 7 --workers {}",
            history.header.workers
        ),
    }
}

fn rename(record: &mut RunRecord, lock: &str) {
    record.reproduce = record.reproduce.replace(&record.lock.name, lock);
    record.lock.name = lock.into();
}

pub fn calm() -> Sample {
    let history = HistoryBuilder::new(2)
        .purchase(0, 0, 1, 2)
        .purchase(110, 1, 2, 1)
        .purchase(220, 0, 3, 0)
        .done();
    let record = record("calm", "Nothing goes wrong.", &history);
    (record, history)
}

/// A buyer arrives every 100 ms. One of two workers freezes while it holds the lock for half a second, and
/// the run ends before all buyers are served.
pub fn rush() -> Sample {
    let mut builder = HistoryBuilder::new(2)
        .acquire_intended_at(0, 0, 1, 0)
        .granted(2, 0, 1)
        .fault(10, 0, "pause-client", 0)
        .acquire_intended_at(100, 1, 2, 100)
        .fault_ended(510, 0)
        .sold(520, 0, 1, 2)
        .released(522, 0, 1)
        .granted(524, 1, 2)
        .sold(526, 1, 2, 1)
        .released(528, 1, 2);
    for (op, intended_ms) in (3..).zip([200, 300, 400, 500]) {
        let at_ms = 500 + 10 * op;
        builder = builder
            .acquire_intended_at(at_ms, 0, op, intended_ms)
            .granted(at_ms + 2, 0, op)
            .released(at_ms + 5, 0, op);
    }
    let history = builder
        .at(
            700,
            EventKind::Arrivals {
                came: 8,
                unserved: 2,
            },
        )
        .at(
            701,
            EventKind::End {
                reason: EndReason::Limit,
                stock_left: vec![1],
                sold: vec![2],
            },
        )
        .done();
    let mut record = record("rush", "A buyer arrives every 100 ms.", &history);
    record.counts = counts(&history);
    (record, history)
}

const GC_PAUSE: &str = "A holder freezes for 1.5 ttl after reading the last unit, as in a long \
                        garbage collection; its successor is inside when it wakes.";

/// The classic case: client 0 is frozen beyond its lease, and sells a unit that client 1 has sold.
pub fn gc_pause() -> Sample {
    let history = HistoryBuilder::new(3)
        .purchase(0, 0, 1, 2)
        .purchase(110, 1, 2, 1)
        .acquire(220, 0, 3)
        .granted(222, 0, 3)
        .acquire(225, 1, 4)
        .acquire(228, 2, 5)
        .fault(240, 0, "pause-client", 0)
        .granted(1_225, 1, 4)
        .fault_ended(1_740, 0)
        .sold(1_830, 0, 3, 0)
        .released(1_832, 0, 3)
        .sold(1_980, 1, 4, -1)
        .released(1_982, 1, 4)
        .granted(1_990, 2, 5)
        .released(2_000, 2, 5)
        .done();
    let mut record = record("gc-pause", GC_PAUSE, &history);
    let story = [
        "0.222 s  client 0 got the lock, lease until 1.220 s",
        "0.240 s  client 0 was frozen while it held the lock",
        "1.220 s  the lease of client 0 ran out; the key expired",
        "1.225 s  client 1 got the lock",
        "1.740 s  client 0 woke and went on, 520 ms after its lease had run out",
        "1.832 s  client 0 released; until then both were inside, for 607 ms",
    ];
    let verdicts = &mut record.verdicts;
    let overlap = violated(Cause::OutlivedLease, 1_225, &story);
    verdicts.insert(Property::Exclusion, overlap);
    let mut oversold = violated(Cause::OutlivedLease, 1_980, &story);
    oversold
        .story
        .push("1.980 s  client 1 sold a unit that was gone: -1 left".into());
    verdicts.insert(Property::Resource, oversold);
    record.counts.sold = 4;
    record.counts.stock_left = -1;
    record.faults = vec![FiredFault {
        fault: "pause-client".into(),
        detail: "pause-client of client 0 for 1.5 s, when it had read stock 1".into(),
        began_ns: Some(240_000_000),
        ended_ns: Some(1_740_000_000),
        workers: vec![0],
        nodes: vec![],
    }];
    (record, history)
}

/// The same run with fencing: the late sale is refused.
pub fn fenced() -> Sample {
    let (mut record, mut history) = gc_pause();
    for event in &mut history.events {
        if let EventKind::StockChanged {
            worker: 0,
            op: 3,
            key,
            ..
        } = event.what
        {
            event.what = EventKind::FencedOff {
                worker: 0,
                op: 3,
                key,
                fence: 3,
                highest: 4,
            };
        }
    }
    rename(&mut record, "fenced");
    for property in [Property::Resource, Property::Fencing] {
        record.verdicts.insert(property, Verdict::held());
    }
    record.counts.sold = 3;
    record.counts.stock_left = 0;
    (record, history)
}

/// The same run of a lock that does not report how long its lease is valid.
pub fn silent() -> Sample {
    let (mut record, mut history) = gc_pause();
    rename(&mut record, "exec:./silent.py");
    for event in &mut history.events {
        if let EventKind::Granted {
            valid_ms,
            elapsed_ms,
            ..
        } = &mut event.what
        {
            (*valid_ms, *elapsed_ms) = (None, None);
        }
    }
    (record, history)
}

/// A late release deletes the lock of the successor, and a third worker gets it, too.
pub fn stale_delete() -> Sample {
    let released = EventKind::Released {
        worker: 0,
        op: 1,
        released: Some(true),
        last_command_ns: Some(1_701_000_000),
    };
    let history = HistoryBuilder::new(3)
        .acquire(0, 0, 1)
        .granted(2, 0, 1)
        .acquire(5, 1, 2)
        .acquire(6, 2, 3)
        .sold(200, 0, 1, 2)
        .at(201, EventKind::Release { worker: 0, op: 1 })
        .fault(202, 0, "pause-client", 0)
        .granted(1_004, 1, 2)
        .fault_ended(1_700, 0)
        .at(1_702, released)
        .granted(1_705, 2, 3)
        .sold(1_904, 1, 2, 1)
        .released(1_905, 1, 2)
        .sold(1_950, 2, 3, 0)
        .released(1_951, 2, 3)
        .done();
    let summary = "Frozen between the check and the deletion of its release.";
    let mut record = record("stale-delete", summary, &history);
    rename(&mut record, "get-then-del");
    let overlap = violated(
        Cause::StolenRelease,
        1_705,
        &[
            "1.004 s  client 1 got the lock, lease until 2.002 s",
            "1.701 s  the DEL of client 0's release went out: it deleted the lock of client 1",
            "1.705 s  client 2 got the lock while client 1 was inside",
        ],
    );
    let stolen = violated(
        Cause::Race,
        1_702,
        &["1.702 s  client 0 was told that it had released its own lock"],
    );
    let verdicts = &mut record.verdicts;
    verdicts.insert(Property::Exclusion, overlap.clone());
    verdicts.insert(Property::Lease, overlap);
    verdicts.insert(Property::Ownership, stolen);
    (record, history)
}

/// Two of five hundred workers hold the lock at once while all others wait.
pub fn crowd() -> Sample {
    let mut builder = HistoryBuilder::new(500);
    for worker in 0..500 {
        builder = builder.acquire(0, worker, worker as u64);
    }
    let history = builder
        .granted(5, 37, 37)
        .granted(1_010, 411, 411)
        .released(1_100, 37, 37)
        .released(1_200, 411, 411)
        .done();
    let mut record = record(
        "slow-section",
        "Work takes longer than the lease.",
        &history,
    );
    let story = ["1.010 s  client 411 got the lock while client 37 was inside"];
    let overlap = violated(Cause::OutlivedLease, 1_010, &story);
    record.verdicts.insert(Property::Exclusion, overlap);
    (record, history)
}

pub fn unknown() -> Sample {
    let (mut record, history) = calm();
    record.scenario = "gc-pause".into();
    record.summary = GC_PAUSE.into();
    record.reproduce = record.reproduce.replace("calm", "gc-pause");
    let reason = "the fault never fired: no worker read stock 1 before the run ended";
    for property in [Property::Exclusion, Property::Lease, Property::Resource] {
        record
            .verdicts
            .insert(property, crate::inconclusive(reason));
    }
    record.faults = vec![FiredFault {
        fault: "pause-client".into(),
        detail: "pause-client for 1.5 s, when a worker has read stock 1".into(),
        began_ns: None,
        ended_ns: None,
        workers: vec![],
        nodes: vec![],
    }];
    (record, history)
}

pub fn interrupted() -> Sample {
    let (mut record, history) = calm();
    record.interrupted = true;
    let progress =
        crate::inconclusive("the run was interrupted while buyers still wanted the lock");
    record.verdicts.insert(Property::Progress, progress);
    (record, history)
}

/// A lock that tries to paint over its own verdict.
pub fn hostile() -> Sample {
    let attack = "\x1b[2J\x1b[1;32m✔ held\x07\r\n\u{202e}evil\u{9b}31m";
    let (mut record, mut history) = gc_pause();
    record.lock.name = format!("exec:{attack}");
    record.lock.version = attack.into();
    record.scenario = attack.into();
    record.summary = attack.into();
    record.backend_reason = attack.into();
    record.redis.version = attack.into();
    record.reproduce = format!("picklock scenario gc-pause --impl 'exec:{attack}'");
    record.trouble = vec![format!("client 1 wrote what is no message: {attack}")];
    record.faults[0].detail = attack.into();
    record.latency = BTreeMap::from([(attack.to_owned(), record.latency["acquire"].clone())]);
    for verdict in record.verdicts.values_mut() {
        verdict.story.push(attack.into());
    }
    history.header.keys = vec![attack.into(), attack.into()];
    for event in &mut history.events {
        if let EventKind::FaultBegan { fault, .. } = &mut event.what {
            *fault = attack.into();
        }
    }
    let garbage = EventKind::Misbehaved {
        worker: 1,
        kind: Misbehaviour::Garbage,
        detail: attack.into(),
    };
    let history = push(history, 2_010, garbage);
    (record, history)
}

/// No client ever got the lock, and its key never expires.
pub fn no_grants() -> Sample {
    let down = EventKind::WorkerDown {
        worker: 0,
        by_fault: true,
        reason: "killed by signal 9".into(),
        ended_by: None,
    };
    let history = HistoryBuilder::new(2)
        .acquire(0, 0, 1)
        .acquire(1, 1, 2)
        .fault(4, 0, "crash-client", 0)
        .at(4, down)
        .at(3_001, EventKind::Refused { worker: 1, op: 2 })
        .acquire(3_001, 1, 3)
        .at(6_002, EventKind::Refused { worker: 1, op: 3 })
        .at(
            6_010,
            EventKind::KeyLeft {
                node: 0,
                key: 0,
                ttl_ms: -1,
            },
        )
        .done();
    let summary = "A worker is killed as the reply of its first acquiring command arrives.";
    let mut record = record("crash-mid-acquire", summary, &history);
    rename(&mut record, "setnx-expire");
    record.counts = Counts {
        refused: 2,
        stock_start: 3,
        stock_left: 3,
        ..Counts::default()
    };
    let too_little = "too little to judge: no grants, the scenario requires 2";
    for property in [Property::Exclusion, Property::Lease, Property::Resource] {
        record
            .verdicts
            .insert(property, crate::inconclusive(too_little));
    }
    let story = [
        "0.004 s  client 0 was killed between SETNX and EXPIRE",
        "6.010 s  the key is still on node 0, and never expires",
    ];
    let stuck = violated(Cause::NoTtl, 6_010, &story);
    record.verdicts.insert(Property::Progress, stuck);
    record.faults = vec![FiredFault {
        fault: "crash-client".into(),
        detail: "crash-client of client 0".into(),
        began_ns: Some(4_000_000),
        ended_ns: None,
        workers: vec![0],
        nodes: vec![],
    }];
    (record, history)
}

pub fn one_worker() -> Sample {
    let history = HistoryBuilder::new(1)
        .purchase(0, 0, 1, 2)
        .purchase(110, 0, 2, 1)
        .done();
    let mut record = record("calm", "Nothing goes wrong.", &history);
    let alone = "too little to judge: no two workers ever competed";
    record
        .verdicts
        .insert(Property::Exclusion, crate::inconclusive(alone));
    record
        .verdicts
        .insert(Property::Lease, crate::inconclusive(alone));
    (record, history)
}

fn push(history: History, at_ms: u64, what: EventKind) -> History {
    let mut history = history;
    history.events.push(picklock_verdicts::history::Event {
        at_ns: at_ms * 1_000_000,
        what,
    });
    history
}

/// Returns the decision of a gate as a terminal shows it.
pub fn terminal(decision: &picklock_reports::gate::Decision) -> String {
    picklock_reports::gate::terminal(decision, 200).to_string()
}

/// Returns the annotations of a decision.
pub fn annotations(decision: &picklock_reports::gate::Decision) -> String {
    picklock_reports::gate::annotations(decision).to_string()
}
