//! One simulated node whose keys are followed the way they are on real servers: from what its servers
//! tell. That is compared with what the node itself knows of its keys.

use std::collections::HashSet;
use std::rc::Rc;

use crate::custody::KeyRecord;
use crate::model::{ClientId, Now, Reply, Server, ServerVersion};
use crate::monitor_replay::{MonitorReplay, ServerReport, StoredKey, StoredValue};
use crate::wire::{SentRequests, introduction};

/// Changes what a server tells before it is read: a control must be able to spoil it.
pub type Edit = Box<dyn FnMut(Vec<u8>) -> Vec<u8> + Send>;

/// How the servers' reports are read.
pub struct Reading {
    /// After how many of a node's operations its report is read; 1: at once. Whatever it is, the report
    /// is read before a server is replaced.
    pub every: u32,
    /// What becomes of each piece of a report before it is read.
    pub edit: Option<Edit>,
}

/// The replay of one node.
pub(super) struct ReplayedNode {
    replay: MonitorReplay,
    /// Of the master, and of the replica, if there is one.
    reports: Vec<ServerReport>,
    master: usize,
    sent: Rc<SentRequests>,
    introduced: HashSet<u64>,
    reading: Rc<std::cell::RefCell<Reading>>,
    unread: u32,
    error: Option<String>,
}

impl ReplayedNode {
    /// For a node with so many servers.
    pub(super) fn new(
        version: ServerVersion,
        servers: usize,
        locks: Rc<[String]>,
        sent: Rc<SentRequests>,
        reading: Rc<std::cell::RefCell<Reading>>,
    ) -> Self {
        ReplayedNode {
            replay: MonitorReplay::new(version, servers, locks),
            reports: (0..servers).map(ServerReport::of).collect(),
            master: 0,
            sent,
            introduced: HashSet::new(),
            reading,
            unread: 0,
            error: None,
        }
    }

    /// A command of this connection is about to be executed: the connection introduces itself first.
    pub(super) fn introduce(&mut self, conn: u64, client: ClientId, server: &mut Server, now: Now) {
        if self.introduced.insert(conn) {
            let word = introduction(conn);
            server.execute(client, &[b"ECHO", word.as_bytes()], now);
        }
    }

    /// An operation is over: the report is read if it is time.
    pub(super) fn operated(
        &mut self,
        server: &mut Server,
        replica: Option<&mut Server>,
        at_ns: u64,
    ) {
        self.unread += 1;
        if self.unread >= self.reading.borrow().every {
            self.read(server, replica, at_ns);
        }
    }

    /// Reads what the servers have told.
    pub(super) fn read(&mut self, server: &mut Server, replica: Option<&mut Server>, at_ns: u64) {
        self.unread = 0;
        self.read_one(self.master, server, at_ns);
        if let Some(replica) = replica {
            self.read_one(1, replica, at_ns);
        }
    }

    fn read_one(&mut self, number: usize, server: &mut Server, at_ns: u64) {
        let mut bytes = server.take_report();
        if let Some(edit) = &mut self.reading.borrow_mut().edit {
            bytes = edit(bytes);
        }
        let report = &mut self.reports[number];
        let read = report.read(&bytes, at_ns, &mut self.replay, &*self.sent, |_| ());
        if let Err(line) = read {
            self.error.get_or_insert(line);
        }
    }

    /// The server has started with what its disk had kept.
    pub(super) fn restarted(&mut self, server: &mut Server, now: Now, at_ns: u64) {
        let keys = stored(server, now);
        server.take_report();
        self.reports[self.master] = ServerReport::of(self.master);
        self.introduced.clear();
        let master = self.master;
        self.replay.restarted(master, &keys, now.wall_us, at_ns);
    }

    /// The replica, which is `server` now, has replaced the master.
    pub(super) fn promoted(&mut self, server: &mut Server, now: Now, at_ns: u64) {
        self.master = 1;
        // A mark: what the replica was sent before has been read when it comes back.
        let client = server.connect();
        server.execute(client, &[b"ECHO", b"promoted"], now);
        server.disconnect(client);
        self.introduced.clear();
        self.read_one(1, server, at_ns);
        self.replay.promote(1, at_ns);
    }

    /// The changes of its keys.
    ///
    /// # Errors
    /// A line of the report that is none.
    pub(super) fn take(&mut self) -> Result<Vec<KeyRecord>, String> {
        match self.error.take() {
            Some(line) => Err(line),
            None => Ok(self.replay.take()),
        }
    }
}

/// All keys of the first database, as the server backend reads them after a start.
fn stored(server: &mut Server, now: Now) -> Vec<StoredKey> {
    let client = server.connect();
    let script = StoredKey::READ_ALL.as_bytes();
    let reply = server.execute(client, &[b"EVAL", script, b"0"], now);
    server.disconnect(client);
    let Reply::Array(parts) = reply else {
        return Vec::new();
    };
    let Some(Reply::Array(rows)) = parts.into_iter().nth(1) else {
        return Vec::new();
    };
    rows.iter().filter_map(row).collect()
}

fn row(row: &Reply) -> Option<StoredKey> {
    let Reply::Array(parts) = row else {
        return None;
    };
    let [
        Reply::Bulk(name),
        Reply::Bulk(kind),
        Reply::Int(ttl_ms),
        Reply::Array(words),
    ] = parts.as_slice()
    else {
        return None;
    };
    let words = words.iter().map(|word| match word {
        Reply::Bulk(bytes) => bytes.clone(),
        _ => Vec::new(),
    });
    Some(StoredKey {
        name: name.clone(),
        value: StoredValue::of(std::str::from_utf8(kind).ok()?, words.collect()),
        ttl_ms: *ttl_ms,
    })
}
