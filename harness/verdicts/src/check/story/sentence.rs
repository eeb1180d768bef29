//! Events as sentences.

use crate::history::{EventKind, Header};

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
        EventKind::StockRead { key, stock, .. } => {
            let weight = match *stock < 0 {
                true => Weight::Plot,
                false => Weight::Detail,
            };
            let name = header.named(*key, "stock");
            (weight, format!("worker {worker} read {name} {stock}"))
        }
        EventKind::StockChanged { key, from, to, .. } => {
            let stock = header.named(*key, "the stock");
            let changed = format!("worker {worker} changed {stock} from {from} to {to}");
            match *to < 0 {
                true => (Weight::Plot, changed + ": one unit was sold twice"),
                false => (Weight::Reason, changed),
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
