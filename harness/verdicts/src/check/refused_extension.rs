//! Extensions that a lock refused, although the lock was still its client's.
//!
//! "You have it no longer" was said, and the client's own value had stood all the time, on as many nodes as matter,
//! with time left. What a fault, a harness or a server that stood still may have kept from the lock is not counted.

use crate::custody::ValueSpan;
use crate::history::{EventKind, History};
use crate::timeline::{Hold, Timeline};

use super::promised_renewal::is_disturbed;

/// When this holder's extension was refused without need. `None`: none was.
pub(super) fn refused_ns(
    timeline: &Timeline<'_>,
    spans: &[ValueSpan],
    hold: &Hold,
    quorum: usize,
) -> Option<u64> {
    refusals(timeline.history(), hold.op).find_map(|(asked_ns, refused_ns)| {
        // What is over so soon was about to end.
        let until_ns = refused_ns.saturating_add(hold.ttl_ns / 10);
        let stood = |span: &&ValueSpan| {
            span.is_of(hold.worker, hold.op)
                && span.may_be_a_claim()
                && span.from_ns <= asked_ns
                && span.stands_at(refused_ns)
                && span.due_ns(refused_ns) > until_ns
        };
        let mut nodes: Vec<usize> = spans.iter().filter(stood).map(|span| span.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let enough = nodes.len() >= quorum;
        (enough && !is_disturbed(timeline, hold, refused_ns)).then_some(refused_ns)
    })
}

/// When each extension of this attempt was asked for that was refused, and when that was said.
fn refusals(history: &History, op: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut asked_ns = None;
    history.events.iter().filter_map(move |event| {
        if event.what.attempt()?.1 != op {
            return None;
        }
        match event.what {
            EventKind::Extend { .. } => {
                asked_ns = Some(event.at_ns);
                None
            }
            EventKind::ExtendRefused { .. } => Some((asked_ns.take()?, event.at_ns)),
            _ => None,
        }
    })
}
