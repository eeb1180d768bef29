//! What the driver and a worker say to each other, and what a worker does to the stock, as entries.

use picklock_verdicts::history::{Event, EventKind, History};

use super::entry::{Entry, EntryKind};
use crate::units::span_ms;

/// The entry for an event between the driver, a worker and the stock. `None`: it is something else.
pub(super) fn entry(event: &Event, history: &History) -> Option<Entry> {
    let (worker, op) = event.what.attempt()?;
    let (way, text) = asked(&event.what, history).or_else(|| answered(&event.what))?;
    let route = match way {
        Way::ToWorker => format!("driver → w{worker}"),
        Way::FromWorker => format!("w{worker} → driver"),
        Way::Stock => format!("w{worker} → stock"),
    };
    Some(Entry {
        worker: Some(worker),
        op: Some(op),
        ..Entry::new(event.at_ns, EntryKind::Message, route, text)
    })
}

enum Way {
    ToWorker,
    FromWorker,
    Stock,
}

/// What the driver asks for, and what it does in a worker's name.
fn asked(what: &EventKind, history: &History) -> Option<(Way, String)> {
    Some(match what {
        EventKind::Acquire {
            key,
            ttl_ms,
            wait_ms,
            ..
        } => {
            let lock = history.header.keys.get(*key as usize);
            let (lock, ttl) = (lock.map_or("", String::as_str), span_ms(*ttl_ms));
            let text = format!("acquire {lock}, ttl {ttl}, wait {}", span_ms(*wait_ms));
            (Way::ToWorker, text)
        }
        EventKind::Extend { ttl_ms, .. } => {
            (Way::ToWorker, format!("extend, ttl {}", span_ms(*ttl_ms)))
        }
        EventKind::Release { .. } => (Way::ToWorker, "release".to_owned()),
        EventKind::StockRead { stock, .. } => (Way::Stock, format!("reads {stock}")),
        EventKind::StockChanged { from, to, .. } => (Way::Stock, format!("changes {from} to {to}")),
        EventKind::FencedOff { fence, highest, .. } => (
            Way::Stock,
            format!("refused: token {fence} is lower than {highest}"),
        ),
        _ => return None,
    })
}

/// What a worker answers, or tells unasked.
fn answered(what: &EventKind) -> Option<(Way, String)> {
    let certain = |definite: bool| match definite {
        true => "certain",
        false => "outcome unknown",
    };
    let text = match what {
        EventKind::Granted {
            token,
            fence,
            valid_ms,
            ..
        } => {
            let fence = fence.map(|fence| format!(", fence {fence}"));
            format!(
                "granted{}{}, token {token}",
                fence.unwrap_or_default(),
                valid(*valid_ms)
            )
        }
        EventKind::Refused { .. } => "refused".to_owned(),
        EventKind::AcquireFailed {
            message, definite, ..
        }
        | EventKind::ExtendFailed {
            message, definite, ..
        }
        | EventKind::ReleaseFailed {
            message, definite, ..
        } => format!("error ({}): {message}", certain(*definite)),
        EventKind::Extended { valid_ms, .. } => format!("renewed{}", valid(Some(*valid_ms))),
        EventKind::ExtendGranted { valid_ms, .. } => format!("extended{}", valid(*valid_ms)),
        EventKind::ExtendRefused { .. } => "not extended: no longer its own".to_owned(),
        EventKind::Lost { .. } => "lost the lock".to_owned(),
        EventKind::Released { released, .. } => match released {
            Some(true) => "released".to_owned(),
            Some(false) => "not released: no longer its own".to_owned(),
            None => "release done, nothing said".to_owned(),
        },
        _ => return None,
    };
    Some((Way::FromWorker, text))
}

fn valid(valid_ms: Option<u64>) -> String {
    valid_ms.map_or_else(String::new, |ms| format!(", valid for {}", span_ms(ms)))
}
