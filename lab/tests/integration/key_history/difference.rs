//! The differences between two key histories of one run.

use picklock_harness::history::{Event, EventKind};

use super::monitor_key_history::ReplayedRun;

/// Returns the key changes that the nodes recorded themselves.
pub fn own(run: &ReplayedRun) -> Vec<Event> {
    let events = run.history.events.iter();
    events
        .filter(|event| matches!(event.what, EventKind::KeyChanged { .. }))
        .cloned()
        .collect()
}

fn changes_of_node(events: &[Event], number: usize) -> Vec<&Event> {
    let is_of_node =
        |event: &&Event| matches!(event.what, EventKind::KeyChanged { node, .. } if node == number);
    events.iter().filter(is_of_node).collect()
}

/// Returns the first difference between the two key histories, or `None` if they are equal. Both must contain the
/// same changes in the same order, with node, key, value, expiry and origin, and also with the same times if each
/// report was read at once.
pub fn difference(run: &ReplayedRun, at_once: bool) -> Option<String> {
    let replayed = match &run.replayed {
        Ok(replayed) => replayed,
        Err(line) => return Some(format!("invalid line in a report: {line}")),
    };
    let own = own(run);
    let nodes = run.history.header.nodes;
    (0..nodes).find_map(|node| {
        let (own, replayed) = (changes_of_node(&own, node), changes_of_node(replayed, node));
        let same = |(one, other): (&&Event, &&Event)| {
            one.what == other.what && (!at_once || one.at_ns == other.at_ns)
        };
        let alike = own
            .iter()
            .zip(&replayed)
            .take_while(|pair| same(*pair))
            .count();
        if alike == own.len().max(replayed.len()) {
            return None;
        }
        let from = alike.saturating_sub(3);
        let shown = |events: &[&Event]| {
            let part = events.iter().skip(from).take(8);
            let lines: Vec<String> = part.map(|event| format!("{event:?}")).collect();
            lines.join("\n      ")
        };
        Some(format!(
            "node {node}, change {alike} of {} and {}:\n  own      {}\n  replayed {}",
            own.len(),
            replayed.len(),
            shown(&own),
            shown(&replayed)
        ))
    })
}
