//! Resource: the stock is never below zero, and what was sold and what is left add up.
//!
//! Judged for each key by itself, from the changes as they happen and from the end's account:
//!
//! - a change that leaves the stock below zero, or is one sale more than there were units, is a
//!   violation at that moment (both at once are one);
//! - at the end, `sold + left` must be what was there at the start, and `sold` no more than that.
//!   An absolute update (`write`) that overwrites another's shows here and nowhere else.
//!
//! A history without an end is judged by its changes alone. The lowest stock that any change
//! left shows how many units are gone at least; more sales than that are a lost update. The last
//! change will not do, because changes that happened at the same time may be recorded in
//! either order. An access that the resource refused (`fenced-off`) changed nothing.

use crate::history::{Event, What};

use super::checker::Checker;
use super::evidence::Evidence;
use super::verdict::{Status, Verdict};
use super::{cause, story};

/// What was wrong with the stock first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oversale {
    /// Which stock.
    pub key: u32,
    /// When it showed.
    pub at_ns: u64,
    /// The attempt that changed it; `None`: the account at the end does not add up.
    pub op: Option<u64>,
    /// Units sold until then.
    pub sold: i64,
    /// Units left then.
    pub left: i64,
}

#[derive(Debug, Clone, Copy)]
struct Stock {
    sold: i64,
    lowest: i64,
    violated: bool,
}

/// The checker.
#[derive(Debug)]
pub struct Resource {
    start: i64,
    keys: Vec<Stock>,
    violations: u64,
    first: Option<Oversale>,
    ended: bool,
    latest_ns: u64,
}

impl Resource {
    /// For so many keys, each with `start` units.
    pub fn new(keys: usize, start: i64) -> Self {
        let stock = Stock {
            sold: 0,
            lowest: start,
            violated: false,
        };
        Resource {
            start,
            keys: vec![stock; keys],
            violations: 0,
            first: None,
            ended: false,
            latest_ns: 0,
        }
    }

    fn changed(&mut self, at_ns: u64, op: u64, key: u32, to: i64) {
        let start = self.start;
        let Some(stock) = self.keys.get_mut(key as usize) else {
            return;
        };
        stock.sold += 1;
        stock.lowest = stock.lowest.min(to);
        if to < 0 || stock.sold > start {
            let sold = stock.sold;
            self.violated(Oversale {
                key,
                at_ns,
                op: Some(op),
                sold,
                left: to,
            });
        }
    }

    /// The account of one key at the end.
    fn account(&mut self, at_ns: u64, key: u32, sold: i64, left: i64) {
        let wrong = left < 0 || sold > self.start || sold.saturating_add(left) != self.start;
        let told = self.keys.get(key as usize).is_none_or(|key| key.violated);
        if wrong && !told {
            self.violated(Oversale {
                key,
                at_ns,
                op: None,
                sold,
                left,
            });
        }
    }

    fn violated(&mut self, oversale: Oversale) {
        self.keys[oversale.key as usize].violated = true;
        self.violations += 1;
        self.first.get_or_insert(oversale);
    }

    fn account_without_end(&mut self) {
        for key in 0..self.keys.len() {
            let Stock { sold, lowest, .. } = self.keys[key];
            if sold.saturating_add(lowest) > self.start {
                self.account(self.latest_ns, key as u32, sold, lowest);
            }
        }
    }
}

impl Checker for Resource {
    fn event(&mut self, event: &Event) {
        self.latest_ns = event.at_ns;
        match &event.what {
            What::StockChanged { op, key, to, .. } => self.changed(event.at_ns, *op, *key, *to),
            What::End {
                stock_left, sold, ..
            } => {
                self.ended = true;
                for (key, (sold, left)) in sold.iter().zip(stock_left).enumerate() {
                    self.account(event.at_ns, key as u32, *sold, *left);
                }
            }
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>, evidence: &Evidence<'_>) -> Verdict {
        if !self.ended {
            self.account_without_end();
        }
        let Some(first) = self.first else {
            return Verdict::held();
        };
        Verdict {
            status: Status::Violated,
            cause: Some(cause::of_oversale(evidence, &first)),
            story: story::of_oversale(evidence, &first),
            violations: self.violations,
            at_ns: Some(first.at_ns),
        }
    }
}
