//! Whose command it was, and what it belonged to.

use picklock_scenarios::Phase;

use crate::check::evidence::Evidence;
use crate::check::lost_claim::late_release;
use crate::history::KeyCommand;

use super::sentence::{clock, length};

/// A command that struck a lock at this time, with its sender and what it belonged to.
pub(super) fn sender(evidence: &Evidence<'_>, by: &KeyCommand, lock: u32, at_ns: u64) -> String {
    let late = || late_release(evidence.timeline.holds(), by, lock, at_ns);
    let asked = match by.phase {
        Phase::Extend => " to extend".to_owned(),
        Phase::Release => " to release".to_owned(),
        phase => match (late(), phase) {
            (Some(hold), _) => format!(
                " ({} after it had begun to release what it got at {})",
                length(at_ns - hold.end_ns),
                clock(hold.begin_ns)
            ),
            (None, Phase::Acquire) => " to acquire".to_owned(),
            (None, _) => " (outside any release)".to_owned(),
        },
    };
    format!("{} of worker {}{asked}", by.command, by.worker)
}
