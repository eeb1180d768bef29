//! The log of a saved run: one list, ordered by time, of the messages between driver and workers, the
//! commands and replies at the proxy, the changes of the servers' keys, and the faults.

mod entry;
mod essential;
mod key_history;
mod message;

use std::collections::HashMap;

use picklock_scenarios::Direction;
use picklock_verdicts::history::{Event, EventKind, History};

use entry::client;
pub use entry::{Entry, EntryKind};

use crate::command_log::{CommandLog, Message};
use crate::progress::Progress;
use crate::units::time_ns;

/// A filter for entries.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only this many entries before and after this time, which is in nanoseconds since the start of the run.
    pub around: Option<(u64, usize)>,
    /// Only entries about this key.
    pub key: Option<String>,
    /// Only entries about this client.
    pub worker: Option<usize>,
    /// Without most of the requests of clients that only wait, and with shortened tokens.
    pub is_essential: bool,
}

/// Returns the selected entries of a run, ordered by time. Faults concern all workers and keys, so they are
/// always included.
pub fn entries(history: &History, proxy: Option<&CommandLog>, selection: &Selection) -> Vec<Entry> {
    let (events, messages) = near(history, proxy, selection);
    let mut all = event_entries(events, history);
    let locks = locks_of_attempts(history);
    all.extend(messages.iter().map(|message| proxy_entry(message, history)));
    for entry in all.iter_mut().filter(|entry| entry.key.is_none()) {
        let lock = entry.op.and_then(|op| locks.get(&op));
        let key = lock.and_then(|lock| history.header.keys.get(*lock as usize));
        entry.key = key.cloned();
    }
    all.sort_by_key(|entry| entry.at_ns);
    all.retain(|entry| {
        let is_about_worker = selection.worker.is_none() || entry.worker == selection.worker;
        let is_about_key = (selection.key.as_ref())
            .is_none_or(|key| entry.key.as_ref() == Some(key) || entry.text.contains(key.as_str()));
        entry.kind == EntryKind::Fault || is_about_worker && is_about_key
    });
    if selection.is_essential {
        all = essential::shorten(all, history);
    }
    if let Some((at_ns, count)) = selection.around {
        let here = all.partition_point(|entry| entry.at_ns < at_ns);
        all.truncate(here.saturating_add(count));
        all.drain(..here.saturating_sub(count));
    }
    all
}

fn locks_of_attempts(history: &History) -> HashMap<u64, u32> {
    let events = history.events.iter();
    let requests = events.filter_map(|event| match event.what {
        EventKind::Acquire { op, key, .. } => Some((op, key)),
        _ => None,
    });
    requests.collect()
}

/// Returns the events and messages that can be among the selected entries, because a history may have a million events,
/// of which a page shows only a few.
fn near<'a>(
    history: &'a History,
    proxy: Option<&'a CommandLog>,
    selection: &Selection,
) -> (&'a [Event], &'a [Message]) {
    let messages = proxy.map_or(&[][..], |proxy| &proxy.messages);
    let (Some((at_ns, count)), None, None, false) = (
        selection.around,
        &selection.key,
        selection.worker,
        selection.is_essential,
    ) else {
        return (&history.events, messages);
    };
    // Some events have no entry, so take more of them.
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

fn event_entries(events: &[Event], history: &History) -> Vec<Entry> {
    let mut progress = Progress::default();
    // The end of a fault is described by the words of its start, which must therefore be read first.
    let is_first = |event: &Event| (events.first()).is_some_and(|it| std::ptr::eq(it, event));
    let before = history.events.iter().take_while(|it| !is_first(it));
    for event in before.filter(|event| matches!(event.what, EventKind::FaultBegan { .. })) {
        progress.text(&event.what);
    }
    let entries = events.iter().filter_map(|event| {
        key_history::entry(event, history)
            .or_else(|| message::entry(event, history))
            .or_else(|| other_entry(event, &mut progress))
    });
    entries.collect()
}

/// Returns the entry for an event that is neither a message nor a change of a key.
fn other_entry(event: &Event, progress: &mut Progress) -> Option<Entry> {
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

/// Formats a reply as redis-cli does: `OK`, `(nil)`, `1`.
fn describe_reply(preview: &str) -> String {
    let text = preview.replace("\\r\\n", " ");
    let kind = text.chars().next();
    match (kind, text.as_str()) {
        (_, "$-1" | "*-1" | "_") => "(nil)".to_owned(),
        (Some('+' | ':'), _) => text[1..].to_owned(),
        // `$5 value`: the length is not interesting.
        (Some('$'), _) => {
            (text.split_once(' ')).map_or(text.clone(), |(_, value)| value.to_owned())
        }
        _ => text,
    }
}

/// Returns the entry for a command or a reply. The log has only its first bytes, the preview.
fn proxy_entry(message: &Message, history: &History) -> Entry {
    let (worker, node) = (message.worker, message.node);
    let client = client(worker, history);
    let (kind, route) = match message.direction {
        Direction::Request => (EntryKind::Command, format!("{client} → n{node}")),
        Direction::Reply => (EntryKind::Reply, format!("n{node} → {client}")),
    };
    let mut text = match message.direction {
        Direction::Request => message.preview.clone(),
        Direction::Reply => describe_reply(&message.preview),
    };
    match (message.outcome.as_str(), message.sent_ns) {
        ("forwarded", _) => {}
        (outcome, Some(sent_ns)) => {
            text.push_str(&format!(" ({outcome}, forwarded at {})", time_ns(sent_ns)));
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
