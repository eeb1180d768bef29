//! One `[[fault]]` table of a scenario file.

use serde::{Deserialize, Serialize};

use super::action::{Resource, TaskScope};
use super::kind::FaultKind;
use super::selection::Selection;
use super::server_error::ServerError;
use super::trigger::{Direction, Trigger};
use crate::lease_duration::LeaseDuration;
use crate::signed_duration::SignedDuration;

/// One fault of a scenario: what, to whom, and when. The fields are those of all kinds together;
/// which of them a kind has stands in its own file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultPlan {
    /// What goes wrong.
    pub kind: FaultKind,
    /// Start at this time after the workload began. Give this or `when`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<LeaseDuration>,
    /// Start at this event. Give this or `at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Trigger>,
    /// How long it lasts. Default: for good (a crashed client or node is never restarted).
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub duration: Option<LeaseDuration>,
    /// The workers that it strikes, or whose links. Default: for client faults the worker at which
    /// the event happened, for link faults all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<Selection>,
    /// The nodes that it strikes, or whose links. Default: for node faults the node at which the
    /// event happened, for link faults all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Selection>,
    /// Link faults: which way. Default: both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// `delay`: how much later each command or reply arrives. `clock-jump`, `clock-skew`: how far
    /// the clock is set forward, or back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<SignedDuration>,
    /// `delay`: up to this much more, uniformly distributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<LeaseDuration>,
    /// `drop`, `delay`, `hold`, `answer`, `false-answer`: only this many frames. Default: all while the fault lasts. With a
    /// `when` on a request or reply, `frames = 1` is the frame that started the fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<u32>,
    /// `evict`: the locks whose keys are deleted, by number from 0. Default: every lock of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<usize>>,
    /// `exhaust`: what the node runs out of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<Resource>,
    /// `answer`, `false-answer`: the error, by its first word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ServerError>,
    /// `pause-task`: what is blocked. Default: `loop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<TaskScope>,
    /// A backend that cannot do this fault may leave it out. Otherwise the run is `unknown`.
    #[serde(default)]
    pub optional: bool,
}

/// Fields of a plan that only some kinds of faults have, each with its name in scenario files.
macro_rules! fields {
    ($($field:ident: $name:ident $word:literal,)*) => {
        /// A field that only some kinds of faults have.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Field {
            $($field,)*
        }

        impl Field {
            pub(crate) const ALL: [Field; [$($word),*].len()] = [$(Field::$field),*];

            /// Its name in scenario files.
            pub(crate) fn as_str(self) -> &'static str {
                match self {
                    $(Field::$field => $word,)*
                }
            }
        }

        impl FaultPlan {
            /// A fault of this kind with no other field: not even a moment.
            pub fn of(kind: FaultKind) -> FaultPlan {
                FaultPlan {
                    kind,
                    at: None,
                    when: None,
                    $($name: None,)*
                    optional: false,
                }
            }

            /// True when the field is given.
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
}

impl Field {
    /// What a fault of messages may have, if it can end with a number of them.
    pub(super) const OF_MESSAGES: &[Field] = &[
        Field::For,
        Field::Workers,
        Field::Nodes,
        Field::Direction,
        Field::Frames,
    ];
}
