//! The stage: what driver and nemesis share, and the only way in which they meet.

mod arrivals;
mod moments;
mod opening;
mod plan;
mod recorder;
mod roster;
mod setting;
mod stock;

pub use arrivals::{Arrivals, Turn};
pub use moments::{Happening, Moments, Site, Strike};
pub use opening::Door;
pub use plan::{Plan, millis};
pub use recorder::{Listener, Recorder};
pub use roster::Roster;
pub use setting::{Introduction, Stage};
pub use stock::{Change, FencedOff, Stock};
