//! When a leader acted.
//!
//! | open | read as |
//! |---|---|
//! | the end of an act | the change of the stock, or its refusal by the resource; without either, the next event of the leader that ends the act (it asks again, loses, or resigns), or its death |
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
    let ends = |line: &&&Line| {
        matches!(
            line.event.as_str(),
            "stock-changed" | "fenced-off" | "act" | "lost" | "release"
        )
    };
    let end = lines[last..].iter().find(ends);
    Some(end.map_or(attempt.until, |line| line.at.min(attempt.until)))
}
