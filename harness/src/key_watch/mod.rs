//! Watches the keys of one node: their values, and the causes of their changes. Used by simulated nodes, and by the
//! replay of real servers' reports.

mod undeclared_keys;
mod unread_values;
mod watched_keys;

pub(crate) use undeclared_keys::declared_keys;
pub(crate) use watched_keys::{InspectionTime, KeyWatch};
