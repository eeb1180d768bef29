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
use crate::spec::RunSpec;

/// What the driver and the nemesis of a run share: the backend, the clock, the history, the stock.
pub struct RunContext<B> {
    /// The backend in which the run happens.
    pub backend: Rc<B>,
    /// What is run.
    pub spec: Rc<RunSpec>,
    /// The run's one clock.
    pub clock: Clock,
    /// Writes the history.
    pub recorder: Recorder,
    /// What starts faults.
    pub triggers: Arc<Triggers>,
    /// Which workers are alive.
    pub live_workers: LiveWorkers,
    /// When each worker may begin.
    pub start_gate: StartGate,
    /// Ends the run before its buyers are done.
    pub early_end: EarlyEnd,
    /// The workers of which the proxy has refused a client.
    pub refused: RefCell<BTreeSet<usize>>,
    /// The buyers that arrive, in an open loop.
    pub arrivals: Option<Arrivals>,
    /// Whether the lock offers what the scenario asks for.
    pub applicability: Applicability,
    /// The protected resource.
    pub stock: RefCell<Stock>,
    /// What is wrong with the accesses to it.
    pub stock_faults: StockFaults,
    /// The names of the locks' keys. They are asked for with every request.
    keys: Vec<String>,
    /// The name and version that the lock reported.
    pub identity: Cell<Option<LockIdentity>>,
    /// The lock was granted after commands to its nodes, so it uses them.
    pub lock_uses_nodes: Cell<bool>,
    next_op: Cell<u64>,
}

/// The name and version that a lock reports, if any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockIdentity {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

/// Longer names are cut off here, characters.
const NAME_KEPT: usize = 80;

impl LockIdentity {
    /// From what a lock reported. Empty names count as none.
    pub fn new(name: Option<String>, version: Option<String>) -> Self {
        let kept = |text: Option<String>| {
            let text: String = text?.trim().chars().take(NAME_KEPT).collect();
            (!text.is_empty()).then_some(text)
        };
        LockIdentity {
            name: kept(name),
            version: kept(version),
        }
    }
}

impl<B> RunContext<B> {
    /// For a run in which nothing has happened yet. The clock is the one that the proxy reads, and
    /// the triggers also watch the proxy. `listener` is called with each event as it happens.
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
            stock_faults: StockFaults::default(),
            keys: spec.keys(),
            recorder: Recorder::new(clock.clone(), listener),
            backend,
            spec,
            clock,
            triggers,
            identity: Cell::default(),
            lock_uses_nodes: Cell::new(false),
            next_op: Cell::new(1),
        })
    }

    /// The name of a lock's key.
    pub fn key(&self, lock: u32) -> String {
        self.keys[lock as usize].clone()
    }

    /// A number for the next attempt to buy.
    pub fn next_op(&self) -> u64 {
        let op = self.next_op.get();
        self.next_op.set(op + 1);
        op
    }
}
