//! The history file, with arbitrary events: histories survive writing and reading, and malformed files are rejected
//! with their line.

mod any_event;

use picklock_scenarios::{LockKind, Update};
use proptest::collection::vec;
use proptest::prelude::*;

use any_event::{KEYS, WORKERS, any_event};
use picklock_verdicts::history::{
    Event, EventKind, FORMAT, Header, History, HistoryError, read_history, write_history,
};

fn header() -> Header {
    Header {
        format: FORMAT.into(),
        scenario: "any \"quoted\" name\n".into(),
        lock: "s".into(),
        backend: picklock_scenarios::BackendName::Sim,
        seed: u64::MAX,
        workers: WORKERS,
        nodes: 5,
        quorum: None,
        keys: vec!["a".into(), "b".into()],
        capacity: 1,
        kind: LockKind::Mutex,
        ttl_ms: 1000,
        stock_start: 3,
        update: Update::Write,
        min_grants: 2,
        progress_within_ms: 3000,
        max_overtakes: None,
        schedule: None,
        renews: false,
        declares: Default::default(),
        key_history: false,
        key_history_check: None,
    }
}

/// Generates histories of arbitrary events in chronological order, which need not be consistent.
fn histories() -> impl Strategy<Value = History> {
    let time = prop_oneof![4 => 0..3_000_000_000_u64, 1 => any::<u64>()];
    vec((time, any_event()), 0..40).prop_map(|mut timed| {
        timed.sort_by_key(|(at_ns, _)| *at_ns);
        let events = timed.into_iter();
        History {
            header: header(),
            events: events.map(|(at_ns, what)| Event { at_ns, what }).collect(),
        }
    })
}

fn written(history: &History) -> Vec<u8> {
    let mut text = Vec::new();
    write_history(history, &mut text).unwrap();
    text
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_history_is_read_back(history in histories()) {
        prop_assert_eq!(read_history(&written(&history)[..]).unwrap(), history);
    }

    /// A truncated file is either complete up to a line, or its last line is reported.
    #[test]
    fn truncated_file_is_a_prefix_or_names_its_last_line(
        history in histories(),
        cut in any::<prop::sample::Index>(),
    ) {
        let text = written(&history);
        let text = &text[..cut.index(text.len())];
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        match read_history(text) {
            Ok(read) => {
                prop_assert_eq!(&read.events[..], &history.events[..lines - 1]);
            }
            Err(HistoryError::Line { line, .. }) => prop_assert_eq!(line, lines),
            Err(HistoryError::Header(_)) => prop_assert_eq!(lines, 1),
            Err(HistoryError::Empty) => prop_assert_eq!(lines, 0),
            // The cut is within a character.
            Err(HistoryError::Io(_)) => prop_assert!(std::str::from_utf8(text).is_err()),
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn line_of_garbage_is_named(
        history in histories(),
        garbage in "[^\n]*[a-z][^\n]*",
        at in any::<prop::sample::Index>(),
    ) {
        prop_assume!(serde_json::from_str::<Event>(&garbage).is_err());
        let text = String::from_utf8(written(&history)).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        let at = 1 + at.index(lines.len());
        lines.insert(at, &garbage);
        let error = read_history(lines.join("\n").as_bytes()).unwrap_err();
        let named = matches!(error, HistoryError::Line { line, .. } if line == at + 1);
        prop_assert!(named, "{error}");
    }

    #[test]
    fn random_bytes_are_rejected(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(read_history(&bytes[..]).is_err());
    }

    /// Inconsistent events are still judged.
    #[test]
    fn any_history_can_be_judged(history in histories()) {
        let verdicts = picklock_verdicts::check::judge(&history);
        let judged = picklock_verdicts::check::Property::ALL.iter().filter(|it| history.header.judges(**it));
        prop_assert_eq!(verdicts.len(), judged.count());
    }
}

fn with_header(change: impl FnOnce(&mut serde_json::Value)) -> Result<History, HistoryError> {
    let mut value = serde_json::to_value(header()).unwrap();
    change(&mut value);
    read_history(value.to_string().as_bytes())
}

#[test]
fn unknown_format_is_named() {
    let error = with_header(|header| header["format"] = "picklock-history/9".into()).unwrap_err();
    assert!(
        matches!(&error, HistoryError::Version(format) if format == "picklock-history/9"),
        "{error}"
    );
}

#[test]
fn too_many_workers_or_nodes_are_rejected() {
    for what in ["workers", "nodes"] {
        let error = with_header(|header| header[what] = u64::MAX.into()).unwrap_err();
        let message = error.to_string();
        assert!(matches!(error, HistoryError::Header(_)), "{message}");
        assert!(
            message.contains(&format!("18446744073709551615 {what}")),
            "{message}"
        );
    }
}

/// A line that never ends, as the header or later, is not read to its end.
#[test]
fn overlong_line_is_rejected() {
    use std::io::Read;
    let endless = || std::io::BufReader::new(std::io::repeat(b'x'));
    let error = read_history(endless()).unwrap_err();
    assert!(
        error.to_string().contains("longer than 1048576 bytes"),
        "{error}"
    );
    let whole = History {
        header: header(),
        events: Vec::new(),
    };
    let text = written(&whole);
    let text = &text[..];
    let error = read_history(std::io::BufReader::new(text.chain(endless()))).unwrap_err();
    assert!(
        matches!(error, HistoryError::Line { line: 2, .. }),
        "{error}"
    );
}

#[test]
fn inconsistent_lines_are_named() {
    let refused = |at_ns, worker| Event {
        at_ns,
        what: EventKind::Refused { worker, op: 1 },
    };
    let key = |key| Event {
        at_ns: 5,
        what: EventKind::Probe {
            key,
            granted: true,
            waited_ms: 0,
            permits: None,
        },
    };
    for (bad, word) in [
        (refused(4, 0), "backwards"),
        (refused(5, WORKERS), "worker"),
        (key(KEYS), "key"),
    ] {
        let history = History {
            header: header(),
            events: vec![refused(5, 0), bad],
        };
        let error = read_history(&written(&history)[..]).unwrap_err();
        let line_is_3 = matches!(error, HistoryError::Inconsistent { line: 3, .. });
        assert!(
            line_is_3 && error.to_string().contains(word),
            "{word}: {error}"
        );
    }
}
