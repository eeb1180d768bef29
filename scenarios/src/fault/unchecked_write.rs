//! `unchecked-write`: the section fails, or its client is told that the lock is lost. Its failure path releases, and
//! writes when the fault ends, without a look at the lock.

use super::{Action, Kind, StockFault};

pub(super) const KIND: Kind = Kind {
    does: "fails the section of {}, which releases and writes all the same,",
    ..Kind::of_stock("unchecked-write", |_| {
        Some(vec![Action::Stock(StockFault::UncheckedWrite)])
    })
};
