//! The way out: what keeps a message back, and how long it will travel once nothing does.

use rand::RngExt;

use super::ledger::Ledger;
use super::network::{LATENCY, Network, Way};
use super::traffic::{Arrival, Frame, Leaving};
use crate::wire::{Gate, LinkId, Sight};

impl Network {
    /// Lets go of everything at the head of an outlet that nothing keeps back.
    pub(super) fn let_go(&self, way: Way, now_ns: u64) {
        while self.let_one_go(way, now_ns) {}
    }

    /// False: nothing more can leave for now.
    fn let_one_go(&self, way: Way, now_ns: u64) -> bool {
        let (conn, direction) = way;
        let mut ledger = self.ledger.borrow_mut();
        let Ledger {
            conns,
            agenda,
            entropy,
            gates,
            ..
        } = &mut *ledger;
        let Some(known) = conns.get_mut(&conn) else {
            return false;
        };
        let link = known.link;
        let outlet = known.outlet(direction);
        if outlet.gated {
            return false;
        }
        let Some(head) = outlet.queue.front_mut() else {
            return false;
        };
        if !head.seen {
            head.seen = true;
            if let Some(gate) = self.gate(link, &head.frame) {
                outlet.gated = true;
                gates.push((way, gate));
                self.port.ring();
                return false;
            }
        }
        let ruling = head.ruling.get_or_insert_with(|| outlet.view.rule(false));
        if !ruling.drop {
            let stopped = outlet.view.is_partitioned(!outlet.stopped);
            outlet.stopped = stopped;
            if stopped || outlet.view.holds(&ruling.holds) {
                return false;
            }
        }
        let Some(Leaving {
            frame,
            ruling: Some(ruling),
            ..
        }) = outlet.queue.pop_front()
        else {
            return false;
        };
        if ruling.drop {
            known.in_vain.push(frame.cargo.into_answered());
            return true;
        }
        let delay = u64::try_from(ruling.delay.as_nanos()).unwrap_or(u64::MAX / 4);
        let travels = entropy.random_range(LATENCY) + delay;
        let at_ns = (now_ns + travels).max(outlet.last_ns + 1);
        outlet.last_ns = at_ns;
        agenda.add(at_ns, entropy.random(), Arrival::Frame(frame));
        true
    }

    fn gate(&self, link: LinkId, frame: &Frame) -> Option<Gate> {
        if !self.watcher.armed() {
            return None;
        }
        self.watcher.sight(&Sight {
            at_ns: self.run_clock.now_ns(),
            link,
            conn: frame.conn,
            direction: frame.direction(),
            command: &frame.asked.name,
            key: frame.asked.key,
            op: frame.asked.op,
            phase: frame.asked.phase,
        })
    }
}
