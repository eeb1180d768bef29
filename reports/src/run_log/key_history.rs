//! Turns changes of keys into entries.

use picklock_scenarios::Phase;
use picklock_verdicts::history::{Event, EventKind, History, KeyChange};

use super::entry::{Entry, EntryKind, client};
use crate::units::{span_ms, time_ns};

/// Returns the entry for a change of a key, or `None` for another event.
pub(super) fn entry(event: &Event, history: &History) -> Option<Entry> {
    let EventKind::KeyChanged {
        node,
        key,
        value,
        ttl_ms,
        why,
    } = &event.what
    else {
        return None;
    };
    let name = key.text(&history.header.keys);
    let state = match (value, ttl_ms) {
        (None, _) => "is gone".to_owned(),
        (Some(value), None) => format!("= {value}, no expiry"),
        (Some(value), Some(ttl_ms)) => {
            let ttl_ms = u64::try_from(*ttl_ms).unwrap_or(0);
            format!("= {value}, expires in {}", span_ms(ttl_ms))
        }
    };
    let text = format!("{name} {state} ({})", describe_change(why, history));
    let by = why.command();
    Some(Entry {
        worker: by.map(|by| by.worker),
        node: Some(*node),
        op: by.map(|by| by.op),
        key: Some(name.to_owned()),
        ..Entry::new(event.at_ns, EntryKind::KeyHistory, format!("n{node}"), text)
    })
}

fn describe_change(why: &KeyChange, history: &History) -> String {
    let text = match why {
        KeyChange::Command(by) => {
            let request = match by.phase {
                Phase::Idle => "unrequested",
                Phase::Acquire => "to acquire",
                Phase::Extend => "to extend",
                Phase::Release => "to release",
            };
            let sent = |sent_ns| format!(", sent at {}", time_ns(sent_ns));
            let sent = by.sent_ns.map(sent).unwrap_or_default();
            let client = client(by.worker, history);
            return format!("{} of {client}, {request}{sent}", by.command);
        }
        KeyChange::Expired => "expired",
        KeyChange::Evicted => "evicted",
        KeyChange::Flushed => "flushed",
        KeyChange::Restarted => "the server restarted",
        KeyChange::FailedOver => "a replica took over",
        KeyChange::Found => "value found at first sight",
    };
    text.to_owned()
}
