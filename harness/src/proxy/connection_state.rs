//! The state that both directions of a connection share: the commands that wait for a reply, the faults that apply,
//! and the queries for the effect of a command.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use picklock_scenarios::Direction;
use tokio::sync::Notify;

use super::LinkId;
use super::freeze_monitor::ReceivedBytes;
use super::link::ServerLink;
use super::lock;
use super::operation::Operation;
use super::proxy_state::ProxyState;
use crate::proxy::command_log::acquire_detection::{LockEffect, may_take_free_key, may_write};
use crate::proxy::command_log::answered::Answered;
use crate::proxy::command_log::current_operation::CurrentOperation;
use crate::proxy::command_log::log_entry::FrameOutcome;
use crate::proxy::command_log::log_record::{LogRecord, preview};
use crate::proxy::command_log::pending::Pending;
use crate::proxy::faults::fault_rules::FaultRules;
use crate::proxy::faults::link_state::held_back;
use crate::proxy::resp::frame_meta::FrameMeta;
use crate::proxy::resp::scan::Shape;

/// State that both directions of a connection share.
pub(super) struct ConnectionState<'a> {
    pub proxy: &'a ProxyState,
    pub link: LinkId,
    pub server_link: ServerLink,
    pub conn: u64,
    operation: Arc<CurrentOperation>,
    pending: Mutex<Pending>,
    /// Whether bytes have arrived that are not RESP.
    raw: AtomicBool,
    raw_notice: Notify,
    /// Counts the bytes from the client.
    pub received: Arc<ReceivedBytes>,
}

impl<'a> ConnectionState<'a> {
    pub(super) fn new(
        proxy: &'a ProxyState,
        server_link: ServerLink,
        conn: u64,
        received: Arc<ReceivedBytes>,
    ) -> Self {
        ConnectionState {
            proxy,
            link: server_link.link,
            server_link,
            conn,
            operation: proxy.current_operation(server_link.link.worker),
            pending: Mutex::default(),
            raw: AtomicBool::new(false),
            raw_notice: Notify::new(),
            received,
        }
    }

    /// Waits until no partition stops this direction, or any direction if `direction` is `None`. If `counts` is true,
    /// the partition counts this as an affected frame.
    pub(super) async fn wait_for_partitions(&self, direction: Option<Direction>, counts: bool) {
        let mut rules = self.fault_rules(direction);
        let mut changes = self.proxy.faults.subscribe();
        let mut newly_stopped = counts;
        loop {
            changes.mark_seen();
            if !rules.is_partitioned(newly_stopped) {
                return;
            }
            newly_stopped = false;
            changes.changed().await;
        }
    }

    pub(super) fn operation(&self) -> Operation {
        self.operation.get()
    }

    /// Returns the rules of one direction, or of both if `direction` is `None`.
    pub(super) fn fault_rules(&self, direction: Option<Direction>) -> FaultRules {
        self.proxy.fault_rules(self.link, self.conn, direction)
    }

    pub(super) fn pending(&self) -> MutexGuard<'_, Pending> {
        lock(&self.pending)
    }

    /// Returns `true` if the connection is a byte pipe, because it carries bytes that are not RESP.
    pub(super) fn is_raw(&self) -> bool {
        self.raw.load(Ordering::Acquire)
    }

    /// Waits until the connection has turned into a byte pipe.
    pub(super) async fn turned_raw(&self) {
        self.raw_notice.notified().await;
    }

    /// Turns the connection into a byte pipe.
    pub(super) fn turn_raw(&self, direction: Direction, now_ns: u64, reason: &'static str) {
        if !self.raw.swap(true, Ordering::AcqRel) {
            let meta = FrameMeta::unrequested(now_ns, self.operation(), Shape::Blank);
            let outcome = FrameOutcome::Unparseable;
            self.log_frame(direction, &meta, reason.as_bytes(), None, outcome);
            // The permit is kept until the other direction waits for it.
            self.raw_notice.notify_one();
        }
    }

    /// Records that a request is about to be sent, so its reply can arrive at any time from now on.
    pub(super) fn expect_reply_in(
        &self,
        pending: &mut Pending,
        meta: &FrameMeta,
        held_since_ns: Option<u64>,
        now_ns: u64,
    ) {
        let mut request = meta.request;
        if meta.is_message() {
            let may_take = may_take_free_key(request.command.as_str());
            self.operation
                .traffic()
                .record_command(meta.at_ns, may_take);
            if let Some(sent) = self.proxy.sent.get() {
                request.number =
                    sent.record_request(self.conn, &request, held_since_ns, Some(now_ns));
            }
        }
        if !meta.is_raw() && !pending.expect_reply(request) {
            let reason = "replies that cannot be matched to requests";
            self.turn_raw(Direction::Request, meta.at_ns, reason);
        }
    }

    /// Records that a fault drops this command, or the reply to it.
    pub(super) fn record_loss(&self, meta: &FrameMeta) {
        if may_take_free_key(meta.request.command.as_str()) {
            let op = meta.request.operation.op;
            self.operation.traffic().record_loss(op);
        }
    }

    /// Returns `true` if frames of this connection must be shown to the interceptor.
    pub(super) fn is_intercepted(&self) -> bool {
        self.proxy.interceptor.is_armed(self.link.worker)
    }

    /// For the command that `frame` is or answers, returns its effect on the lock, and the lock whose key it names.
    /// Each of the two is determined only if the interceptor waits for it.
    pub(super) async fn detect_effect(
        &self,
        direction: Direction,
        meta: &FrameMeta,
        frame: &[u8],
    ) -> (LockEffect, Option<u32>) {
        let (request, interceptor) = (&meta.request, &self.proxy.interceptor);
        let undetected = (LockEffect::None, request.key);
        // A `QUEUED` reply belongs to a command within a transaction, which has not been executed yet.
        let queued = frame.starts_with(b"+QUEUED\r");
        if !meta.is_message() || !self.is_intercepted() || queued {
            return undetected;
        }
        let phase = request.operation.phase;
        let wants_effect = direction == Direction::Reply
            && may_write(request.command.as_str())
            && interceptor.waits_for_effect(self.link, phase);
        let wants_key = request.key.is_none() && interceptor.waits_for_key(self.link, phase);
        if !wants_effect && !wants_key {
            return undetected;
        }
        let number = (direction == Direction::Reply).then_some(request.number);
        let effect = self
            .proxy
            .effect_queries
            .query(self.link.node, self.conn, number)
            .await;
        let lock_effect = if wants_effect {
            LockEffect::in_phase(effect, phase)
        } else {
            LockEffect::None
        };
        let key = match direction {
            // The proxy now has the names of all keys that were written before this request.
            Direction::Request => self.proxy.keys.named_by(frame, meta.shape),
            Direction::Reply => effect.and_then(|effect| effect.lock),
        };
        (lock_effect, request.key.or(key))
    }

    /// Resets the connection, on both sides.
    pub(super) fn reset(&self) {
        self.proxy.cut_notice(self.conn).notify_one();
    }

    /// Records that a reply has arrived.
    pub(super) fn record_reply(&self, at_ns: u64, answered: Answered) {
        if let Some(sent) = self.proxy.sent.get() {
            sent.record_reply(self.conn, at_ns, answered);
        }
    }

    /// Records that the connection was closed towards its server.
    pub(super) fn record_close(&self) {
        if let Some(sent) = self.proxy.sent.get() {
            sent.record_close(self.conn);
        }
    }

    /// Records that a frame that has waited is about to be sent. The reply to a request can arrive from now on.
    pub(super) fn expect_reply(&self, direction: Direction, meta: &FrameMeta, now_ns: u64) {
        if direction == Direction::Request {
            let held_since_ns = held_back(meta.at_ns, now_ns);
            self.expect_reply_in(&mut self.pending(), meta, held_since_ns, now_ns);
        }
    }

    pub(super) fn log_record(
        &self,
        direction: Direction,
        meta: &FrameMeta,
        size: usize,
        sent_ns: Option<u64>,
        outcome: FrameOutcome,
    ) -> LogRecord {
        LogRecord {
            at_ns: meta.at_ns,
            sent_ns,
            link: self.link,
            conn: self.conn,
            direction,
            command: meta.request.command,
            key: meta.request.key,
            op: meta.request.operation.op,
            phase: meta.request.operation.phase,
            size,
            outcome,
        }
    }

    /// Appends one line to the log, except for bytes that are not RESP.
    pub(super) fn log_frame(
        &self,
        direction: Direction,
        meta: &FrameMeta,
        frame: &[u8],
        sent_ns: Option<u64>,
        outcome: FrameOutcome,
    ) {
        if meta.is_raw() {
            return;
        }
        let record = self.log_record(direction, meta, frame.len(), sent_ns, outcome);
        let mut log = self.proxy.log.append();
        log.push(&record, preview(frame, meta.shape));
    }
}
