//! What happened, in the order in which the driver saw it.
//!
//! Every time is read from the driver's one monotonic clock, in nanoseconds since the run began,
//! so no two clocks are ever compared.

use std::sync::Arc;

use picklock_scenarios::{BackendName, LockFeature};
use serde::{Deserialize, Serialize};

use super::end::{EndReason, EndedBy};
use super::fault_events::{Belated, ClockShift, MissedBecause};
use super::key_change::{KeyChange, KeyName};

/// One line of a history, after the header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When the driver saw it: nanoseconds since the run began.
    pub at_ns: u64,
    /// What it saw.
    #[serde(flatten)]
    pub what: EventKind,
}

/// What the driver saw.
///
/// `op` numbers the attempts to buy; all events of one attempt carry the same number, and no two
/// attempts of a run share one. Histories that are older than an optional field leave it out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[expect(
    missing_docs,
    reason = "worker, op and key mean the same everywhere; see above"
)]
pub enum EventKind {
    /// The request to acquire was sent to the worker.
    Acquire {
        worker: usize,
        op: u64,
        key: u32,
        ttl_ms: u64,
        wait_ms: u64,
        /// In an open loop: when the buyer arrived, and the attempt should have begun, in
        /// nanoseconds since the run began. All attempts for one buyer carry the same time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        intended_ns: Option<u64>,
    },
    /// A grant arrived: the hold begins.
    Granted {
        worker: usize,
        op: u64,
        token: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<u64>,
        /// How long after its grant the client may rely on the lock, as it reported.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        valid_ms: Option<u64>,
        /// The worker wrote it so long after reading the request, on its own monotonic clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
    },
    /// The client was told to give up its request.
    Cancel { worker: usize, op: u64 },
    /// Another client has the lock, or the client has given up and took nothing.
    Refused { worker: usize, op: u64 },
    /// The attempt ended in an error. `definite`: it certainly took nothing.
    AcquireFailed {
        worker: usize,
        op: u64,
        message: String,
        definite: bool,
    },
    /// A background renewal was reported. `elapsed_ms`: since the acquire request was read.
    Extended {
        worker: usize,
        op: u64,
        valid_ms: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
    },
    /// The request to extend the lease is about to be sent to the worker.
    Extend { worker: usize, op: u64, ttl_ms: u64 },
    /// The extension was granted.
    ExtendGranted {
        worker: usize,
        op: u64,
        /// The name under which the lock is held from now on.
        token: String,
        /// How long the client may rely on the lock, as it reported.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        valid_ms: Option<u64>,
        /// The worker wrote it so long after reading the request, on its own monotonic clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
    },
    /// The extension was refused: the lock was no longer the holder's.
    ExtendRefused { worker: usize, op: u64 },
    /// The extension ended in an error. `definite`: it certainly changed nothing.
    ExtendFailed {
        worker: usize,
        op: u64,
        message: String,
        definite: bool,
    },
    /// The lock reported that the lease is lost.
    Lost { worker: usize, op: u64 },
    /// The holder read the stock.
    StockRead {
        worker: usize,
        op: u64,
        key: u32,
        stock: i64,
        /// It shows the stock of that time, nanoseconds since the run began; left out of a reading of the stock itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        as_of_ns: Option<u64>,
    },
    /// The stock was changed: by the holder, or belatedly.
    StockChanged {
        worker: usize,
        op: u64,
        key: u32,
        from: i64,
        to: i64,
        /// Why it was not changed when its writer asked for it; left out if it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        belated: Option<Belated>,
    },
    /// The resource refused an access: its fencing token was lower than the highest seen.
    FencedOff {
        worker: usize,
        op: u64,
        key: u32,
        fence: u64,
        highest: u64,
    },
    /// The holder is about to take the lock once more, and has not ceased to hold it.
    Reenter { worker: usize, op: u64, ttl_ms: u64 },
    /// It was answered.
    Reentered {
        worker: usize,
        op: u64,
        granted: bool,
    },
    /// The holder has given back what it took once more, and goes on.
    InnerReleased { worker: usize, op: u64 },
    /// The holder's section failed. A `release` follows at once, which is what becomes of the lock then.
    SectionFailed { worker: usize, op: u64 },
    /// The request to release is about to be sent: the hold ends.
    Release { worker: usize, op: u64 },
    /// The release was answered. `released`: the lock claims that it held the lock until now, or
    /// that it did not; null, which may not be left out: it does not say.
    Released {
        worker: usize,
        op: u64,
        #[serde(deserialize_with = "Option::deserialize")]
        released: Option<bool>,
        /// When its last command that names the lock's key went out; left out without a command log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_command_ns: Option<u64>,
    },
    /// The release ended in an error.
    ReleaseFailed {
        worker: usize,
        op: u64,
        message: String,
        definite: bool,
    },
    /// A worker process is ready. `incarnation` counts its starts, from 0.
    WorkerUp { worker: usize, incarnation: u32 },
    /// A worker is gone: killed by the nemesis, or dead on its own. Its holds end here.
    WorkerDown {
        worker: usize,
        /// True when the nemesis killed it.
        by_fault: bool,
        /// Exit status or reason in words.
        reason: String,
        /// Who ended it, if no fault did; left out by faults, and by histories that are older than this field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended_by: Option<EndedBy>,
    },
    /// A worker violated the protocol, or did not answer in time.
    Misbehaved {
        worker: usize,
        kind: Misbehaviour,
        detail: String,
    },
    /// A fault began. `id` pairs it with its end.
    FaultBegan {
        id: u32,
        fault: String,
        /// In words, for people: `pause-client of worker 1 for 1.5 s`.
        detail: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        workers: Vec<usize>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nodes: Vec<usize>,
        /// What it does to the wall clocks of those that it strikes; left out by all other faults.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clock: Option<ClockShift>,
        /// By how much it delays what passes, at most, milliseconds; left out by all other faults.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delay_ms: Option<u64>,
    },
    /// A fault has ended. A fault that never ends has no such event.
    FaultEnded { id: u32 },
    /// It took this long until a fault of nodes had struck, counted from its `FaultBegan`. A client that had
    /// reached its moment waited meanwhile, and others may have. Less than a tenth of a lease is not told.
    FaultFired { id: u32, took_ms: u64 },
    /// A fault of nodes lasted this much longer than its scenario says: a server took long to stop or
    /// to come back. Comes just before its `FaultEnded`. Less than a tenth of a lease is not told.
    FaultOverran { id: u32, late_ms: u64 },
    /// A planned fault did not strike: it is not possible in this backend, it failed, or its moment never came.
    FaultMissed {
        fault: String,
        /// In words.
        reason: String,
        optional: bool,
        /// The reason, where it matters to whoever judges.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<MissedBecause>,
    },
    /// What a fault did could not be undone when it was to end.
    FaultNotUndone { what: String, reason: String },
    /// The scenario is made for other backends than this one.
    BackendUnsupported {
        backend: BackendName,
        supported: Vec<BackendName>,
    },
    /// A simulated server does not know this command, and answered it with an error.
    CommandUnknown { command: String },
    /// Holders were to extend their leases, and none did.
    ExtensionUntested {
        /// The lock answered that it cannot; left out if no holder came to ask.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unsupported: Option<String>,
    },
    /// The lock does not offer what the scenario asks for.
    NotOffered { feature: LockFeature },
    /// The lock refused the lease of the run, and no other: every attempt ended in a definite error, and after the run
    /// a client got the lock with another lease.
    LeaseRefused {
        ttl_ms: u64,
        /// The other lease.
        granted_ms: u64,
        /// The lock's words.
        message: String,
    },
    /// The scenario is about Sentinels, and the lock does not begin with them, in these words.
    SentinelsRefused { message: String },
    /// What the stock is, or was, is not known: the server that keeps it did not do its part.
    StockUnknown { reason: String },
    /// The harness could not account for all changes of the servers' keys, so the history has none. The verdicts
    /// rest on what the driver saw.
    KeyHistoryIncomplete { reason: String },
    /// After the run: the locks could not be taken once more, or not be looked at.
    FinalInspectionFailed { reason: String },
    /// The buyers of an open loop are done: `came` in all, of whom `unserved` were served by no worker.
    Arrivals { came: u64, unserved: u64 },
    /// After the buyers were done: one more attempt to take the lock, by an additional client.
    Probe {
        key: u32,
        granted: bool,
        waited_ms: u64,
    },
    /// After the run: the key was still on the node. `ttl_ms` −1: it never expires.
    KeyLeft { node: usize, key: u32, ttl_ms: i64 },
    /// After the run: a node does not answer, and no fault of the plan is the reason.
    NodeLost { node: usize, reason: String },
    /// After the run, or before the Sentinels were to do so: they have made another server the master of a node, and
    /// no fault asked for it.
    UnrequestedFailover { node: usize },
    /// A key of a node changed. Such events are there only if the header says `key_history`.
    KeyChanged {
        node: usize,
        key: KeyName,
        /// What it holds from now on; left out if it is gone. Long values are cut.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Arc<str>>,
        /// How much longer it lives, by the node's clock; left out if it never expires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_ms: Option<i64>,
        #[serde(flatten)]
        why: KeyChange,
    },
    /// Something came from a worker while it was frozen or dead: the fault did not reach the
    /// process that has the lock. Only the first time is told for each fault and worker.
    FreezeBreach {
        /// The fault that froze or killed the worker.
        id: u32,
        worker: usize,
        /// To which node; left out if it was to a Sentinel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<usize>,
        /// When it came, in nanoseconds since the run began.
        arrived_at_ns: u64,
    },
    /// A worker told a grant, and nothing had come from it on any link to a node. Told once for each start of a worker.
    GrantWithoutCommand {
        worker: usize,
        op: u64,
        /// The addresses of the nodes, as the worker was given them.
        nodes: Vec<String>,
    },
    /// A worker that was asking for a lock sent its nodes nothing that could take it from then until then,
    /// nanoseconds since the run began: the longest such time of this attempt, which is over or was cut off
    /// by the end of the run. Less than a lease is not told. The client that takes the locks after the run
    /// has the number after the last worker.
    IdleWhileWaiting {
        worker: usize,
        op: u64,
        from_ns: u64,
        until_ns: u64,
    },
    /// A worker was asked for a lock for the first time, and sent its first command only then, nanoseconds since the
    /// run began; or it sent none until the end. Less than a tenth of a lease is not told.
    SlowStart {
        worker: usize,
        from_ns: u64,
        until_ns: u64,
    },
    /// So many commands were sent to the nodes by workers that were asking for a lock. Told once, at the end.
    CommandsSent {
        acquiring: u64,
        /// The same by holders, from the answer on until they were told to release.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holding: Option<u64>,
    },
    /// A script touched a key that its command had not declared. Told once for each command.
    UndeclaredKey {
        node: usize,
        /// The command that ran the script.
        command: String,
        key: KeyName,
    },
    /// The harness ran out of file descriptors, processes or memory, and could not do its part.
    ResourceExhausted { reason: String },
    /// A client sent this on a link of the worker, and was gone before the harness could ask whose it was,
    /// so it was not served. That takes a client that gives up, and a proxy without a processor for a while.
    ClientGone { worker: usize, sent: String },
    /// A node's server answered nothing from `since_ns` on, and no fault asked for it: it was stopped by
    /// somebody else, or kept from the processor. Told when it answers again, or when the run ends. Less than a tenth of a lease is not told.
    NodeStalled {
        node: usize,
        since_ns: u64,
        stalled_ms: u64,
    },
    /// The same of a worker: its process was stopped, or did not get the processor. The client that looks at the
    /// locks after the run counts as one more.
    WorkerStalled {
        worker: usize,
        since_ns: u64,
        stalled_ms: u64,
    },
    /// The worker's processes could run, and waited for a processor for `waited_ms` of the time since `since_ns`, all
    /// in all. Told four times a second at most, and only where it is a tenth of a lease or more.
    WorkerDelayed {
        worker: usize,
        since_ns: u64,
        waited_ms: u64,
    },
    /// A client on a link of the worker belongs to this user, and the proxy serves another one only. Told once for
    /// each worker and user.
    ClientRefused {
        worker: usize,
        user: u32,
        served: u32,
    },
    /// A simulated run has used up what it may use, and ends.
    BudgetSpent { budget: Budget, most: u64 },
    /// The machine prevented the driver from running for this long, until now. All other processes
    /// may have been stalled as well. Less than a hundredth of a lease is not told.
    HarnessStalled { late_ms: u64 },
    /// The end: the count of the resource.
    End {
        reason: EndReason,
        /// Units left, one for each key.
        stock_left: Vec<i64>,
        /// Units sold, one for each key, as the buyers counted them.
        sold: Vec<i64>,
    },
}

impl EventKind {
    /// The attempt that the event is about, if it is about one: its worker, and its number.
    pub fn attempt(&self) -> Option<(usize, u64)> {
        match *self {
            EventKind::Acquire { worker, op, .. }
            | EventKind::Granted { worker, op, .. }
            | EventKind::Cancel { worker, op }
            | EventKind::Refused { worker, op }
            | EventKind::AcquireFailed { worker, op, .. }
            | EventKind::Extended { worker, op, .. }
            | EventKind::Extend { worker, op, .. }
            | EventKind::ExtendGranted { worker, op, .. }
            | EventKind::ExtendRefused { worker, op }
            | EventKind::ExtendFailed { worker, op, .. }
            | EventKind::Lost { worker, op }
            | EventKind::StockRead { worker, op, .. }
            | EventKind::StockChanged { worker, op, .. }
            | EventKind::FencedOff { worker, op, .. }
            | EventKind::Reenter { worker, op, .. }
            | EventKind::Reentered { worker, op, .. }
            | EventKind::InnerReleased { worker, op }
            | EventKind::SectionFailed { worker, op }
            | EventKind::Release { worker, op }
            | EventKind::Released { worker, op, .. }
            | EventKind::ReleaseFailed { worker, op, .. }
            | EventKind::IdleWhileWaiting { worker, op, .. }
            | EventKind::GrantWithoutCommand { worker, op, .. } => Some((worker, op)),
            _ => None,
        }
    }

    /// The worker that the event is about, if it is about one.
    pub fn worker(&self) -> Option<usize> {
        match *self {
            EventKind::WorkerUp { worker, .. }
            | EventKind::WorkerDown { worker, .. }
            | EventKind::FreezeBreach { worker, .. }
            | EventKind::Misbehaved { worker, .. } => Some(worker),
            _ => self.attempt().map(|(worker, _)| worker),
        }
    }

    /// The key that the event names, by its position in the header.
    pub fn key(&self) -> Option<u32> {
        match *self {
            EventKind::Acquire { key, .. }
            | EventKind::StockRead { key, .. }
            | EventKind::StockChanged { key, .. }
            | EventKind::FencedOff { key, .. }
            | EventKind::Probe { key, .. }
            | EventKind::KeyLeft { key, .. } => Some(key),
            _ => None,
        }
    }
}

/// What a simulated run may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// Events of its history, changes of keys included.
    Events,
    /// Bytes of its history, by what the events have room for.
    Memory,
    /// Turns of its workers, and commands.
    Steps,
    /// Seconds of virtual time.
    VirtualTime,
}

/// What a worker did wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Misbehaviour {
    /// A line that is not a message of the protocol.
    Garbage,
    /// No answer within the deadline.
    Hung,
    /// An answer to something that was not asked.
    OutOfTurn,
}
