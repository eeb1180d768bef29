use std::cell::{Cell, RefCell};

use picklock_scenarios::StockFault;
use tokio::sync::Notify;

/// What is wrong with the accesses of workers to the stock, and the writes that this keeps back.
#[derive(Debug, Default)]
pub struct StockFaults {
    imposed: RefCell<Vec<Imposed>>,
    /// Writes that have not arrived.
    belated: Cell<usize>,
    changed: Notify,
}

/// A fault of one worker's accesses.
#[derive(Debug)]
struct Imposed {
    worker: usize,
    fault: StockFault,
    old: OldStock,
}

/// The stock as it was when a fault began: what a replica shows that stands still since then.
#[derive(Debug, Clone)]
pub struct OldStock {
    /// When that was, nanoseconds since the run began.
    pub as_of_ns: u64,
    /// Units left, one for each key.
    pub left: Vec<i64>,
}

impl StockFaults {
    /// A fault begins for a worker, with the stock of now.
    pub fn impose(&self, worker: usize, fault: StockFault, old: OldStock) {
        let imposed = Imposed { worker, fault, old };
        self.imposed.borrow_mut().push(imposed);
    }

    /// A fault ends for a worker. Returns when the writes that it kept back have arrived, unless another one keeps
    /// them back.
    pub async fn lift(&self, worker: usize, fault: StockFault) {
        let is_it = |one: &Imposed| (one.worker, one.fault) == (worker, fault);
        let at = self.imposed.borrow().iter().position(is_it);
        at.map(|at| self.imposed.borrow_mut().remove(at));
        self.changed.notify_waiters();
        while self.belated.get() > 0 && self.imposed.borrow().is_empty() {
            self.changed.notified().await;
        }
    }

    /// What is wrong with the writes of a worker; `None`: nothing.
    pub fn of_writes(&self, worker: usize) -> Option<StockFault> {
        let imposed = self.imposed.borrow();
        let mut faults = imposed.iter().filter(|one| one.worker == worker);
        let of_writes = |one: &&Imposed| one.fault != StockFault::StaleRead;
        faults.find(of_writes).map(|one| one.fault)
    }

    /// What a worker reads of a key, and of when that is; `None`: it reads the stock itself.
    pub fn reading(&self, worker: usize, key: u32) -> Option<(i64, u64)> {
        let imposed = self.imposed.borrow();
        let mut faults = imposed.iter().filter(|one| one.worker == worker);
        let stale = faults.find(|one| one.fault == StockFault::StaleRead)?;
        let left = stale.old.left.get(key as usize)?;
        Some((*left, stale.old.as_of_ns))
    }

    /// Keeps a write of a worker back until nothing is wrong with its writes, and then makes it.
    pub async fn keep_back(&self, worker: usize, write: impl Future<Output = ()>) {
        self.belated.set(self.belated.get() + 1);
        while self.of_writes(worker).is_some() {
            self.changed.notified().await;
        }
        write.await;
        self.belated.set(self.belated.get() - 1);
        self.changed.notify_waiters();
    }
}
