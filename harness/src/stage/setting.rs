//! What everybody in a run shares: the world, the clock, the history, the stock.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::moments::Moments;
use super::plan::Plan;
use super::recorder::Recorder;
use super::roster::Roster;
use super::stock::Stock;
use crate::clock::Clock;

/// What everybody in a run shares.
pub struct Stage<W> {
    /// Where it happens.
    pub world: Rc<W>,
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
    /// How the subject calls itself, and its version, once a worker has said so.
    pub introduced: RefCell<Option<String>>,
    next_op: Cell<u64>,
}

impl<W> Stage<W> {
    /// A stage on which nothing has happened yet.
    pub fn new(
        world: Rc<W>,
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
            introduced: RefCell::default(),
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
