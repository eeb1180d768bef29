//! Events as sentences.

use picklock_scenarios::StockFault;

use crate::history::{Belated, EventKind, Header};

/// How important a sentence is. If there are too many, the least important ones are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// What happened.
    Plot,
    /// Why it happened.
    Reason,
    /// How it happened.
    Detail,
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
            let digits = format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000);
            format!("{} s", digits.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// What an event says about an attempt. Grants are left out: how they are told depends on the other
/// holders.
pub(super) fn sentence(header: &Header, what: &EventKind) -> Option<(Weight, String)> {
    let (worker, _) = what.attempt()?;
    let failed =
        |act: &str, message: &str| format!("the {act} of worker {worker} failed: {message}");
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
                Some(ns) => (
                    Weight::Plot,
                    format!("{read} from a replica, as it had been at {}", clock(*ns)),
                ),
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
        EventKind::ReleaseFailed { message, .. } => (Weight::Detail, failed("release", message)),
        EventKind::ExtendFailed { message, .. } => (Weight::Reason, failed("extension", message)),
        EventKind::AcquireFailed { message, .. } => (Weight::Reason, failed("attempt", message)),
        EventKind::Extended { valid_ms, .. } => (
            Weight::Background,
            format!("worker {worker} said that its lease was extended by {valid_ms} ms"),
        ),
        EventKind::ExtendGranted {
            valid_ms: Some(ms), ..
        } => (
            Weight::Background,
            format!("worker {worker} extended its lease, by its own account by {ms} ms"),
        ),
        _ => {
            let (weight, text) = said(what)?;
            (weight, format!("worker {worker} {text}"))
        }
    })
}

/// What changed the stock, where it was not done when its writer asked for it.
fn belated_write(
    worker: usize,
    Belated {
        by,
        requested_at_ns,
    }: Belated,
) -> String {
    let asked = clock(requested_at_ns);
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
fn said(what: &EventKind) -> Option<(Weight, &'static str)> {
    Some(match what {
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
    })
}
