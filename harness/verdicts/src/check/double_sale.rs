//! How a stock went wrong: the overlapping holds in which one unit was sold twice, or changes that
//! overtook each other outside any overlap.

use std::collections::HashSet;

use crate::history::What;

use super::evidence::Evidence;
use super::finding::WrongStock;
use crate::timeline::Hold;

/// The overlapping holds in which the stock was sold twice, in the order in which they began.
pub(super) fn overlapping_sellers<'a>(
    evidence: &'a Evidence<'_>,
    stock: &WrongStock,
    at_ns: u64,
) -> Option<(&'a Hold, &'a Hold)> {
    let sellers: HashSet<u64> = sellers(evidence, stock.key, at_ns).collect();
    let of_key = || {
        let holds = evidence.holds().iter();
        holds.filter(|hold| hold.key == stock.key && sellers.contains(&hold.op))
    };
    let seller = of_key().find(|hold| Some(hold.op) == stock.op);
    if let Some(seller) = seller
        && let Some(other) = of_key().find(|hold| hold.op != seller.op && hold.overlaps(seller))
    {
        return evidence.pair(other.op, seller.op);
    }
    // The unit was sold twice by an earlier sale, not by the one that showed it.
    let mut longest: Option<&Hold> = None;
    for hold in of_key() {
        if let Some(before) = longest
            && before.overlaps(hold)
        {
            return Some((before, hold));
        }
        if longest.is_none_or(|before| hold.end_ns > before.end_ns) {
            longest = Some(hold);
        }
    }
    None
}

fn sellers(evidence: &Evidence<'_>, of_key: u32, at_ns: u64) -> impl Iterator<Item = u64> {
    let events = evidence.history.events.iter();
    events.filter_map(move |event| match event.what {
        What::StockChanged { op, key, .. } if key == of_key && event.at_ns <= at_ns => Some(op),
        _ => None,
    })
}

/// True if one seller read the stock, and another changed it before the first one did.
pub(super) fn is_interleaved(evidence: &Evidence<'_>, of_key: u32) -> bool {
    let mut readers: HashSet<u64> = HashSet::new();
    let mut overtaken: HashSet<u64> = HashSet::new();
    for event in &evidence.history.events {
        match event.what {
            What::StockRead { op, key, .. } if key == of_key => {
                readers.insert(op);
            }
            What::StockChanged { op, key, .. } if key == of_key => {
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
