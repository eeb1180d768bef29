//! The way in: what a message does where it arrives.

use picklock_scenarios::Direction;

use super::args::Args;
use super::network::{LATENCY, Network};
use super::node::Node;
use super::port::Lost;
use super::traffic::{Arrival, Cargo, Frame};
use crate::model::{ClientId, Reply};
use crate::wire::{LinkId, Outcome};

/// Carries a command out at a node.
fn execute(node: &mut Node, client: ClientId, args: &Args, at_ns: u64) -> Reply {
    // Commands with more words than this are rare, and are no slower for it than others.
    let mut few: [&[u8]; 12] = [&[]; 12];
    if args.len() > few.len() {
        let many: Vec<&[u8]> = args.iter().collect();
        return node.execute(client, &many, at_ns);
    }
    for (place, word) in few.iter_mut().zip(args.iter()) {
        *place = word;
    }
    node.execute(client, &few[..args.len()], at_ns)
}

impl Network {
    /// Lets everything happen that is to happen until now.
    pub(super) fn deliver(&self, now_ns: u64) {
        loop {
            let arrived = self.ledger.borrow_mut().agenda.pop(now_ns);
            match arrived {
                Some((at_ns, Arrival::Frame(frame))) => self.arrive(at_ns, frame),
                Some((at_ns, Arrival::Due(way))) => self.let_go(way, at_ns),
                Some((_, Arrival::Refused(conn, why))) => self.break_off(&[conn], why),
                Some((at_ns, Arrival::TimedOut(node))) => self.time_out(at_ns, node),
                None => return,
            }
        }
    }

    pub(super) fn arrive(&self, at_ns: u64, frame: Frame) {
        let mut ledger = self.ledger.borrow_mut();
        let known = ledger.conns.get(frame.conn);
        let Some((link, client)) = known.map(|conn| (conn.link, conn.client)) else {
            // The connection broke while the frame was on its way; its client was told.
            return;
        };
        if frame.direction() == Direction::Reply {
            if let Some((place, reply)) = ledger.hand_over(frame) {
                drop(ledger);
                self.port.answer(place, Ok(reply));
            }
            return;
        }
        let node = &mut ledger.nodes[link.node];
        if !node.up {
            self.note_unreachable(frame.conn, at_ns);
            let back = at_ns + LATENCY.start;
            let refused = Arrival::Refused(frame.conn, Lost::Refused);
            ledger.agenda.add(back, 0, refused);
        } else if node.paused {
            node.backlog.push_back(frame);
        } else if node.turns_away(client) {
            let back = at_ns + LATENCY.start;
            let refused = Arrival::Refused(frame.conn, Lost::Full);
            ledger.agenda.add(back, 0, refused);
        } else {
            drop(ledger);
            self.carry_out(at_ns, link, frame);
        }
    }

    fn carry_out(&self, at_ns: u64, link: LinkId, frame: Frame) {
        let Frame { conn, asked, cargo } = frame;
        let mut ledger = self.ledger.borrow_mut();
        let Some(known) = ledger.conns.get_mut(conn) else {
            return;
        };
        let args = match cargo {
            Cargo::Command(args) if known.blocked.is_none() => args,
            Cargo::Command(_) => {
                known.behind.push_back(Frame { conn, asked, cargo });
                return;
            }
            Cargo::Close | Cargo::Reply(_) => {
                let known = ledger.forget(conn);
                drop(ledger);
                if let Some(known) = known {
                    self.note_lost(conn, &known, at_ns + 1, Outcome::Cut);
                    known.fail(self.port, Lost::Reset);
                }
                return;
            }
        };
        let client = known.client;
        ledger.remember(link, &asked, at_ns);
        let reply = execute(&mut ledger.nodes[link.node], client, &args, at_ns);
        self.used.borrow_mut().push(args);
        match reply {
            Reply::Blocked => {
                ledger.block(conn, asked, at_ns);
                drop(ledger);
            }
            reply => {
                let cargo = Cargo::Reply(reply);
                self.send(ledger, Frame { conn, asked, cargo }, at_ns);
            }
        }
        // Seldom: most commands have an answer for nobody but their client.
        let late = self.ledger.borrow().nodes[link.node].has_messages();
        if late {
            self.answer_blocked(at_ns, link.node);
        }
    }

    /// Lets those who wait for it have what a node has for them, and goes on with what they had
    /// sent behind it.
    fn answer_blocked(&self, at_ns: u64, node: usize) {
        let woken = self.ledger.borrow_mut().answer_blocked(node);
        for conn in woken {
            self.let_go((conn, Direction::Reply), at_ns);
            let mut ledger = self.ledger.borrow_mut();
            let Some(known) = ledger.conns.get_mut(conn) else {
                continue;
            };
            let behind = std::mem::take(&mut known.behind);
            let link = known.link;
            drop(ledger);
            for frame in behind {
                self.carry_out(at_ns, link, frame);
            }
        }
    }

    pub(super) fn time_out(&self, at_ns: u64, node: usize) {
        self.ledger.borrow_mut().nodes[node].time_out(at_ns);
        self.answer_blocked(at_ns, node);
        self.ledger.borrow_mut().set_alarm(node, at_ns);
    }
}
