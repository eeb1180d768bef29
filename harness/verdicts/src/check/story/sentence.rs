//! Events as sentences.

use picklock_scenarios::StockFault;

use crate::history::{Belated, EventKind, Header};
use crate::timeline::ms_from_ns;

/// The importance of a sentence. If there are too many sentences, the least important ones are omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// An event that decides the violation.
    Decisive,
    /// An event of the violation.
    Plot,
    /// The beginning of an injected fault.
    Fault,
    /// An event that explains a more important one.
    Reason,
    Detail,
    Background,
}

/// Formats a time in nanoseconds since the run began: `0.812 s`.
pub(super) fn clock(at_ns: u64) -> String {
    let milliseconds = ms_from_ns(at_ns);
    format!("{}.{:03} s", milliseconds / 1000, milliseconds % 1000)
}

/// Formats a duration in nanoseconds: `20 ms`, `1.5 s`.
pub(super) fn length(ns: u64) -> String {
    match ns {
        0..1000 => format!("{ns} ns"),
        1000..1_000_000 => format!("{} µs", ns / 1000),
        1_000_000..1_000_000_000 => format!("{} ms", ms_from_ns(ns)),
        _ => {
            let milliseconds = ms_from_ns(ns);
            let digits = format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000);
            format!("{} s", digits.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// Returns an event of an attempt as a sentence, or `None` if it is not worth describing. Grants are described
/// elsewhere, because their sentences depend on the other holders.
pub(super) fn sentence(header: &Header, what: &EventKind) -> Option<(Weight, String)> {
    let (worker, _) = what.attempt()?;
    let failed =
        |act: &str, message: &str| format!("the {act} of client {worker} failed: {message}");
    Some(match what {
        EventKind::StockRead {
            key,
            stock,
            as_of_ns,
            ..
        } => stock_read(worker, &header.named(*key, "stock"), *stock, *as_of_ns),
        EventKind::StockChanged {
            key,
            from,
            to,
            belated,
            ..
        } => {
            let stock = header.named(*key, "the stock");
            stock_changed(worker, &stock, (*from, *to), *belated)
        }
        EventKind::ValueRead { first, second, .. } if first != second => (
            Weight::Decisive,
            format!(
                "client {worker} read {first} in one half of the value, and {second} in the other"
            ),
        ),
        EventKind::ValueRead { .. } => return None,
        EventKind::ValueWritten { to, .. } => (
            Weight::Reason,
            format!("client {worker} changed the other half to {to}"),
        ),
        EventKind::JobBegan { tick, .. } => (
            Weight::Decisive,
            format!("client {worker} began the job of tick {tick}"),
        ),
        EventKind::FencedOff { fence, highest, .. } => (
            Weight::Reason,
            format!(
                "the resource rejected client {worker}: its token {fence} is lower than {highest}"
            ),
        ),
        EventKind::ReleaseFailed { message, .. } => (Weight::Detail, failed("release", message)),
        EventKind::ActFailed { message, .. } => (
            Weight::Reason,
            failed("question whether it may act", message),
        ),
        EventKind::MayAct { epoch, .. } => (Weight::Detail, may_act(worker, *epoch)),
        EventKind::ExtendFailed { message, .. } => (Weight::Reason, failed("extension", message)),
        EventKind::AcquireFailed { message, .. } => (Weight::Reason, failed("attempt", message)),
        EventKind::Extended { valid_ms, .. } => (
            Weight::Background,
            format!("client {worker} reported that its lease was extended by {valid_ms} ms"),
        ),
        EventKind::ExtendGranted {
            valid_ms: Some(ms), ..
        } => (
            Weight::Background,
            format!("client {worker} reported an extension of its lease by {ms} ms"),
        ),
        _ => {
            let (weight, text) = predicate(what)?;
            (weight, format!("client {worker} {text}"))
        }
    })
}

/// Returns the sentence of a confirmation that a leader may act.
fn may_act(worker: usize, epoch: Option<u64>) -> String {
    let epoch = epoch.map_or_else(String::new, |epoch| format!(", in epoch {epoch}"));
    format!("the lock confirmed to client {worker} that it leads and may act{epoch}")
}

/// Returns the sentence of a change of the stock.
fn stock_changed(
    worker: usize,
    stock: &str,
    (from, to): (i64, i64),
    belated: Option<Belated>,
) -> (Weight, String) {
    let who = match belated {
        Some(belated) => belated_write(worker, belated),
        None => format!("client {worker}"),
    };
    let changed = format!("{who} changed {stock} from {from} to {to}");
    match (to < 0, belated) {
        (true, _) => (Weight::Decisive, changed + ": one unit was sold twice"),
        (false, Some(_)) => (Weight::Decisive, changed),
        (false, None) => (Weight::Reason, changed),
    }
}

/// Returns the sentence of a read, which a replica may have answered with the stock of an earlier time.
fn stock_read(worker: usize, name: &str, stock: i64, as_of_ns: Option<u64>) -> (Weight, String) {
    let read = format!("client {worker} read {name} {stock}");
    match as_of_ns {
        Some(ns) => (
            Weight::Plot,
            format!("{read} from a replica, as it had been at {}", clock(ns)),
        ),
        None if stock < 0 => (Weight::Plot, read),
        None => (Weight::Detail, read),
    }
}

/// Returns the subject of a sentence about a change of the stock that was made later than its writer requested.
fn belated_write(
    worker: usize,
    Belated {
        by,
        requested_at_ns,
    }: Belated,
) -> String {
    let requested = clock(requested_at_ns);
    match by {
        StockFault::LateWrite => format!("the write that client {worker} had sent at {requested}"),
        StockFault::LateCommit => {
            format!("the commit of the write that client {worker} had sent at {requested}")
        }
        StockFault::UncheckedWrite => {
            format!("client {worker}, whose section had failed at {requested},")
        }
        StockFault::StaleRead => format!("client {worker}, with a reading from {requested},"),
    }
}

/// Returns the predicate of a sentence about a worker and its lease or its hold.
fn predicate(what: &EventKind) -> Option<(Weight, &'static str)> {
    Some(match what {
        EventKind::ExtendGranted { .. } => (Weight::Background, "extended its lease"),
        EventKind::ExtendRefused { .. } => (
            Weight::Reason,
            "was refused an extension: the lock was no longer its own",
        ),
        EventKind::Cancel { .. } => (Weight::Fault, "was asked to cancel its request"),
        EventKind::Lost { .. } => (Weight::Reason, "reported that its lease was lost"),
        EventKind::Reentered { granted: true, .. } => (Weight::Reason, "took its lock again"),
        EventKind::Reentered { .. } => (Weight::Reason, "could not take its lock again"),
        EventKind::InnerReleased { .. } => (
            Weight::Reason,
            "released its inner hold, and continued its section",
        ),
        EventKind::SectionFailed { .. } => (Weight::Detail, "failed in its section"),
        EventKind::Release { .. } => (Weight::Detail, "was asked to release"),
        EventKind::Released { released, .. } => (
            Weight::Detail,
            match released {
                Some(true) => "reported that it had released the lock",
                Some(false) => "reported that the lock was no longer its own",
                None => "did not report whether it had released the lock",
            },
        ),
        _ => return None,
    })
}
