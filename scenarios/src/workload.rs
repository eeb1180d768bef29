//! What the buyers of a scenario do.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::lease_duration::LeaseDuration;
use crate::rate::Rate;
use crate::string_enum::is_default;

/// How a buyer changes the stock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// Relative: a double sale takes the stock below zero.
    #[default]
    Decrement,
    /// Absolute (the stock that was read, minus one): a double sale loses an update.
    Write,
}

/// How a buyer learns that everything is sold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SoldOut {
    /// By taking the lock and reading the stock itself.
    #[default]
    Seen,
    /// From a shared flag that is set as soon as one buyer has read it, as many shops do. No buyer
    /// asks for the lock after that.
    Announced,
}

/// Where the stock is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StockPlace {
    /// By the driver.
    #[default]
    Driver,
    /// In a key on a separate Redis server, which no fault strikes. It is read, checked and changed
    /// by single commands, as an application would do it.
    Redis,
}

/// Which buyers start first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartOrder {
    /// All buyers at once: a race.
    #[default]
    Together,
    /// Worker 0 alone. The others start as soon as its first attempt has been answered, or a fault
    /// that waited for an event has struck. So its first command is the one that takes the lock, on
    /// every machine.
    OneFirst,
}

/// Which seeds workers are given for their tokens and delays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seeds {
    /// Each worker, and each start of it, its own.
    #[default]
    Different,
    /// All of them the same, as clients that were forked, or restored from one snapshot, after their
    /// generator was seeded. A lock that takes its tokens from elsewhere does not notice.
    Same,
}

/// What the buyers do. The `flash-sale` workload: until it is sold out, take the lock, read the
/// stock, work for `section`, change the stock, release the lock.
///
/// In a closed loop, the default, each worker starts its next purchase when the last one is done.
/// In an open loop (`arrivals`, `duration`) buyers arrive at a fixed rate, whether or not the lock
/// keeps up with them, and the workers serve them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workload {
    /// Which workload. Only `flash-sale` so far.
    pub kind: WorkloadKind,
    /// Competing buyers, each a client of its own.
    pub workers: usize,
    /// How many processes the workers live in: worker *i* lives in process *i* modulo this number. If omitted: one
    /// process for each worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<usize>,
    /// How many locks, each with a stock of its own.
    pub keys: usize,
    /// Units in stock at the start, for each key.
    pub stock: i64,
    /// How many units one buyer wants. If omitted: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purchases: Option<u32>,
    /// How many buyers arrive in a unit of time, for one purchase each. If omitted: a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Rate>,
    /// How long they arrive. Requires `arrivals`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<LeaseDuration>,
    /// How a sale changes the stock.
    pub update: Update,
    /// Where the stock is kept.
    pub stock_in: StockPlace,
    /// How a buyer learns that everything is sold.
    pub sold_out: SoldOut,
    /// Which buyers start first.
    pub start: StartOrder,
    /// Which seeds workers are given.
    #[serde(skip_serializing_if = "is_default")]
    pub seeds: Seeds,
    /// Lease time requested at every acquisition. Must be absolute.
    pub ttl: LeaseDuration,
    /// How long the work inside the critical section takes.
    pub section: LeaseDuration,
    /// Holders ask the lock to extend their lease whenever they have worked for this long. If
    /// omitted: never. A holder whose extension is refused or fails stops at once, and buys
    /// nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extend: Option<LeaseDuration>,
    /// How long a buyer lets the lock try before it counts as refused and asks again.
    pub wait: LeaseDuration,
    /// A buyer gives up a request after about this time (half to one and a half times), and asks again. If omitted:
    /// never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<LeaseDuration>,
    /// A refused buyer releases all the same, as a `finally` around its request does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub release_refused: bool,
    /// So many sections of each buyer fail, its first ones: it sells nothing, and what fails is thrown out of the
    /// section, as an exception is.
    #[serde(skip_serializing_if = "is_default")]
    pub failing_sections: u32,
    /// In the middle of its section a holder takes the lock once more, for a lease of this length, and gives that back
    /// after a third of the section. If omitted: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reenter: Option<LeaseDuration>,
    /// So many buyers, the first ones, end in their first section, as a thread does that nobody catches an exception of:
    /// without a release, while their process lives.
    #[serde(skip_serializing_if = "is_default")]
    pub ending_clients: u32,
    /// A buyer that was refused, or failed, asks again after half to one and a half times this
    /// time. Zero: after 5 to 20 ms. In an open loop zero means that it leaves instead.
    pub again: LeaseDuration,
    /// Pause between two purchases of one buyer.
    pub think: LeaseDuration,
    /// A client's command without an answer fails after this time. It should be less than what
    /// progress allows after a fault, which is a lease and `judge.progress_within`. Otherwise
    /// the lock is blamed for a client that waits for a lost answer.
    pub command_timeout: LeaseDuration,
    /// The run ends after this time, sold out or not.
    pub limit: LeaseDuration,
}

/// The workloads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadKind {
    /// Buyers compete for a limited stock.
    #[default]
    FlashSale,
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            kind: WorkloadKind::FlashSale,
            workers: 3,
            processes: None,
            keys: 1,
            stock: 3,
            purchases: None,
            arrivals: None,
            duration: None,
            update: Update::Decrement,
            stock_in: StockPlace::Driver,
            sold_out: SoldOut::Seen,
            start: StartOrder::Together,
            seeds: Seeds::Different,
            ttl: LeaseDuration::Absolute(Duration::from_secs(1)),
            section: LeaseDuration::Ttl(0.1),
            extend: None,
            wait: LeaseDuration::Ttl(3.0),
            cancel: None,
            release_refused: false,
            failing_sections: 0,
            reenter: None,
            ending_clients: 0,
            again: LeaseDuration::ZERO,
            think: LeaseDuration::ZERO,
            command_timeout: LeaseDuration::Ttl(3.0),
            limit: LeaseDuration::Ttl(30.0),
        }
    }
}

impl Workload {
    /// The process in which a worker lives.
    pub fn process_of(&self, worker: usize) -> usize {
        match self.processes {
            // The client that takes the locks after the run has the number after the last worker.
            Some(processes) if worker < self.workers => worker % processes,
            _ => worker,
        }
    }

    /// The workers that live in one process with this one, itself included, in the order of their numbers.
    pub fn process_peers(&self, worker: usize) -> impl Iterator<Item = usize> + use<> {
        let workers = self.process_of(worker)..self.workers.max(worker + 1);
        workers.step_by(self.processes.unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(workers: usize, processes: Option<usize>, worker: usize) -> Vec<usize> {
        let workload = Workload {
            workers,
            processes,
            ..Workload::default()
        };
        workload.process_peers(worker).collect()
    }

    #[test]
    fn worker_has_mates_only_where_processes_are_shared() {
        assert_eq!(peers(5, None, 3), [3]);
        assert_eq!(peers(5, Some(1), 3), [0, 1, 2, 3, 4]);
        assert_eq!(peers(5, Some(2), 3), [1, 3]);
        assert_eq!(peers(2, Some(7), 1), [1]);
    }
}
