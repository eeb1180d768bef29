//! What everybody in a run shares: the world, the clock, the history, the stock.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use picklock_scenarios::Scenario;

use super::recorder::Recorder;
use super::roster::Roster;
use super::stock::Stock;
use crate::clock::Clock;
use crate::nemesis::Moments;

/// The run's numbers, resolved from the scenario.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What shall happen.
    pub scenario: Scenario,
    /// Lease time.
    pub ttl: Duration,
    /// Independent nodes.
    pub nodes: usize,
    /// Names of the locks' keys.
    pub keys: Vec<String>,
    /// Seed of the run.
    pub seed: u64,
    /// What the user gave as `--impl-option`.
    pub options: std::collections::BTreeMap<String, String>,
}

impl Plan {
    /// Lease time in milliseconds.
    pub fn ttl_ms(&self) -> u64 {
        millis(self.ttl)
    }

    /// After so long without an answer a client's command has failed.
    pub fn command_timeout(&self) -> Duration {
        self.scenario.workload.command_timeout.resolve(self.ttl)
    }

    /// The longest time that the plan's own faults may keep a worker from answering.
    pub fn longest_fault(&self) -> Duration {
        let spans = self
            .scenario
            .faults
            .iter()
            .filter_map(|fault| fault.duration);
        spans.map(|span| span.resolve(self.ttl)).sum()
    }
}

/// Whole milliseconds of a duration.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// What everybody in a run shares.
pub struct Stage<W> {
    /// Where it happens.
    pub world: W,
    /// The run's numbers.
    pub plan: Plan,
    /// The run's one clock.
    pub clock: Clock,
    /// The history's one pen.
    pub recorder: Recorder,
    /// What sets faults off.
    pub moments: Arc<Moments>,
    /// Who is alive.
    pub roster: Roster,
    /// The protected resource.
    pub stock: RefCell<Stock>,
    next_op: Cell<u64>,
}

impl<W> Stage<W> {
    /// A stage on which nothing has happened yet.
    pub fn new(
        world: W,
        plan: Plan,
        clock: Clock,
        recorder: Recorder,
        moments: Arc<Moments>,
    ) -> Rc<Self> {
        let workload = &plan.scenario.workload;
        let stock = Stock::new(plan.keys.len(), workload.stock, workload.update);
        Rc::new(Stage {
            roster: Roster::new(workload.workers),
            stock: RefCell::new(stock),
            world,
            plan,
            clock,
            recorder,
            moments,
            next_op: Cell::new(1),
        })
    }

    /// A number for the next attempt to buy.
    pub fn next_op(&self) -> u64 {
        let op = self.next_op.get();
        self.next_op.set(op + 1);
        op
    }
}
