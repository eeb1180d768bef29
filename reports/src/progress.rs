//! Live progress: one line for each event of interest.

use std::collections::BTreeMap;

use picklock_verdicts::check::describe_incident;
use picklock_verdicts::history::{EndedBy, Event, EventKind, Misbehaviour};

use crate::inert;
use crate::inert::Inert;
use crate::units::{span_ms, time_ns};

/// Minimum duration of a stall of the harness that is shown, in milliseconds.
const MIN_STALL_MS: u64 = 50;

/// Turns the events of one run into lines.
#[derive(Debug, Default)]
pub struct Progress {
    /// Descriptions of the active faults, by fault id, for the line that reports the end.
    faults: BTreeMap<u32, String>,
    /// The stalls so far, by component: their number, and the longest one in milliseconds.
    stalls: BTreeMap<String, (u64, u64)>,
    /// The number of clients, if it is known. The probe after the run has the next number.
    workers: Option<usize>,
}

impl Progress {
    /// Creates the progress of a run with this many clients.
    pub fn with_workers(workers: usize) -> Progress {
        Progress {
            workers: Some(workers),
            ..Progress::default()
        }
    }

    /// Counts the event if it is a stall, and returns `true` if so. A busy machine has very many stalls, so
    /// [`Self::stalls`] summarises them instead of printing a line for each.
    pub fn counts_stall(&mut self, event: &EventKind) -> bool {
        let (who, length_ms) = match event {
            EventKind::HarnessStalled { late_ms } => ("the harness".to_owned(), *late_ms),
            EventKind::NodeStalled {
                node, stalled_ms, ..
            } => (format!("node {node}"), *stalled_ms),
            EventKind::WorkerStalled {
                worker, stalled_ms, ..
            } => (format!("client {worker}"), *stalled_ms),
            _ => return false,
        };
        if length_ms >= MIN_STALL_MS {
            let (number, longest_ms) = self.stalls.entry(who).or_default();
            *number += 1;
            *longest_ms = length_ms.max(*longest_ms);
        }
        true
    }

    /// Returns one line about all stalls, or `None` if there were none.
    pub fn stalls(&self) -> Option<Inert> {
        let parts = self.stalls.iter().map(|(who, (number, longest_ms))| {
            format!("{who} {number}× (longest {})", span_ms(*longest_ms))
        });
        let parts: Vec<String> = parts.collect();
        let parts = (!parts.is_empty()).then(|| parts.join(", "))?;
        Some(inert!(
            "stalls without a fault, because the machine is busy: {}",
            parts
        ))
    }

    /// Returns one line without a newline, such as `  1.204 s  client 2 got the lock`, or `None` for an event
    /// that is too frequent or too minor to show.
    pub fn line(&mut self, event: &Event) -> Option<Inert> {
        let by = event.what.attempt().map(|(worker, _)| worker);
        let is_probe = by.is_some_and(|by| self.workers.is_some_and(|workers| by >= workers));
        let text = if is_probe {
            describe_probe(&event.what)?
        } else {
            self.text(&event.what)?
        };
        Some(inert!("{:>9}  {}", time_ns(event.at_ns), text))
    }

    /// Describes an event without its time. The text may contain untrusted text from the lock or a file.
    pub(crate) fn text(&mut self, what: &EventKind) -> Option<String> {
        Some(match what {
            EventKind::FaultEnded { id } => match self.faults.remove(id) {
                Some(fault) => format!("ended: {fault}"),
                None => format!("fault {id} ended"),
            },
            EventKind::FaultFired { id, took_ms, .. } => match self.faults.get(id) {
                Some(fault) => format!("in effect after {took_ms} ms: {fault}"),
                None => format!("fault {id} in effect after {took_ms} ms"),
            },
            EventKind::FaultOverran { id, late_ms } => match self.faults.get(id) {
                Some(fault) => format!("lasted {late_ms} ms longer than specified: {fault}"),
                None => format!("fault {id} lasted {late_ms} ms longer than specified"),
            },
            EventKind::FaultBegan { id, detail, .. } => {
                let line = format!("fault: {detail}");
                self.faults.insert(*id, detail.clone());
                line
            }
            what => describe(what)?,
        })
    }
}

/// Describes an event of the final inspection, which takes each lock once after the clients have ended.
fn describe_probe(what: &EventKind) -> Option<String> {
    Some(match what {
        EventKind::Granted { .. } => "after the run, the probe got the lock".to_owned(),
        EventKind::AcquireFailed { message, .. } => {
            format!("after the run, the probe could not acquire: {message}")
        }
        EventKind::ReleaseFailed { message, .. } => {
            format!("after the run, the probe could not release: {message}")
        }
        _ => return None,
    })
}

fn describe(what: &EventKind) -> Option<String> {
    Some(match what {
        EventKind::Granted { worker, fence, .. } => match fence {
            Some(fence) => format!("client {worker} got the lock, fencing token {fence}"),
            None => format!("client {worker} got the lock"),
        },
        EventKind::StockChanged { worker, to, .. } => format!("client {worker} sold, {to} left"),
        EventKind::FencedOff {
            worker,
            fence,
            highest,
            ..
        } => format!("client {worker} was fenced off: its token {fence} is lower than {highest}"),
        EventKind::Lost { worker, .. } => {
            format!("the lock reported to client {worker} that its lease is lost")
        }
        EventKind::AcquireFailed {
            worker, message, ..
        } => format!("client {worker} could not acquire: {message}"),
        EventKind::ReleaseFailed {
            worker, message, ..
        } => format!("client {worker} could not release: {message}"),
        EventKind::WorkerDown {
            worker,
            by_fault,
            reason,
            ended_by,
        } => {
            if *by_fault {
                format!("client {worker} is down: {reason}")
            } else {
                EndedBy::describe(*ended_by, *worker, reason)
            }
        }
        EventKind::WorkerUp {
            worker,
            incarnation: 1..,
        } => format!("client {worker} restarted"),
        EventKind::Misbehaved {
            worker,
            kind,
            detail,
        } => format!("client {worker} {}: {detail}", describe_misbehaviour(*kind)),
        EventKind::FaultMissed { fault, reason, .. } => {
            format!("fault {fault} never fired: {reason}")
        }
        EventKind::KeyLeft {
            node, ttl_ms: -1, ..
        } => format!("node {node} still has the lock's key, and it never expires"),
        // The run record lists these.
        EventKind::NotOffered { .. } | EventKind::UndeclaredKey { .. } => return None,
        EventKind::HarnessStalled { late_ms } if *late_ms < MIN_STALL_MS => return None,
        // Other incidents are described in the same words as in the record.
        what => describe_incident(what, &[])?,
    })
}

fn describe_misbehaviour(kind: Misbehaviour) -> &'static str {
    match kind {
        Misbehaviour::Garbage | Misbehaviour::OutOfTurn => "broke the adapter protocol",
        Misbehaviour::Hung | Misbehaviour::Stopped => "did not answer in time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at_ms: u64, what: EventKind) -> Option<String> {
        let line = Progress::default().line(&Event {
            at_ns: at_ms * 1_000_000,
            what,
        });
        line.map(|line| line.as_str().to_owned())
    }

    #[test]
    fn grants_and_sales_are_shown_but_refusals_are_not() {
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
            "  1.204 s  client 2 got the lock"
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
            " 61.500 s  client 2 sold, 2 left"
        );
        assert_eq!(line(0, EventKind::Refused { worker: 0, op: 0 }), None);
    }

    #[test]
    fn probe_is_not_called_a_worker() {
        let granted = |worker| EventKind::Granted {
            worker,
            op: 9,
            token: "t".into(),
            fence: None,
            valid_ms: None,
            elapsed_ms: None,
        };
        let line = |worker| {
            let what = granted(worker);
            Progress::with_workers(3).line(&Event { at_ns: 0, what })
        };
        assert_eq!(line(2).unwrap(), "  0.000 s  client 2 got the lock");
        assert_eq!(
            line(3).unwrap(),
            "  0.000 s  after the run, the probe got the lock"
        );
    }

    #[test]
    fn stalls_are_summed_up() {
        let mut progress = Progress::default();
        assert_eq!(progress.stalls(), None);
        for late_ms in [40, 60, 158] {
            let stall = EventKind::HarnessStalled { late_ms };
            assert!(progress.counts_stall(&stall));
        }
        assert_eq!(
            progress.stalls().unwrap(),
            "stalls without a fault, because the machine is busy: the harness 2× (longest 158 ms)"
        );
    }

    #[test]
    fn control_codes_from_a_lock_are_escaped() {
        let garbage = EventKind::Misbehaved {
            worker: 0,
            kind: Misbehaviour::Garbage,
            detail: "\x1b]0;owned\x07".into(),
        };
        assert_eq!(
            line(5, garbage).unwrap(),
            r"  0.005 s  client 0 broke the adapter protocol: \u{1b}]0;owned\u{7}"
        );
    }
}
