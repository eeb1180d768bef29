//! Everything that a run has kept, as one list in the order of time: what driver and workers said to each other, the
//! commands and replies on the wire, what became of the servers' keys, and the faults.

mod entry;
mod key_history;
mod message;

use std::collections::HashMap;

use picklock_scenarios::Direction;
use picklock_verdicts::history::{Event, EventKind, History};

use entry::client;
pub use entry::{Entry, EntryKind};

use crate::command_log::{CommandLog, Message};
use crate::progress::Progress;
use crate::units::trigger_ns;

/// Which entries are asked for.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only so many before and after this time, nanoseconds since the run began.
    pub around: Option<(u64, usize)>,
    /// Only those about this key.
    pub key: Option<String>,
    /// Only those about this worker.
    pub worker: Option<usize>,
}

/// The entries of a run that are asked for, in the order of time. Faults concern everybody, so they always stay.
pub fn entries(history: &History, proxy: Option<&CommandLog>, wanted: &Selection) -> Vec<Entry> {
    let (events, messages) = near(history, proxy, wanted);
    let mut all = of_events(events, history);
    let locks = locks_of_attempts(history);
    all.extend(messages.iter().map(|message| of_wire(message, history)));
    for entry in all.iter_mut().filter(|entry| entry.key.is_none()) {
        let lock = entry.op.and_then(|op| locks.get(&op));
        let key = lock.and_then(|lock| history.header.keys.get(*lock as usize));
        entry.key = key.cloned();
    }
    all.sort_by_key(|entry| entry.at_ns);
    all.retain(|entry| {
        let of_worker = wanted.worker.is_none() || entry.worker == wanted.worker;
        let of_key = (wanted.key.as_ref())
            .is_none_or(|key| entry.key.as_ref() == Some(key) || entry.text.contains(key.as_str()));
        entry.kind == EntryKind::Fault || of_worker && of_key
    });
    if let Some((at_ns, count)) = wanted.around {
        let here = all.partition_point(|entry| entry.at_ns < at_ns);
        all.truncate(here.saturating_add(count));
        all.drain(..here.saturating_sub(count));
    }
    all
}

/// The lock that each attempt was for.
fn locks_of_attempts(history: &History) -> HashMap<u64, u32> {
    let events = history.events.iter();
    let asked = events.filter_map(|event| match event.what {
        EventKind::Acquire { op, key, .. } => Some((op, key)),
        _ => None,
    });
    asked.collect()
}

/// What may be among the entries that are asked for: of a history with a million events a page shows a few.
fn near<'a>(
    history: &'a History,
    proxy: Option<&'a CommandLog>,
    wanted: &Selection,
) -> (&'a [Event], &'a [Message]) {
    let messages = proxy.map_or(&[][..], |proxy| &proxy.messages);
    let (Some((at_ns, count)), None, None) = (wanted.around, &wanted.key, wanted.worker) else {
        return (&history.events, messages);
    };
    // Some events are no entry.
    let span = |here: usize, len: usize| {
        let room = count.saturating_mul(8);
        here.saturating_sub(room)..len.min(here.saturating_add(room))
    };
    let event = (history.events).partition_point(|event| event.at_ns < at_ns);
    let message = messages.partition_point(|message| message.at_ns < at_ns);
    (
        &history.events[span(event, history.events.len())],
        &messages[span(message, messages.len())],
    )
}

fn of_events(events: &[Event], history: &History) -> Vec<Entry> {
    let mut progress = Progress::default();
    // The end of a fault is told with its words, which its beginning has.
    let is_first = |event: &Event| (events.first()).is_some_and(|it| std::ptr::eq(it, event));
    let before = history.events.iter().take_while(|it| !is_first(it));
    for event in before.filter(|event| matches!(event.what, EventKind::FaultBegan { .. })) {
        progress.text(&event.what);
    }
    let told = events.iter().filter_map(|event| {
        key_history::entry(event, history)
            .or_else(|| message::entry(event, history))
            .or_else(|| of_event(event, &mut progress))
    });
    told.collect()
}

/// What is neither a message nor a change of a key.
fn of_event(event: &Event, progress: &mut Progress) -> Option<Entry> {
    let mut text = progress.text(&event.what)?;
    if let EventKind::FaultBegan { detail, .. } = &event.what {
        text = format!("{detail} began");
    }
    let (kind, route) = match event.what {
        EventKind::FaultBegan { .. }
        | EventKind::FaultEnded { .. }
        | EventKind::FaultFired { .. }
        | EventKind::FaultOverran { .. }
        | EventKind::FaultMissed { .. } => (EntryKind::Fault, "fault"),
        _ => (EntryKind::Harness, "harness"),
    };
    Some(Entry {
        worker: event.what.worker(),
        ..Entry::new(event.at_ns, kind, route, text)
    })
}

/// A reply as redis-cli shows it: `OK`, `(nil)`, `1`.
fn reply_in_words(preview: &str) -> String {
    let text = preview.replace("\\r\\n", " ");
    let kind = text.chars().next();
    match (kind, text.as_str()) {
        (_, "$-1" | "*-1" | "_") => "(nil)".to_owned(),
        (Some('+' | ':'), _) => text[1..].to_owned(),
        // `$5 value`: the length says nothing.
        (Some('$'), _) => {
            (text.split_once(' ')).map_or(text.clone(), |(_, value)| value.to_owned())
        }
        _ => text,
    }
}

/// A command or a reply. `preview` is what the proxy has kept of it.
fn of_wire(message: &Message, history: &History) -> Entry {
    let (worker, node) = (message.worker, message.node);
    let client = client(worker, history);
    let (kind, route) = match message.direction {
        Direction::Request => (EntryKind::Command, format!("{client} → n{node}")),
        Direction::Reply => (EntryKind::Reply, format!("n{node} → {client}")),
    };
    let mut text = match message.direction {
        Direction::Request => message.preview.clone(),
        Direction::Reply => reply_in_words(&message.preview),
    };
    match (message.outcome.as_str(), message.sent_ns) {
        ("forwarded", _) => {}
        (outcome, Some(sent_ns)) => {
            text.push_str(&format!(" ({outcome}, went on at {})", trigger_ns(sent_ns)));
        }
        (outcome, None) => text.push_str(&format!(" ({outcome})")),
    }
    Entry {
        worker: Some(worker),
        node: Some(node),
        op: Some(message.op),
        ..Entry::new(message.at_ns, kind, route, text)
    }
}

#[cfg(test)]
mod tests;
