//! Triggers: the events that a fault can wait for.

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From worker to node.
    Request,
    /// From node to worker.
    Reply,
}

/// An event that triggers a fault. Every given field must match. A fault fires at most once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    /// The kind of event.
    pub on: TriggerEvent,
    /// The worker at which the event must happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<usize>,
    /// The stock that was read, or is left. Only for `stock-read` and `stock-changed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock: Option<i64>,
    /// The node to or from which the message is sent. Only for `request` and `reply`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// The command, such as `"EXPIRE"`, in upper or lower case. Only for `request` and `reply`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether the command must name the lock's key. Only for `request` and `reply`.
    #[serde(default)]
    pub names_key: bool,
    /// Whether error replies (`NOSCRIPT`, `OOM`) are excluded, so that the command was executed. Only for `reply`.
    #[serde(default)]
    pub success: bool,
    /// Whether the command must have taken the lock, which means that it wrote a new value into the lock's key,
    /// whatever the key's name is, during an acquisition. Only for `reply`. For a lock on several nodes, and without
    /// `node`, it must have completed the majority.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes: bool,
    /// Whether the command must have released the lock, which means that it changed or removed the value in the lock's
    /// key during a release. Only for `reply`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub releases: bool,
    /// The operation that the worker must be executing. Only for `request` and `reply`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub during: Option<Phase>,
    /// Number of the matching event at which the fault fires, counted from 1.
    #[serde(default = "first")]
    pub nth: u32,
}

fn first() -> u32 {
    1
}

string_enum! {
    /// The kinds of events that can trigger a fault.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    TriggerEvent {
        /// The request to acquire is about to be sent to a worker.
        Acquire = "acquire",
        /// A grant arrived at the driver.
        Granted = "granted",
        /// The request to extend is about to be sent to a holder.
        Extend = "extend",
        /// An extension was granted, and the answer arrived at the driver.
        Extended = "extended",
        /// A holder read the stock.
        StockRead = "stock-read",
        /// A holder changed the stock.
        StockChanged = "stock-changed",
        /// A holder began the job of a tick.
        JobBegan = "job-began",
        /// The request to release is about to be sent to a worker.
        Release = "release",
        /// The proxy has received a complete command of a worker, and is about to forward it.
        Request = "request",
        /// The proxy has received a complete reply of a node, and is about to deliver it.
        Reply = "reply",
    }
}

string_enum! {
    /// The operation that a worker is executing for the driver.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Phase {
        /// No operation, or it has been answered.
        Idle = "idle",
        /// An acquisition.
        Acquire = "acquire",
        /// An extension.
        Extend = "extend",
        /// A release.
        Release = "release",
    }
}

impl TriggerEvent {
    /// Returns `true` if the event is a message, as opposed to a step of the driver.
    pub fn is_message(self) -> bool {
        matches!(self, TriggerEvent::Request | TriggerEvent::Reply)
    }
}
