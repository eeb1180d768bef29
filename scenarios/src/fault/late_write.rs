//! `late-write`: a write to the stock arrives when the fault ends. Its client waits for the answer for as long as
//! for that of any command, and then releases.

use super::{Action, Kind, StockFault};

pub(super) const KIND: Kind = Kind {
    does: "delays the writes of {}",
    ..Kind::of_stock("late-write", |_| {
        Some(vec![Action::Stock(StockFault::LateWrite)])
    })
};
