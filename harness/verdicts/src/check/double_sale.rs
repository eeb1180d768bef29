//! How a stock went wrong: the overlapping holds in which one unit was sold twice, or changes that
//! overtook each other outside any overlap.

use std::collections::{HashMap, HashSet};

use crate::history::EventKind;

use super::evidence::Evidence;
use super::finding::WrongStock;
use crate::timeline::Hold;

/// The overlapping holds in which the stock was sold twice, in the order in which they began: one
/// changed the stock between the other's reading and its change. Below zero, the change that took it
/// there did the damage; else the first such change did. A pair that left each other's sales alone
/// did none, even if the sum shows the damage only there. Holds that would not have overlapped, had the
/// harness been on time, are left out.
pub(super) fn overlapping_sellers<'a>(
    evidence: &'a Evidence<'_>,
    stock: &WrongStock,
    at_ns: u64,
) -> Option<(&'a Hold, &'a Hold)> {
    let overlap = |first: &Hold, second: &Hold| {
        let on_time = evidence.on_time.as_ref();
        first.overlaps(second) && on_time.is_none_or(|on_time| on_time.overlap(first, second))
    };
    sellers(evidence, stock, at_ns, overlap)
}

/// Those that overlap although they would not have, had the harness been on time.
pub(super) fn late_sellers<'a>(
    evidence: &'a Evidence<'_>,
    stock: &WrongStock,
    at_ns: u64,
) -> Option<(&'a Hold, &'a Hold)> {
    sellers(evidence, stock, at_ns, Hold::overlaps)
}

fn sellers<'a>(
    evidence: &'a Evidence<'_>,
    stock: &WrongStock,
    at_ns: u64,
    overlap: impl Fn(&Hold, &Hold) -> bool,
) -> Option<(&'a Hold, &'a Hold)> {
    let seller = stock.op.filter(|_| stock.left < 0);
    let overtaken = overtaken(evidence, stock.key, at_ns);
    let mut damaged = overtaken
        .into_iter()
        .filter(|(_, by)| seller.is_none_or(|seller| seller == *by));
    damaged.find_map(|(other, by)| {
        let (first, second) = evidence.pair(other, by)?;
        overlap(first, second).then_some((first, second))
    })
}

/// The sales that were made on a reading which another sale had overtaken: the other one, and the
/// one on the old reading. In the order of the latter.
fn overtaken(evidence: &Evidence<'_>, of_key: u32, until_ns: u64) -> Vec<(u64, u64)> {
    let mut sales: Vec<u64> = Vec::new();
    // How many sales each reader had seen.
    let mut seen: HashMap<u64, usize> = HashMap::new();
    let mut overtaken = Vec::new();
    let events = evidence.history.events.iter();
    for event in events.take_while(|event| event.at_ns <= until_ns) {
        match event.what {
            EventKind::StockRead { op, key, .. } if key == of_key => {
                seen.insert(op, sales.len());
            }
            EventKind::StockChanged { op, key, .. } if key == of_key => {
                let since = seen.remove(&op).map_or(&[][..], |seen| &sales[seen..]);
                overtaken.extend(since.iter().map(|other| (*other, op)));
                sales.push(op);
            }
            _ => {}
        }
    }
    overtaken
}

/// True if one seller read the stock, and another changed it before the first one did.
pub(super) fn is_interleaved(evidence: &Evidence<'_>, of_key: u32) -> bool {
    let mut readers: HashSet<u64> = HashSet::new();
    let mut overtaken: HashSet<u64> = HashSet::new();
    for event in &evidence.history.events {
        match event.what {
            EventKind::StockRead { op, key, .. } if key == of_key => {
                readers.insert(op);
            }
            EventKind::StockChanged { op, key, .. } if key == of_key => {
                if overtaken.contains(&op) {
                    return true;
                }
                readers.remove(&op);
                overtaken.extend(&readers);
            }
            _ => {}
        }
    }
    false
}
