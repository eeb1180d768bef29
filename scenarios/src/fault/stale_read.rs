//! `stale-read`: the stock is read from a replica that shows what there was when the fault began.

use super::{Action, Kind, StockFault};

pub(super) const KIND: Kind = Kind {
    does: "shows {} an old reading",
    ..Kind::of_stock("stale-read", |_| {
        Some(vec![Action::Stock(StockFault::StaleRead)])
    })
};
