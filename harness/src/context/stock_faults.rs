//! Faults of the resource: writes that arrive late or unchecked, and reads of an outdated stock.

use std::cell::{Cell, RefCell};

use picklock_scenarios::StockFault;
use tokio::sync::Notify;

/// The faults of the workers' accesses to the stock, with the writes that they hold back.
#[derive(Debug, Default)]
pub struct StockFaults {
    imposed: RefCell<Vec<Imposed>>,
    /// Number of writes that have not arrived yet.
    pending_writes: Cell<usize>,
    changed: Notify,
}

/// A fault of one worker's accesses.
#[derive(Debug)]
struct Imposed {
    worker: usize,
    fault: StockFault,
    old: OldStock,
}

/// The stock at the beginning of a fault, as shown by a replica that has been stale since then.
#[derive(Debug, Clone)]
pub struct OldStock {
    /// The time of this reading, in nanoseconds since the run began.
    pub as_of_ns: u64,
    /// Units left, one for each key.
    pub left: Vec<i64>,
}

impl StockFaults {
    /// Begins a fault of a worker, with the current stock.
    pub fn impose(&self, worker: usize, fault: StockFault, old: OldStock) {
        let imposed = Imposed { worker, fault, old };
        self.imposed.borrow_mut().push(imposed);
    }

    /// Ends a fault of a worker. Waits until the writes that the fault held back have arrived, unless another fault
    /// still holds them back.
    pub async fn lift(&self, worker: usize, fault: StockFault) {
        let matches = |imposed: &Imposed| (imposed.worker, imposed.fault) == (worker, fault);
        let at = self.imposed.borrow().iter().position(matches);
        at.map(|at| self.imposed.borrow_mut().remove(at));
        self.changed.notify_waiters();
        while self.pending_writes.get() > 0 && self.imposed.borrow().is_empty() {
            self.changed.notified().await;
        }
    }

    /// Returns the fault of a worker's writes, or `None` if there is none.
    pub fn write_fault(&self, worker: usize) -> Option<StockFault> {
        let imposed = self.imposed.borrow();
        let mut faults = imposed.iter().filter(|fault| fault.worker == worker);
        let affects_writes = |fault: &&Imposed| fault.fault != StockFault::StaleRead;
        faults.find(affects_writes).map(|fault| fault.fault)
    }

    /// Returns the stale stock of a key that a worker reads, and the time of that stock. Returns
    /// `None` if the worker reads the current stock.
    pub fn stale_read(&self, worker: usize, key: u32) -> Option<(i64, u64)> {
        let imposed = self.imposed.borrow();
        let mut faults = imposed.iter().filter(|fault| fault.worker == worker);
        let stale = faults.find(|fault| fault.fault == StockFault::StaleRead)?;
        let left = stale.old.left.get(key as usize)?;
        Some((*left, stale.old.as_of_ns))
    }

    /// Holds a write of a worker back until no fault affects its writes, and then makes it.
    pub async fn keep_back(&self, worker: usize, write: impl Future<Output = ()>) {
        self.pending_writes.set(self.pending_writes.get() + 1);
        while self.write_fault(worker).is_some() {
            self.changed.notified().await;
        }
        write.await;
        self.pending_writes.set(self.pending_writes.get() - 1);
        self.changed.notify_waiters();
    }
}
