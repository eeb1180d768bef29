//! Histories of older versions.
//!
//! They wrote `fault-missed` also about what is no fault, with a name that no fault has, and told in words what
//! has a field today. This is the only place where such words are read.

use picklock_scenarios::BackendName;

use super::event::EventKind;
use super::strike::MissedBecause;

/// The event as it is written today, in a history of this backend.
pub(super) fn in_todays_form(what: EventKind, backend: BackendName) -> EventKind {
    match what {
        EventKind::FaultMissed {
            fault,
            reason,
            optional,
            because: None,
        } => missed((fault, reason, optional), backend),
        EventKind::Shortage { reason } => shortage(reason),
        what => what,
    }
}

fn missed((fault, reason, optional): (String, String, bool), backend: BackendName) -> EventKind {
    match fault.as_str() {
        "last look at the locks" => EventKind::FinalInspectionFailed { reason },
        "stock in Redis" => EventKind::StockUnknown { reason },
        "custody" => EventKind::CustodyIncomplete {
            reason: after(&reason, "is not complete: "),
        },
        "model" => EventKind::CommandUnknown {
            command: reason.split('`').nth(1).unwrap_or(&reason).to_owned(),
        },
        "backends" | "worlds" => EventKind::BackendUnsupported {
            backend,
            supported: (after(&reason, "which are: ").split(", "))
                .filter_map(|word| word.parse().ok())
                .collect(),
        },
        "extend" => EventKind::ExtensionUntested {
            unsupported: (reason.split_once("cannot be extended: "))
                .map(|(_, message)| message.to_owned()),
        },
        _ => {
            let no_failover = reason.contains("the Sentinels did not fail over");
            EventKind::FaultMissed {
                fault,
                reason,
                optional,
                because: no_failover.then_some(MissedBecause::NoFailover),
            }
        }
    }
}

fn shortage(reason: String) -> EventKind {
    let gone = || {
        let told = reason.strip_suffix(" and was gone before it was known whose it was")?;
        let (worker, sent) = told
            .strip_prefix("a client on a link of worker ")?
            .split_once(" sent ")?;
        Some(EventKind::ClientGone {
            worker: worker.parse().ok()?,
            sent: sent.to_owned(),
        })
    };
    gone().unwrap_or(EventKind::Shortage { reason })
}

/// What follows these words, or all of it.
fn after(text: &str, words: &str) -> String {
    text.split_once(words)
        .map_or(text, |(_, rest)| rest)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fault: &str, reason: &str) -> EventKind {
        let missed = EventKind::FaultMissed {
            fault: fault.into(),
            reason: reason.into(),
            optional: false,
            because: None,
        };
        in_todays_form(missed, BackendName::Sim)
    }

    fn short(reason: &str) -> EventKind {
        let reason = reason.into();
        in_todays_form(EventKind::Shortage { reason }, BackendName::Sim)
    }

    #[test]
    fn missed_fault_that_is_none_is_read_as_what_it_is() {
        let model =
            "the simulated Redis does not know `LOLWUT`; run it on a real one (--backend process)";
        let command = "LOLWUT".into();
        assert_eq!(read("model", model), EventKind::CommandUnknown { command });
        let worlds = "the sim world is none of the scenario's, which are: process, docker";
        let supported = vec![BackendName::Process, BackendName::Docker];
        assert_eq!(
            read("worlds", worlds),
            EventKind::BackendUnsupported {
                backend: BackendName::Sim,
                supported
            }
        );
        assert_eq!(
            read("extend", "the lock cannot be extended: no such thing"),
            EventKind::ExtensionUntested {
                unsupported: Some("no such thing".into())
            }
        );
        assert_eq!(
            read("extend", "no holder came to extend its lease"),
            EventKind::ExtensionUntested { unsupported: None }
        );
        let reason = || String::from("no answer");
        assert_eq!(
            read("last look at the locks", &reason()),
            EventKind::FinalInspectionFailed { reason: reason() }
        );
        assert_eq!(
            read(
                "custody",
                "the account of the servers' keys is not complete: no answer"
            ),
            EventKind::CustodyIncomplete { reason: reason() }
        );
    }

    #[test]
    fn missing_failover_and_client_that_was_gone_are_read_from_their_words() {
        let reason = "the Sentinels did not fail over node 0 within 20s: they name the old master";
        assert!(matches!(
            read("sentinel-failover", reason),
            EventKind::FaultMissed {
                because: Some(MissedBecause::NoFailover),
                ..
            }
        ));
        assert_eq!(
            short(
                "a client on a link of worker 1 sent SET and was gone before it was known whose it was"
            ),
            EventKind::ClientGone {
                worker: 1,
                sent: "SET".into()
            }
        );
        let files = "cannot accept: Too many open files";
        let reason = files.into();
        assert_eq!(short(files), EventKind::Shortage { reason });
    }
}
