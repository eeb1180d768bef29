//! Where two accounts of one run differ.

use picklock_harness::history::{Event, EventKind};

use super::monitor_key_history::ToldRun;

/// The changes of the keys by what the nodes know themselves.
pub fn own(run: &ToldRun) -> Vec<Event> {
    let changes = run.history.events.iter();
    let changes = changes.filter(|event| matches!(event.what, EventKind::KeyChanged { .. }));
    changes.cloned().collect()
}

fn of_node(events: &[Event], of: usize) -> Vec<&Event> {
    let of_it =
        |event: &&Event| matches!(event.what, EventKind::KeyChanged { node, .. } if node == of);
    events.iter().filter(of_it).collect()
}

/// The first change of a node in which the two accounts differ: both must have the same changes in the same
/// order, with node, key, value, expiry, and who or what it was; at the same times too if each report
/// was read at once. `None`: they are the same.
pub fn difference(run: &ToldRun, at_once: bool) -> Option<String> {
    let told = match &run.told {
        Ok(told) => told,
        Err(line) => return Some(format!("a line that is none: {line}")),
    };
    let own = own(run);
    let nodes = run.history.header.nodes;
    (0..nodes).find_map(|node| {
        let (own, told) = (of_node(&own, node), of_node(told, node));
        let same = |(one, other): (&&Event, &&Event)| {
            one.what == other.what && (!at_once || one.at_ns == other.at_ns)
        };
        let alike = own.iter().zip(&told).take_while(|pair| same(*pair)).count();
        if alike == own.len().max(told.len()) {
            return None;
        }
        let from = alike.saturating_sub(3);
        let shown = |events: &[&Event]| {
            let part = events.iter().skip(from).take(8);
            let lines: Vec<String> = part.map(|event| format!("{event:?}")).collect();
            lines.join("\n      ")
        };
        Some(format!(
            "node {node}, change {alike} of {} and {}:\n  own  {}\n  told {}",
            own.len(),
            told.len(),
            shown(&own),
            shown(&told)
        ))
    })
}
