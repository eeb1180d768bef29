//! The way out: what keeps a message back, and how long it will travel once nothing does.

use std::cell::RefMut;

use picklock_scenarios::Direction;
use rand::RngExt;
use rand::rngs::StdRng;

use super::ledger::Ledger;
use super::network::{LATENCY, Network, Way};
use super::pen::Pen;
use super::traffic::{Agenda, Arrival, Cargo, Conn, Frame, Leaving, Outlet};
use crate::model::Reply;
use crate::wire::{Gate, LinkId, Outcome, Ruling, Sight};

impl Network {
    /// Sends a message. Most find nothing in their way, and leave without stopping.
    pub(super) fn send(&self, mut ledger: RefMut<'_, Ledger>, frame: Frame, now_ns: u64) {
        let (conn, direction) = (frame.conn, frame.direction());
        let Ledger {
            conns,
            agenda,
            entropy,
            names,
            gates,
            ..
        } = &mut *ledger;
        let Some(known) = conns.get_mut(conn) else {
            return;
        };
        let free = known.outlet(direction).is_free(now_ns) && known.is_quiet(direction);
        if !free {
            known.outlet(direction).coming.push_back(frame);
            drop(ledger);
            return self.let_go((conn, direction), now_ns);
        }
        let (link, way) = (known.link, (conn, direction));
        match self.gate(link, &frame, &names[frame.asked.name]) {
            Some(gate) => {
                gates.push((way, gate));
                self.port.ring();
                let outlet = known.outlet(direction);
                (outlet.shown, outlet.gated) = (true, true);
                outlet.coming.push_back(frame);
            }
            None => {
                known.established = true;
                let pen = self.pen(link, names, now_ns, Outcome::Forwarded);
                let outlet = known.outlet(direction);
                outlet.depart(frame, now_ns, entropy, agenda, pen);
            }
        }
    }

    /// Lets go of everything in an outlet that nothing keeps back. As on the real wire a frame
    /// is shown to the watcher and ruled on when it comes, and may leave when it is due and
    /// neither held nor partitioned off.
    pub(super) fn let_go(&self, way: Way, now_ns: u64) {
        while self.admit_one(way, now_ns) {}
        while self.let_one_go(way, now_ns) {}
    }

    /// False: nothing more can be admitted for now.
    fn admit_one(&self, way: Way, now_ns: u64) -> bool {
        let mut ledger = self.ledger.borrow_mut();
        let Ledger {
            conns,
            gates,
            names,
            ..
        } = &mut *ledger;
        let Some(known) = conns.get_mut(way.0) else {
            return false;
        };
        let link = known.link;
        let outlet = known.outlet(way.1);
        let Some(first) = outlet.coming.front().filter(|_| !outlet.gated) else {
            return false;
        };
        let is_message = first.is_message();
        if !outlet.shown {
            outlet.shown = true;
            if let Some(gate) = self.gate(link, first, &names[first.asked.name]) {
                outlet.gated = true;
                gates.push((way, gate));
                self.port.ring();
                return false;
            }
        }
        let Some(frame) = outlet.coming.pop_front() else {
            return false;
        };
        outlet.shown = false;
        let ruling = if is_message {
            outlet.view.rule(true)
        } else {
            Ruling::default()
        };
        if ruling.drop {
            if let Some(pen) = self.pen(link, names, now_ns, Outcome::Dropped) {
                pen.note(&frame, None);
            }
            return true;
        }
        let outcome = match () {
            () if !ruling.holds.is_empty() => Outcome::Held,
            () if !ruling.delay.is_zero() => Outcome::Delayed,
            () => Outcome::Forwarded,
        };
        if !ruling.delay.is_zero() {
            let delay_ns = u64::try_from(ruling.delay.as_nanos()).unwrap_or(u64::MAX);
            outlet.latest_due_ns = outlet.latest_due_ns.max(now_ns.saturating_add(delay_ns));
        }
        outlet.leaving.push_back(Leaving {
            frame,
            due_ns: outlet.latest_due_ns,
            holds: ruling.holds,
            stopped: false,
            came_ns: now_ns,
            outcome,
        });
        true
    }

    /// False: nothing more can leave for now.
    fn let_one_go(&self, way: Way, now_ns: u64) -> bool {
        let mut ledger = self.ledger.borrow_mut();
        let Ledger {
            conns,
            agenda,
            entropy,
            names,
            ..
        } = &mut *ledger;
        let Some(known) = conns.get_mut(way.0) else {
            return false;
        };
        let link = known.link;
        if known.outlet(way.1).leaving.is_empty() || !known.can_meet() {
            return false;
        }
        let outlet = known.outlet(way.1);
        let Some(head) = outlet.leaving.front_mut() else {
            return false;
        };
        head.stopped = outlet.view.is_partitioned(!head.stopped);
        if head.stopped || outlet.view.holds(&head.holds) {
            head.outcome = Outcome::Held;
            return false;
        }
        if head.due_ns > now_ns {
            agenda.add(head.due_ns, entropy.random(), Arrival::Due(way));
            return false;
        }
        let Some(leaving) = outlet.leaving.pop_front() else {
            return false;
        };
        let pen = self.pen(link, names, leaving.came_ns, leaving.outcome);
        outlet.depart(leaving.frame, now_ns, entropy, agenda, pen);
        true
    }

    /// What keeps a frame back until something has happened that it sets off, if it does.
    fn gate(&self, link: LinkId, frame: &Frame, command: &str) -> Option<Gate> {
        if !frame.is_message() || !self.watcher.armed() {
            return None;
        }
        self.watcher.sight(&Sight {
            at_ns: self.run_clock.now_ns(),
            link,
            conn: frame.conn,
            direction: frame.direction(),
            command,
            is_error: matches!(frame.cargo, Cargo::Reply(Reply::Error(_))),
            key: frame.asked.key,
            op: frame.asked.op,
            phase: frame.asked.phase,
        })
    }
}

impl Outlet {
    /// Nothing is in the way of a message that comes now, unless faults are.
    fn is_free(&self, now_ns: u64) -> bool {
        self.is_empty() && self.latest_due_ns <= now_ns
    }

    /// Nothing waits in it.
    pub(super) fn is_empty(&self) -> bool {
        self.coming.is_empty() && self.leaving.is_empty()
    }

    fn depart(
        &mut self,
        frame: Frame,
        now_ns: u64,
        entropy: &mut StdRng,
        agenda: &mut Agenda,
        pen: Option<Pen<'_>>,
    ) {
        let at_ns = (now_ns + entropy.random_range(LATENCY)).max(self.last_ns + 1);
        self.last_ns = at_ns;
        if let Some(pen) = pen {
            pen.note(&frame, Some(at_ns));
        }
        agenda.add(at_ns, entropy.random(), Arrival::Frame(frame));
    }
}

impl Conn {
    /// No fault is imposed on what a message needs that goes this way.
    fn is_quiet(&mut self, direction: Direction) -> bool {
        if self.established {
            return self.outlet(direction).view.is_quiet();
        }
        self.request.view.is_quiet() && self.reply.view.is_quiet()
    }

    /// A new connection needs both directions: its handshake goes to and fro.
    fn can_meet(&mut self) -> bool {
        let apart = !self.established && {
            let first = self
                .request
                .leaving
                .front()
                .is_some_and(|head| !head.stopped);
            self.reply.view.is_partitioned(first) | self.request.view.is_partitioned(first)
        };
        if let Some(head) = self.request.leaving.front_mut().filter(|_| apart) {
            head.stopped = true;
        }
        self.established |= !apart;
        !apart
    }
}
