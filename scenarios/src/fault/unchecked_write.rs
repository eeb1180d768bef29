//! `unchecked-write`: the section fails, or the loss of its lock is reported. Its failure path releases the lock, and
//! writes when the fault ends, without checking the lock.

use super::{Action, Kind, StockFault};

pub(super) const KIND: Kind = Kind {
    does: "fails the section of {}, which releases and then still writes,",
    ..Kind::new_stock_fault("unchecked-write", |_| {
        Some(vec![Action::Stock(StockFault::UncheckedWrite)])
    })
};
