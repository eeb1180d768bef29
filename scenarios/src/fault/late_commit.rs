//! `late-commit`: a change of the stock becomes visible only when the fault ends, after its client has released the
//! lock.

use super::{Action, Kind, StockFault};

pub(super) const KIND: Kind = Kind {
    does: "holds back the commit of {}",
    ..Kind::new_stock_fault("late-commit", |_| {
        Some(vec![Action::Stock(StockFault::LateCommit)])
    })
};
