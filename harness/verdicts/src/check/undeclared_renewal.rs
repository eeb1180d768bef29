//! Renewals by a lock that does not declare that it renews.
//!
//! Such a lock passes a gate without a test of its renewals: the scenarios for locks that renew are run only for locks
//! that declare it.

use picklock_scenarios::Phase;

use crate::check::warning::{Warning, WarningKind};
use crate::history::{EventKind, History};
use crate::key_history::KeyHistory;

/// Minimum number of renewals. A single one may belong to an acquisition whose last command arrived late.
const MIN_RENEWALS: u64 = 2;

/// Returns a warning if the lock prolonged values of its own several times while its client held the lock and
/// requested nothing, and does not declare `renews`.
pub fn undeclared_renewal(history: &History) -> Option<Warning> {
    let header = &history.header;
    let sets_expiry = |kind: &EventKind| match kind {
        EventKind::KeyChanged {
            ttl_ms: Some(_),
            why,
            ..
        } => why.command().is_some_and(|by| by.phase == Phase::Idle),
        _ => false,
    };
    let mut kinds = history.events.iter().map(|event| &event.what);
    if header.renews || !header.key_history || !kinds.any(sets_expiry) {
        return None;
    }
    let spans = KeyHistory::from_history(history).spans;
    let renewals = spans.iter().flat_map(|span| {
        let own = span.renewals.iter();
        own.filter(|renewal| span.is_of(renewal.by.worker, renewal.by.op))
    });
    let unrequested = renewals.filter(|it| it.by.phase == Phase::Idle && it.prolongs());
    let count = unrequested.count() as u64;
    (count >= MIN_RENEWALS).then(|| WarningKind::UndeclaredRenewal { count }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::read_history;

    /// Returns the warning about a holder whose value was prolonged in these phases, one every 300 ms.
    fn warning(renews: bool, phases: &[&str]) -> Option<String> {
        let header = format!(
            r#"{{"format":"picklock-history/1","scenario":"q","lock":"s","backend":"sim","seed":1,"workers":1,"nodes":1,"keys":["k"],"ttl_ms":1000,"stock_start":2,"update":"decrement","min_grants":1,"progress_within_ms":6000,"renews":{renews},"key_history":true}}"#
        );
        let change = |(index, phase): (usize, &&str)| {
            let at_ms = 1 + 300 * index;
            format!(
                r#"{{"at_ns":{at_ms}000000,"event":"key-changed","node":0,"key":0,"value":"t","ttl_ms":1000,"why":"command","worker":0,"op":1,"phase":"{phase}","command":"PEXPIRE"}}"#
            )
        };
        let changes: Vec<String> = phases.iter().enumerate().map(change).collect();
        let acquire =
            r#"{"at_ns":0,"event":"acquire","worker":0,"op":1,"key":0,"ttl_ms":1000,"wait_ms":0}"#;
        let text = format!("{header}\n{acquire}\n{}", changes.join("\n"));
        let history = read_history(text.as_bytes()).unwrap();
        undeclared_renewal(&history).map(|warning| warning.text)
    }

    #[test]
    fn renewals_that_nobody_requested_are_counted() {
        let text = warning(false, &["acquire", "idle", "idle"]).unwrap();
        assert!(
            text.starts_with("the lock renewed its lease 2 times"),
            "{text}"
        );
        assert_eq!(warning(true, &["acquire", "idle", "idle"]), None);
        assert_eq!(warning(false, &["acquire", "extend", "extend"]), None);
        assert_eq!(warning(false, &["acquire", "idle"]), None);
    }
}
