//! The account of simulated nodes made the way it is made on real servers: from what the servers
//! tell. It is compared with the account that the nodes keep themselves. No run of the product needs it.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;

use super::node_observer::{MakeObserver, NodeObserver, ObservedNode, ObservedServers};
use super::runner::{SimError, Simulation, run_observed};
use super::sim_time::SimTime;
use crate::account::{NodeReplay, Senders, SentBy, ServerReport, StoredKey, StoredValue};
use crate::history::{Event, History};
use crate::model::{ClientId, Now, Reply, Server};
use crate::wire::{SentRequests, introduced, introduction};

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

/// What the simulated wire has forwarded.
impl Senders for SentRequests {
    fn introduced(&self, word: &[u8]) -> Option<u64> {
        introduced(word)
    }

    fn claim(&self, conn: u64, words: &[Vec<u8>]) -> Option<SentBy> {
        let request = self.claim_words(conn, words)?;
        Some(SentBy {
            worker: request.link.worker,
            op: request.op,
            phase: request.phase,
            number: request.number,
            replied_ns: request.replied_ns,
            closed_before: request.closed_before,
        })
    }

    fn closed(&self, numbers: Range<usize>) -> Vec<u64> {
        self.closed_ones(numbers)
    }
}

/// A run whose account was made twice.
#[derive(Debug)]
pub struct ToldRun {
    /// What happened, with the account that the nodes have kept themselves.
    pub history: History,
    /// The changes of the keys by what the nodes have told, node by node, each in its own order; an
    /// error: a line of a report that is none.
    pub told: Result<Vec<Event>, String>,
}

/// What one node has told.
type Told = Result<Vec<Event>, String>;

/// Simulates, and makes the account of the keys a second time: from what the simulated servers tell, as
/// on real servers.
///
/// # Errors
/// See [`SimError`].
pub fn run_told(simulation: Simulation, reading: Reading) -> Result<ToldRun, SimError> {
    let running = std::thread::spawn(move || {
        let reading = Rc::new(RefCell::new(reading));
        let told = Rc::<RefCell<Vec<Told>>>::default();
        let into = Rc::clone(&told);
        let make: MakeObserver = Box::new(move |node| {
            Box::new(ToldAccount::new(
                node,
                Rc::clone(&reading),
                Rc::clone(&into),
            ))
        });
        let result = run_observed(simulation, make)?;
        let told: Result<Vec<Vec<Event>>, String> = told.take().into_iter().collect();
        Ok(ToldRun {
            history: result.history,
            told: told.map(|nodes| nodes.concat()),
        })
    });
    let ran = running.join();
    ran.unwrap_or_else(|_| Err(SimError::Broken("its thread panicked".into())))
}

/// The account of one node.
struct ToldAccount {
    node: ObservedNode,
    replay: NodeReplay,
    /// Of the master, and of the replica, if there is one.
    reports: Vec<ServerReport>,
    master: usize,
    introduced: HashSet<u64>,
    reading: Rc<RefCell<Reading>>,
    unread: u32,
    error: Option<String>,
    into: Rc<RefCell<Vec<Told>>>,
}

impl ToldAccount {
    fn new(
        node: ObservedNode,
        reading: Rc<RefCell<Reading>>,
        into: Rc<RefCell<Vec<Told>>>,
    ) -> Self {
        ToldAccount {
            replay: NodeReplay::new(node.version, 0, Rc::clone(&node.locks)),
            reports: Vec::new(),
            node,
            master: 0,
            introduced: HashSet::new(),
            reading,
            unread: 0,
            error: None,
            into,
        }
    }

    /// Reads what the servers have told.
    fn read(&mut self, servers: ObservedServers<'_>, at_ns: u64) {
        self.unread = 0;
        self.read_one(self.master, servers.master, at_ns);
        if let Some(replica) = servers.replica {
            self.read_one(1, replica, at_ns);
        }
    }

    fn read_one(&mut self, number: usize, server: &mut Server, at_ns: u64) {
        let mut bytes = server.take_report();
        if let Some(edit) = &mut self.reading.borrow_mut().edit {
            bytes = edit(bytes);
        }
        let report = &mut self.reports[number];
        let read = report.read(&bytes, at_ns, &mut self.replay, &*self.node.sent, |_| ());
        if let Err(line) = read {
            self.error.get_or_insert(line);
        }
    }
}

impl NodeObserver for ToldAccount {
    fn begin(&mut self, servers: ObservedServers<'_>) {
        let count = 1 + usize::from(servers.replica.is_some());
        self.replay = NodeReplay::new(self.node.version, count, Rc::clone(&self.node.locks));
        self.reports = (0..count).map(ServerReport::of).collect();
    }

    /// The connection introduces itself before its first command.
    fn before_command(&mut self, conn: u64, client: ClientId, master: &mut Server, now: Now) {
        if self.introduced.insert(conn) {
            let word = introduction(conn);
            master.execute(client, &[b"ECHO", word.as_bytes()], now);
        }
    }

    /// The report is read if it is time.
    fn after_operation(&mut self, servers: ObservedServers<'_>, at_ns: u64) {
        self.unread += 1;
        if self.unread >= self.reading.borrow().every {
            self.read(servers, at_ns);
        }
    }

    fn before_replacement(&mut self, servers: ObservedServers<'_>, at_ns: u64) {
        self.read(servers, at_ns);
    }

    fn restarted(&mut self, master: &mut Server, now: Now, at_ns: u64) {
        let keys = stored(master, now);
        master.take_report();
        self.reports[self.master] = ServerReport::of(self.master);
        self.introduced.clear();
        self.replay
            .restarted(self.master, &keys, now.wall_us, at_ns);
    }

    fn promoted(&mut self, master: &mut Server, now: Now, at_ns: u64) {
        self.master = 1;
        // A mark: what the replica was sent before has been read when it comes back.
        let client = master.connect();
        master.execute(client, &[b"ECHO", b"promoted"], now);
        master.disconnect(client);
        self.introduced.clear();
        self.read_one(1, master, at_ns);
        self.replay.promote(1, at_ns);
    }

    fn end(&mut self, servers: ObservedServers<'_>, time: SimTime) {
        self.read(servers, time.sim_ns);
        let node = self.node.number;
        let told = match self.error.take() {
            Some(line) => Err(format!("node {node}: {line}")),
            None => {
                let records = self.replay.take().into_iter();
                Ok(records
                    .map(|record| time.key_changed(node, record))
                    .collect())
            }
        };
        self.into.borrow_mut().push(told);
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
