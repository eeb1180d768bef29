//! When a leader acted.
//!
//! | open | read as |
//! |---|---|
//! | the end of an act | its last access to the resource: the change of the stock, its refusal, or the reading after which the leader changed nothing any more |
//! | a lock that is not asked before its acts | the whole hold |

use super::super::attempt::Attempt;
use super::super::line::{File, Line};

/// Returns when the last act that the lock allowed ended, or `None` if the leader never acted.
pub fn end_of_last_act(file: &File, attempt: &Attempt) -> Option<u64> {
    let of_leader = |line: &&Line| line.op() == Some(attempt.op);
    let lines: Vec<&Line> = file.lines.iter().filter(of_leader).collect();
    if !lines.iter().any(|line| line.event == "act") {
        return Some(attempt.until);
    }
    let last = lines.iter().rposition(|line| line.event == "may-act")?;
    let is_access = |line: &&&Line| {
        matches!(
            line.event.as_str(),
            "may-act" | "stock-read" | "stock-changed" | "fenced-off"
        )
    };
    let end = lines[last..].iter().rfind(is_access)?;
    Some(end.at.min(attempt.until))
}
