use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use picklock_scenarios::Direction;
use tokio::sync::Notify;

use super::LinkId;
use super::freeze_check::Received;
use super::link::ServerLink;
use super::lock;
use super::proxy_state::ProxyState;
use crate::proxy::command_log::acquire_detection::{Acquired, may_take_free_key, may_write};
use crate::proxy::command_log::answered::Answered;
use crate::proxy::command_log::log_entry::FrameOutcome;
use crate::proxy::command_log::log_record::{LogRecord, preview};
use crate::proxy::command_log::operation::{CurrentOperation, Operation};
use crate::proxy::command_log::pending::Pending;
use crate::proxy::faults::fault_rules::FaultRules;
use crate::proxy::faults::link_state::held_back;
use crate::proxy::resp::frame_meta::FrameMeta;
use crate::proxy::resp::scan::Shape;

/// What both directions of a connection share.
pub(super) struct ConnectionState<'a> {
    pub proxy: &'a ProxyState,
    pub link: LinkId,
    pub server_link: ServerLink,
    pub conn: u64,
    operation: Arc<CurrentOperation>,
    pending: Mutex<Pending>,
    /// True once bytes have come that are not RESP.
    raw: AtomicBool,
    raw_notice: Notify,
    /// What has come from the client.
    pub received: Arc<Received>,
}

impl<'a> ConnectionState<'a> {
    pub(super) fn new(
        proxy: &'a ProxyState,
        server_link: ServerLink,
        conn: u64,
        received: Arc<Received>,
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

    /// Waits until no partition stops this direction (`None`: both). `affects`: a partition that is
    /// met here counts it as a strike.
    pub(super) async fn no_partition(&self, direction: Option<Direction>, affects: bool) {
        let mut rules = self.fault_rules(direction);
        let mut changes = self.proxy.faults.subscribe();
        let mut first = affects;
        loop {
            changes.mark_seen();
            if !rules.is_partitioned(first) {
                return;
            }
            first = false;
            changes.changed().await;
        }
    }

    pub(super) fn operation(&self) -> Operation {
        self.operation.get()
    }

    /// The rules of one direction (`None`: of both).
    pub(super) fn fault_rules(&self, direction: Option<Direction>) -> FaultRules {
        self.proxy.fault_rules(self.link, self.conn, direction)
    }

    pub(super) fn pending(&self) -> MutexGuard<'_, Pending> {
        lock(&self.pending)
    }

    /// True when the connection is a byte pipe, because it carries bytes that are not RESP.
    pub(super) fn is_raw(&self) -> bool {
        self.raw.load(Ordering::Acquire)
    }

    /// Ready when the connection has turned into a byte pipe.
    pub(super) async fn turned_raw(&self) {
        self.raw_notice.notified().await;
    }

    /// From here on the connection is a byte pipe.
    pub(super) fn turn_raw(&self, direction: Direction, now_ns: u64, reason: &'static str) {
        if !self.raw.swap(true, Ordering::AcqRel) {
            let meta = FrameMeta::unrequested(now_ns, self.operation(), Shape::Blank);
            let outcome = FrameOutcome::Unparseable;
            self.note(direction, &meta, reason.as_bytes(), None, outcome);
            // The permit stays for a direction that is not waiting now.
            self.raw_notice.notify_one();
        }
    }

    /// A request is about to be sent: its answer can come at any time from now on.
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
            self.operation.traffic().sent(meta.at_ns, may_take);
            if let Some(sent) = self.proxy.sent.get() {
                request.number = sent.sent(self.conn, &request, held_since_ns, Some(now_ns));
            }
        }
        if !meta.is_raw() && !pending.expect_reply(request) {
            let reason = "more than requests and replies";
            self.turn_raw(Direction::Request, meta.at_ns, reason);
        }
    }

    /// False when no frame of this connection need be shown to the interceptor.
    pub(super) fn is_watched(&self) -> bool {
        self.proxy.interceptor.is_armed(self.link.worker)
    }

    /// Whether the command took a lock that this frame answers, and which lock's key it names, if somebody
    /// wants to know. `frame`: the bytes of it.
    pub(super) async fn recognised(
        &self,
        direction: Direction,
        meta: &FrameMeta,
        frame: &[u8],
    ) -> (Acquired, Option<u32>) {
        let (request, interceptor) = (&meta.request, &self.proxy.interceptor);
        let unrecognised = (Acquired::Nothing, request.key);
        // The reply to a command within a transaction: nothing is done yet.
        let queued = frame.starts_with(b"+QUEUED\r");
        if !meta.is_message() || !self.is_watched() || queued {
            return unrecognised;
        }
        let phase = request.operation.phase;
        let is_asked = direction == Direction::Reply
            && may_write(request.command.as_str())
            && interceptor.waits_for_effect(self.link, phase);
        let wants_key = request.key.is_none() && interceptor.waits_for_key(self.link, phase);
        if !is_asked && !wants_key {
            return unrecognised;
        }
        let questions = &self.proxy.acquire_questions;
        let number = (direction == Direction::Reply).then_some(request.number);
        let effect = questions.ask(self.link.node, self.conn, number).await;
        let acquired = match is_asked {
            true => Acquired::from_effect(effect, phase),
            false => Acquired::Nothing,
        };
        let key = match direction {
            // By now all keys have their names that were written before.
            Direction::Request => self.proxy.keys.named_by(frame, meta.shape),
            Direction::Reply => effect.and_then(|effect| effect.lock),
        };
        (acquired, request.key.or(key))
    }

    /// Resets the connection, on both sides.
    pub(super) fn reset(&self) {
        self.proxy.cut_notice(self.conn).notify_one();
    }

    /// A reply has come.
    pub(super) fn replied(&self, at_ns: u64, answered: Answered) {
        if let Some(sent) = self.proxy.sent.get() {
            sent.replied(self.conn, at_ns, answered);
        }
    }

    /// The connection was closed towards its server.
    pub(super) fn closed(&self) {
        if let Some(sent) = self.proxy.sent.get() {
            sent.closed(self.conn);
        }
    }

    /// A frame that has waited is about to be sent. If it is a request, its answer can come from now on.
    pub(super) fn expect_reply(&self, direction: Direction, meta: &FrameMeta, now_ns: u64) {
        if direction == Direction::Request {
            let held_since_ns = held_back(meta.at_ns, now_ns);
            self.expect_reply_in(&mut self.pending(), meta, held_since_ns, now_ns);
        }
    }

    pub(super) fn record(
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

    /// Appends one line to the log. Bytes that are not RESP have none.
    pub(super) fn note(
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
        let record = self.record(direction, meta, frame.len(), sent_ns, outcome);
        let mut log = self.proxy.log.append();
        log.push(&record, preview(frame, meta.shape));
    }
}
