//! The history: the record of what happened, and the only input of the checkers.

mod end;
mod event;
mod fault_events;
mod file;
mod header;
mod key_change;
mod recorded;
mod subject;

pub use end::{Budget, EndReason, EndedBy, Misbehaviour};
pub use event::{Event, EventKind};
pub use fault_events::{Belated, ClockShift, MissedBecause};
pub(crate) use file::write_json_line;
pub use file::{HistoryError, read_history, write_history};
pub use header::{Declarations, FORMAT, Header, KeyHistoryCheck, TickSchedule};
pub use key_change::{KeyChange, KeyCommand, KeyName};
pub use recorded::{LeaseFraction, RECORDED_DELAY, RECORDED_HARNESS_STALL};

/// A complete history: the header, and the events in the order in which the driver recorded them.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// The context that a checker needs in addition to the events.
    pub header: Header,
    /// The events; `at_ns` never decreases.
    pub events: Vec<Event>,
}
