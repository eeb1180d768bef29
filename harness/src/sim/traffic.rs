//! What is on the way: frames, the connections they travel on, and their order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use picklock_scenarios::{Direction, Phase};

use super::port::{Answered, Args, Lost};
use crate::model::{ClientId, Reply};
use crate::wire::{FaultView, LinkId, Ruling};

/// A command, with everything that its links know about it.
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) key: Option<u32>,
    pub(super) op: u64,
    pub(super) phase: Phase,
}

/// One message.
pub(super) struct Frame {
    pub(super) conn: u64,
    pub(super) asked: Asked,
    pub(super) cargo: Cargo,
}

/// What a message carries.
pub(super) enum Cargo {
    Command { args: Args, answered: Answered },
    Reply { reply: Reply, answered: Answered },
}

impl Cargo {
    /// Whoever waits for the answer.
    pub(super) fn into_answered(self) -> Answered {
        match self {
            Cargo::Command { answered, .. } | Cargo::Reply { answered, .. } => answered,
        }
    }
}

impl Frame {
    pub(super) fn direction(&self) -> Direction {
        match self.cargo {
            Cargo::Command { .. } => Direction::Request,
            Cargo::Reply { .. } => Direction::Reply,
        }
    }
}

/// A frame that has not left yet.
pub(super) struct Leaving {
    pub(super) frame: Frame,
    /// The watcher has seen it.
    pub(super) seen: bool,
    /// What the faults said about it.
    pub(super) ruling: Option<Ruling>,
}

/// One direction of one connection: nothing overtakes in it.
pub(super) struct Outlet {
    pub(super) queue: VecDeque<Leaving>,
    pub(super) view: FaultView,
    /// Nothing arrives before what was sent before it.
    pub(super) last_ns: u64,
    /// The frame at the head waits at a gate.
    pub(super) gated: bool,
    /// The frame at the head was stopped by a partition, which was counted.
    pub(super) stopped: bool,
}

impl Outlet {
    pub(super) fn new(view: FaultView) -> Self {
        Outlet {
            queue: VecDeque::new(),
            view,
            last_ns: 0,
            gated: false,
            stopped: false,
        }
    }
}

/// One connection.
pub(super) struct Conn {
    pub(super) link: LinkId,
    /// As the node knows it.
    pub(super) client: ClientId,
    pub(super) request: Outlet,
    pub(super) reply: Outlet,
    /// Commands that were swallowed, or whose replies were: their clients wait in vain.
    pub(super) in_vain: Vec<Answered>,
    /// A blocking command that the node has not answered yet.
    pub(super) blocked: VecDeque<(Asked, Answered)>,
}

impl Conn {
    pub(super) fn outlet(&mut self, direction: Direction) -> &mut Outlet {
        match direction {
            Direction::Request => &mut self.request,
            Direction::Reply => &mut self.reply,
        }
    }

    /// Tells everybody who waits on it why there will be no answer.
    pub(super) fn fail(self, lost: Lost) {
        let leaving = self.request.queue.into_iter().chain(self.reply.queue);
        let answered = leaving
            .map(|leaving| leaving.frame.cargo.into_answered())
            .chain(self.in_vain)
            .chain(self.blocked.into_iter().map(|(_, answered)| answered));
        for answered in answered {
            // Whoever gave up waiting does not want to know.
            answered.send(Err(lost)).unwrap_or_default();
        }
    }
}

/// Something that happens on the network at a time.
pub(super) enum Arrival {
    Frame(Frame),
    /// The connection's end has arrived.
    Closed(u64),
    /// The client learns that nobody listens.
    Refused(u64),
}

struct Due {
    at_ns: u64,
    /// Drawn from the seed: the order of what happens at the same time.
    tie: u32,
    serial: u64,
    arrival: Arrival,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl Due {
    fn rank(&self) -> (u64, u32, u64) {
        (self.at_ns, self.tie, self.serial)
    }
}

/// What is to happen, in order.
#[derive(Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<Due>>,
    serial: u64,
}

impl Agenda {
    pub(super) fn add(&mut self, at_ns: u64, tie: u32, arrival: Arrival) {
        self.serial += 1;
        self.heap.push(Reverse(Due {
            at_ns,
            tie,
            serial: self.serial,
            arrival,
        }));
    }

    /// When the next thing happens.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(due)| due.at_ns)
    }

    /// The next thing, if its time has come.
    pub(super) fn pop(&mut self, now_ns: u64) -> Option<(u64, Arrival)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        let Reverse(due) = self.heap.pop()?;
        Some((due.at_ns, due.arrival))
    }
}
