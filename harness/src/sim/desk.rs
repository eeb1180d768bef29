//! What lies between connections and network: commands, places, answers.
//!
//! redis-rs's futures are `Send`, and so must everything be that they hold. But a simulation is
//! carried out by one thread, and a lock for which nobody ever contends would still be seen in a
//! profile. So each thread has a desk of its own, and connections know it by their simulation's
//! number only.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use super::args::Args;
use super::port::Lost;
use crate::model::Reply;
use crate::wire::LinkId;

/// The place of a command that is under way. It may have been given up, and the place be another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    index: usize,
    serial: u64,
}

/// What a connection hands over.
pub(super) enum Handed {
    /// A command to be carried to the node.
    Command {
        conn: u64,
        link: LinkId,
        args: Args,
        place: Place,
    },
    /// The client closed the connection; what it had sent still arrives.
    Close { conn: u64 },
}

/// What lies at a place.
#[derive(Default)]
pub(super) struct Slot {
    /// Of the command whose place it is.
    serial: u64,
    pub(super) answer: Option<Result<Reply, Lost>>,
    pub(super) waiting: Option<Waker>,
}

/// One client's line to one node.
#[derive(Default)]
pub(super) struct Line {
    pub(super) conn: Option<u64>,
    /// When the last attempt was refused, if it was.
    pub(super) refused_ns: Option<u64>,
}

/// The desk of one simulation.
#[derive(Default)]
pub(super) struct Desk {
    simulation: u64,
    pub(super) handed: Vec<Handed>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    serial: u64,
    pub(super) lines: Vec<Line>,
    /// How many connections were ever opened.
    conns: u64,
    /// Until when answers are waited for, the earliest first. Those of commands that are over are
    /// thrown away when they come to the front.
    deadlines: VecDeque<(u64, Place)>,
    /// Used again, so that a command costs no allocation.
    spare: Vec<Args>,
    /// Something was handed over since the network last looked, or the bell was rung.
    pub(super) rung: bool,
    /// A host has its turn: the network is called when that is over.
    pub(super) quiet: bool,
    /// The network has been called since it last looked.
    pub(super) called: bool,
    /// The network.
    pub(super) carrier: Option<Waker>,
}

/// More unused commands than this are not kept.
const MOST_SPARE: usize = 64;

thread_local! {
    /// Of the simulation that this thread carries out; there is never more than one.
    static DESK: RefCell<Desk> = RefCell::default();
}

impl Desk {
    /// Clears this thread's desk for another simulation, which is given a number.
    pub(super) fn begin() -> u64 {
        static SIMULATIONS: AtomicU64 = AtomicU64::new(1);
        let simulation = SIMULATIONS.fetch_add(1, Ordering::Relaxed);
        let before = DESK.with_borrow_mut(|desk| {
            let fresh = Desk {
                simulation,
                spare: std::mem::take(&mut desk.spare),
                ..Desk::default()
            };
            std::mem::replace(desk, fresh)
        });
        // Not while the desk is lent: nobody knows what goes with the last waker of a task.
        drop(before);
        simulation
    }

    /// Works at the desk of a simulation. `None`: it is over, or belongs to another thread.
    pub(super) fn of<T>(simulation: u64, work: impl FnOnce(&mut Desk) -> T) -> Option<T> {
        let worked = DESK.try_with(|desk| {
            let mut desk = desk.borrow_mut();
            (desk.simulation == simulation).then(|| work(&mut desk))
        });
        // A connection may be dropped when its thread has no desk any more.
        worked.ok().flatten()
    }

    pub(super) fn slot(&mut self, place: Place) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(place.index)?;
        (slot.serial == place.serial).then_some(slot)
    }

    /// Finds a place for a command whose answer is waited for until `deadline_ns`.
    pub(super) fn place(&mut self, deadline_ns: u64) -> Place {
        self.serial += 1;
        let serial = self.serial;
        let slot = Slot {
            serial,
            ..Slot::default()
        };
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        let place = Place { index, serial };
        let last = self.deadlines.back();
        if last.is_none_or(|(at_ns, _)| *at_ns <= deadline_ns) {
            self.deadlines.push_back((deadline_ns, place));
        } else {
            let earlier = |deadline: &(u64, Place)| deadline.0 <= deadline_ns;
            let behind = self.deadlines.partition_point(earlier);
            self.deadlines.insert(behind, (deadline_ns, place));
        }
        place
    }

    /// The place is nobody's from now on. What lay there must not be dropped at the desk: nobody
    /// knows what goes with the last waker of a task.
    pub(super) fn vacate(&mut self, place: Place) -> Slot {
        self.free.push(place.index);
        std::mem::take(&mut self.slots[place.index])
    }

    /// The earliest deadline of a command that has no answer yet.
    pub(super) fn next_deadline(&mut self) -> Option<(u64, Place)> {
        while let Some((at_ns, place)) = self.deadlines.front().copied() {
            if self.slot(place).is_some_and(|slot| slot.answer.is_none()) {
                return Some((at_ns, place));
            }
            self.deadlines.pop_front();
        }
        None
    }

    /// The number of a line's connection, which is a new one if there is none.
    pub(super) fn open(&mut self, line: usize) -> Option<u64> {
        let line = self.lines.get_mut(line)?;
        Some(*line.conn.get_or_insert_with(|| {
            self.conns += 1;
            self.conns - 1
        }))
    }

    /// Room for a command's words.
    pub(super) fn empty_args(&mut self) -> Args {
        self.spare.pop().unwrap_or_else(Args::with_room)
    }

    /// Keeps the room of commands that are over.
    pub(super) fn keep(&mut self, used: &mut Vec<Args>) {
        let room = MOST_SPARE.saturating_sub(self.spare.len());
        let kept = used.drain(..).filter(Args::is_usual).take(room);
        self.spare.extend(kept.map(Args::cleared));
    }

    /// Calls the network. It is only marked as woken here: nothing comes back to the desk.
    pub(super) fn ring(&mut self) {
        self.rung = true;
        if !self.quiet
            && !std::mem::replace(&mut self.called, true)
            && let Some(carrier) = &self.carrier
        {
            carrier.wake_by_ref();
        }
    }
}
