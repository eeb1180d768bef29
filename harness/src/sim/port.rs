//! Where connections hand their commands to the network, and find the answers.
//!
//! A command that is under way has a place at the port, where its answer is laid down. How long
//! its client waits for it is looked after by the network: one timer for all commands, instead of
//! one of tokio's for each.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::args::Args;
use super::desk::{Desk, Handed, Line, Place};
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

/// The meeting place of one simulation. On any thread but its own, nobody is there: a command is
/// lost at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Port {
    simulation: u64,
}

impl Port {
    /// For a simulation that this thread is about to carry out, and that ends before the next.
    pub(super) fn new() -> Self {
        let simulation = Desk::begin();
        Port { simulation }
    }

    fn desk<T>(self, work: impl FnOnce(&mut Desk) -> T) -> Option<T> {
        Desk::of(self.simulation, work)
    }

    /// A new line from a client to a node. No connection is open on it.
    pub(super) fn line(self) -> usize {
        let new = self.desk(|desk| {
            desk.lines.push(Line::default());
            desk.lines.len() - 1
        });
        new.unwrap_or(usize::MAX)
    }

    /// The line's connection, opened if there is none. Where the last attempt was refused: when
    /// that was, once.
    pub(super) fn connection(self, line: usize) -> Result<u64, u64> {
        let opened = self.desk(|desk| match desk.lines.get_mut(line)?.refused_ns.take() {
            Some(refused_ns) => Some(Err(refused_ns)),
            None => desk.open(line).map(Ok),
        });
        // What is asked on a connection that nobody knows is lost.
        opened.flatten().unwrap_or(Ok(u64::MAX))
    }

    /// The next attempt to open a connection on this line was refused.
    pub(super) fn note_refusal(self, line: usize, at_ns: u64) {
        self.desk(|desk| {
            if let Some(line) = desk.lines.get_mut(line) {
                line.refused_ns = Some(at_ns);
            }
        });
    }

    /// Closes the line's connection, if it is still this one; `None`: whichever it is.
    pub(super) fn hang_up(self, line: usize, only: Option<u64>) {
        self.desk(|desk| {
            let line = desk.lines.get_mut(line)?;
            let is_it = |conn: &mut u64| only.is_none_or(|only| *conn == only);
            if let Some(conn) = line.conn.take_if(is_it) {
                desk.handed.push(Handed::Close { conn });
                desk.ring();
            }
            Some(())
        });
    }

    /// Hands a command over, which `write` writes down. Its answer is waited for until
    /// `deadline_ns`.
    pub(super) fn ask(
        self,
        conn: u64,
        link: LinkId,
        deadline_ns: u64,
        write: impl FnOnce(&mut Args),
    ) -> Answer {
        let place = self.desk(|desk| {
            let mut args = desk.empty_args();
            write(&mut args);
            let place = desk.place(deadline_ns);
            desk.handed.push(Handed::Command {
                conn,
                link,
                args,
                place,
            });
            desk.ring();
            place
        });
        Answer { port: self, place }
    }

    /// Takes what was handed over; `empty` takes its place, and `used` is used again. The bell is
    /// silent from now on.
    pub(super) fn take(self, empty: Vec<Handed>, used: &mut Vec<Args>) -> Vec<Handed> {
        let handed = self.desk(|desk| {
            (desk.rung, desk.called) = (false, false);
            desk.keep(used);
            std::mem::replace(&mut desk.handed, empty)
        });
        handed.unwrap_or_default()
    }

    /// Lays an answer down. Whoever gave up waiting does not want to know.
    pub(super) fn answer(self, place: Place, answer: Result<Reply, Lost>) {
        let waiting = self.desk(|desk| {
            let slot = desk.slot(place)?;
            slot.answer = Some(answer);
            slot.waiting.take()
        });
        if let Some(waiting) = waiting.flatten() {
            waiting.wake();
        }
    }

    /// Tells those who have waited long enough; when the next one will have. An answer that comes
    /// later, and still before they have looked, takes the place of this one: a client that is
    /// frozen knows no better.
    pub(super) fn time_out(self, now_ns: u64) -> Option<u64> {
        loop {
            let (at_ns, place) = self.desk(Desk::next_deadline).flatten()?;
            if at_ns > now_ns {
                return Some(at_ns);
            }
            self.answer(place, Err(Lost::TimedOut));
        }
    }

    /// Makes the network look again.
    pub(super) fn ring(self) {
        self.desk(Desk::ring);
    }

    /// True when something was handed over, or the bell was rung, since the network last looked.
    /// Else its task is woken when that happens.
    pub(super) fn is_rung(self, context: &Context<'_>) -> bool {
        let looked = self.desk(|desk| {
            let known = desk.carrier.as_ref();
            let known = known.is_some_and(|known| known.will_wake(context.waker()));
            let before = (!known).then(|| desk.carrier.replace(context.waker().clone()));
            (desk.rung, before)
        });
        // The waker of before is dropped here, away from the desk.
        looked.is_some_and(|(rung, _)| rung)
    }

    /// Lets a host have its turn, and calls the network after it if it has something for it.
    ///
    /// Within the turn a call would come from among the host's own tasks, and tokio would take it
    /// for one from outside: it would poll everything once more, for nothing.
    pub(super) fn quietly<T>(self, turn: impl FnOnce() -> T) -> T {
        self.desk(|desk| desk.quiet = true);
        let done = turn();
        self.desk(|desk| {
            desk.quiet = false;
            if desk.rung {
                desk.ring();
            }
        });
        done
    }

    /// The network has gone: nobody is called any more.
    pub(super) fn leave(self) {
        let carrier = self.desk(|desk| desk.carrier.take());
        drop(carrier);
    }
}

/// The answer to a command; dropped, it is no longer wanted.
pub(super) struct Answer {
    port: Port,
    /// `None`: it was given, or there will never be one.
    place: Option<Place>,
}

impl Future for Answer {
    type Output = Result<Reply, Lost>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        const NOBODY: Poll<Result<Reply, Lost>> = Poll::Ready(Err(Lost::Reset));
        let Some(place) = self.place else {
            return NOBODY;
        };
        let looked = self.port.desk(|desk| {
            let slot = desk.slot(place)?;
            if let Some(answer) = slot.answer.take() {
                return Some((Poll::Ready(answer), desk.vacate(place).waiting));
            }
            let known = slot.waiting.as_ref();
            let known = known.is_some_and(|known| known.will_wake(context.waker()));
            let before = (!known).then(|| slot.waiting.replace(context.waker().clone()));
            Some((Poll::Pending, before.flatten()))
        });
        // The waker of before is dropped here, away from the desk.
        let (answer, _) = looked.flatten().unwrap_or((NOBODY, None));
        if answer.is_ready() {
            self.place = None;
        }
        answer
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            let slot = self.port.desk(|desk| desk.vacate(place));
            drop(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const LINK: LinkId = LinkId { worker: 0, node: 0 };

    fn ask(port: Port) -> Option<Result<Reply, Lost>> {
        let conn = port.connection(port.line()).unwrap();
        let write = |args: &mut Args| args.push(b"PING");
        port.ask(conn, LINK, 1, write).now_or_never()
    }

    #[test]
    fn only_its_own_thread_finds_anybody_there() {
        let port = Port::new();
        assert_eq!(ask(port), None);
        let elsewhere = std::thread::spawn(move || ask(port)).join().unwrap();
        assert_eq!(elsewhere, Some(Err(Lost::Reset)));
        assert_eq!(port.take(Vec::new(), &mut Vec::new()).len(), 1);
    }

    #[test]
    fn the_next_simulation_has_nothing_of_the_last_one() {
        let last = Port::new();
        let waiting = last.ask(0, LINK, 1, |args| args.push(b"PING"));
        let next = Port::new();
        assert_eq!(waiting.now_or_never(), Some(Err(Lost::Reset)));
        assert_eq!(ask(last), Some(Err(Lost::Reset)));
        assert!(next.take(Vec::new(), &mut Vec::new()).is_empty());
    }

    #[test]
    fn a_line_opens_one_connection_after_another() {
        let port = Port::new();
        let (one, two) = (port.line(), port.line());
        assert_eq!((port.connection(one), port.connection(two)), (Ok(0), Ok(1)));
        assert_eq!(port.connection(one), Ok(0));
        port.hang_up(one, Some(1));
        assert_eq!(port.connection(one), Ok(0));
        port.hang_up(one, Some(0));
        port.note_refusal(one, 7);
        assert_eq!(port.connection(one), Err(7));
        assert_eq!(port.connection(one), Ok(2));
        assert_eq!(port.take(Vec::new(), &mut Vec::new()).len(), 1);
    }
}
