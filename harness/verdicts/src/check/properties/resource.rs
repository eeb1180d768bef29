//! Resource: the stock is never below zero, and what was sold and what is left add up.
//!
//! Each key is judged by itself, from the accesses as they happen and from the count at the end:
//!
//! - a change that leaves the stock below zero, or sells more units than there were, is a violation at
//!   that moment (one violation if it does both); so is an access that finds the stock lower than
//!   anyone has seen it, and below zero;
//! - at the end, `sold + left` must equal the stock at the start, and `sold` must not exceed it.
//!   An absolute update (`write`) that overwrites another one shows only here.
//!
//! A history without a count of each key at its end does not decide the property, unless it shows a
//! violation. The lowest stock that was seen shows how many units are gone at least; more sales than
//! that mean a lost update. The last change is not enough, because changes at the same time may be
//! recorded in either order. An access that the resource refused (`fenced-off`) changed nothing.

use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::{Judgement, Seen, WrongStock};
use crate::check::inconclusive::InconclusiveReason;
use crate::history::{Event, EventKind, Header};
use crate::timeline::Timeline;

#[derive(Debug, Clone, Copy, Default)]
struct Stock {
    sold: i64,
    lowest: i64,
    violated: bool,
    counted: bool,
}

/// The checker.
pub(in crate::check) struct Resource {
    start: i64,
    keys: Vec<Stock>,
    found: Vec<(u64, Seen)>,
    latest_ns: u64,
}

impl Resource {
    /// An access showed this stock. A stock below zero is a violation once, not at every access.
    fn seen(&mut self, at_ns: u64, op: u64, key: u32, left: i64) {
        let Some(stock) = self.keys.get_mut(key as usize) else {
            return;
        };
        let news = left < stock.lowest;
        stock.lowest = stock.lowest.min(left);
        if left < 0 && news {
            let sold = stock.sold;
            self.violated(at_ns, key, Some(op), (sold, left));
        }
    }

    fn changed(&mut self, at_ns: u64, op: u64, key: u32, from: i64, to: i64) {
        self.seen(at_ns, op, key, from);
        let start = self.start;
        let Some(stock) = self.keys.get_mut(key as usize) else {
            return;
        };
        stock.sold += 1;
        stock.lowest = stock.lowest.min(to);
        if to < 0 || stock.sold > start {
            let sold = stock.sold;
            self.violated(at_ns, key, Some(op), (sold, to));
        }
    }

    /// The count of one key at the end.
    fn count(&mut self, at_ns: u64, key: u32, sold: i64, left: i64) {
        let wrong = left < 0 || sold > self.start || sold.saturating_add(left) != self.start;
        let known = self.keys.get_mut(key as usize).is_none_or(|key| {
            key.counted = true;
            key.violated
        });
        if wrong && !known {
            self.violated(at_ns, key, None, (sold, left));
        }
    }

    fn violated(&mut self, at_ns: u64, key: u32, op: Option<u64>, (sold, left): (i64, i64)) {
        self.keys[key as usize].violated = true;
        let stock = WrongStock {
            key,
            op,
            sold,
            left,
        };
        self.found.push((at_ns, Seen::WrongStock(stock)));
    }

    /// The keys without a count at the end. Returns how many are left undecided.
    fn count_the_uncounted(&mut self) -> usize {
        let mut undecided = 0;
        for key in 0..self.keys.len() {
            let stock = self.keys[key];
            if stock.counted {
                continue;
            }
            undecided += 1;
            if stock.sold.saturating_add(stock.lowest) > self.start {
                self.count(self.latest_ns, key as u32, stock.sold, stock.lowest);
            }
        }
        undecided
    }
}

impl Checker for Resource {
    const DESCRIPTION: Description = Description {
        letter: 'R',
        severity: 2,
        held: "the stock adds up: nothing was sold twice",
        violated: "the stock does not add up",
        not_applicable: DOES_NOT_APPLY,
        page: include_str!("../../../explain/resource.md"),
    };

    fn new(header: &Header) -> Self {
        let start = header.stock_start;
        let stock = Stock {
            lowest: start,
            ..Stock::default()
        };
        Resource {
            start,
            keys: vec![stock; header.keys.len()],
            found: Vec::new(),
            latest_ns: 0,
        }
    }

    fn event(&mut self, event: &Event) {
        self.latest_ns = event.at_ns;
        match &event.what {
            EventKind::StockRead { op, key, stock, .. } => {
                self.seen(event.at_ns, *op, *key, *stock);
            }
            EventKind::StockChanged {
                op, key, from, to, ..
            } => self.changed(event.at_ns, *op, *key, *from, *to),
            EventKind::End {
                stock_left, sold, ..
            } => {
                for (key, (sold, left)) in sold.iter().zip(stock_left).enumerate() {
                    self.count(event.at_ns, key as u32, *sold, *left);
                }
            }
            _ => {}
        }
    }

    fn finish(mut self, _: &Timeline<'_>) -> Judgement {
        let undecided = self.count_the_uncounted();
        if self.found.is_empty() && undecided > 0 {
            return Judgement::Unknown(InconclusiveReason::StockUncounted);
        }
        Judgement::of(self.found)
    }
}
