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

/// `the lock`, or with its name where there are several.
pub(super) fn lock(header: &Header, key: u32) -> String {
    named(header, key, "the lock")
}

/// `the stock`, or with its lock's name where there are several.
pub(super) fn stock(header: &Header, key: u32) -> String {
    named(header, key, "the stock")
}

fn named(header: &Header, key: u32, what: &str) -> String {
    match header.keys.get(key as usize) {
        Some(name) if header.keys.len() > 1 => format!("{what} `{name}`"),
        _ => what.to_owned(),
    }
}

/// What an event says about an attempt. Grants are left out: how they are told depends on the other
/// holders.
pub(super) fn sentence(header: &Header, what: &EventKind) -> Option<(Weight, String)> {
    let (weight, text) = match what {
        EventKind::StockRead {
            worker, key, stock, ..
        } => (
            if *stock < 0 {
                Weight::Plot
            } else {
                Weight::Detail
            },
            format!("worker {worker} read {} {stock}", bare_stock(header, *key)),
        ),
        EventKind::StockChanged {
            worker,
            key,
            from,
            to,
            ..
        } => {
            let twice = if *to < 0 {
                ": one unit was sold twice"
            } else {
                ""
            };
            let stock = stock(header, *key);
            let text = format!("worker {worker} changed {stock} from {from} to {to}{twice}");
            let weight = if *to < 0 {
                Weight::Plot
            } else {
                Weight::Reason
            };
            (weight, text)
        }
        EventKind::FencedOff {
            worker,
            fence,
            highest,
            ..
        } => (
            Weight::Reason,
            format!(
                "the resource refused worker {worker}: its token {fence} is lower than {highest}"
            ),
        ),
        _ => return of_lease(what).or_else(|| answer(what)),
    };
    Some((weight, text))
}

/// What an event says about the lease of a hold.
fn of_lease(what: &EventKind) -> Option<(Weight, String)> {
    let (weight, text) = match what {
        EventKind::Extended {
            worker, valid_ms, ..
        } => (
            Weight::Background,
            format!("worker {worker} said that its lease was extended by {valid_ms} ms"),
        ),
        EventKind::ExtendGranted {
            worker,
            valid_ms: Some(valid_ms),
            ..
        } => (
            Weight::Background,
            format!("worker {worker} extended its lease, by its own account by {valid_ms} ms"),
        ),
        EventKind::ExtendGranted { worker, .. } => (
            Weight::Background,
            format!("worker {worker} extended its lease"),
        ),
        EventKind::ExtendRefused { worker, .. } => (
            Weight::Reason,
            format!("worker {worker} was refused an extension: the lock was no longer its own"),
        ),
        EventKind::Lost { worker, .. } => (
            Weight::Reason,
            format!("worker {worker} said that its lease was lost"),
        ),
        _ => return None,
    };
    Some((weight, text))
}

/// What an event says about the end of an attempt.
fn answer(what: &EventKind) -> Option<(Weight, String)> {
    let (weight, text) = match what {
        EventKind::Release { worker, .. } => (
            Weight::Detail,
            format!("worker {worker} was told to release"),
        ),
        EventKind::Released {
            worker, released, ..
        } => (
            Weight::Detail,
            match released {
                Some(true) => format!("worker {worker} said that it had released the lock"),
                Some(false) => format!("worker {worker} said that the lock was no longer its own"),
                None => format!("worker {worker} did not say whether it had released the lock"),
            },
        ),
        EventKind::ReleaseFailed {
            worker, message, ..
        } => (
            Weight::Detail,
            format!("the release of worker {worker} failed: {message}"),
        ),
        EventKind::ExtendFailed {
            worker, message, ..
        } => (
            Weight::Reason,
            format!("the extension of worker {worker} failed: {message}"),
        ),
        EventKind::AcquireFailed {
            worker, message, ..
        } => (
            Weight::Reason,
            format!("the attempt of worker {worker} failed: {message}"),
        ),
        _ => return None,
    };
    Some((weight, text))
}

fn bare_stock(header: &Header, key: u32) -> String {
    named(header, key, "stock")
}
