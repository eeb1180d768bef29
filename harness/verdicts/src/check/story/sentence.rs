//! Events as sentences.

use picklock_scenarios::StockFault;

use crate::check::facts::{Facts, Taken};
use crate::history::{Belated, EventKind, Header};
use crate::timeline::Hold;

/// How important a sentence is. If there are too many, the least important ones are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// What happened.
    Plot,
    /// Why it happened.
    Reason,
    /// How it happened.
    Detail,
    /// Background.
    Background,
}

/// A time, given in nanoseconds since the run began: `0.812 s`.
pub(super) fn clock(at_ns: u64) -> String {
    let milliseconds = at_ns / 1_000_000;
    format!("{}.{:03} s", milliseconds / 1000, milliseconds % 1000)
}

/// A duration: `20 ms`, `1.5 s`.
pub(super) fn length(ns: u64) -> String {
    match ns {
        0..1000 => format!("{ns} ns"),
        1000..1_000_000 => format!("{} µs", ns / 1000),
        1_000_000..1_000_000_000 => format!("{} ms", ns / 1_000_000),
        _ => {
            let milliseconds = ns / 1_000_000;
            let fraction = format!("{:03}", milliseconds % 1000);
            let fraction = fraction.trim_end_matches('0');
            let point = if fraction.is_empty() { "" } else { "." };
            format!("{}{point}{fraction} s", milliseconds / 1000)
        }
    }
}

/// What an event says about an attempt. Grants are left out: how they are told depends on the other
/// holders.
pub(super) fn sentence(header: &Header, what: &EventKind) -> Option<(Weight, String)> {
    let (worker, _) = what.attempt()?;
    Some(match what {
        EventKind::StockRead {
            key,
            stock,
            as_of_ns,
            ..
        } => {
            let name = header.named(*key, "stock");
            let read = format!("worker {worker} read {name} {stock}");
            match as_of_ns {
                Some(as_of_ns) => {
                    let as_of = clock(*as_of_ns);
                    let text = format!("{read} from a replica, as it had been at {as_of}");
                    (Weight::Plot, text)
                }
                None if *stock < 0 => (Weight::Plot, read),
                None => (Weight::Detail, read),
            }
        }
        EventKind::StockChanged {
            key,
            from,
            to,
            belated,
            ..
        } => {
            let stock = header.named(*key, "the stock");
            let who = match belated {
                Some(belated) => belated_write(worker, *belated),
                None => format!("worker {worker}"),
            };
            let changed = format!("{who} changed {stock} from {from} to {to}");
            match (*to < 0, belated) {
                (true, _) => (Weight::Plot, changed + ": one unit was sold twice"),
                (false, Some(_)) => (Weight::Plot, changed),
                (false, None) => (Weight::Reason, changed),
            }
        }
        EventKind::FencedOff { fence, highest, .. } => (
            Weight::Reason,
            format!(
                "the resource refused worker {worker}: its token {fence} is lower than {highest}"
            ),
        ),
        EventKind::ReleaseFailed { message, .. } => (
            Weight::Detail,
            format!("the release of worker {worker} failed: {message}"),
        ),
        EventKind::ExtendFailed { message, .. } => (
            Weight::Reason,
            format!("the extension of worker {worker} failed: {message}"),
        ),
        EventKind::AcquireFailed { message, .. } => (
            Weight::Reason,
            format!("the attempt of worker {worker} failed: {message}"),
        ),
        _ => {
            let (weight, text) = said(what)?;
            (weight, format!("worker {worker} {text}"))
        }
    })
}

/// The last extension of a hold before this time: without it, the end of its lease would not be understood.
pub(super) fn last_extension<'a>(
    facts: &Facts<'_>,
    hold: &Hold,
    by_ns: u64,
) -> Option<StoryItem<'a>> {
    let history = facts.history;
    let extended = history.events.iter().rev().find(|event| {
        let is_extension = matches!(
            event.what,
            EventKind::Extended { .. } | EventKind::ExtendGranted { .. }
        );
        let attempt = event.what.attempt();
        event.at_ns < by_ns && is_extension && attempt.is_some_and(|(_, op)| op == hold.op)
    })?;
    let (_, text) = sentence(&history.header, &extended.what)?;
    Some(StoryItem::Said(extended.at_ns, Weight::Plot, text))
}

/// What changed the stock, where it was not done when its writer asked for it.
fn belated_write(worker: usize, Belated { by, asked_ns }: Belated) -> String {
    let asked = clock(asked_ns);
    match by {
        StockFault::LateWrite => format!("the write that worker {worker} had sent at {asked}"),
        StockFault::LateCommit => {
            format!("the commit of what worker {worker} had written at {asked}")
        }
        StockFault::UncheckedWrite => {
            format!("worker {worker}, whose section had failed at {asked},")
        }
        StockFault::StaleRead => format!("worker {worker}, on a reading of {asked},"),
    }
}

/// What a worker said of its lease or of the end of its hold, or was told: the rest of a sentence.
fn said(what: &EventKind) -> Option<(Weight, String)> {
    let (weight, text) = match what {
        EventKind::Extended { valid_ms, .. } => {
            let text = format!("said that its lease was extended by {valid_ms} ms");
            return Some((Weight::Background, text));
        }
        EventKind::ExtendGranted {
            valid_ms: Some(valid_ms),
            ..
        } => {
            let text = format!("extended its lease, by its own account by {valid_ms} ms");
            return Some((Weight::Background, text));
        }
        EventKind::ExtendGranted { .. } => (Weight::Background, "extended its lease"),
        EventKind::ExtendRefused { .. } => (
            Weight::Reason,
            "was refused an extension: the lock was no longer its own",
        ),
        EventKind::Lost { .. } => (Weight::Reason, "said that its lease was lost"),
        EventKind::Reentered { granted: true, .. } => (Weight::Reason, "took its lock once more"),
        EventKind::Reentered { .. } => (Weight::Reason, "was not given its lock once more"),
        EventKind::InnerReleased { .. } => (
            Weight::Reason,
            "gave back what it had taken once more, and worked on",
        ),
        EventKind::SectionFailed { .. } => (Weight::Detail, "failed in its section"),
        EventKind::Release { .. } => (Weight::Detail, "was told to release"),
        EventKind::Released { released, .. } => (
            Weight::Detail,
            match released {
                Some(true) => "said that it had released the lock",
                Some(false) => "said that the lock was no longer its own",
                None => "did not say whether it had released the lock",
            },
        ),
        _ => return None,
    };
    Some((weight, text.to_owned()))
}

/// Something that a story can tell. Times are in nanoseconds since the run began.
pub(super) enum StoryItem<'a> {
    /// A sentence of its own, and its time.
    Said(u64, Weight, String),
    /// A grant, with its lease.
    Grant(&'a Hold),
    /// What happened to these attempts, without their grants, and the faults of that time.
    Attempts {
        ops: Vec<u64>,
        from_ns: u64,
        to_ns: u64,
    },
    /// The faults of a time.
    Faults { from_ns: u64, to_ns: u64 },
    /// A command that took another client's lock.
    Taken(&'a Taken<'a>),
    /// How the values of a holder went away until then.
    LostValues { hold: &'a Hold, to_ns: u64 },
    /// An extension after the lease had certainly expired, if there was one.
    ResumedLease(&'a Hold),
    /// The death of the worker, if it ended the hold.
    Death(&'a Hold),
}
