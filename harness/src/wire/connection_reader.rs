//! One connection as a link reads it, without sockets, time or faults: for what tests and fuzzing feed it.

use picklock_scenarios::{Direction, Phase};

use super::LinkId;
use super::command::Keys;
use super::frame_budget::FrameBudget;
use super::frame_meta::FrameMeta;
use super::frame_reader::{FrameReader, NextFrame};
use super::frame_role::{FrameRole, identify};
use super::log::WireLog;
use super::log_entry::Outcome;
use super::log_record::{LogRecord, preview};
use super::operation::Operation;
use super::pending::Pending;

/// Reads both directions of one connection: finds the frames, matches replies to requests, and logs
/// them. As on a link, the connection becomes a byte pipe where its bytes are not RESP.
pub struct ConnectionReader {
    requests: FrameReader,
    replies: FrameReader,
    pending: Pending,
    /// Why it is a byte pipe, if it is one.
    raw: Option<&'static str>,
    keys: Keys,
    log: WireLog,
}

impl ConnectionReader {
    /// A new connection, on which frames may name these keys of locks.
    pub fn new(keys: &[String]) -> Self {
        let budget = FrameBudget::default();
        ConnectionReader {
            requests: FrameReader::new(Direction::Request, budget.share()),
            replies: FrameReader::new(Direction::Reply, budget.share()),
            pending: Pending::default(),
            raw: None,
            keys: Keys::new(keys),
            log: WireLog::new(keys),
        }
    }

    /// Bytes have come in one direction. Appends what a link sends on of it at once to `sent`: whole
    /// frames, or everything on a byte pipe.
    pub fn read(&mut self, direction: Direction, mut bytes: &[u8], sent: &mut Vec<u8>) {
        while !bytes.is_empty() {
            bytes = &bytes[self.reader(direction).feed(bytes)..];
            self.pass(direction, sent);
        }
    }

    /// The sender has ended: what is left goes on as it is.
    pub fn end(&mut self, direction: Direction, sent: &mut Vec<u8>) {
        let reader = self.reader(direction);
        if let Some(rest) = reader.take_raw() {
            sent.extend_from_slice(&reader.bytes()[rest.range]);
        }
        reader.consume();
    }

    /// Why the connection is a byte pipe; `None`: it is not.
    pub fn why_raw(&self) -> Option<&'static str> {
        self.raw
    }

    /// What has passed.
    pub fn log(&self) -> &WireLog {
        &self.log
    }

    fn reader(&mut self, direction: Direction) -> &mut FrameReader {
        match direction {
            Direction::Request => &mut self.requests,
            Direction::Reply => &mut self.replies,
        }
    }

    fn pass(&mut self, direction: Direction, sent: &mut Vec<u8>) {
        while self.raw.is_none() {
            match self.reader(direction).next_frame() {
                NextFrame::Frame(extent) => {
                    let reader = match direction {
                        Direction::Request => &self.requests,
                        Direction::Reply => &self.replies,
                    };
                    let frame = &reader.bytes()[extent.range];
                    let now = (0, IDLE);
                    let pending = &mut self.pending;
                    let (role, meta) = identify(frame, extent.shape, now, &self.keys, pending);
                    if role == FrameRole::Request && !pending.expect_reply(meta.request) {
                        self.raw = Some("more than requests and replies");
                    }
                    let record = record(direction, &meta, frame.len());
                    self.log.append().push(&record, preview(frame, meta.shape));
                    sent.extend_from_slice(frame);
                }
                NextFrame::More => break,
                NextFrame::Unparseable(reason) => self.raw = Some(reason),
            }
        }
        if self.raw.is_some() {
            self.end(direction, sent);
        }
        self.reader(direction).consume();
    }
}

const IDLE: Operation = Operation {
    op: 0,
    phase: Phase::Idle,
};

fn record(direction: Direction, meta: &FrameMeta, size: usize) -> LogRecord {
    LogRecord {
        at_ns: meta.at_ns,
        sent_ns: Some(meta.at_ns),
        link: LinkId { worker: 0, node: 0 },
        conn: 0,
        direction,
        command: meta.request.command,
        key: meta.request.key,
        op: meta.request.operation.op,
        phase: meta.request.operation.phase,
        size,
        outcome: Outcome::Forwarded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_frames_go_on_and_answers_know_their_requests() {
        let mut connection = ConnectionReader::new(&["lock".to_owned()]);
        let mut sent = Vec::new();
        let request = b"*2\r\n$3\r\nGET\r\n$4\r\nlock\r\n*1\r\n$4\r\nPI";
        connection.read(Direction::Request, request, &mut sent);
        assert_eq!(sent, &request[..request.len() - 10], "the half frame waits");
        connection.read(Direction::Reply, b"$-1\r\n", &mut sent);
        let entries = connection.log().entries();
        assert_eq!(entries.len(), 2);
        assert!(entries.iter().all(|entry| entry.command == "GET"));
        assert_eq!(connection.why_raw(), None);
    }

    #[test]
    fn what_is_not_resp_goes_on_as_it_is() {
        let mut connection = ConnectionReader::new(&[]);
        let mut sent = Vec::new();
        connection.read(Direction::Reply, b"?no", &mut sent);
        assert!(connection.why_raw().is_some());
        connection.read(Direction::Request, b"*1\r\n$4", &mut sent);
        assert_eq!(sent, b"?no*1\r\n$4");
    }
}
