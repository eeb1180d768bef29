//! A small history for the unit tests of the timeline.

use picklock_verdicts::history::{Event, EventKind, History, read_history};

/// Returns a history with two workers, two nodes and one lock.
pub(super) fn history(events: Vec<(u64, EventKind)>) -> History {
    let header = concat!(
        r#"{"format":"picklock-history/1","scenario":"s","lock":"s","backend":"sim","#,
        r#""seed":1,"workers":2,"nodes":2,"keys":["a"],"ttl_ms":100,"stock_start":3,"#,
        r#""update":"decrement","min_grants":0,"progress_within_ms":3000}"#,
    );
    let mut history = read_history(header.as_bytes()).unwrap();
    let event = |(at_ns, what)| Event { at_ns, what };
    history.events = events.into_iter().map(event).collect();
    history
}
