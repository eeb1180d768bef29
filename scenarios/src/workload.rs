//! The behaviour of the buyers in a scenario.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::lease_duration::LeaseDuration;
use crate::lock_kind::LockKind;
use crate::property::Property;
use crate::rate::Rate;
use crate::schedule::Schedule;
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
    /// The buyer takes the lock and reads the stock.
    #[default]
    Seen,
    /// A shared flag is set as soon as one buyer has read that the stock is empty, as in many shops. After that no
    /// buyer asks for the lock.
    Announced,
}

/// The place where the stock is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StockPlace {
    /// In the driver.
    #[default]
    Driver,
    /// In a key on a separate Redis server that no fault affects. It is read, checked and changed by single commands,
    /// as an application would do it.
    Redis,
}

/// The buyers that start first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartOrder {
    /// All buyers at once: a race.
    #[default]
    Together,
    /// Client 0 alone. The others start as soon as its first attempt has been answered, or a fault with an event as
    /// its trigger has fired. Its first command is therefore the one that takes the lock, on every machine.
    OneFirst,
}

/// The seeds from which workers draw their tokens and delays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seeds {
    /// Each start of each worker has its own seed.
    #[default]
    Different,
    /// All workers have the same seed, as clients that were forked, or restored from one snapshot, after their
    /// generator was seeded. A lock that draws its tokens from another source is not affected.
    Same,
}

/// The order in which a buyer takes several locks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockOrder {
    /// Ascending order of the locks' numbers, in which clients cannot deadlock.
    #[default]
    Fixed,
    /// A random order each time, in which two clients can wait for each other.
    Random,
}

/// The behaviour of the clients. In the `flash-sale` workload they are buyers, which take the lock, read the stock,
/// work for `section`, change the stock and release the lock, until everything is sold.
///
/// In a closed loop, the default, each worker starts its next purchase when the last one is done. In an open loop
/// (`arrivals`, `duration`) buyers arrive at a fixed rate, whether or not the lock keeps up with them, and the
/// workers serve them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workload {
    /// The workload.
    pub kind: WorkloadKind,
    /// Number of permits that the lock may grant at the same time, one for each holder. Only for `permits`.
    #[serde(skip_serializing_if = "is_one")]
    pub capacity: u32,
    /// Number of permits that each acquisition takes, for client 0, client 1 and so on. The last number also counts for
    /// all further clients. If omitted, each acquisition takes one permit. Only for `permits`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permits: Vec<u32>,
    /// Number of clients, counting from client 0, that write. The others read. Only for `read-write`.
    #[serde(skip_serializing_if = "is_one_client")]
    pub writers: usize,
    /// Lease that the last client requests in place of `ttl`. It works for a third of that lease. If omitted, all
    /// leases are equally long. Only for `permits`, and for `read-write`, where the last client is a reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_lease: Option<LeaseDuration>,
    /// Pause of a reader between two sections. If omitted, it is `think`. Only for `read-write`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reader_think: Option<LeaseDuration>,
    /// Time from one act of a leader to the next. Only for `leader`, where `section` is the length of a term.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act_every: Option<LeaseDuration>,
    /// Number of competing buyers, each of which is a client.
    pub workers: usize,
    /// Number of processes in which the workers live; worker *i* lives in process *i* modulo this number. If omitted,
    /// each worker has its own process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<usize>,
    /// Number of locks, each with its own stock.
    pub keys: usize,
    /// Names of the locks, one for each key. If omitted, each name contains the number of the lock.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Number of locks that a buyer holds at the same time: 1 or 2. With 2 it takes the lock of its stock and that of
    /// another, and releases both after its section.
    #[serde(skip_serializing_if = "is_one")]
    pub locks_each: u32,
    /// The order in which a buyer takes several locks.
    #[serde(skip_serializing_if = "is_default")]
    pub lock_order: LockOrder,
    /// Units in stock at the start, per key.
    pub stock: i64,
    /// Maximum number of units that one buyer buys. If omitted, there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purchases: Option<u32>,
    /// Arrival rate of buyers, which make one purchase each. If omitted, the workload is a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Rate>,
    /// Duration of the arrivals. Requires `arrivals`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<LeaseDuration>,
    /// How a sale changes the stock.
    pub update: Update,
    /// The place where the stock is stored.
    pub stock_in: StockPlace,
    /// How a buyer learns that everything is sold.
    pub sold_out: SoldOut,
    /// The buyers that start first.
    pub start: StartOrder,
    /// The seeds of the workers.
    #[serde(skip_serializing_if = "is_default")]
    pub seeds: Seeds,
    /// Lease time requested at every acquisition. Must be absolute.
    pub ttl: LeaseDuration,
    /// Duration of the work inside the critical section.
    pub section: LeaseDuration,
    /// Interval at which a working holder asks the lock to extend its lease. If omitted, it never does. A holder whose
    /// extension is refused or fails stops at once, and buys nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extend: Option<LeaseDuration>,
    /// Maximum time that the lock may spend on a buyer's request before it must refuse; the buyer then asks again.
    pub wait: LeaseDuration,
    /// Mean time after which a buyer cancels an unanswered request (the actual time is half to one and a half of it),
    /// and asks again. If omitted, buyers never cancel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<LeaseDuration>,
    /// Whether a refused buyer still releases, as a `finally` block around its request does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub release_refused: bool,
    /// Number of critical sections per buyer that fail, counting from its first. Such a section sells nothing, and ends
    /// as if an exception had been thrown in it.
    #[serde(skip_serializing_if = "is_default")]
    pub failing_sections: u32,
    /// Lease of a second acquisition by the holder in the middle of its section, which it releases after a third of the
    /// section. If omitted, the holder does not acquire again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reenter: Option<LeaseDuration>,
    /// Number of buyers, counting from buyer 0, that end in their first section without a release, like a thread with
    /// an uncaught exception, while their process stays alive.
    #[serde(skip_serializing_if = "is_default")]
    pub ending_clients: u32,
    /// Mean time after which a refused or failed buyer asks again (the actual time is half to one and a half of it).
    /// Zero means after 5 to 20 ms; in an open loop it means that the buyer leaves.
    pub again: LeaseDuration,
    /// Pause between two purchases of one buyer.
    pub think: LeaseDuration,
    /// Time after which a client's unanswered command fails. It should be less than the time that `progress` allows
    /// after a fault, which is a lease and `judge.progress_within`. Otherwise the lock is blamed for a client that
    /// waits for a lost answer.
    pub command_timeout: LeaseDuration,
    /// Time after which the run ends, whether or not everything is sold.
    pub limit: LeaseDuration,
    /// The ticks of the job. Only for `ticks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
}

/// The workloads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadKind {
    /// Buyers compete for a limited stock.
    #[default]
    FlashSale,
    /// Clients take permits of a semaphore. A client with a permit takes one job from the stock as soon as it has read
    /// it, and works for `section`. The resource admits every client, and counts how many are at work.
    Permits,
    /// Readers read both halves of a value, one after the other. Writers change one half after the other.
    ReadWrite,
    /// All clients get the ticks of a schedule. The one that gets the lock runs the job of the tick, for `section`.
    Ticks,
    /// Clients compete to lead. The leader acts every `act_every`: it asks its lock whether it may act, reads the stock
    /// with its epoch, and overwrites it half an interval later. After a term of `section` it resigns.
    Leader,
}

impl WorkloadKind {
    /// Returns the kind of lock that the workload is for.
    pub fn lock_kind(self) -> LockKind {
        match self {
            WorkloadKind::FlashSale | WorkloadKind::Ticks => LockKind::Mutex,
            WorkloadKind::Permits => LockKind::Semaphore,
            WorkloadKind::ReadWrite => LockKind::Rwlock,
            WorkloadKind::Leader => LockKind::Leader,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_one(number: &u32) -> bool {
    *number == 1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_one_client(number: &usize) -> bool {
    *number == 1
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            kind: WorkloadKind::FlashSale,
            capacity: 1,
            permits: Vec::new(),
            writers: 1,
            short_lease: None,
            reader_think: None,
            act_every: None,
            workers: 3,
            processes: None,
            keys: 1,
            names: Vec::new(),
            locks_each: 1,
            lock_order: LockOrder::Fixed,
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
            schedule: None,
        }
    }
}

impl Workload {
    /// Returns `true` if the clients take permits of a semaphore.
    pub fn needs_permits(&self) -> bool {
        self.kind == WorkloadKind::Permits
    }

    /// Returns the sum of the weights that the lock may grant at the same time.
    pub fn lock_capacity(&self) -> u32 {
        match self.kind {
            WorkloadKind::ReadWrite => u32::try_from(self.workers).unwrap_or(u32::MAX),
            WorkloadKind::FlashSale
            | WorkloadKind::Permits
            | WorkloadKind::Ticks
            | WorkloadKind::Leader => self.capacity,
        }
    }

    /// Returns `true` if the property is judged in this workload.
    pub fn judges(&self, property: Property) -> bool {
        property.is_judged(self.kind == WorkloadKind::Ticks)
    }

    /// Returns the part of the lock's capacity that a grant to this client takes.
    pub fn weight_of(&self, worker: usize) -> u32 {
        match self.kind {
            WorkloadKind::ReadWrite if !self.reads(worker) => self.lock_capacity(),
            WorkloadKind::Permits => self.permits_of(worker),
            WorkloadKind::ReadWrite
            | WorkloadKind::FlashSale
            | WorkloadKind::Ticks
            | WorkloadKind::Leader => 1,
        }
    }

    /// Returns the number of permits that each acquisition of this client takes.
    pub fn permits_of(&self, worker: usize) -> u32 {
        let own = self.permits.get(worker).or(self.permits.last());
        own.copied().unwrap_or(1)
    }

    /// Returns `true` if a client takes several permits in one acquisition.
    pub fn takes_several_permits(&self) -> bool {
        self.permits.iter().any(|permits| *permits > 1)
    }

    /// Returns `true` if the client is a reader.
    pub fn reads(&self, worker: usize) -> bool {
        self.kind == WorkloadKind::ReadWrite && worker >= self.writers
    }

    /// Returns the pause of this client between two sections.
    pub fn think_of(&self, worker: usize) -> LeaseDuration {
        let of_reader = self.reader_think.filter(|_| self.reads(worker));
        of_reader.unwrap_or(self.think)
    }

    /// Returns the lease that this client requests if it differs from `ttl`.
    pub fn short_lease_of(&self, worker: usize) -> Option<LeaseDuration> {
        self.short_lease.filter(|_| worker + 1 == self.workers)
    }

    /// Returns the number of processes in which the workers live.
    pub fn process_count(&self) -> usize {
        self.processes.unwrap_or(self.workers)
    }

    /// Returns the process in which a worker lives.
    pub fn process_of(&self, worker: usize) -> usize {
        match self.processes {
            // The final inspection's client has the number after the last worker.
            Some(processes) if worker < self.workers => worker % processes,
            _ => worker,
        }
    }

    /// Returns the workers that live in one process with this one, including itself, in the order of their numbers.
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
    fn worker_has_peers_only_if_processes_are_shared() {
        assert_eq!(peers(5, None, 3), [3]);
        assert_eq!(peers(5, Some(1), 3), [0, 1, 2, 3, 4]);
        assert_eq!(peers(5, Some(2), 3), [1, 3]);
        assert_eq!(peers(2, Some(7), 1), [1]);
    }
}
