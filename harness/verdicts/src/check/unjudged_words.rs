//! The words for why something could not be judged. Nothing decides by them.

use std::fmt;

use picklock_scenarios::BackendName;

use super::unjudged::{Ongoing, StarvedBy, Unjudged};

/// What to do about a machine that was too slow for a run.
const RUN_AGAIN: &str = "the lock was not put to the test that the scenario describes; run it again on a machine \
                         that is less busy";

impl fmt::Display for Unjudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words())
    }
}

impl Unjudged {
    fn words(&self) -> String {
        match self {
            Unjudged::HarnessPause {
                late_ms,
                until_ns,
                during,
                count,
            } => harness_pause(*late_ms, *until_ns, *during, *count),
            Unjudged::HeldByHarnessPause {
                worker,
                lost_ms,
                until_ns,
            } => held_by_harness_pause(*worker, *lost_ms, *until_ns),
            Unjudged::LateInjection {
                worker,
                waited_ns,
                fault,
            } => late_injection(*worker, *waited_ns, fault),
            Unjudged::FaultOverran {
                fault,
                lasted_ns,
                late_ms,
            } => fault_overran(fault, *lasted_ns, *late_ms),
            Unjudged::FaultMissed { fault, reason, .. } => {
                format!("the fault `{fault}` never struck: {reason}")
            }
            Unjudged::FaultNotUndone { what, reason } => format!("the {what} failed: {reason}"),
            Unjudged::BackendUnsupported { backend, supported } => {
                backend_unsupported(*backend, supported)
            }
            Unjudged::CommandUnknown { command } => format!(
                "the simulated Redis does not know `{command}`; run it on a real one (--backend process)"
            ),
            Unjudged::ExtensionUntested { unsupported } => {
                extension_untested(unsupported.as_deref())
            }
            Unjudged::StockUnknown { reason } => {
                format!("the stock in Redis is not known: {reason}")
            }
            Unjudged::FinalInspectionFailed { reason } => {
                format!("the inspection of the locks after the run failed: {reason}")
            }
            Unjudged::NodeLost { node, reason } => {
                format!("node {node} failed on its own: {reason}")
            }
            Unjudged::FreezeLeak {
                worker,
                node,
                came_ns,
            } => freeze_leak(*worker, *node, *came_ns),
            Unjudged::ResourceExhaustion { reason } => {
                format!("the harness itself ran short: {reason}")
            }
            Unjudged::ClientGone { worker, sent } => client_gone(*worker, sent),
            Unjudged::OtherServers { worker, nodes } => other_servers(*worker, nodes),
            Unjudged::TooFewGrants { granted, needed } => format!(
                "too little to judge: the lock was granted {granted} times, and the scenario asks for at least {needed}"
            ),
            Unjudged::Starved { by } => starved(*by),
            Unjudged::Interrupted
            | Unjudged::EverybodyDied
            | Unjudged::NobodyCompeted
            | Unjudged::LeasesMayHaveOverlapped
            | Unjudged::StockUncounted
            | Unjudged::TwoMasters
            | Unjudged::OwnerUnknown => self.plain().to_owned(),
        }
    }

    /// The words of those without data.
    fn plain(&self) -> &'static str {
        match self {
            Unjudged::Interrupted => "the run was interrupted",
            Unjudged::EverybodyDied => {
                "too little to judge: every worker died on its own, and nobody was left to try"
            }
            Unjudged::NobodyCompeted => {
                "too little to judge: no two workers ever competed for a lock"
            }
            Unjudged::LeasesMayHaveOverlapped => {
                "a client got the lock while another's lease may have been running: how long it ran is not known, \
                 because the lock did not say"
            }
            Unjudged::StockUncounted => {
                "the history has no count of the stock at its end, so it is not known whether it adds up"
            }
            Unjudged::TwoMasters => {
                "a release succeeded while another client had the lock, but a node had two masters then: the two \
                 clients may have had it on different ones"
            }
            // The others have words of their own.
            _ => {
                "two leases had overlapped before, and without the custody of the key nobody can say whose lock the \
                 release took"
            }
        }
    }
}

fn harness_pause(late_ms: u64, until_ns: u64, during: Ongoing, count: u64) -> String {
    let during = match during {
        Ongoing::Fault => "a fault was on",
        Ongoing::Hold => "a client held the lock",
    };
    let others = match count {
        1 => String::new(),
        count => format!(", the first of {count} such stalls"),
    };
    let until = seconds(until_ns);
    format!(
        "the harness stood still for {late_ms} ms until {until:.3} s, while {during}{others}: {RUN_AGAIN}"
    )
}

fn held_by_harness_pause(worker: usize, lost_ms: u64, until_ns: u64) -> String {
    let until = seconds(until_ns);
    format!(
        "the harness stood still for {lost_ms} ms in all while worker {worker} asked for the lock or held it, until \
         {until:.3} s: had it been on time, no two clients would have been seen inside at the same time; run it again \
         on a machine that is less busy"
    )
}

fn late_injection(worker: usize, waited_ns: u64, fault: &str) -> String {
    let waited = seconds(waited_ns);
    format!(
        "a fault took too long to strike: worker {worker} held the lock and waited {waited:.3} s for {fault}, and so \
         its lease ran out before its work was done: {RUN_AGAIN}, or with a longer lease (`--ttl`)"
    )
}

fn fault_overran(fault: &str, lasted_ns: u64, late_ms: u64) -> String {
    let (lasted, late) = (seconds(lasted_ns), late_ms as f64 / 1e3);
    format!(
        "a fault lasted too long: {fault} lasted {lasted:.3} s in all, {late:.3} s more than its scenario says, and the \
         client that held the lock when it began had left before it was over: {RUN_AGAIN}, or with a longer lease \
         (`--ttl`)"
    )
}

fn backend_unsupported(backend: BackendName, supported: &[BackendName]) -> String {
    let supported: Vec<&str> = supported.iter().map(|one| one.word()).collect();
    let supported = supported.join(", ");
    format!("this scenario does not support the {backend} backend (supported: {supported})")
}

fn client_gone(worker: usize, sent: &str) -> String {
    format!(
        "the harness was too slow: a client on a link of worker {worker} sent {sent} and was gone before it was known \
         whose it was"
    )
}

fn extension_untested(unsupported: Option<&str>) -> String {
    match unsupported {
        Some(message) => format!("no extension was tested: the lock cannot be extended: {message}"),
        None => "no extension was tested: no holder came to extend its lease".to_owned(),
    }
}

fn freeze_leak(worker: usize, node: Option<usize>, came_ns: u64) -> String {
    let node = node.map_or("a Sentinel".to_owned(), |node| format!("node {node}"));
    let came = seconds(came_ns);
    format!(
        "the fault escaped: worker {worker} was frozen or dead, and at {came:.3} s something came from it to {node}. The \
         process that was frozen or killed is a wrapper, and the lock goes on in one that Picklock cannot reach; start \
         the adapter itself (in a shell script with `exec`), without `docker run`, `ssh` or a service in between"
    )
}

fn other_servers(worker: usize, nodes: &[String]) -> String {
    let nodes = nodes.join(", ");
    format!(
        "the lock does not use the servers that it was given: worker {worker} got the lock without having sent a \
         command to any of them; it should use {nodes} (`nodes` of its `init` request)"
    )
}

fn starved(by: StarvedBy) -> String {
    let meanwhile = match by {
        StarvedBy::ProbeBlocked => {
            return "the probe after the run did not get the lock, but a lease or a fault may have blocked it".to_owned();
        }
        StarvedBy::NodesOutOfReach => {
            "a fault that was still active took away nodes that the lock needs"
        }
        StarvedBy::WrongClock => "a clock was wrong, and a key may have lived longer by as much",
        StarvedBy::AttemptsInDoubt => {
            "the attempts of workers that a fault struck may have taken it again and again"
        }
        StarvedBy::FreezeLeak => {
            "a fault escaped: a client that counts as frozen or dead was at work"
        }
        StarvedBy::HarnessPause(ms) => &format!("the machine was stalled for {ms} ms of that time"),
    };
    format!("no client got the lock for longer than the bound, but {meanwhile}")
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
