//! The reasons why a property or a run is inconclusive, as values.
//!
//! Code matches on the variant; only people read the message.

use std::fmt::Display;

use picklock_scenarios::{BackendName, LockFeature};
use serde::{Deserialize, Serialize};

use crate::history::{Budget, MissedBecause};

/// Advice for a run that a slow machine spoiled.
const RERUN: &str =
    "the run did not test the lock as the scenario describes; rerun it on a less busy machine";

/// Beginning of the message about a starvation for which the lock may not be responsible.
const STARVED: &str = "no client got the lock for longer than the bound, but";

/// The reason why a property is `unknown`, or why no property of a run is `held`. Times are in nanoseconds since the
/// run began.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the field names are self-explanatory")]
pub enum InconclusiveReason {
    /// The harness stalled during a fault or a hold.
    #[error("{} (until {until:.3} s) while {during}{others}: {RERUN}", stalled("the harness", *.late_ms),
        until = seconds(*.until_ns),
        others = further_stalls(*.count))]
    HarnessStall {
        /// Length of the first such stall.
        late_ms: u64,
        until_ns: u64,
        during: StallContext,
        count: u64,
    },
    /// Two clients were inside only because the harness stalled.
    #[error("{} in total while client {worker} was acquiring or holding the lock (until {until:.3} s): without the \
         stalls, no two clients would have held the lock at the same time; rerun on a less busy machine",
        stalled("the harness", *.lost_ms),
        until = seconds(*.until_ns))]
    HoldExtendedByStall {
        /// The worker whose hold was extended, or whose grant was delayed in the harness.
        worker: usize,
        /// Total length of the stalls of the harness during the hold.
        lost_ms: u64,
        /// When the hold ended, or its lease was reported again.
        until_ns: u64,
    },
    /// A server or a worker stalled without a fault.
    #[error("{who} stalled for {length:.1} s (until {until:.3} s) without a fault{others}: another process stopped it, \
         or it was starved of CPU time; {RERUN}",
        length = *.stalled_ms as f64 / 1e3,
        until = seconds(*.until_ns),
        others = further_stalls(*.count))]
    UnexpectedStall {
        who: Component,
        /// Length of the first such stall.
        stalled_ms: u64,
        until_ns: u64,
        /// Number of stalls of servers and workers.
        count: u64,
    },
    /// A client outlived its lease only because it waited for the injection of a fault.
    #[error("the injection of a fault took too long: client {worker} held the lock and waited {waited:.3} s for \
         {fault}, so its lease ended before its work was done: {RERUN}, or use a longer lease (`--ttl`)",
        waited = seconds(*.waited_ns))]
    LateInjection {
        worker: usize,
        waited_ns: u64,
        fault: String,
    },
    /// A fault lasted longer than the scenario specifies, and longer than the hold during which it should have ended.
    #[error("a fault lasted too long: {fault} lasted {lasted:.3} s in total, {late:.3} s more than its scenario says, \
         and the client that held the lock when it should have ended had left before it did: {RERUN}, or use a \
         longer lease (`--ttl`)",
        lasted = seconds(*.lasted_ns),
        late = *.late_ms as f64 / 1e3)]
    FaultOverran {
        fault: String,
        lasted_ns: u64,
        late_ms: u64,
    },
    /// A planned fault did not fire.
    #[error("the fault `{fault}` never fired: {reason}")]
    FaultMissed {
        fault: String,
        reason: String,
        /// The reason as a value, or `None` if no code depends on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<MissedBecause>,
    },
    /// The effect of a fault could not be undone.
    #[error("the {what} failed: {reason}")]
    FaultNotUndone { what: String, reason: String },
    /// The scenario does not support this backend.
    #[error("this scenario does not support the {backend} backend (supported: {})", backend_list(.supported))]
    BackendUnsupported {
        backend: BackendName,
        supported: Vec<BackendName>,
    },
    /// The servers were observed, but some changes of their keys are unknown.
    #[error("the key history has a gap, so nothing that rests on it is judged: {reason}")]
    KeyHistoryGap { reason: String },
    /// A simulated server did not support a command.
    #[error(
        "the simulated Redis does not implement `{command}`; run it on a real one (--backend process)"
    )]
    CommandUnknown { command: String },
    /// No extension was tested.
    #[error("no extension was tested: {}", not_extended(.unsupported.as_deref()))]
    ExtensionUntested {
        /// The lock's own explanation why it cannot extend a lease, or `None` if no holder got far enough to request an
        /// extension.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unsupported: Option<String>,
    },
    /// The lock does not accept the lease of the scenario.
    #[error(
        "the lock refuses a lease of {ttl_ms} ms, but grants one of {granted_ms} ms: {message}"
    )]
    LeaseRefused {
        ttl_ms: u64,
        granted_ms: u64,
        message: String,
    },
    /// The lock does not offer a feature that the scenario requires.
    #[error("the lock does not offer {feature}")]
    NotOffered { feature: LockFeature },
    /// The scenario uses Sentinels, and the lock does not support them.
    #[error("the lock does not accept Sentinel addresses: {message}")]
    SentinelsRefused { message: String },
    /// The server that stores the stock failed.
    #[error("the stock in Redis is unknown: {reason}")]
    StockUnknown { reason: String },
    /// The locks could not be inspected after the run.
    #[error("the inspection of the locks after the run failed: {reason}")]
    FinalInspectionFailed { reason: String },
    /// A server died without a fault.
    #[error("node {node} failed on its own: {reason}")]
    NodeLost { node: usize, reason: String },
    /// The Sentinels declared a slow master dead. The loss of its keys proves nothing about the lock.
    #[error("the Sentinels failed over node {node} without a fault: {RERUN}")]
    UnrequestedFailover { node: usize },
    /// A worker sent data while it was frozen or dead.
    #[error("client {worker} was frozen or dead, but sent data to {server} at {arrived:.3} s. The frozen or killed \
         process is a wrapper, and the lock continues in a process that Picklock cannot reach; start the adapter \
         directly (in a shell script with `exec`), not through `docker run`, `ssh` or a service",
        arrived = seconds(*.arrived_at_ns),
        server = server(*.node))]
    FreezeBreach {
        worker: usize,
        /// The node that received the data, or `None` if a Sentinel did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<usize>,
        arrived_at_ns: u64,
    },
    /// The lock's clients run as a user that the proxy does not serve.
    #[error(
        "a program of user {user} was refused on the link of client {worker}: the proxy serves only its own user, \
         {served}; start the adapter as the user that runs Picklock"
    )]
    ClientRefused {
        worker: usize,
        user: u32,
        served: u32,
    },
    /// A simulated run exhausted one of its limits.
    #[error("the simulated run exhausted its budget of {}, and ended early; shorten its `limit`, or let it sell less",
        describe_budget(*.budget, *.most))]
    BudgetSpent { budget: Budget, most: u64 },
    /// The harness ran out of a resource, such as file descriptors.
    #[error("the harness ran out of a resource: {reason}")]
    ResourceExhaustion { reason: String },
    /// A client closed its connection before the proxy had determined the connection's user.
    #[error(
        "the harness was too slow: a program on the link of client {worker} sent {sent} and disconnected before its owner \
         was known"
    )]
    ClientGone { worker: usize, sent: String },
    /// The lock does not use the servers of the run, so nothing is known about it.
    #[error("the lock does not use the servers that it was given: client {worker} got the lock without sending a \
         command to any of them; it should use {} (`nodes` of its `init` request)",
        .nodes.join(", "))]
    OtherServers {
        /// The worker that was granted the lock without a command.
        worker: usize,
        nodes: Vec<String>,
    },
    /// The user interrupted the run.
    #[error("the run was interrupted")]
    Interrupted,
    /// The lock was granted too rarely.
    #[error("{}", too_few_grants(*.granted, *.needed, .failed.as_ref()))]
    TooFewGrants {
        granted: u64,
        needed: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<FailedRequests>,
    },
    /// No client ran the job of a tick, and the reason may lie outside the lock.
    #[error("tick {tick} did not run, but {by}")]
    TickMissed { tick: u64, by: TickExcuse },
    /// Two clients ran the job of a tick in succession, and a stall of the machine may have delayed the second run.
    #[error("tick {tick} ran twice, but the machine stalled for {stalled_ms} ms before: {RERUN}")]
    LateTick { tick: u64, stalled_ms: u64 },
    /// A lock that promises to renew its lease did not, or did not report its end, and the machine may be the reason.
    #[error(
        "the lease of client {worker} was not renewed, and its end not reported, but the machine delayed the worker or a \
         server for {delayed_ms} ms: {RERUN}"
    )]
    RenewalDelayed { worker: usize, delayed_ms: u64 },
    /// Every worker exited, although no fault killed it.
    #[error("too little to judge: all clients died")]
    EverybodyDied,
    /// A signal that no fault sent ended a worker.
    #[error(
        "{reason} ended client {worker}, and no fault did: another process, or the machine because it ran out of \
         memory; {RERUN}"
    )]
    KilledFromOutside { worker: usize, reason: String },
    /// A worker was stopped until it missed its deadline.
    #[error(
        "client {worker} was stopped by a signal (SIGSTOP) that no fault sent, and nothing resumed it: a program \
         must not stop itself or the processes that it started"
    )]
    WorkerStopped { worker: usize },
    /// Workers died on their own, and too few others are left to compete.
    #[error("too little to judge: {} died on {} own, and {} was left",
        worker_list(.died),
        if .died.len() == 1 { "its" } else { "their" },
        if *.left == 0 { "no client" } else { "only one client" })]
    TooFewClients { died: Vec<usize>, left: usize },
    /// No two workers ever wanted a lock at the same time.
    #[error("too little to judge: no two clients ever competed for a lock")]
    NobodyCompeted,
    /// Faults affected holders, but no other client sent a command before those holders left.
    #[error(
        "no client competed while {fault} mattered: until {until:.3} s no other client had sent its first command",
        until = seconds(*.until_ns)
    )]
    NobodyWasReady {
        fault: String,
        /// When the holder that the fault affected ended its hold.
        until_ns: u64,
    },
    /// Two leases may have run at the same time.
    #[error(
        "a client got the lock while another client's lease may still have been running: how long that lease ran is \
         not known precisely enough; let the lock's adapter report since when a grant is valid (`asked_at`, or `try_for`), \
         or `valid_ms`"
    )]
    LeasesMayHaveOverlapped,
    /// The history has no final count of the stock.
    #[error("the history has no final count of the stock, so whether it adds up is unknown")]
    StockUncounted,
    /// A release succeeded while a node had two masters.
    #[error(
        "a release succeeded while another client held the lock, but a node had two masters: the clients may have held \
         the lock on different masters"
    )]
    TwoMasters,
    /// A release succeeded after two leases had overlapped, and there is no key history.
    #[error(
        "two leases had overlapped before, and without the key history it is unknown whose lock the release took"
    )]
    OwnerUnknown,
    /// No client got the lock, for this reason.
    #[error("{by}")]
    Starved { by: StarvationReason },
}

/// Maximum number of characters of a message that a reason quotes.
const MAX_MESSAGE_CHARS: usize = 200;

/// The requests for a lock that ended in an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRequests {
    /// Number of requests.
    pub count: u64,
    /// The message of the first error, shortened.
    pub first: String,
}

impl FailedRequests {
    /// Creates the record of no request, with the message of the first error.
    pub(super) fn new(first: &str) -> Self {
        FailedRequests {
            count: 0,
            first: first.chars().take(MAX_MESSAGE_CHARS).collect(),
        }
    }
}

/// A server or a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Component {
    /// The server of the node with this number.
    #[error("node {0}")]
    Node(usize),
    /// The worker with this number.
    #[error("client {0}")]
    Worker(usize),
}

/// The activity that a stall of the harness disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallContext {
    /// A fault was active.
    #[error("a fault was active")]
    Fault,
    /// A client held the lock.
    #[error("a client held the lock")]
    Hold,
    /// The writing of a value for an attempt that was then refused.
    #[error("a client was acquiring the lock, and may have given up an answer that was in flight")]
    Attempt,
    /// The clean-up after a section that failed, which ended in an error.
    #[error(
        "a client was cleaning up after a section that failed, and the error of the clean-up may be due to it"
    )]
    CleanUp,
}

/// Why the lock is not, or may not be, responsible for a starvation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StarvationReason {
    /// A fault kept away nodes that the lock needs.
    #[error("{STARVED} a fault that was still active kept away nodes that the lock needs")]
    NodesOutOfReach,
    /// A clock was wrong.
    #[error("{STARVED} a clock was wrong, and a key may have lived longer by that much")]
    WrongClock,
    /// Attempts without a definite answer may have taken the lock.
    #[error(
        "{STARVED} attempts of clients that a fault affected may have taken it again and again"
    )]
    AttemptsInDoubt,
    /// A client that was supposed to be frozen or dead was running.
    #[error("{STARVED} a client that was supposed to be frozen or dead was running")]
    FreezeBreach,
    /// A lease or a fault may have blocked the probe after the run.
    #[error(
        "the probe after the run did not get the lock, but a lease or a fault may have blocked it"
    )]
    ProbeBlocked,
    /// The harness stalled, or a worker waited for a CPU, for this many milliseconds of the wait.
    #[error("{STARVED} {} of that time", stalled("the machine", *.0))]
    MachineTooSlow(u64),
}

impl InconclusiveReason {
    /// Returns `true` if the scenario requires something that the lock or the backend does not offer. Every property
    /// that is not violated is then not applicable.
    pub fn is_inapplicable(&self) -> bool {
        match self {
            InconclusiveReason::BackendUnsupported { .. }
            | InconclusiveReason::LeaseRefused { .. }
            | InconclusiveReason::SentinelsRefused { .. }
            | InconclusiveReason::NotOffered { .. }
            | InconclusiveReason::ExtensionUntested {
                unsupported: Some(_),
            } => true,
            InconclusiveReason::FaultMissed { because, .. } => {
                *because == Some(MissedBecause::Unable)
            }
            _ => false,
        }
    }

    /// Returns `true` if the reason lies in the setup of the run or in the lock, and not in chance: a rerun would give
    /// the same result.
    pub fn is_lasting(&self) -> bool {
        let lasts = matches!(
            self,
            InconclusiveReason::CommandUnknown { .. }
                | InconclusiveReason::FreezeBreach { .. }
                | InconclusiveReason::ClientRefused { .. }
                | InconclusiveReason::OtherServers { .. }
                | InconclusiveReason::EverybodyDied
                | InconclusiveReason::TooFewClients { .. }
                | InconclusiveReason::WorkerStopped { .. }
                | InconclusiveReason::Interrupted
        );
        lasts || self.is_inapplicable()
    }

    /// Returns `true` if the machine was too slow. The run then proves nothing about the lock, and may be rerun.
    pub fn is_machines_fault(&self) -> bool {
        match self {
            InconclusiveReason::HarnessStall { .. }
            | InconclusiveReason::HoldExtendedByStall { .. }
            | InconclusiveReason::UnexpectedStall { .. }
            | InconclusiveReason::LateInjection { .. }
            | InconclusiveReason::FaultOverran { .. }
            | InconclusiveReason::UnrequestedFailover { .. }
            | InconclusiveReason::KilledFromOutside { .. }
            | InconclusiveReason::ClientGone { .. } => true,
            InconclusiveReason::FaultMissed { because, .. } => {
                *because == Some(MissedBecause::NoFailover)
            }
            InconclusiveReason::LateTick { .. }
            | InconclusiveReason::RenewalDelayed { .. }
            | InconclusiveReason::TickMissed {
                by: TickExcuse::Stall(_),
                ..
            } => true,
            InconclusiveReason::Starved { by } => matches!(by, StarvationReason::MachineTooSlow(_)),
            _ => false,
        }
    }
}

/// Why no client ran a job, if the lock may not be responsible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TickExcuse {
    /// A fault kept Redis or the clients away.
    #[error("a fault kept every client from getting the lock, or Redis from answering")]
    Fault,
    /// The machine stalled, for this many milliseconds.
    #[error("the machine stalled for {0} ms: {RERUN}")]
    Stall(u64),
}

/// Returns `{who} stalled for {length_ms} ms`. `UnexpectedStall`, `LateTick` and `TickExcuse::Stall` have their own
/// clauses. `TOO_BUSY` in `tests/e2e/running.rs` searches the output of runs for these words.
pub(super) fn stalled(who: impl Display, length_ms: u64) -> String {
    format!("{who} stalled for {length_ms} ms")
}

/// Returns the reason of a run with too few grants. If there was no grant at all, the errors come first.
fn too_few_grants(granted: u64, needed: u64, failed: Option<&FailedRequests>) -> String {
    let about = match (granted, failed) {
        (0, Some(_)) => "no client got the lock".to_owned(),
        _ => format!(
            "the lock was granted {granted} times, and the scenario requires at least {needed}"
        ),
    };
    format!("too little to judge: {about}{}", failures(failed))
}

/// Returns a clause about failed requests, or an empty text if there are none.
fn failures(failed: Option<&FailedRequests>) -> String {
    failed.map_or_else(String::new, |FailedRequests { count, first }| match count {
        1 => format!("; one request failed: {first}"),
        count => format!("; {count} requests failed, the first with: {first}"),
    })
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn further_stalls(count: u64) -> String {
    match count {
        1 => String::new(),
        count => format!(", the first of {count} such stalls"),
    }
}

fn describe_budget(budget: Budget, most: u64) -> String {
    match budget {
        Budget::Events => format!("{most} events"),
        Budget::Memory => format!("{} MiB of history", most >> 20),
        Budget::Steps => format!("{most} steps (turns of its workers, and commands)"),
        Budget::VirtualTime => format!("{} days of virtual time", most / (24 * 3600)),
    }
}

fn worker_list(numbers: &[usize]) -> String {
    let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let plural = if list.len() == 1 { "" } else { "s" };
    format!("client{plural} {}", list.join(", "))
}

fn backend_list(backends: &[BackendName]) -> String {
    let list: Vec<&str> = backends.iter().map(|backend| backend.as_str()).collect();
    list.join(", ")
}

fn not_extended(unsupported: Option<&str>) -> String {
    match unsupported {
        Some(message) => format!("the lock cannot be extended: {message}"),
        None => "no holder got far enough to extend its lease".to_owned(),
    }
}

fn server(node: Option<usize>) -> String {
    node.map_or("a Sentinel".to_owned(), |node| format!("node {node}"))
}
