//! Live progress: one line for each event that a person wants to see.

use std::collections::BTreeMap;

use picklock_verdicts::assemble::describe_trouble;
use picklock_verdicts::history::{EndedBy, Event, EventKind, Misbehaviour};

use crate::escape::visible;
use crate::units::trigger_ns;

/// Shorter pauses of the harness are not worth a line.
const SHORTEST_PAUSE_MS: u64 = 50;

/// Turns the events of one run into lines.
#[derive(Debug, Default)]
pub struct Progress {
    /// The active faults in words, to name the one that ends.
    faults: BTreeMap<u32, String>,
}

impl Progress {
    /// One line without a newline, `  1.204 s  worker 2 got the lock`; `None` for events that are
    /// too frequent or too minor to show.
    pub fn line(&mut self, event: &Event) -> Option<String> {
        let text = self.text(&event.what)?;
        Some(format!(
            "{:>9}  {}",
            trigger_ns(event.at_ns),
            visible(&text)
        ))
    }

    /// The event in words, without its time and as the lock or a file has it.
    pub(crate) fn text(&mut self, what: &EventKind) -> Option<String> {
        Some(match what {
            EventKind::FaultEnded { id } => match self.faults.remove(id) {
                Some(fault) => format!("over: {fault}"),
                None => format!("fault {id} is over"),
            },
            EventKind::FaultFired { id, took_ms } => match self.faults.get(id) {
                Some(fault) => format!("struck after {took_ms} ms: {fault}"),
                None => format!("fault {id} struck after {took_ms} ms"),
            },
            EventKind::FaultOverran { id, late_ms } => match self.faults.get(id) {
                Some(fault) => format!("{late_ms} ms longer than its scenario says: {fault}"),
                None => format!("fault {id} lasted {late_ms} ms longer than its scenario says"),
            },
            EventKind::FaultBegan { id, detail, .. } => {
                self.faults.insert(*id, detail.clone());
                format!("fault: {detail}")
            }
            what => words(what)?,
        })
    }
}

fn words(what: &EventKind) -> Option<String> {
    Some(match what {
        EventKind::Granted { worker, fence, .. } => match fence {
            Some(fence) => format!("worker {worker} got the lock, fencing token {fence}"),
            None => format!("worker {worker} got the lock"),
        },
        EventKind::StockChanged { worker, to, .. } => format!("worker {worker} sold, {to} left"),
        EventKind::FencedOff {
            worker,
            fence,
            highest,
            ..
        } => format!("worker {worker} was fenced off: its token {fence} is lower than {highest}"),
        EventKind::Lost { worker, .. } => {
            format!("worker {worker} was told that its lease is lost")
        }
        EventKind::AcquireFailed {
            worker, message, ..
        } => format!("worker {worker} could not acquire: {message}"),
        EventKind::ReleaseFailed {
            worker, message, ..
        } => format!("worker {worker} could not release: {message}"),
        EventKind::WorkerDown {
            worker,
            by_fault,
            reason,
            ended_by,
        } => match by_fault {
            true => format!("worker {worker} is gone: {reason}"),
            false => EndedBy::describe(*ended_by, *worker, reason),
        },
        EventKind::WorkerUp {
            worker,
            incarnation: 1..,
        } => format!("worker {worker} is back"),
        EventKind::Misbehaved {
            worker,
            kind,
            detail,
        } => format!("worker {worker} {}: {detail}", did(*kind)),
        EventKind::FaultMissed { fault, reason, .. } => {
            format!("fault {fault} never fired: {reason}")
        }
        EventKind::KeyLeft {
            node, ttl_ms: -1, ..
        } => format!("node {node} still has the lock's key, and it never expires"),
        // The record of the run tells of them.
        EventKind::NotOffered { .. } | EventKind::UndeclaredKey { .. } => return None,
        EventKind::HarnessStalled { late_ms } if *late_ms < SHORTEST_PAUSE_MS => return None,
        // All other trouble is told as the record tells it.
        what => describe_trouble(what, &[])?,
    })
}

fn did(kind: Misbehaviour) -> &'static str {
    match kind {
        Misbehaviour::Garbage | Misbehaviour::OutOfTurn => "broke the adapter protocol",
        Misbehaviour::Hung => "did not answer in time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at_ms: u64, what: EventKind) -> Option<String> {
        Progress::default().line(&Event {
            at_ns: at_ms * 1_000_000,
            what,
        })
    }

    #[test]
    fn grants_sales_and_faults_are_told_and_refusals_are_not() {
        let granted = EventKind::Granted {
            worker: 2,
            op: 1,
            token: "t".into(),
            fence: None,
            valid_ms: None,
            elapsed_ms: None,
        };
        assert_eq!(
            line(1_204, granted).unwrap(),
            "  1.204 s  worker 2 got the lock"
        );
        let sold = EventKind::StockChanged {
            worker: 2,
            op: 1,
            key: 0,
            from: 3,
            to: 2,
            belated: None,
        };
        assert_eq!(
            line(61_500, sold).unwrap(),
            " 61.500 s  worker 2 sold, 2 left"
        );
        assert_eq!(line(0, EventKind::Refused { worker: 0, op: 0 }), None);
    }

    #[test]
    fn a_lock_cannot_command_the_terminal() {
        let garbage = EventKind::Misbehaved {
            worker: 0,
            kind: Misbehaviour::Garbage,
            detail: "\x1b]0;owned\x07".into(),
        };
        assert_eq!(
            line(5, garbage).unwrap(),
            r"  0.005 s  worker 0 broke the adapter protocol: \u{1b}]0;owned\u{7}"
        );
    }
}
