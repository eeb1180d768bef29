use picklock_scenarios::Phase;
use picklock_verdicts::history::read_history;

use super::*;

fn history() -> History {
    let text = include_bytes!("../../../harness/verdicts/tests/histories/calm.jsonl");
    read_history(&text[..]).unwrap()
}

fn message(at_ns: u64, worker: usize, op: u64) -> Message {
    Message {
        at_ns,
        sent_ns: Some(at_ns + 2_000_000_000),
        worker,
        node: 0,
        direction: Direction::Request,
        op,
        phase: Phase::Release,
        outcome: "held".into(),
        preview: "DEL picklock:0".into(),
    }
}

#[test]
fn messages_and_commands_are_ordered_by_time() {
    let history = history();
    let op = history
        .events
        .iter()
        .find_map(|event| event.what.attempt())
        .unwrap()
        .1;
    let at_ns = history.events[history.events.len() / 2].at_ns;
    let proxy = CommandLog {
        messages: vec![message(at_ns, 1, op)],
        omitted: 0,
    };
    let all = entries(&history, Some(&proxy), &Selection::default());
    assert!(all.is_sorted_by_key(|entry| entry.at_ns));
    let del = all
        .iter()
        .find(|entry| entry.kind == EntryKind::Command)
        .unwrap();
    assert_eq!(del.route, "c1 → n0");
    assert!(
        del.text.starts_with("DEL picklock:0 (held, forwarded at "),
        "{}",
        del.text
    );
    assert_eq!(del.key.as_ref(), history.header.keys.first());
}

#[test]
fn selection_filters_by_worker_time_and_key() {
    let history = history();
    let select = |selection: &Selection| entries(&history, None, selection);
    let all = select(&Selection::default());
    let of_worker = select(&Selection {
        worker: Some(0),
        ..Selection::default()
    });
    assert!(!of_worker.is_empty() && of_worker.len() < all.len());
    assert!(
        of_worker
            .iter()
            .all(|it| it.worker == Some(0) || it.kind == EntryKind::Fault)
    );
    let middle_ns = all[all.len() / 2].at_ns;
    let around = select(&Selection {
        around: Some((middle_ns, 2)),
        ..Selection::default()
    });
    let here = all.partition_point(|entry| entry.at_ns < middle_ns);
    assert_eq!(around, all[here - 2..here + 2]);
    let elsewhere = select(&Selection {
        key: Some("no such key".into()),
        ..Selection::default()
    });
    assert!(elsewhere.iter().all(|entry| entry.kind == EntryKind::Fault));
}
