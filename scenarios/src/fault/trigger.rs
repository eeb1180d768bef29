//! Triggers: the events that a fault can wait for.

use serde::{Deserialize, Serialize};

use crate::string_enum::words;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From worker to node.
    Request,
    /// From node to worker.
    Reply,
}

/// An event that starts a fault. Every field that is given must match. A fault starts once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    /// The event.
    pub on: TriggerEvent,
    /// At this worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<usize>,
    /// `stock-read`, `stock-changed`: this much was read, or is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock: Option<i64>,
    /// `request`, `reply`: at this node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// `request`, `reply`: of this command, in any case (`"EXPIRE"`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// `request`, `reply`: of a command that names the lock's key.
    #[serde(default)]
    pub names_key: bool,
    /// `reply`: not an error reply (`NOSCRIPT`, `OOM`), so the command was carried out.
    #[serde(default)]
    pub success: bool,
    /// `reply`: of the command that took the lock. It wrote a value that was not there before into the
    /// lock's key, whatever its name, while the worker was asked to acquire. Of a lock on several nodes, and
    /// without `node`: of the command that completed its majority.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes: bool,
    /// `reply`: of the command that released the lock. It changed or removed what stood in the lock's key, while
    /// the worker was asked to release.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub releases: bool,
    /// `request`, `reply`: while the worker carries out this operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub during: Option<Phase>,
    /// Start at the n-th such event, counted from 1.
    #[serde(default = "first")]
    pub nth: u32,
}

fn first() -> u32 {
    1
}

words! {
    /// The events that can start a fault.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    TriggerEvent {
        /// A worker was told to acquire; the request is on its way.
        Acquire = "acquire",
        /// A grant arrived at the driver.
        Granted = "granted",
        /// A holder is about to be told to extend its lease.
        Extend = "extend",
        /// An extension was granted, and the answer arrived at the driver.
        Extended = "extended",
        /// A holder read the stock.
        StockRead = "stock-read",
        /// A holder changed the stock.
        StockChanged = "stock-changed",
        /// A worker is about to be told to release.
        Release = "release",
        /// The proxy has received a whole command of a worker, and is about to forward it.
        Request = "request",
        /// The proxy has received a whole reply of a node, and is about to deliver it.
        Reply = "reply",
    }
}

words! {
    /// The operation that the driver has asked a worker for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Phase {
        /// None, or it has been answered.
        Idle = "idle",
        /// Asked to acquire.
        Acquire = "acquire",
        /// Asked to extend.
        Extend = "extend",
        /// Asked to release.
        Release = "release",
    }
}

impl TriggerEvent {
    /// True for a message, false for a step of the driver.
    pub fn is_message(self) -> bool {
        matches!(self, TriggerEvent::Request | TriggerEvent::Reply)
    }
}
