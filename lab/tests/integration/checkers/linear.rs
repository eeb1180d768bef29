//! Decides whether any order of operations explains a history of a lock that does not expire.
//!
//! The lock is a register that is free or owned by an attempt. `acquire` turns free into owned; `release` turns owned
//! by this attempt into free. An operation takes effect once, between its call and its return; an operation without a
//! definite outcome takes effect once after its call, or never. An operation that returned before another was called
//! comes first. Equal times imply no order.
//!
//! Two statements hold:
//!
//! - **Overlap implies that no order exists.** Let holds i and j overlap. If both have a length, let t be between the
//!   later begin and the earlier end; if i has none, let t be its time. Both acquisitions took effect no later than t,
//!   because they had returned by then. Neither release took effect earlier than t, because it was not yet called, and
//!   only an attempt's own release frees its lock. j, whose hold contains t strictly, owns the lock before and after t
//!   as well. So i cannot have owned it at t.
//! - **The converse needs more.** An order may also be missing without overlapping holds: a killed owner never frees a
//!   lock that does not expire, and this register cannot model a release of unknown outcome, or one that reports "no
//!   longer mine". But if every grant is released with success, holds that do not overlap can be sorted so that each
//!   ends no later than the next begins, and letting every operation take effect at that end of its hold explains the
//!   history. Hence, for such histories, exclusion is violated exactly if no order exists.

use picklock_verdicts::history::{EventKind, History};

#[derive(Debug, Clone, Copy)]
struct Operation {
    attempt: u64,
    acquires: bool,
    called_ns: u64,
    /// `None` if its outcome is unknown.
    returned_ns: Option<u64>,
}

/// Returns `true` if some order of the operations on each key explains the history.
pub(super) fn linearizable(history: &History) -> bool {
    (0..history.header.keys.len() as u32).all(|key| {
        let operations = operations(history, key);
        assert!(
            operations.len() < 32,
            "too many operations for trying every order"
        );
        explains(&operations, (1 << operations.len()) - 1, None)
    })
}

fn operations(history: &History, of_key: u32) -> Vec<Operation> {
    let mut operations: Vec<Operation> = Vec::new();
    let mut attempts: Vec<u64> = Vec::new();
    for event in &history.events {
        match event.what {
            EventKind::Acquire { op, key, .. } if key == of_key => {
                attempts.push(op);
                operations.push(Operation {
                    attempt: op,
                    acquires: true,
                    called_ns: event.at_ns,
                    returned_ns: None,
                });
            }
            EventKind::Release { op, .. } if attempts.contains(&op) => operations.push(Operation {
                attempt: op,
                acquires: false,
                called_ns: event.at_ns,
                returned_ns: None,
            }),
            EventKind::Granted { op, .. } => returned(&mut operations, op, true, event.at_ns),
            EventKind::Released {
                op,
                released: Some(true),
                ..
            } => returned(&mut operations, op, false, event.at_ns),
            EventKind::Refused { op, .. } => operations.retain(|operation| operation.attempt != op),
            _ => {}
        }
    }
    operations
}

fn returned(operations: &mut [Operation], attempt: u64, acquires: bool, at_ns: u64) {
    for operation in operations {
        if operation.attempt == attempt && operation.acquires == acquires {
            operation.returned_ns = Some(at_ns);
        }
    }
}

/// Tries every next operation. `left` is the set of operations that have not taken effect.
fn explains(operations: &[Operation], left: u32, owner: Option<u64>) -> bool {
    let pending = || {
        let numbered = operations.iter().enumerate();
        numbered.filter(|(index, _)| left & (1 << index) != 0)
    };
    let earliest_return = pending().filter_map(|(_, o)| o.returned_ns).min();
    let Some(earliest_return) = earliest_return else {
        return true;
    };
    pending().any(|(index, operation)| {
        let may_be_next = operation.called_ns <= earliest_return;
        let fits = if operation.acquires {
            owner.is_none()
        } else {
            owner == Some(operation.attempt)
        };
        let owner = operation.acquires.then_some(operation.attempt);
        may_be_next && fits && explains(operations, left & !(1 << index), owner)
    })
}
