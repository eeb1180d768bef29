//! Resource: the stock is never below zero, and the units sold and left add up.
//!
//! The resource of a semaphore admits every client. A client is inside from the time at which it takes a job from the
//! stock until its hold ends. More clients inside than there are permits are a violation.
//!
//! The resource of a read/write lock is a value of two halves. It is a violation if a reader reads one half before a
//! change and the other half after it ([`crate::check::torn_reads`]), or if a writer overwrites another writer's
//! change.
//!
//! Each stock is judged separately, from the accesses as they happen and from the final count:
//!
//! - A change that leaves the stock below zero, or sells more units than there were, is a violation at that time (one
//!   violation if it does both). So is an access that finds the stock below zero and lower than any access before.
//! - At the end, `sold + left` must equal the initial stock, and `sold` must not exceed it. Only this check finds an
//!   absolute update (`write`) that overwrites another update.
//!
//! A history without a final count of every stock does not decide the property, unless it shows a violation. The lowest
//! observed stock shows how many units are gone at least; more sales than that mean a lost update. The last change is
//! not enough, because simultaneous changes may be recorded in either order. An access that the resource refused
//! (`fenced-off`) changed nothing.

use picklock_scenarios::LockKind;

use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::{Judgement, Observation, WrongStock};
use crate::check::inconclusive::InconclusiveReason;
use crate::check::torn_reads::TornReads;
use crate::history::{Event, EventKind, Header};
use crate::timeline::{Attempt, Step, Timeline};

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
    stocks: Vec<Stock>,
    found: Vec<(u64, Observation)>,
    latest_ns: u64,
    kind: LockKind,
    /// The number of permits, and 1 for a lock with one holder.
    capacity: u32,
    /// The latest attempt of each client of a semaphore, with the number of permits that it takes.
    weights: Vec<(u64, u32)>,
    /// The clients of a semaphore that are inside.
    inside: Vec<Inside>,
    torn_reads: TornReads,
    /// Whether the clients run jobs instead of changing a stock.
    runs_jobs: bool,
}

/// A client inside the resource of a semaphore.
#[derive(Debug, Clone, Copy)]
struct Inside {
    op: u64,
    lock: u32,
    /// The number of its permits.
    weight: u32,
}

impl Resource {
    /// Records the stock that an access found. A stock below zero is one violation, not one per access.
    fn record_stock(&mut self, at_ns: u64, op: u64, lock: u32, left: i64) {
        let Some(stock) = self.stocks.get_mut(lock as usize) else {
            return;
        };
        let is_new_low = left < stock.lowest;
        stock.lowest = stock.lowest.min(left);
        if left < 0 && is_new_low {
            let sold = stock.sold;
            self.violated(at_ns, lock, Some(op), (sold, left));
        }
    }

    fn changed(&mut self, at_ns: u64, op: u64, lock: u32, from: i64, to: i64) {
        self.record_stock(at_ns, op, lock, from);
        let start = self.start;
        let Some(stock) = self.stocks.get_mut(lock as usize) else {
            return;
        };
        stock.sold += 1;
        stock.lowest = stock.lowest.min(to);
        if to < 0 || stock.sold > start {
            let sold = stock.sold;
            self.violated(at_ns, lock, Some(op), (sold, to));
        }
    }

    /// Lets a client in, which uses as many slots of the resource as it has permits.
    fn enter(&mut self, at_ns: u64, op: u64, lock: u32) {
        let known = self.weights.iter().find(|(known, _)| *known == op);
        let weight = known.map_or(1, |(_, weight)| *weight);
        let others = || self.inside.iter().filter(|other| other.lock == lock);
        let used: u64 = others().map(|other| u64::from(other.weight)).sum();
        if used + u64::from(weight) > u64::from(self.capacity) {
            let holders = others().map(|other| other.op).collect();
            let later = op;
            self.found
                .push((at_ns, Observation::Overlap { holders, later }));
        }
        self.inside.push(Inside { op, lock, weight });
    }

    /// Withdraws the findings that another client is inside together with this client, which leaves at the same time:
    /// the two only touch. Findings that do not need this client stay.
    fn withdraw_touch(&mut self, at_ns: u64, leaving: &Attempt) {
        let others = self.inside.iter().filter(|it| it.lock == leaving.lock);
        let used: u64 = others.map(|other| u64::from(other.weight)).sum();
        let is_recent = self.found.last().is_some_and(|(ns, _)| *ns == at_ns);
        if is_recent && used <= u64::from(self.capacity) && self.kind == LockKind::Semaphore {
            self.found.retain(|(found_ns, seen)| {
                let rests_on_it =
                    matches!(seen, Observation::Overlap { holders, .. } if holders.contains(&leaving.op));
                *found_ns != at_ns || !rests_on_it
            });
        }
    }

    /// Records how many permits an attempt takes.
    fn record_weight(&mut self, attempt: &Attempt) {
        if self.weights.len() <= attempt.worker {
            self.weights.resize(attempt.worker + 1, (0, 1));
        }
        self.weights[attempt.worker] = (attempt.op, attempt.weight);
    }

    /// Judges the final count of the stock of one lock.
    fn judge_count(&mut self, at_ns: u64, lock: u32, sold: i64, left: i64) {
        let is_wrong = left < 0 || sold > self.start || sold.saturating_add(left) != self.start;
        let is_known = self.stocks.get_mut(lock as usize).is_none_or(|stock| {
            stock.counted = true;
            stock.violated
        });
        if is_wrong && !is_known {
            self.violated(at_ns, lock, None, (sold, left));
        }
    }

    fn violated(&mut self, at_ns: u64, lock: u32, op: Option<u64>, (sold, left): (i64, i64)) {
        self.stocks[lock as usize].violated = true;
        let stock = WrongStock {
            lock,
            op,
            sold,
            left,
        };
        self.found.push((at_ns, Observation::WrongStock(stock)));
    }

    /// Judges the stocks without a final count by their lowest value. Returns how many such stocks there are.
    fn judge_uncounted(&mut self) -> usize {
        let mut undecided = 0;
        for lock in 0..self.stocks.len() {
            let stock = self.stocks[lock];
            if stock.counted {
                continue;
            }
            undecided += 1;
            if stock.sold.saturating_add(stock.lowest) > self.start {
                self.judge_count(self.latest_ns, lock as u32, stock.sold, stock.lowest);
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
            stocks: vec![stock; header.keys.len()],
            found: Vec::new(),
            latest_ns: 0,
            kind: header.kind,
            capacity: header.capacity,
            weights: Vec::new(),
            inside: Vec::new(),
            torn_reads: TornReads::default(),
            runs_jobs: header.schedule.is_some(),
        }
    }

    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        // The resource of a lock with one holder is judged by the accesses alone.
        if self.capacity == 1 && self.kind != LockKind::Semaphore {
            return;
        }
        let is_over = matches!(step, Step::Ended(_) | Step::Gone);
        if self.capacity > 1 {
            if step == Step::Begun {
                self.torn_reads.begun(attempt.op, attempt.lock);
            } else if is_over {
                self.torn_reads.ended(attempt.op);
            }
        }
        if self.kind == LockKind::Semaphore {
            if step == Step::Begun {
                self.record_weight(attempt);
            } else if is_over {
                self.inside.retain(|inside| inside.op != attempt.op);
                self.withdraw_touch(at_ns, attempt);
            }
        }
    }

    fn accessed(&mut self, event: &Event) {
        self.latest_ns = event.at_ns;
        if self.capacity > 1
            && let Some(torn) = self.torn_reads.event(event)
        {
            self.found.push((event.at_ns, torn));
        }
        match &event.what {
            EventKind::StockRead { op, key, stock, .. } => {
                self.record_stock(event.at_ns, *op, *key, *stock);
            }
            EventKind::StockChanged {
                op, key, from, to, ..
            } => {
                self.changed(event.at_ns, *op, *key, *from, *to);
                if self.kind == LockKind::Semaphore {
                    self.enter(event.at_ns, *op, *key);
                }
            }
            _ => {}
        }
    }

    fn event(&mut self, event: &Event) {
        self.latest_ns = event.at_ns;
        if let EventKind::End {
            stock_left, sold, ..
        } = &event.what
        {
            for (lock, (sold, left)) in sold.iter().zip(stock_left).enumerate() {
                self.judge_count(event.at_ns, lock as u32, *sold, *left);
            }
        }
    }

    fn finish(mut self, _: &Timeline<'_>) -> Judgement {
        if self.runs_jobs {
            return Judgement::NotApplicable;
        }
        let uncounted = self.judge_uncounted();
        if self.found.is_empty() && uncounted > 0 {
            return Judgement::Unknown(InconclusiveReason::StockUncounted);
        }
        Judgement::from_observations(self.found)
    }
}
