//! Where connections hand their commands to the network, and find the answers.
//!
//! Connections must be `Send`, because redis-rs's futures are; the network need not be. So they
//! meet here and nowhere else.
//!
//! A command that is under way has a place at the port, where its answer is laid down. How long
//! its client waits for it is looked after by the network: one timer for all commands, instead of
//! one of tokio's for each.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::model::Reply;
use crate::wire::LinkId;

/// Why no reply came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// The connection was reset.
    Reset,
    /// Nobody listens at the node.
    Refused,
    /// It did not come in time.
    TimedOut,
    /// The node has no room for another connection: it says so, and closes this one.
    Full,
}

/// A command's name and arguments, in one piece.
#[derive(Debug, Clone, Default)]
pub(super) struct Args {
    data: Vec<u8>,
    ends: Vec<usize>,
}

impl Args {
    pub(super) fn push(&mut self, arg: &[u8]) {
        self.data.extend_from_slice(arg);
        self.ends.push(self.data.len());
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins
            .zip(&self.ends)
            .map(|(begin, end)| &self.data[begin..*end])
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All arguments run together: where a name is looked for.
    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }

    /// Empty, with the room that it has.
    fn cleared(mut self) -> Self {
        self.data.clear();
        self.ends.clear();
        self
    }
}

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
struct Slot {
    /// Of the command whose place it is.
    serial: u64,
    answer: Option<Result<Reply, Lost>>,
    waiting: Option<Waker>,
}

#[derive(Default)]
struct Desk {
    handed: Vec<Handed>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    serial: u64,
    /// Until when answers are waited for, the earliest first. Those of commands that are over are
    /// thrown away when they come to the front.
    deadlines: VecDeque<(u64, Place)>,
    /// Used again, so that a command costs no allocation.
    spare: Vec<Args>,
    /// Something was handed over since the network last looked, or the bell was rung.
    rung: bool,
    /// A host has its turn: the network is called when that is over.
    quiet: bool,
    /// The network has been called since it last looked.
    called: bool,
    /// The network.
    carrier: Option<Waker>,
}

/// More unused commands than this are not kept.
const MOST_SPARE: usize = 64;

/// The meeting place.
#[derive(Default)]
pub(super) struct Port {
    desk: Mutex<Desk>,
    conns: AtomicU64,
}

impl Desk {
    fn slot(&mut self, place: Place) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(place.index)?;
        (slot.serial == place.serial).then_some(slot)
    }

    /// Calls the network. It is only marked as woken here: nothing comes back to the desk.
    fn ring(&mut self) {
        self.rung = true;
        if !self.quiet
            && !std::mem::replace(&mut self.called, true)
            && let Some(carrier) = &self.carrier
        {
            carrier.wake_by_ref();
        }
    }

    /// The place is nobody's from now on. What lay there must not be dropped under the lock:
    /// nobody knows what goes with the last waker of a task.
    fn vacate(&mut self, place: Place) -> Slot {
        self.free.push(place.index);
        std::mem::take(&mut self.slots[place.index])
    }

    /// The earliest deadline of a command that has no answer yet.
    fn next_deadline(&mut self) -> Option<(u64, Place)> {
        while let Some((at_ns, place)) = self.deadlines.front().copied() {
            if self.slot(place).is_some_and(|slot| slot.answer.is_none()) {
                return Some((at_ns, place));
            }
            self.deadlines.pop_front();
        }
        None
    }
}

impl Port {
    pub(super) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A number for a new connection.
    pub(super) fn open(&self) -> u64 {
        self.conns.fetch_add(1, Ordering::Relaxed)
    }

    /// Hands a command over, which `write` writes down. Its answer is waited for until
    /// `deadline_ns`.
    pub(super) fn ask(
        &self,
        conn: u64,
        link: LinkId,
        deadline_ns: u64,
        write: impl FnOnce(&mut Args),
    ) -> Answer<'_> {
        let mut desk = self.lock();
        let mut args = desk.spare.pop().unwrap_or_default();
        write(&mut args);
        desk.serial += 1;
        let serial = desk.serial;
        let slot = Slot {
            serial,
            ..Slot::default()
        };
        let index = match desk.free.pop() {
            Some(index) => {
                desk.slots[index] = slot;
                index
            }
            None => {
                desk.slots.push(slot);
                desk.slots.len() - 1
            }
        };
        let place = Place { index, serial };
        let last = desk.deadlines.back();
        if last.is_none_or(|(at_ns, _)| *at_ns <= deadline_ns) {
            desk.deadlines.push_back((deadline_ns, place));
        } else {
            let behind = desk
                .deadlines
                .partition_point(|(at_ns, _)| *at_ns <= deadline_ns);
            desk.deadlines.insert(behind, (deadline_ns, place));
        }
        desk.handed.push(Handed::Command {
            conn,
            link,
            args,
            place,
        });
        desk.ring();
        drop(desk);
        Answer {
            port: self,
            place,
            given: false,
        }
    }

    pub(super) fn close(&self, conn: u64) {
        let mut desk = self.lock();
        desk.handed.push(Handed::Close { conn });
        desk.ring();
    }

    /// Takes what was handed over; `empty` takes its place, and `used` is used again. The bell is
    /// silent from now on.
    pub(super) fn take(&self, empty: Vec<Handed>, used: &mut Vec<Args>) -> Vec<Handed> {
        let mut desk = self.lock();
        (desk.rung, desk.called) = (false, false);
        let room = MOST_SPARE.saturating_sub(desk.spare.len());
        used.truncate(room);
        desk.spare.extend(used.drain(..).map(Args::cleared));
        std::mem::replace(&mut desk.handed, empty)
    }

    /// Lays an answer down. Whoever gave up waiting does not want to know.
    pub(super) fn answer(&self, place: Place, answer: Result<Reply, Lost>) {
        let waiting = self.lock().slot(place).and_then(|slot| {
            slot.answer = Some(answer);
            slot.waiting.take()
        });
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }

    /// Tells those who have waited long enough; when the next one will have. An answer that comes
    /// later, and still before they have looked, takes the place of this one: a client that is
    /// frozen knows no better.
    pub(super) fn time_out(&self, now_ns: u64) -> Option<u64> {
        loop {
            let (at_ns, place) = self.lock().next_deadline()?;
            if at_ns > now_ns {
                return Some(at_ns);
            }
            self.answer(place, Err(Lost::TimedOut));
        }
    }

    /// Makes the network look again.
    pub(super) fn ring(&self) {
        self.lock().ring();
    }

    /// True when something was handed over, or the bell was rung, since the network last looked.
    /// Else its task is woken when that happens.
    pub(super) fn is_rung(&self, context: &Context<'_>) -> bool {
        let mut desk = self.lock();
        let known = desk.carrier.as_ref();
        if known.is_none_or(|known| !known.will_wake(context.waker())) {
            let before = desk.carrier.replace(context.waker().clone());
            let rung = desk.rung;
            drop(desk);
            drop(before);
            return rung;
        }
        desk.rung
    }

    /// Lets a host have its turn, and calls the network after it if it has something for it.
    ///
    /// Within the turn a call would come from among the host's own tasks, and tokio would take it
    /// for one from outside: it would poll everything once more, for nothing.
    pub(super) fn quietly<T>(&self, turn: impl FnOnce() -> T) -> T {
        self.lock().quiet = true;
        let done = turn();
        let mut desk = self.lock();
        desk.quiet = false;
        if desk.rung {
            desk.ring();
        }
        drop(desk);
        done
    }

    /// The network has gone: nobody is called any more.
    pub(super) fn leave(&self) {
        let carrier = self.lock().carrier.take();
        drop(carrier);
    }

    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer to a command; dropped, it is no longer wanted.
pub(super) struct Answer<'a> {
    port: &'a Port,
    place: Place,
    given: bool,
}

impl Future for Answer<'_> {
    type Output = Result<Reply, Lost>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (port, place) = (self.port, self.place);
        let mut desk = port.lock();
        let Some(slot) = desk.slot(place) else {
            return Poll::Ready(Err(Lost::Reset));
        };
        if let Some(answer) = slot.answer.take() {
            let slot = desk.vacate(place);
            drop(desk);
            drop(slot);
            self.given = true;
            return Poll::Ready(answer);
        }
        let known = slot.waiting.as_ref();
        if known.is_none_or(|known| !known.will_wake(context.waker())) {
            let before = slot.waiting.replace(context.waker().clone());
            drop(desk);
            // Not under the lock: nobody knows what goes with the last waker of a task.
            drop(before);
        }
        Poll::Pending
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        if self.given {
            return;
        }
        let mut desk = self.port.lock();
        let slot = desk.vacate(self.place);
        drop(desk);
        drop(slot);
    }
}
