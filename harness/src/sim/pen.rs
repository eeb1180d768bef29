//! Writes what passes on the simulated network into a command log, as the real wire does.
//!
//! A frame comes to the wire when its sender hands it over and no watcher keeps it back, and is
//! written down when it leaves; `sent_ns` is when it *arrives* at its other end. Without a log
//! nothing here is ever called.

use super::args::Args;
use super::network::Network;
use super::traffic::{Asked, Cargo, Conn, Frame, Leaving};
use crate::wire::{LinkId, Outcome, Passed, WireLog};

/// The log, open for a frame of one link.
pub(super) struct Pen<'a> {
    log: &'a WireLog,
    link: LinkId,
    /// Of the commands: [`Asked::name`] is a place in it.
    names: &'a [String],
    /// What the simulation's clock shows less what the run's does.
    ahead_ns: u64,
    came_ns: u64,
    outcome: Outcome,
}

impl Network {
    /// For a frame that came at this time of the simulation; `None`: nobody wants to know.
    pub(super) fn pen<'a>(
        &'a self,
        link: LinkId,
        names: &'a [String],
        came_ns: u64,
        outcome: Outcome,
    ) -> Option<Pen<'a>> {
        Some(Pen {
            log: self.log.as_ref()?,
            link,
            names,
            ahead_ns: self.clock.now_ns().saturating_sub(self.run_clock.now_ns()),
            came_ns,
            outcome,
        })
    }

    /// What lay in a connection, or was on its way on it at this time of the simulation, does not
    /// arrive any more.
    pub(super) fn note_lost(&self, conn: u64, known: &Conn, from_ns: u64, outcome: Outcome) {
        let Some(log) = &self.log else { return };
        let ahead_ns = self.clock.now_ns().saturating_sub(self.run_clock.now_ns());
        log.take_back(conn, from_ns.saturating_sub(ahead_ns), outcome);
        let ledger = self.ledger.borrow();
        let note = |frame: &Frame, came_ns| {
            if let Some(pen) = self.pen(known.link, &ledger.names, came_ns, outcome) {
                pen.note(frame, None);
            }
        };
        for outlet in [&known.request, &known.reply] {
            for Leaving { frame, came_ns, .. } in &outlet.leaving {
                note(frame, *came_ns);
            }
            for frame in &outlet.coming {
                note(frame, from_ns);
            }
        }
    }
}

impl Network {
    /// Nobody was there where a frame of this connection arrived at this time of the simulation.
    pub(super) fn note_unreachable(&self, conn: u64, at_ns: u64) {
        if let Some(log) = &self.log {
            let ahead_ns = self.clock.now_ns().saturating_sub(self.run_clock.now_ns());
            log.take_back(conn, at_ns.saturating_sub(ahead_ns), Outcome::Unreachable);
        }
    }
}

impl Pen<'_> {
    /// The frame arrives at this time of the simulation; `None`: it never does.
    pub(super) fn note(&self, frame: &Frame, arrives_ns: Option<u64>) {
        let Frame { conn, asked, cargo } = frame;
        let passed = |asked: &Asked, size| Passed {
            at_ns: self.came_ns.saturating_sub(self.ahead_ns),
            sent_ns: arrives_ns.map(|at_ns| at_ns.saturating_sub(self.ahead_ns)),
            link: self.link,
            conn: *conn,
            direction: frame.direction(),
            command: self.names.get(asked.name).map_or("", String::as_str),
            key: asked.key,
            op: asked.op,
            phase: asked.phase,
            size,
            outcome: self.outcome,
        };
        match cargo {
            Cargo::Command(args) => self.log.command(&passed(asked, size(args)), args.iter()),
            Cargo::Reply(reply) => {
                let mut text = Vec::new();
                reply.encode(false, &mut text);
                self.log.reply(&passed(asked, text.len()), &text);
            }
            Cargo::Close => {}
        }
    }
}

/// How many bytes a command has on a wire: `*N`, then each word with its length before it.
fn size(args: &Args) -> usize {
    let digits = |number: usize| number.checked_ilog10().map_or(1, |tens| tens as usize + 1);
    let words = args.iter().map(|word| 5 + digits(word.len()) + word.len());
    3 + digits(args.len()) + words.sum::<usize>()
}
