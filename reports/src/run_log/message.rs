//! Turns messages between the driver and a worker, and a worker's accesses to the stock, into entries.

use picklock_verdicts::history::{Event, EventKind, History};

use super::entry::{Entry, EntryKind};
use crate::units::span_ms;

/// Returns the entry for an event between the driver, a worker and the stock, or `None` for another event.
pub(super) fn entry(event: &Event, history: &History) -> Option<Entry> {
    let (worker, op) = event.what.attempt()?;
    let what = &event.what;
    let request = describe_request(what, history).map(|text| (format!("driver → c{worker}"), text));
    let access = || describe_access(what).map(|text| (format!("c{worker} → stock"), text));
    let reply = || describe_reply(what).map(|text| (format!("c{worker} → driver"), text));
    let (route, text) = request.or_else(access).or_else(reply)?;
    Some(Entry {
        worker: Some(worker),
        op: Some(op),
        ..Entry::new(event.at_ns, EntryKind::Message, route, text)
    })
}

/// Describes a request of the driver.
fn describe_request(what: &EventKind, history: &History) -> Option<String> {
    Some(match what {
        EventKind::Acquire {
            key,
            ttl_ms,
            wait_ms,
            ..
        } => {
            let lock = history.header.keys.get(*key as usize);
            let (lock, ttl) = (lock.map_or("", String::as_str), span_ms(*ttl_ms));
            format!("acquire {lock}, ttl {ttl}, wait {}", span_ms(*wait_ms))
        }
        EventKind::Extend { ttl_ms, .. } => format!("extend, ttl {}", span_ms(*ttl_ms)),
        EventKind::Act { .. } => "act".to_owned(),
        EventKind::Release { .. } => "release".to_owned(),
        EventKind::Cancel { .. } => "cancel the request".to_owned(),
        _ => return None,
    })
}

/// Describes an access to the stock that the driver performs on behalf of a worker.
fn describe_access(what: &EventKind) -> Option<String> {
    Some(match what {
        EventKind::StockRead { stock, .. } => format!("reads {stock}"),
        EventKind::StockChanged { from, to, .. } => format!("changes {from} to {to}"),
        EventKind::ValueRead { first, second, .. } => {
            format!("reads the halves {first} and {second}")
        }
        EventKind::ValueWritten { to, .. } => format!("changes the second half to {to}"),
        EventKind::JobBegan { tick, .. } => format!("begins the job of tick {tick}"),
        EventKind::FencedOff { fence, highest, .. } => {
            format!("refused: token {fence} is lower than {highest}")
        }
        _ => return None,
    })
}

/// Describes a reply or an unprompted event of a worker.
fn describe_reply(what: &EventKind) -> Option<String> {
    let certainty = |definite: bool| {
        if definite {
            "certain"
        } else {
            "outcome unknown"
        }
    };
    Some(match what {
        EventKind::Granted {
            token,
            fence,
            valid_ms,
            ..
        } => {
            let fence = fence.map_or_else(String::new, |fence| format!(", fence {fence}"));
            format!("granted{fence}{}, token {token}", valid(*valid_ms))
        }
        EventKind::Refused { .. } => "refused".to_owned(),
        EventKind::AcquireFailed {
            message, definite, ..
        }
        | EventKind::ExtendFailed {
            message, definite, ..
        }
        | EventKind::ActFailed {
            message, definite, ..
        }
        | EventKind::ReleaseFailed {
            message, definite, ..
        } => format!("error ({}): {message}", certainty(*definite)),
        EventKind::Extended { valid_ms, .. } => format!("renewed{}", valid(Some(*valid_ms))),
        EventKind::ExtendGranted { valid_ms, .. } => format!("extended{}", valid(*valid_ms)),
        EventKind::ExtendRefused { .. } => "not extended: no longer the owner".to_owned(),
        EventKind::MayAct { epoch, .. } => epoch.map_or_else(
            || "leads, and may act".to_owned(),
            |epoch| format!("leads, and may act, epoch {epoch}"),
        ),
        EventKind::Lost { .. } => "lost the lock".to_owned(),
        EventKind::Released { released, .. } => match released {
            Some(true) => "released".to_owned(),
            Some(false) => "not released: no longer the owner".to_owned(),
            None => "release done, result not reported".to_owned(),
        },
        _ => return None,
    })
}

fn valid(valid_ms: Option<u64>) -> String {
    valid_ms.map_or_else(String::new, |ms| format!(", valid for {}", span_ms(ms)))
}
