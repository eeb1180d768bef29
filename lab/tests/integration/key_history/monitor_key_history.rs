//! The key history of simulated nodes, built from the servers' reports as on real servers. It is compared with the
//! key history that the nodes record themselves.

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

/// A function that changes a server's report before it is read, so that a control can spoil it.
pub type Edit = Box<dyn FnMut(Vec<u8>) -> Vec<u8> + Send>;

/// How the servers' reports are read.
pub struct Reading {
    /// Number of a node's operations after which its report is read; 1 means at once. The report is always read
    /// before a server is replaced.
    pub every: u32,
    /// The change that is applied to each piece of a report before it is read.
    pub edit: Option<Edit>,
}

/// A run whose key history was built twice.
#[derive(Debug)]
pub struct ReplayedRun {
    /// The history, with the key history that the nodes recorded themselves.
    pub history: History,
    /// The key changes according to the reports, grouped by node, each node in its own order. The error is an invalid
    /// line of a report.
    pub replayed: Result<Vec<Event>, String>,
}

/// Runs the simulation, and builds the key history a second time from the reports.
pub fn run_replayed(simulation: Simulation, reading: Reading) -> Result<ReplayedRun, SimError> {
    let replayed = Arc::new(Mutex::new(Ok(Vec::new())));
    let (into, reading) = (Arc::clone(&replayed), Arc::new(Mutex::new(reading)));
    let result = run_observed(
        simulation,
        Box::new(move |node| {
            let (into, reading) = (Arc::clone(&into), Arc::clone(&reading));
            Box::new(MonitorKeyHistory::new(node, reading, into))
        }),
    )?;
    let replayed = std::mem::replace(&mut *replayed.lock().unwrap(), Ok(Vec::new()));
    Ok(ReplayedRun {
        history: result.history,
        replayed,
    })
}

/// The key history of one node.
struct MonitorKeyHistory {
    node: usize,
    replay: MonitorReplay,
    /// The report of the master, and of the replica, if there is one.
    reports: [ServerReport; 2],
    master: usize,
    sent: Rc<SentRequests>,
    introduced: HashSet<u64>,
    reading: Arc<Mutex<Reading>>,
    unread: u32,
    error: Option<String>,
    /// The results of all nodes.
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

    /// Introduces a connection before its first command is executed.
    fn introduce(&mut self, conn: u64, client: ClientId, servers: ObservedServers<'_>) {
        if self.introduced.insert(conn) {
            let word = self.sent.introduction(conn);
            let words: [&[u8]; 2] = [b"ECHO", word.as_bytes()];
            servers.master.execute(client, &words, servers.now);
        }
    }

    /// Counts an operation, and reads the report when it is due.
    fn finish_operation(&mut self, servers: ObservedServers<'_>) {
        self.unread += 1;
        let every = self.reading.lock().unwrap().every;
        if self.unread >= every {
            self.read(servers);
        }
    }

    /// Reads the servers' reports.
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

    /// Handles a restart of the server with the data on its disk.
    fn handle_restart(&mut self, servers: ObservedServers<'_>) {
        let keys = stored(servers.master, servers.now);
        servers.master.take_report();
        self.reports[self.master] = ServerReport::for_server(self.master);
        self.introduced.clear();
        let (wall_us, at_ns) = (servers.now.wall_us, servers.at_ns);
        self.replay
            .record_restarted(self.master, &keys, wall_us, at_ns);
    }

    /// Handles the promotion of the replica, which is the master from now on.
    fn handle_promotion(&mut self, servers: ObservedServers<'_>) {
        self.master = 1;
        // When this mark comes back, everything that the replica received before has been read.
        let server = servers.master;
        let client = server.connect();
        server.execute(client, &[b"ECHO", b"promoted"], servers.now);
        server.disconnect(client);
        self.introduced.clear();
        self.read_one(1, server, servers.at_ns);
        self.replay.promote(1, servers.at_ns);
    }

    /// Adds the key history to the other nodes' results. An invalid line replaces the result.
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
    fn at(&mut self, step: NodeStep<'_>, servers: ObservedServers<'_>) {
        match step {
            NodeStep::Began => {
                servers.master.report(true);
                if let Some(replica) = servers.replica {
                    replica.report(true);
                }
            }
            NodeStep::Executing { conn, client } => self.introduce(conn, client, servers),
            NodeStep::Operated => self.finish_operation(servers),
            NodeStep::Replacing => self.read(servers),
            NodeStep::Restarted => self.handle_restart(servers),
            NodeStep::Promoted => self.handle_promotion(servers),
            NodeStep::HistoryTaken { event } => {
                self.read(servers);
                self.hand_over(event);
            }
        }
    }
}
/// Returns all keys of the first database, read as the server backend reads them after a start.
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
