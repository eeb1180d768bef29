//! Why something could not be judged, as values.
//!
//! Who decides anything looks at the value. The words beside it nobody reads but people.

use picklock_scenarios::{BackendName, LockFeature};
use serde::{Deserialize, Serialize};

use crate::history::{Budget, MissedBecause};

/// What to do about a machine that was too slow for a run.
const RUN_AGAIN: &str = "the lock was not put to the test that the scenario describes; run it again on a machine \
                         that is less busy";

/// What was seen where it may not be the lock's fault.
const STARVED: &str = "no client got the lock for longer than the bound, but";

/// Why a property could not be judged, or nothing that was found to hold can be believed. Times are in nanoseconds
/// since the run began.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say what they are")]
pub enum InconclusiveReason {
    /// The harness stood still during a fault or a hold.
    #[error("the harness stood still for {late_ms} ms until {until:.3} s, while {during}{others}: {RUN_AGAIN}",
        until = seconds(*.until_ns),
        others = other_pauses(*.count))]
    HarnessStall {
        /// For how long, the first time.
        late_ms: u64,
        until_ns: u64,
        during: StallContext,
        count: u64,
    },
    /// Two clients were inside only because the harness stood still.
    #[error("the harness stood still for {lost_ms} ms in all while worker {worker} asked for the lock or held it, until \
         {until:.3} s: had it been on time, no two clients would have been seen inside at the same time; run it again \
         on a machine that is less busy",
        until = seconds(*.until_ns))]
    HoldExtendedByStall {
        /// Whose hold lasted, or whose grant lay in the harness.
        worker: usize,
        /// For how long the harness stood still meanwhile.
        lost_ms: u64,
        /// When the hold ended, or its lease was told anew.
        until_ns: u64,
    },
    /// A server or a worker stood still, and no fault asked for it.
    #[error("{who} stood still for {stood:.1} s until {until:.3} s, and no fault asked for it{others}: stopped by somebody \
         else, or kept from the processor; {RUN_AGAIN}",
        stood = *.stalled_ms as f64 / 1e3,
        until = seconds(*.until_ns),
        others = other_stalls(*.count))]
    UnexpectedStall {
        who: Component,
        /// For how long, the first time.
        stalled_ms: u64,
        until_ns: u64,
        /// How often servers and workers did.
        count: u64,
    },
    /// A client outlived its lease only because it waited for a fault to strike.
    #[error("a fault took too long to strike: worker {worker} held the lock and waited {waited:.3} s for {fault}, and so \
         its lease ran out before its work was done: {RUN_AGAIN}, or with a longer lease (`--ttl`)",
        waited = seconds(*.waited_ns))]
    LateInjection {
        worker: usize,
        waited_ns: u64,
        fault: String,
    },
    /// A fault of nodes lasted longer than its scenario says, and longer than the hold that it was to strike.
    #[error("a fault lasted too long: {fault} lasted {lasted:.3} s in all, {late:.3} s more than its scenario says, and the \
         client that held the lock when it began had left before it was over: {RUN_AGAIN}, or with a longer lease \
         (`--ttl`)",
        lasted = seconds(*.lasted_ns),
        late = *.late_ms as f64 / 1e3)]
    FaultOverran {
        fault: String,
        lasted_ns: u64,
        late_ms: u64,
    },
    /// A planned fault did not strike.
    #[error("the fault `{fault}` never struck: {reason}")]
    FaultMissed {
        fault: String,
        reason: String,
        /// The reason, where it matters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<MissedBecause>,
    },
    /// What a fault did could not be undone.
    #[error("the {what} failed: {reason}")]
    FaultNotUndone { what: String, reason: String },
    /// The scenario is not made for this backend.
    #[error("this scenario does not support the {backend} backend (supported: {})", words(.supported))]
    BackendUnsupported {
        backend: BackendName,
        supported: Vec<BackendName>,
    },
    /// A simulated server did not know a command.
    #[error(
        "the simulated Redis does not know `{command}`; run it on a real one (--backend process)"
    )]
    CommandUnknown { command: String },
    /// No extension was tested.
    #[error("no extension was tested: {}", not_extended(.unsupported.as_deref()))]
    ExtensionUntested {
        /// The lock cannot, in its words; `None`: nobody came to ask.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unsupported: Option<String>,
    },
    /// The lock does not take the lease of the scenario.
    #[error(
        "the lock refuses a lease of {ttl_ms} ms, and grants one of {granted_ms} ms: {message}"
    )]
    LeaseRefused {
        ttl_ms: u64,
        granted_ms: u64,
        message: String,
    },
    /// The lock does not offer what the scenario asks for.
    #[error("the lock does not offer {feature}")]
    NotOffered { feature: LockFeature },
    /// The scenario is about Sentinels, and the lock knows none.
    #[error("the lock does not begin with Sentinels in place of its nodes: {message}")]
    SentinelsRefused { message: String },
    /// The server that keeps the stock did not do its part.
    #[error("the stock in Redis is not known: {reason}")]
    StockUnknown { reason: String },
    /// The locks could not be inspected after the run.
    #[error("the inspection of the locks after the run failed: {reason}")]
    FinalInspectionFailed { reason: String },
    /// A server died, and no fault asked for it.
    #[error("node {node} failed on its own: {reason}")]
    NodeLost { node: usize, reason: String },
    /// The Sentinels took a master for dead that was only slow: the keys that went with it say nothing of the lock.
    #[error("the Sentinels failed over node {node}, and no fault asked for it: {RUN_AGAIN}")]
    UnrequestedFailover { node: usize },
    /// Something came from a worker while it was frozen or dead.
    #[error("the fault escaped: worker {worker} was frozen or dead, and at {came:.3} s something came from it to {server}. The \
         process that was frozen or killed is a wrapper, and the lock goes on in one that Picklock cannot reach; start \
         the adapter itself (in a shell script with `exec`), without `docker run`, `ssh` or a service in between",
        came = seconds(*.arrived_at_ns),
        server = server(*.node))]
    FreezeBreach {
        worker: usize,
        /// To which node; `None`: to a Sentinel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<usize>,
        arrived_at_ns: u64,
    },
    /// The lock's clients belong to a user that the proxy does not serve.
    #[error(
        "a client of user {user} was refused on a link of worker {worker}: the proxy serves its own user, {served}; \
         start the adapter as the user who starts Picklock"
    )]
    ClientRefused {
        worker: usize,
        user: u32,
        served: u32,
    },
    /// A simulated run had used up what it may use.
    #[error("the simulated run used up its budget of {}, and ended before its time; shorten its `limit`, or let it sell less",
        budget_words(*.budget, *.most))]
    BudgetSpent { budget: Budget, most: u64 },
    /// The harness ran out of something.
    #[error("the harness itself ran short: {reason}")]
    ResourceExhaustion {
        /// Of what, in words.
        reason: String,
    },
    /// A client had closed its connection before it was known whose it was.
    #[error(
        "the harness was too slow: a client on a link of worker {worker} sent {sent} and was gone before it was known \
         whose it was"
    )]
    ClientGone { worker: usize, sent: String },
    /// The lock does not use the servers of the run: nothing is known about it.
    #[error("the lock does not use the servers that it was given: worker {worker} got the lock without having sent a \
         command to any of them; it should use {} (`nodes` of its `init` request)",
        .nodes.join(", "))]
    OtherServers {
        /// Who was granted the lock without a command.
        worker: usize,
        nodes: Vec<String>,
    },
    /// The user interrupted the run.
    #[error("the run was interrupted")]
    Interrupted,
    /// The lock was granted too rarely.
    #[error(
        "too little to judge: the lock was granted {granted} times, and the scenario asks for at least {needed}"
    )]
    TooFewGrants { granted: u64, needed: u64 },
    /// Every worker ended, and no fault has killed it.
    #[error("too little to judge: no worker was left to try")]
    EverybodyDied,
    /// Workers died on their own, and the others are too few to compete.
    #[error("too little to judge: {} died on {}, and {} to compete",
        workers(.died), own(.died), left_words(*.left))]
    TooFewClients { died: Vec<usize>, left: usize },
    /// No two workers ever wanted a lock at the same time.
    #[error("too little to judge: no two workers ever competed for a lock")]
    NobodyCompeted,
    /// Faults struck holders, and no other client had sent a command until those had left.
    #[error(
        "nobody competed while {fault} mattered: until {until:.3} s no other client had sent its first command",
        until = seconds(*.until_ns)
    )]
    NobodyWasReady {
        fault: String,
        /// When the holder that it found had left.
        until_ns: u64,
    },
    /// Two leases may have run at the same time.
    #[error(
        "a client got the lock while another's lease may have been running: how long it ran is not known well enough; \
         let the lock's adapter tell since when a grant is good (`asked_at`, or `try_for`), or `valid_ms`"
    )]
    LeasesMayHaveOverlapped,
    /// The history has no count of the stock at its end.
    #[error(
        "the history has no count of the stock at its end, so it is not known whether it adds up"
    )]
    StockUncounted,
    /// A release succeeded while a node had two masters.
    #[error(
        "a release succeeded while another client had the lock, but a node had two masters then: the two clients may \
         have had it on different ones"
    )]
    TwoMasters,
    /// A release succeeded after two leases had overlapped, and there is no key history.
    #[error(
        "two leases had overlapped before, and without the key history of the key nobody can say whose lock the release \
         took"
    )]
    OwnerUnknown,
    /// Nobody got the lock, for this reason.
    #[error("{by}")]
    Starved { by: StarvationReason },
}

/// A server or a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Component {
    /// The server of the node with this number.
    #[error("node {0}")]
    Node(usize),
    /// The worker with this number.
    #[error("worker {0}")]
    Worker(usize),
}

/// What was going on while the harness stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallContext {
    /// A fault.
    #[error("a fault was on")]
    Fault,
    /// A hold.
    #[error("a client held the lock")]
    Hold,
    /// The writing of a value that its client was refused.
    #[error("a client asked for the lock, and may have given up an answer that was on its way")]
    Attempt,
}

/// Why it is not the lock's fault, or may not be, that nobody got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StarvationReason {
    /// A fault took away nodes that it needs.
    #[error("{STARVED} a fault that was still active took away nodes that the lock needs")]
    NodesOutOfReach,
    /// A clock was wrong.
    #[error("{STARVED} a clock was wrong, and a key may have lived longer by as much")]
    WrongClock,
    /// Attempts without a certain answer may have taken it.
    #[error(
        "{STARVED} the attempts of workers that a fault struck may have taken it again and again"
    )]
    AttemptsInDoubt,
    /// A client that counts as frozen or dead was at work.
    #[error("{STARVED} a fault escaped: a client that counts as frozen or dead was at work")]
    FreezeBreach,
    /// The client after the run may have met a lease or a fault.
    #[error(
        "the probe after the run did not get the lock, but a lease or a fault may have blocked it"
    )]
    ProbeBlocked,
    /// The harness stood still for so many milliseconds meanwhile.
    #[error("{STARVED} the machine was stalled for {0} ms of that time")]
    HarnessStall(u64),
}

impl InconclusiveReason {
    /// True if the scenario asks for something that the lock or the backend does not offer. What was not violated is
    /// then not applicable.
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

    /// True if it comes of how the run was set up or of how the lock is, and not of chance: another run would say the same.
    pub fn is_lasting(&self) -> bool {
        let lasts = matches!(
            self,
            InconclusiveReason::CommandUnknown { .. }
                | InconclusiveReason::FreezeBreach { .. }
                | InconclusiveReason::ClientRefused { .. }
                | InconclusiveReason::OtherServers { .. }
                | InconclusiveReason::EverybodyDied
                | InconclusiveReason::TooFewClients { .. }
                | InconclusiveReason::Interrupted
        );
        lasts || self.is_inapplicable()
    }

    /// True if the machine was too slow: the run says nothing about the lock, and may be made again.
    pub fn is_machines_fault(&self) -> bool {
        match self {
            InconclusiveReason::HarnessStall { .. }
            | InconclusiveReason::HoldExtendedByStall { .. }
            | InconclusiveReason::UnexpectedStall { .. }
            | InconclusiveReason::LateInjection { .. }
            | InconclusiveReason::FaultOverran { .. }
            | InconclusiveReason::UnrequestedFailover { .. }
            | InconclusiveReason::ClientGone { .. } => true,
            InconclusiveReason::FaultMissed { because, .. } => {
                *because == Some(MissedBecause::NoFailover)
            }
            InconclusiveReason::Starved { by } => matches!(by, StarvationReason::HarnessStall(_)),
            _ => false,
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn other_pauses(count: u64) -> String {
    match count {
        1 => String::new(),
        count => format!(", the first of {count} such stalls"),
    }
}

fn other_stalls(count: u64) -> String {
    match count {
        1 => String::new(),
        count => format!(" (the first of {count} times that a server or a worker did)"),
    }
}

fn budget_words(budget: Budget, most: u64) -> String {
    match budget {
        Budget::Events => format!("{most} events"),
        Budget::Memory => format!("{} MiB of history", most >> 20),
        Budget::Steps => format!("{most} steps (turns of its workers, and commands)"),
        Budget::VirtualTime => format!("{} days of virtual time", most / (24 * 3600)),
    }
}

fn workers(numbers: &[usize]) -> String {
    let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let plural = if words.len() == 1 { "" } else { "s" };
    format!("worker{plural} {}", words.join(", "))
}

fn own(died: &[usize]) -> &'static str {
    match died {
        [_] => "its own",
        _ => "their own",
    }
}

fn left_words(left: usize) -> &'static str {
    match left {
        0 => "nobody was left",
        _ => "one client alone was left, with nobody",
    }
}

fn words(backends: &[BackendName]) -> String {
    let words: Vec<&str> = backends.iter().map(|one| one.as_str()).collect();
    words.join(", ")
}

fn not_extended(unsupported: Option<&str>) -> String {
    match unsupported {
        Some(message) => format!("the lock cannot be extended: {message}"),
        None => "no holder came to extend its lease".to_owned(),
    }
}

fn server(node: Option<usize>) -> String {
    node.map_or("a Sentinel".to_owned(), |node| format!("node {node}"))
}
