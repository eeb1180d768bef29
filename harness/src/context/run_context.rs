//! The state that driver and nemesis share. It exists once per run, and holds the parts of this folder.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use super::applicability::Applicability;
use super::arrivals::Arrivals;
use super::early_end::EarlyEnd;
use super::live_workers::LiveWorkers;
use super::recorder::{Listener, Recorder};
use super::start_gate::StartGate;
use super::stock::Stock;
use super::stock_faults::StockFaults;
use super::triggers::Triggers;
use crate::clock::Clock;
use crate::history::Declarations;
use crate::spec::RunSpec;

/// The state that the driver and the nemesis of a run share, such as the backend, the clock, the history and the stock.
pub struct RunContext<B> {
    /// The backend of the run.
    pub backend: Rc<B>,
    /// The specification of the run.
    pub spec: Rc<RunSpec>,
    /// The run's only clock.
    pub clock: Clock,
    /// Records the history.
    pub recorder: Recorder,
    /// The triggers of the faults.
    pub triggers: Arc<Triggers>,
    /// Tracks which workers are alive.
    pub live_workers: LiveWorkers,
    /// Decides when each worker may begin.
    pub start_gate: StartGate,
    /// Ends the run before its clients are done.
    pub early_end: EarlyEnd,
    /// The workers for which the proxy has refused a client.
    pub refused: RefCell<BTreeSet<usize>>,
    /// The arriving buyers, in an open loop.
    pub arrivals: Option<Arrivals>,
    /// Tracks whether the lock offers the features that the scenario requires.
    pub applicability: Applicability,
    /// The protected resource.
    pub stock: RefCell<Stock>,
    /// The jobs that have begun, by the key of the lock and the tick.
    pub jobs_begun: RefCell<BTreeSet<(u32, u64)>>,
    /// The faults that affect accesses to the stock.
    pub stock_faults: StockFaults,
    /// The names of the locks' keys, as requests contain them.
    keys: Vec<String>,
    /// The name and version that the lock reported.
    pub identity: Cell<Option<LockIdentity>>,
    /// The lifetimes of keys that the lock declares.
    pub declared: Cell<Declarations>,
    /// Whether any grant was preceded by commands to the nodes, which shows that the lock uses them.
    pub lock_uses_nodes: Cell<bool>,
    next_op: Cell<u64>,
}

/// The name and version that a lock reports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockIdentity {
    /// The name, or `None` if the lock reports none.
    pub name: Option<String>,
    /// The version, or `None` if the lock reports none.
    pub version: Option<String>,
}

/// Maximum length of a name or version in characters.
const MAX_NAME_CHARS: usize = 80;

impl LockIdentity {
    /// Creates the identity from a lock's report. Empty texts count as missing.
    pub fn new(name: Option<String>, version: Option<String>) -> Self {
        let shortened = |text: Option<String>| {
            let text: String = text?.trim().chars().take(MAX_NAME_CHARS).collect();
            (!text.is_empty()).then_some(text)
        };
        LockIdentity {
            name: shortened(name),
            version: shortened(version),
        }
    }
}

impl<B> RunContext<B> {
    /// Creates the context of a run that has not begun. `clock` is also the proxy's clock, and `triggers` are shared
    /// with the proxy. `listener` is called with each event as it happens.
    pub fn new(
        backend: Rc<B>,
        spec: Rc<RunSpec>,
        clock: Clock,
        triggers: Arc<Triggers>,
        listener: Listener,
    ) -> Rc<Self> {
        let workload = &spec.scenario.workload;
        let stock = Stock::new(workload.keys, workload.stock, workload.update);
        Rc::new(RunContext {
            live_workers: LiveWorkers::new(workload.workers),
            start_gate: StartGate::new(workload.start),
            early_end: EarlyEnd::default(),
            refused: RefCell::default(),
            arrivals: Arrivals::for_workload(workload, spec.ttl()),
            applicability: Applicability::default(),
            stock: RefCell::new(stock),
            jobs_begun: RefCell::default(),
            stock_faults: StockFaults::default(),
            keys: spec.keys(),
            recorder: Recorder::new(clock.clone(), listener),
            backend,
            spec,
            clock,
            triggers,
            identity: Cell::default(),
            declared: Cell::default(),
            lock_uses_nodes: Cell::new(false),
            next_op: Cell::new(1),
        })
    }

    /// Returns the name of a lock's key.
    pub fn key(&self, lock: u32) -> String {
        self.keys[lock as usize].clone()
    }

    /// Returns a number for the next attempt.
    pub fn next_op(&self) -> u64 {
        let op = self.next_op.get();
        self.next_op.set(op + 1);
        op
    }
}
