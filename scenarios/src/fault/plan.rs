//! One `[[fault]]` table of a scenario file.

use serde::{Deserialize, Serialize};

use super::action::{Resource, TaskScope};
use super::kind::FaultKind;
use super::selection::Selection;
use super::server_error::ServerError;
use super::trigger::{Direction, Trigger};
use crate::lease_duration::LeaseDuration;
use crate::signed_duration::SignedDuration;

/// One fault of a scenario: its kind, targets and trigger. It has the fields of all kinds; the file of a kind states
/// which of them the kind uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultPlan {
    /// The kind of fault.
    pub kind: FaultKind,
    /// Time after the beginning of the workload at which the fault fires. Either this or `when` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<LeaseDuration>,
    /// Event at which the fault fires. Either this or `at` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Trigger>,
    /// Duration of the fault. Without it, the fault is permanent: a crashed client or node is never restarted.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub duration: Option<LeaseDuration>,
    /// The affected workers, or the workers whose links are affected. By default, a client fault affects the worker at
    /// which the event happened, and a link fault affects all workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<Selection>,
    /// The affected nodes, or the nodes whose links are affected. By default, a node fault affects the node at which
    /// the event happened, and a link fault affects all nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Selection>,
    /// The affected direction of a link. By default, both directions are affected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// For `delay`, the delay of each command or reply. For `clock-jump` and `clock-skew`, the shift of the clock,
    /// forward or back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<SignedDuration>,
    /// For `delay`, the maximum additional delay, which is uniformly distributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<LeaseDuration>,
    /// The maximum number of affected frames, for `drop`, `delay`, `hold`, `answer` and `false-answer`. By default, all
    /// frames are affected while the fault lasts. With a `when` on a request or reply, `frames = 1` is the frame that
    /// triggered the fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<u32>,
    /// For `evict`, the locks whose keys are deleted, by number from 0. By default, the keys of all locks are deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<usize>>,
    /// For `exhaust`, the exhausted resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<Resource>,
    /// For `answer` and `false-answer`, the error's first word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ServerError>,
    /// For `pause-task`, the blocked part, which is `loop` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<TaskScope>,
    /// For `terminate-client`, the time from SIGTERM to SIGKILL, which is half a lease by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<LeaseDuration>,
    /// Whether a backend that does not support this fault may skip it. If not, the run is `unknown` there.
    #[serde(default)]
    pub optional: bool,
}

/// Declares the fields that only some kinds of faults have, each with its name in scenario files.
macro_rules! fields {
    ($($field:ident: $name:ident $word:literal,)*) => {
        /// A field that only some kinds of faults have.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Field {
            $($field,)*
        }

        impl Field {
            pub(crate) const ALL: [Field; [$($word),*].len()] = [$(Field::$field),*];

            /// Returns its name in scenario files.
            pub(crate) fn as_str(self) -> &'static str {
                match self {
                    $(Field::$field => $word,)*
                }
            }
        }

        impl FaultPlan {
            /// Creates a fault of this kind without any other field, not even a trigger.
            pub fn new(kind: FaultKind) -> FaultPlan {
                FaultPlan {
                    kind,
                    at: None,
                    when: None,
                    $($name: None,)*
                    optional: false,
                }
            }

            /// Returns `true` if the field is given.
            pub(crate) fn has(&self, field: Field) -> bool {
                match field {
                    $(Field::$field => self.$name.is_some(),)*
                }
            }
        }
    };
}

fields! {
    By: by "by",
    Jitter: jitter "jitter",
    Frames: frames "frames",
    Direction: direction "direction",
    For: duration "for",
    Workers: workers "workers",
    Nodes: nodes "nodes",
    Keys: keys "keys",
    Resource: what "what",
    Error: error "error",
    Scope: scope "scope",
    Grace: grace "grace",
}

impl Field {
    /// The optional fields of a fault of messages that can end after a number of frames.
    pub(super) const OF_MESSAGES: &[Field] = &[
        Field::For,
        Field::Workers,
        Field::Nodes,
        Field::Direction,
        Field::Frames,
    ];
}
