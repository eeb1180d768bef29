//! `late-write`: a write to the stock arrives when the fault ends. Its client waits for the answer until its usual
//! timeout, and then releases the lock.

use super::{Action, Kind, StockFault};

pub(super) const KIND: Kind = Kind {
    does: "delays the writes of {}",
    ..Kind::new_stock_fault("late-write", |_| {
        Some(vec![Action::Stock(StockFault::LateWrite)])
    })
};
