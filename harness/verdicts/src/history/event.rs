//! The events of a history, in the order in which the driver recorded them.
//!
//! Every time is in nanoseconds since the run began, read from the driver's one monotonic clock, so different clocks
//! are never compared.

use std::sync::Arc;

use picklock_scenarios::{BackendName, LockFeature};
use serde::{Deserialize, Serialize};

use super::end::{Budget, EndReason, EndedBy, Misbehaviour};
use super::fault_events::{Belated, ClockShift, MissedBecause};
use super::header::{is_one, one};
use super::key_change::{KeyChange, KeyName};

/// An event: one line of a history after the header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When the driver recorded the event, in nanoseconds since the run began.
    pub at_ns: u64,
    /// The event itself.
    #[serde(flatten)]
    pub what: EventKind,
}

/// The kinds of events.
///
/// `op` numbers the attempts to buy, `worker` the clients, and `key` the *locks*: the position of the lock in
/// `Header::keys`, not a key on a server. All events of one attempt carry the same `op`, and no two attempts of a run
/// share one. Optional fields are absent in histories that are older than the field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "worker, op and key mean the same everywhere")]
pub enum EventKind {
    /// The request to acquire was sent to the worker.
    Acquire {
        worker: usize,
        op: u64,
        key: u32,
        ttl_ms: u64,
        wait_ms: u64,
        /// When the buyer arrived and the attempt should have begun, in nanoseconds since the run began; only in an
        /// open loop. All attempts for one buyer carry the same time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        intended_ns: Option<u64>,
        /// The part of the lock's capacity that a grant takes.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        weight: u32,
    },
    /// A grant arrived: the hold begins.
    Granted {
        worker: usize,
        op: u64,
        token: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<u64>,
        /// The validity that the lock reported, counted from its report.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        valid_ms: Option<u64>,
        /// Time between the worker's reading of the request and its writing of the grant, on its own monotonic clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
    },
    /// The request to cancel was sent to the client.
    Cancel { worker: usize, op: u64 },
    /// Another client has the lock, or the client cancelled its request and took nothing.
    Refused { worker: usize, op: u64 },
    /// The attempt ended in an error. If `definite`, it certainly took nothing.
    AcquireFailed {
        worker: usize,
        op: u64,
        message: String,
        definite: bool,
    },
    /// The lock reported a background renewal. `elapsed_ms` counts from the reading of the acquire request.
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
        /// The token of the hold from now on.
        token: String,
        /// The validity that the lock reported, counted from its report.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        valid_ms: Option<u64>,
        /// Time between the worker's reading of the request and its writing of the answer, on its own monotonic
        /// clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
    },
    /// The extension was refused: the client no longer held the lock.
    ExtendRefused { worker: usize, op: u64 },
    /// The extension ended in an error. If `definite`, it certainly changed nothing.
    ExtendFailed {
        worker: usize,
        op: u64,
        message: String,
        definite: bool,
    },
    /// The leader is about to request permission to act. If the lock denies it, a `lost` event follows.
    Act { worker: usize, op: u64 },
    /// The lock lets the leader act now.
    MayAct {
        worker: usize,
        op: u64,
        /// The leader's epoch; absent if it has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epoch: Option<u64>,
    },
    /// The lock could not decide whether the leader may act, so it did not act.
    ActFailed {
        worker: usize,
        op: u64,
        message: String,
        definite: bool,
    },
    /// The lock reported that it lost its lease, or that its client no longer leads.
    Lost { worker: usize, op: u64 },
    /// The holder read the stock.
    StockRead {
        worker: usize,
        op: u64,
        key: u32,
        stock: i64,
        /// The time of the stock that the holder read, in nanoseconds since the run began. Present only for a stale
        /// read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        as_of_ns: Option<u64>,
    },
    /// The stock was changed by the holder, possibly later than the holder requested.
    StockChanged {
        worker: usize,
        op: u64,
        key: u32,
        from: i64,
        to: i64,
        /// Why the change came later than its writer requested; absent if it was not late.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        belated: Option<Belated>,
    },
    /// A reader has read both halves of the value: the first one when it read the stock, and the second one now.
    ValueRead {
        worker: usize,
        op: u64,
        key: u32,
        first: i64,
        second: i64,
    },
    /// A writer changed the second half of the value. It had changed the first half together with the stock.
    ValueWritten {
        worker: usize,
        op: u64,
        key: u32,
        to: i64,
    },
    /// By the clock of this worker, a tick of the schedule is due, and the worker is about to request the lock.
    TickDue { worker: usize, tick: u64 },
    /// The holder began the job of a tick.
    JobBegan {
        worker: usize,
        op: u64,
        key: u32,
        tick: u64,
    },
    /// The resource refused an access because its fencing token was lower than the highest one seen.
    FencedOff {
        worker: usize,
        op: u64,
        key: u32,
        fence: u64,
        highest: u64,
    },
    /// The holder is about to acquire its own lock a second time, while it still holds it.
    Reenter { worker: usize, op: u64, ttl_ms: u64 },
    /// The second acquisition was answered.
    Reentered {
        worker: usize,
        op: u64,
        granted: bool,
    },
    /// The holder released its second acquisition, and continues to hold the lock.
    InnerReleased { worker: usize, op: u64 },
    /// The holder's section failed. A `release` with the same time follows, and the lock then cleans up by itself.
    SectionFailed { worker: usize, op: u64 },
    /// The request to release is about to be sent: the hold ends.
    Release { worker: usize, op: u64 },
    /// The release was answered. `released` is `true` if the lock claims that it held the lock until now, and `false`
    /// if it claims that it did not. It is `null` if the lock does not report this; the field is never absent.
    Released {
        worker: usize,
        op: u64,
        #[serde(deserialize_with = "Option::deserialize")]
        released: Option<bool>,
        /// When the last command of the release that names the lock's key was sent. Absent without a command log.
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
    /// A worker process is ready. `incarnation` counts the worker's starts, from 0.
    WorkerUp { worker: usize, incarnation: u32 },
    /// A worker has exited: the nemesis killed it, or it died on its own. Its holds end here.
    WorkerDown {
        worker: usize,
        /// Whether the nemesis killed it.
        by_fault: bool,
        /// Exit status, or the reason in plain words.
        reason: String,
        /// Cause of the death; absent if a fault killed the worker, and in histories that are older than this field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended_by: Option<EndedBy>,
    },
    /// A worker broke the protocol, or missed a deadline.
    Misbehaved {
        worker: usize,
        kind: Misbehaviour,
        detail: String,
    },
    /// A fault began. `id` links it to the event of its end.
    FaultBegan {
        id: u32,
        fault: String,
        /// Description for people, such as `pause-client of client 1 for 1.5 s`.
        detail: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        workers: Vec<usize>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nodes: Vec<usize>,
        /// The shift that the fault applies to the wall clocks of its targets; absent for all other faults.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clock: Option<ClockShift>,
        /// The maximum delay that the fault adds, in milliseconds; absent for all other faults.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delay_ms: Option<u64>,
    },
    /// A fault has ended. A fault that never ends has no such event.
    FaultEnded { id: u32 },
    /// A fault took effect `took_ms` milliseconds after its `FaultBegan`. The client at the trigger waited during this
    /// time: for example, a holder waited until the death of another client was confirmed. If the fault affects nodes,
    /// other clients may have waited as well. Times below a tenth of a lease are not recorded.
    FaultFired {
        id: u32,
        took_ms: u64,
        /// The only client that waited, or absent if every client may have waited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waiting: Option<usize>,
    },
    /// A fault of nodes, or a frozen worker, lasted `late_ms` milliseconds longer than its scenario plans, because a
    /// server or the worker was slow to stop or to come back. Recorded just before its `FaultEnded`. Times below a
    /// tenth of a lease are not recorded.
    FaultOverran { id: u32, late_ms: u64 },
    /// A planned fault did not take effect: this backend does not support it, it failed, or its trigger never fired.
    FaultMissed {
        fault: String,
        /// The reason in plain words.
        reason: String,
        optional: bool,
        /// The reason as a value, if a checker needs it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<MissedBecause>,
    },
    /// The effect of a fault could not be undone when the fault ended.
    FaultNotUndone { what: String, reason: String },
    /// The scenario does not support this backend.
    BackendUnsupported {
        backend: BackendName,
        supported: Vec<BackendName>,
    },
    /// A simulated server does not implement this command, and answered it with an error.
    CommandUnknown { command: String },
    /// The scenario requires extensions, and no holder extended its lease.
    ExtensionUntested {
        /// The lock's explanation of why it cannot extend; absent if no holder sent a request to extend.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unsupported: Option<String>,
    },
    /// The lock does not offer a feature that the scenario requires.
    NotOffered { feature: LockFeature },
    /// The lock rejects the run's lease time, but not every lease time: every attempt ended in a definite error, and
    /// after the run a client acquired the lock with another lease time.
    LeaseRefused {
        ttl_ms: u64,
        /// The lease time that was accepted.
        granted_ms: u64,
        /// The lock's error message.
        message: String,
    },
    /// The scenario uses Sentinels, and the lock does not accept their addresses. The message is the lock's own.
    SentinelsRefused { message: String },
    /// The stock is unknown, because the server that stores it failed.
    StockUnknown { reason: String },
    /// The harness could not account for every change of the servers' keys, so the history has no key history. The
    /// verdicts rest on the driver's events.
    KeyHistoryIncomplete {
        reason: String,
        /// Whether the servers were observed but did not report everything that happened to their keys.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        has_gap: bool,
    },
    /// After the run, the locks could not be acquired again, or could not be inspected.
    FinalInspectionFailed { reason: String },
    /// The buyers of an open loop are done: `came` is the number of all buyers, and `unserved` the number of those
    /// that no worker served.
    Arrivals { came: u64, unserved: u64 },
    /// After the buyers were done, an additional client tried to acquire the lock.
    Probe {
        key: u32,
        /// Whether the client got the lock, or all permits of a semaphore at the same time.
        granted: bool,
        waited_ms: u64,
        /// How many permits of a semaphore the client got at the same time. The client requests one permit more than
        /// the semaphore has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permits: Option<u32>,
    },
    /// After the run, the key was still on the node. A `ttl_ms` of −1 means that it never expires.
    KeyLeft { node: usize, key: u32, ttl_ms: i64 },
    /// After the run, a node does not answer, and no planned fault explains that.
    NodeLost { node: usize, reason: String },
    /// The Sentinels promoted another server of a node, although no fault had requested a failover. Recorded after the
    /// run, or before the fault that requires a failover.
    UnrequestedFailover { node: usize },
    /// A key of a node changed. Present only if the header's `key_history` is set.
    KeyChanged {
        node: usize,
        key: KeyName,
        /// The new value; absent if the key was removed. Long values are truncated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Arc<str>>,
        /// The remaining time to live in milliseconds, on the node's clock; absent if the key never expires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_ms: Option<i64>,
        #[serde(flatten)]
        why: KeyChange,
    },
    /// A worker sent data while it was frozen or dead, so the fault did not reach the process that runs the lock.
    /// Recorded once for each fault and worker.
    FreezeBreach {
        /// The fault that froze or killed the worker.
        id: u32,
        worker: usize,
        /// The node to which it sent data; absent if it was a Sentinel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<usize>,
        /// When the data arrived, in nanoseconds since the run began.
        arrived_at_ns: u64,
    },
    /// A worker reported a grant, but had sent no data on any link to a node. Recorded once for each start of a
    /// worker.
    GrantWithoutCommand {
        worker: usize,
        op: u64,
        /// The addresses of the nodes, as they were given to the worker.
        nodes: Vec<String>,
    },
    /// Between these two times, in nanoseconds since the run began, a worker that wanted the lock sent its nodes no
    /// command that could take it. This is the longest such span of an attempt, which either has ended or was cut off
    /// by the end of the run. Spans shorter than a lease are not recorded. The client of the final inspection has the
    /// number after the last worker.
    IdleWhileWaiting {
        worker: usize,
        op: u64,
        from_ns: u64,
        until_ns: u64,
        /// Whether the attempt sent no command at all. Such an attempt is recorded whatever the length of the span.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        no_command: bool,
        /// Whether the client waited longer than its `timeout_ms` for a reply that a fault had dropped.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        late_timeout: bool,
    },
    /// A worker was slow to send its first command after its first request to acquire, or sent none before the end.
    /// Times are in nanoseconds since the run began. Delays below a tenth of a lease are not recorded.
    SlowStart {
        worker: usize,
        from_ns: u64,
        until_ns: u64,
    },
    /// The number of commands that workers sent to the nodes while they wanted the lock. Recorded once, at the end.
    CommandsSent {
        acquiring: u64,
        /// The number of commands that holders sent between the answer and the request to release.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holding: Option<u64>,
    },
    /// A script accessed a key that its command had not declared. Recorded once for each command.
    UndeclaredKey {
        node: usize,
        /// The command that ran the script.
        command: String,
        key: KeyName,
    },
    /// The harness ran out of file descriptors, processes or memory, and could not do part of its work.
    ResourceExhausted { reason: String },
    /// A client sent this on a link of the worker, and disconnected before the harness could look up its user, so the
    /// proxy did not serve it. This happens only if the client gives up and the proxy was starved of CPU time.
    ClientGone { worker: usize, sent: String },
    /// A node's server did not answer from `since_ns` on, without a fault: another process stopped it,
    /// or it was starved of CPU time. Recorded when it answers again, or at the end of the run. Stalls shorter than
    /// a tenth of a lease, or than 60 ms, are not recorded.
    NodeStalled {
        node: usize,
        since_ns: u64,
        stalled_ms: u64,
    },
    /// Like `NodeStalled`, for a worker: its process was stopped, or was starved of CPU time. The client of the final
    /// inspection has the number after the last worker.
    WorkerStalled {
        worker: usize,
        since_ns: u64,
        stalled_ms: u64,
    },
    /// A thread of the worker was runnable, but waited for a CPU for `waited_ms` in total since `since_ns`. Of several
    /// threads, the one that waited longest counts. Recorded at most four times a second, and only if the wait is at
    /// least a tenth of a lease, and 60 ms.
    WorkerDelayed {
        worker: usize,
        since_ns: u64,
        waited_ms: u64,
    },
    /// The client on a link of the worker belongs to `user`, and the proxy serves only the user `served`. Recorded
    /// once for each worker and user.
    ClientRefused {
        worker: usize,
        user: u32,
        served: u32,
    },
    /// A simulated run used up a budget, and ends.
    BudgetSpent { budget: Budget, most: u64 },
    /// The machine kept the driver from running for the last `late_ms` milliseconds. All other processes may have
    /// been stalled as well. Stalls shorter than a hundredth of a lease, or than 3 ms, are not recorded.
    HarnessStalled { late_ms: u64 },
    /// The end of the run, with the final stock.
    End {
        reason: EndReason,
        /// Units left, per key.
        stock_left: Vec<i64>,
        /// Units sold, per key, as counted by the buyers.
        sold: Vec<i64>,
    },
}
