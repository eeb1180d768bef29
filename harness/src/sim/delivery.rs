//! The way in: what a message does where it arrives.

use picklock_scenarios::Direction;

use super::network::{LATENCY, Network};
use super::port::Lost;
use super::traffic::{Arrival, Cargo, Frame};
use crate::model::Reply;
use crate::wire::LinkId;

impl Network {
    pub(super) fn deliver(&self) {
        let now_ns = self.clock.now_ns();
        loop {
            let arrived = self.ledger.borrow_mut().agenda.pop(now_ns);
            match arrived {
                Some((at_ns, Arrival::Frame(frame))) => self.arrive(at_ns, frame),
                Some((_, Arrival::Closed(conn))) => self.ledger.borrow_mut().forget(conn),
                Some((_, Arrival::Refused(conn))) => self.break_off(&[conn], Lost::Refused),
                None => return,
            }
        }
    }

    pub(super) fn arrive(&self, at_ns: u64, frame: Frame) {
        let mut ledger = self.ledger.borrow_mut();
        let Some(link) = ledger.conns.get(&frame.conn).map(|conn| conn.link) else {
            // The connection broke while the frame was on its way; its client was told.
            return;
        };
        match frame.cargo {
            Cargo::Reply { reply, answered } => {
                // Whoever gave up waiting does not want to know.
                answered.send(Ok(reply)).unwrap_or_default();
            }
            Cargo::Command { .. } => {
                let node = &mut ledger.nodes[link.node];
                if !node.up {
                    let conn = frame.conn;
                    let back = at_ns + LATENCY.start;
                    ledger.keep_in_vain(frame);
                    ledger.agenda.add(back, 0, Arrival::Refused(conn));
                } else if node.paused {
                    node.backlog.push_back(frame);
                } else {
                    drop(ledger);
                    self.carry_out(at_ns, link, frame);
                }
            }
        }
    }

    fn carry_out(&self, at_ns: u64, link: LinkId, frame: Frame) {
        let Frame { conn, asked, cargo } = frame;
        let Cargo::Command { args, answered } = cargo else {
            return;
        };
        let mut ledger = self.ledger.borrow_mut();
        let Some(client) = ledger.conns.get(&conn).map(|known| known.client) else {
            return;
        };
        ledger.remember(link.worker, &asked, self.run_ns(at_ns));
        let words: Vec<&[u8]> = args.iter().collect();
        let reply = ledger.nodes[link.node].execute(client, &words, at_ns);
        let messages = ledger.nodes[link.node].messages();
        if matches!(reply, Reply::Blocked) {
            if let Some(known) = ledger.conns.get_mut(&conn) {
                known.blocked.push_back((asked, answered));
            }
        } else {
            ledger.reply(conn, asked, reply, answered);
        }
        let woken = ledger.answer_blocked(link.node, messages);
        drop(ledger);
        self.let_go((conn, Direction::Reply), at_ns);
        for conn in woken {
            self.let_go((conn, Direction::Reply), at_ns);
        }
    }

    /// The run's time at a time of the simulation that is not later than now.
    fn run_ns(&self, at_ns: u64) -> u64 {
        let ago = self.clock.now_ns().saturating_sub(at_ns);
        self.run_clock.now_ns().saturating_sub(ago)
    }
}
