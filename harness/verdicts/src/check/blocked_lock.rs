//! Why nobody got a lock that was free, from the custody of its keys.
//!
//! When the wait had lasted for too long, values stood in the lock's keys. The cause is why those
//! stood without which a client could have had as many nodes as it needs. If enough nodes were free
//! then, those count that stood last during the wait. If enough were free all the time, the custody
//! shows no cause: no value kept the clients out.

use std::collections::{HashMap, HashSet};

use crate::custody::{Custody, ValueSpan};
use crate::history::{EventKind, Header, History};

use super::finding::Starvation;
use super::verdict::Cause;

/// At how many ends of values the wait is looked at, the last ones: many small values of no consequence
/// must not make it long.
const MOST_MOMENTS: usize = 200;

/// An attempt to take a lock.
#[derive(Debug, Clone, Copy)]
struct Asked {
    lock: u32,
    /// It ended without a certain answer.
    in_doubt: bool,
}

/// Why nobody got the lock.
pub(super) fn why_blocked(history: &History, custody: &Custody, starvation: &Starvation) -> Cause {
    let asked = asked(history);
    let lock_of = |op| asked.get(&op).map(|attempt: &Asked| attempt.lock);
    let keys = custody.keys_of(starvation.key, lock_of);
    let claims: Vec<&ValueSpan> = (custody.spans.iter())
        .filter(|span| keys.contains(&span.key) && span.may_be_a_claim())
        .collect();
    let quorum = nodes(&history.header, custody, starvation.key);
    let at = |at_ns| {
        let standing = claims.iter().filter(|span| span.stands_at(at_ns));
        let blocks: Vec<(usize, Cause)> = standing
            .map(|span| {
                let renewed = at_ns >= starvation.until_ns || span.is_renewed();
                (span.node, of_value(span, renewed, &asked, starvation.key))
            })
            .collect();
        blocking(&blocks, quorum)
    };
    // What kept them out may have ended just before the bound was reached. A value stands until its end.
    let within = |ns: &u64| (starvation.from_ns..starvation.until_ns).contains(ns);
    let ends = claims.iter().map(|span| span.until_ns.saturating_sub(1));
    let mut ends: Vec<u64> = ends.filter(within).collect();
    ends.sort_unstable_by(|one, other| other.cmp(one));
    std::iter::once(starvation.until_ns)
        .chain(ends.into_iter().take(MOST_MOMENTS))
        .find_map(at)
        .unwrap_or(Cause::Undetermined)
}

/// Why the nodes that are not blocked are no quorum. `None`: they are one.
fn blocking(blocks: &[(usize, Cause)], (nodes, quorum): (usize, usize)) -> Option<Cause> {
    let without = |cause: Option<Cause>| {
        let left = blocks.iter().filter(|(_, why)| Some(*why) != cause);
        let blocked: HashSet<usize> = left.map(|(node, _)| *node).collect();
        nodes.saturating_sub(blocked.len()) >= quorum
    };
    if without(None) {
        return None;
    }
    let mut causes = blocks.iter().map(|(_, why)| *why);
    let why = causes.find(|why| without(Some(*why)));
    Some(why.unwrap_or(Cause::Undetermined))
}

/// Why a value that stands in a key of this lock keeps others out.
fn of_value(span: &ValueSpan, renewed: bool, asked: &HashMap<u64, Asked>, lock: u32) -> Cause {
    if span.expiry.is_none() {
        return Cause::NoTtl;
    }
    let owner = span.author.as_ref().and_then(|by| asked.get(&by.op));
    match owner {
        Some(owner) if owner.lock != lock => Cause::SharedKey,
        // What that attempt left should have expired long ago, so something keeps renewing it.
        Some(owner) if owner.in_doubt && renewed => Cause::AmbiguousAcquire,
        _ => Cause::Undetermined,
    }
}

fn asked(history: &History) -> HashMap<u64, Asked> {
    let mut asked = HashMap::new();
    for event in &history.events {
        match event.what {
            EventKind::Acquire { op, key, .. } => {
                let in_doubt = false;
                asked.insert(
                    op,
                    Asked {
                        lock: key,
                        in_doubt,
                    },
                );
            }
            EventKind::AcquireFailed {
                op,
                definite: false,
                ..
            } => {
                if let Some(attempt) = asked.get_mut(&op) {
                    attempt.in_doubt = true;
                }
            }
            _ => {}
        }
    }
    asked
}

/// How many nodes the lock uses, and how many of them a grant needs.
fn nodes(header: &Header, custody: &Custody, lock: u32) -> (usize, usize) {
    match custody.nodes.only_node(lock) {
        Some(_) => (1, 1),
        None => (header.nodes, header.quorum.unwrap_or(header.nodes / 2 + 1)),
    }
}
