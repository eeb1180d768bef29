//! What is on the way: frames, the connections they travel on, and their order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use picklock_scenarios::{Direction, Phase};

use super::args::Args;
use super::desk::Place;
use super::network::Way;
use super::port::{Lost, Port};
use crate::model::{ClientId, Reply};
use crate::wire::{FaultView, ImposedId, LinkId, Outcome};

/// A command, with everything that its links know about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    /// Its name, by its place among those that were ever heard.
    pub(super) name: usize,
    pub(super) key: Option<u32>,
    pub(super) op: u64,
    pub(super) phase: Phase,
}

impl Asked {
    /// For what is no command.
    pub(super) fn nothing() -> Self {
        Asked {
            name: 0,
            key: None,
            op: 0,
            phase: Phase::Idle,
        }
    }
}

/// One message.
pub(super) struct Frame {
    pub(super) conn: u64,
    pub(super) asked: Asked,
    pub(super) cargo: Cargo,
}

/// What a message carries.
pub(super) enum Cargo {
    Command(Args),
    Reply(Reply),
    /// The client has closed the connection.
    Close,
}

impl Frame {
    /// It says something.
    pub(super) fn is_message(&self) -> bool {
        !matches!(self.cargo, Cargo::Close)
    }

    pub(super) fn direction(&self) -> Direction {
        match self.cargo {
            Cargo::Command(_) | Cargo::Close => Direction::Request,
            Cargo::Reply(_) => Direction::Reply,
        }
    }
}

/// A frame about which the faults have been asked, and that waits to leave.
pub(super) struct Leaving {
    pub(super) frame: Frame,
    /// Not before this.
    pub(super) due_ns: u64,
    /// Not while one of these is in force.
    pub(super) holds: Vec<ImposedId>,
    /// It was stopped by a partition, which was counted.
    pub(super) stopped: bool,
    /// When it came, and what became of it since: for the command log.
    pub(super) came_ns: u64,
    pub(super) outcome: Outcome,
}

/// One direction of one connection: nothing overtakes in it.
pub(super) struct Outlet {
    /// What the watcher has not let through yet.
    pub(super) coming: VecDeque<Frame>,
    pub(super) leaving: VecDeque<Leaving>,
    pub(super) view: FaultView,
    /// Nothing leaves before what came before it.
    pub(super) latest_due_ns: u64,
    /// Nothing arrives before what was sent before it.
    pub(super) last_ns: u64,
    /// The first frame that comes was shown to the watcher.
    pub(super) shown: bool,
    /// It waits at a gate.
    pub(super) gated: bool,
}

impl Outlet {
    pub(super) fn new(view: FaultView) -> Self {
        Outlet {
            coming: VecDeque::new(),
            leaving: VecDeque::new(),
            view,
            latest_due_ns: 0,
            last_ns: 0,
            shown: false,
            gated: false,
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
    /// The two ends have met: nothing stood between them when the first command was sent.
    pub(super) established: bool,
    /// Who waits for an answer, in the order in which they asked. The protocol has no numbers: a
    /// reply goes to whoever waits longest, be it theirs or not.
    pub(super) waiting: VecDeque<Place>,
    /// A blocking command that the node has not answered yet.
    pub(super) blocked: Option<Asked>,
    /// What arrived behind it: the node does not look at it before.
    pub(super) behind: VecDeque<Frame>,
}

impl Conn {
    pub(super) fn outlet(&mut self, direction: Direction) -> &mut Outlet {
        match direction {
            Direction::Request => &mut self.request,
            Direction::Reply => &mut self.reply,
        }
    }

    /// Tells everybody who waits on it why there will be no answer.
    pub(super) fn fail(self, port: Port, lost: Lost) {
        for place in self.waiting {
            port.answer(place, Err(lost));
        }
    }
}

/// Something that happens on the network at a time.
pub(super) enum Arrival {
    Frame(Frame),
    /// A frame that was delayed may leave.
    Due(Way),
    /// The client learns that it is not let in, and why.
    Refused(u64, Lost),
    /// Somebody has waited long enough at this node.
    TimedOut(usize),
}

/// When something happens, and where it lies until then. Kept small and in one number, because it
/// is moved about and compared more than anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    /// From the highest bits on: the time in nanoseconds; what was drawn from the seed, for the
    /// order of what happens at the same time; a number that is never the same twice at the same
    /// time, so that the place decides nothing.
    order: u128,
    place: usize,
}

impl Due {
    fn at_ns(self) -> u64 {
        (self.order >> 64) as u64
    }
}

/// What is to happen, in order.
#[derive(Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<Due>>,
    arrivals: Vec<Option<Arrival>>,
    free: Vec<usize>,
    serial: u32,
}

impl Agenda {
    pub(super) fn add(&mut self, at_ns: u64, tie: u32, arrival: Arrival) {
        // It may come round: what it comes round to has happened long ago.
        self.serial = self.serial.wrapping_add(1);
        let place = self.free.pop().unwrap_or(self.arrivals.len());
        match self.arrivals.get_mut(place) {
            Some(empty) => *empty = Some(arrival),
            None => self.arrivals.push(Some(arrival)),
        }
        let order = u128::from(at_ns) << 64 | u128::from(tie) << 32 | u128::from(self.serial);
        self.heap.push(Reverse(Due { order, place }));
    }

    /// When the next thing happens.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(due)| due.at_ns())
    }

    /// The next thing, if its time has come.
    pub(super) fn pop(&mut self, now_ns: u64) -> Option<(u64, Arrival)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        let Reverse(due) = self.heap.pop()?;
        let arrival = self.arrivals[due.place].take()?;
        self.free.push(due.place);
        Some((due.at_ns(), arrival))
    }
}
