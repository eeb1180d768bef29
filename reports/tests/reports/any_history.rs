//! Any history yields a report that fits its width.

use picklock_reports::combine::from_run;
use picklock_reports::{html, progress, terminal, trace};
use picklock_scenarios::Phase;
use picklock_verdicts::check::{Cause, Property, Status, Verdict};
use picklock_verdicts::history::{
    EndReason, Event, EventKind, History, KeyChange, KeyCommand, KeyName, Misbehaviour,
};
use picklock_verdicts::record::RunRecord;
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::history_builder::HistoryBuilder;
use crate::samples;
use crate::terminal::plain;

/// Numbers that occur, and numbers that a broken or hostile file might have.
fn ms() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..5_000_u64, 1 => Just(0), 1 => Just(u64::MAX)]
}

fn worker() -> impl Strategy<Value = usize> {
    prop_oneof![20 => 0..6_usize, 1 => Just(usize::MAX)]
}

fn event() -> impl Strategy<Value = EventKind> {
    prop_oneof![7 => lock_event(), 3 => other_event()]
}

/// Generates requests to the lock and its replies.
fn lock_event() -> impl Strategy<Value = EventKind> {
    let parts = (
        worker(),
        0..9_u64,
        0..3_u32,
        ms(),
        ms(),
        any::<bool>(),
        ".{0,12}",
    );
    (0..10_u8, parts).prop_map(
        |(kind, (worker, op, key, ms, other_ms, flag, text))| match kind {
            0..3 => EventKind::Acquire {
                worker,
                op,
                key,
                ttl_ms: ms,
                wait_ms: other_ms,
                intended_ns: flag.then_some(other_ms),
                weight: 1,
            },
            3..6 => EventKind::Granted {
                worker,
                op,
                token: text,
                fence: flag.then_some(ms),
                valid_ms: flag.then_some(ms),
                elapsed_ms: (other_ms % 2 == 0).then_some(other_ms),
            },
            6 => EventKind::Refused { worker, op },
            7 => EventKind::Extended {
                worker,
                op,
                valid_ms: ms,
                elapsed_ms: flag.then_some(other_ms),
            },
            8 => EventKind::Release { worker, op },
            _ => EventKind::Released {
                worker,
                op,
                released: Some(flag),
                last_command_ns: None,
            },
        },
    )
}

/// Generates all other events.
fn other_event() -> impl Strategy<Value = EventKind> {
    let parts = (worker(), 0..9_u64, 0..3_u32, ms(), any::<bool>(), ".{0,12}");
    (0..12_u8, parts).prop_map(|(kind, (worker, op, key, ms, flag, text))| match kind {
        8.. => key_changed(worker, op, key, ms, flag, text),
        0 => EventKind::Lost { worker, op },
        1 => EventKind::StockChanged {
            worker,
            op,
            key,
            from: 1,
            to: i64::MIN,
            belated: None,
        },
        2 => EventKind::FencedOff {
            worker,
            op,
            key,
            fence: ms,
            highest: 1,
        },
        3 => EventKind::WorkerDown {
            worker,
            by_fault: flag,
            reason: text,
            ended_by: None,
        },
        4 => EventKind::FaultBegan {
            id: key,
            fault: if flag { "pause-client".into() } else { text },
            detail: "d".into(),
            workers: vec![worker; op as usize],
            nodes: vec![worker],
            clock: None,
            delay_ms: None,
        },
        5 => EventKind::FaultEnded { id: key },
        6 => EventKind::Misbehaved {
            worker,
            kind: Misbehaviour::Hung,
            detail: text,
        },
        _ => EventKind::End {
            reason: EndReason::Limit,
            stock_left: vec![],
            sold: vec![],
        },
    })
}

/// Generates a change of a key.
fn key_changed(node: usize, op: u64, key: u32, ms: u64, flag: bool, text: String) -> EventKind {
    let command = KeyChange::Command(KeyCommand {
        worker: key as usize,
        op,
        phase: Phase::Acquire,
        command: text.as_str().into(),
        sent_ns: None,
        forwarded_at_ns: None,
        names_unread_value: false,
    });
    EventKind::KeyChanged {
        node,
        key: match key {
            0 => KeyName::Other(text.as_str().into()),
            _ => KeyName::Lock(key),
        },
        value: flag.then(|| text.as_str().into()),
        ttl_ms: (ms % 3 != 1).then_some(ms as i64),
        why: [command, KeyChange::Expired, KeyChange::Evicted][(ms % 3) as usize].clone(),
    }
}

fn history() -> impl Strategy<Value = History> {
    let step_ns = prop_oneof![
        10 => 0..400_000_000_u64,
        5 => 0..10_u64,
        1 => Just(u64::MAX / 3),
    ];
    prop::collection::vec((step_ns, event()), 0..60).prop_map(|events| {
        let mut history = HistoryBuilder::new(6).done();
        history.header.key_history = events.len() % 4 > 0;
        let mut at_ns = 0_u64;
        for (step_ns, what) in events {
            at_ns = at_ns.saturating_add(step_ns);
            history.events.push(Event { at_ns, what });
        }
        history
    })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    let at_ns = prop_oneof![4 => 0..9_000_000_000_u64, 1 => Just(u64::MAX)];
    let story = prop::collection::vec(".{0,90}", 0..3);
    (0..4_u8, story, prop::option::of(at_ns)).prop_map(|(kind, story, at_ns)| match kind {
        0 => Verdict::held(),
        1 => crate::inconclusive(story.concat()),
        _ => Verdict {
            status: Status::Violated,
            cause: Some(Cause::AmbiguousAcquire),
            summary: story.first().cloned().unwrap_or_default(),
            story,
            violations: u64::MAX,
            at_ns,
            ..Verdict::held()
        },
    })
}

fn record() -> impl Strategy<Value = RunRecord> {
    let verdicts = prop::collection::vec(verdict(), Property::ALL.len());
    (verdicts, ".{0,90}", ".{0,30}", ms()).prop_map(|(verdicts, long, short, ms)| {
        let (mut record, _) = samples::gc_pause();
        record.verdicts = Property::ALL.into_iter().zip(verdicts).collect();
        record.lock.name = short.clone();
        record.summary = long.clone();
        record.trouble = vec![long.clone(); 20];
        record.faults[0].detail = long;
        record.faults[0].began_ns = Some(ms);
        record.redis.server = short;
        record.ttl_ms = ms;
        record.phases.workload_ms = ms;
        record.counts.granted = ms;
        record.counts.sold = i64::MIN;
        for latency in record.latency.values_mut() {
            latency.max_us = ms;
            latency.count = ms;
        }
        record
    })
}

proptest! {
    #[test]
    fn any_run_fits_any_width(
        record in record(), history in history(), width in 60..=200_usize,
    ) {
        let text = plain(&terminal::run(&record, &history, width, terminal::Detail::Everything));
        for line in text.lines() {
            prop_assert!(line.width() <= width, "{} columns: {}", line.width(), line);
            prop_assert!(!line.chars().any(char::is_control), "{:?}", line);
        }
    }

    #[test]
    fn any_run_has_a_page_and_a_trace(record in record(), history in history()) {
        let input = from_run(record, Some(history));
        prop_assert!(html::page(&input).is_ok());
        prop_assert!(trace::files(&input).is_ok());
    }

    #[test]
    fn progress_line_has_no_control_characters(history in history()) {
        let mut progress = progress::Progress::default();
        for line in history.events.iter().filter_map(|event| progress.line(event)) {
            prop_assert!(!line.chars().any(char::is_control), "{:?}", line);
        }
    }
}
