//! `stale-read`: the stock is read from a replica that shows the state at the beginning of the fault.

use super::{Action, Kind, StockFault};

pub(super) const KIND: Kind = Kind {
    does: "makes {} read an outdated stock",
    ..Kind::new_stock_fault("stale-read", |_| {
        Some(vec![Action::Stock(StockFault::StaleRead)])
    })
};
