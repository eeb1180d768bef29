//! What everybody in a run shares: the world, the clock, the history, the stock.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::arrivals::Arrivals;
use super::moments::Moments;
use super::opening::Door;
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
    /// Who may begin.
    pub door: Door,
    /// Who comes to buy, in an open loop.
    pub arrivals: Option<Arrivals>,
    /// The protected resource.
    pub stock: RefCell<Stock>,
    /// How the subject calls itself.
    pub introduction: Cell<Option<Introduction>>,
    next_op: Cell<u64>,
}

/// How a subject calls itself; it need not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Introduction {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

/// A name that is longer says nothing more, characters.
const NAME_KEPT: usize = 80;

impl Introduction {
    /// What a subject said. Names that are empty count as none.
    pub fn new(name: Option<String>, version: Option<String>) -> Self {
        let kept = |text: Option<String>| {
            let text: String = text?.trim().chars().take(NAME_KEPT).collect();
            (!text.is_empty()).then_some(text)
        };
        Introduction {
            name: kept(name),
            version: kept(version),
        }
    }
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
            door: Door::of(workload.opening),
            arrivals: Arrivals::of(workload, plan.ttl),
            stock: RefCell::new(stock),
            world,
            plan,
            clock,
            recorder,
            moments,
            introduction: Cell::default(),
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
