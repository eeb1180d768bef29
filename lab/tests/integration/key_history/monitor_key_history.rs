//! The account of simulated nodes made the way it is made on real servers: from what the servers tell. It is
//! compared with the account that the nodes keep themselves.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use picklock_harness::history::{Event, History};
use picklock_harness::key_history::KeyRecord;
use picklock_harness::model::{ClientId, Now, Reply, Server};
use picklock_harness::monitor_replay::{MonitorReplay, ServerReport, StoredKey, StoredValue};
use picklock_harness::proxy::SentRequests;
use picklock_harness::sim::{
    NodeObserver, NodeStep, ObservedNode, ObservedServers, SimError, Simulation, run_observed,
};

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

/// A run whose account was made twice.
#[derive(Debug)]
pub struct ToldRun {
    /// What happened, with the account that the nodes have kept themselves.
    pub history: History,
    /// The changes of the keys by what the nodes have told, node by node, each in its own order; an
    /// error: a line of a report that is none.
    pub told: Result<Vec<Event>, String>,
}

/// Simulates, and makes the account of the keys a second time.
pub fn run_told(simulation: Simulation, reading: Reading) -> Result<ToldRun, SimError> {
    let told = Arc::new(Mutex::new(Ok(Vec::new())));
    let (into, reading) = (Arc::clone(&told), Arc::new(Mutex::new(reading)));
    let result = run_observed(
        simulation,
        Box::new(move |node| {
            let (into, reading) = (Arc::clone(&into), Arc::clone(&reading));
            Box::new(MonitorKeyHistory::new(node, reading, into))
        }),
    )?;
    let told = std::mem::replace(&mut *told.lock().unwrap(), Ok(Vec::new()));
    Ok(ToldRun {
        history: result.history,
        told,
    })
}

/// The account of one node.
struct MonitorKeyHistory {
    node: usize,
    replay: MonitorReplay,
    /// Of the master, and of the replica, if there is one.
    reports: [ServerReport; 2],
    master: usize,
    sent: Rc<SentRequests>,
    introduced: HashSet<u64>,
    reading: Arc<Mutex<Reading>>,
    unread: u32,
    error: Option<String>,
    /// Of all nodes.
    result: Arc<Mutex<Result<Vec<Event>, String>>>,
}

impl MonitorKeyHistory {
    fn new(
        node: ObservedNode,
        reading: Arc<Mutex<Reading>>,
        result: Arc<Mutex<Result<Vec<Event>, String>>>,
    ) -> Self {
        MonitorKeyHistory {
            node: node.number,
            replay: MonitorReplay::new(node.version, node.servers, node.locks),
            reports: [ServerReport::for_server(0), ServerReport::for_server(1)],
            master: 0,
            sent: node.sent,
            introduced: HashSet::new(),
            reading,
            unread: 0,
            error: None,
            result,
        }
    }

    /// A command of this connection is about to be executed: the connection introduces itself first.
    fn introduce(&mut self, conn: u64, client: ClientId, servers: ObservedServers<'_>) {
        if self.introduced.insert(conn) {
            let word = self.sent.introduction(conn);
            let words: [&[u8]; 2] = [b"ECHO", word.as_bytes()];
            servers.master.execute(client, &words, servers.now);
        }
    }

    /// An operation is over: the report is read if it is time.
    fn operated(&mut self, servers: ObservedServers<'_>) {
        self.unread += 1;
        let every = self.reading.lock().unwrap().every;
        if self.unread >= every {
            self.read(servers);
        }
    }

    /// Reads what the servers have told.
    fn read(&mut self, servers: ObservedServers<'_>) {
        self.unread = 0;
        self.read_one(self.master, servers.master, servers.at_ns);
        if let Some(replica) = servers.replica {
            self.read_one(1, replica, servers.at_ns);
        }
    }

    fn read_one(&mut self, number: usize, server: &mut Server, at_ns: u64) {
        let mut bytes = server.take_report();
        if let Some(edit) = &mut self.reading.lock().unwrap().edit {
            bytes = edit(bytes);
        }
        let report = &mut self.reports[number];
        let read = report.read(&bytes, at_ns, &mut self.replay, &self.sent, |_| ());
        if let Err(line) = read {
            self.error.get_or_insert(line);
        }
    }

    /// The server has started with what its disk had kept.
    fn restarted(&mut self, servers: ObservedServers<'_>) {
        let keys = stored(servers.master, servers.now);
        servers.master.take_report();
        self.reports[self.master] = ServerReport::for_server(self.master);
        self.introduced.clear();
        let (wall_us, at_ns) = (servers.now.wall_us, servers.at_ns);
        self.replay
            .record_restarted(self.master, &keys, wall_us, at_ns);
    }

    /// The replica, which is the master now, has replaced the other one.
    fn promoted(&mut self, servers: ObservedServers<'_>) {
        self.master = 1;
        // A mark: what the replica was sent before has been read when it comes back.
        let server = servers.master;
        let client = server.connect();
        server.execute(client, &[b"ECHO", b"promoted"], servers.now);
        server.disconnect(client);
        self.introduced.clear();
        self.read_one(1, server, servers.at_ns);
        self.replay.promote(1, servers.at_ns);
    }

    /// Adds the account to those of the other nodes. The first line that is none is the result instead.
    fn hand_over(&mut self, event: &dyn Fn(KeyRecord) -> Event) {
        let mut result = self.result.lock().unwrap();
        match self.error.take() {
            Some(line) if result.is_ok() => *result = Err(format!("node {}: {line}", self.node)),
            Some(_) => {}
            None => {
                if let Ok(events) = &mut *result {
                    events.extend(self.replay.take().into_iter().map(event));
                }
            }
        }
    }
}

impl NodeObserver for MonitorKeyHistory {
    fn at(&mut self, moment: NodeStep<'_>, servers: ObservedServers<'_>) {
        match moment {
            NodeStep::Began => {
                servers.master.report(true);
                if let Some(replica) = servers.replica {
                    replica.report(true);
                }
            }
            NodeStep::Executing { conn, client } => self.introduce(conn, client, servers),
            NodeStep::Operated => self.operated(servers),
            NodeStep::Replacing => self.read(servers),
            NodeStep::Restarted => self.restarted(servers),
            NodeStep::Promoted => self.promoted(servers),
            NodeStep::HistoryTaken { event } => {
                self.read(servers);
                self.hand_over(event);
            }
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
        value: StoredValue::parse(std::str::from_utf8(kind).ok()?, words.collect()),
        ttl_ms: *ttl_ms,
    })
}
