//! `late-commit`: a change of the stock becomes visible when the fault ends. Its client releases the lock before.

use super::{Action, Kind, StockFault};

pub(super) const KIND: Kind = Kind {
    does: "holds back the commit of {}",
    ..Kind::of_stock("late-commit", |_| {
        Some(vec![Action::Stock(StockFault::LateCommit)])
    })
};
