//! Detects what keeps the harness itself from doing its part: stalls of the machine, and shortages.
//!
//! If the host takes the processors away, or the machine swaps, everything stalls for a while:
//! buyers, nodes, the wire and the driver. Leases expire in the meantime, and the lock is not
//! responsible. A sleep of the driver that ends late shows such a stall. A stall of other processes
//! alone is not detected.
//!
//! Where the harness runs out of file descriptors, processes or memory, the backend says so, and the
//! history gets it at about the time at which it happened.

use std::rc::Rc;
use std::time::Duration;

use crate::backend::{Backend, Shortage};
use crate::clock::millis;
use crate::context::RunContext;
use crate::history::EventKind;

/// Pause between two checks.
const LOOK: Duration = Duration::from_millis(5);

/// Shorter stalls are not told: timers are no more exact than this.
const SHORTEST: Duration = Duration::from_millis(3);

/// Stalls of less than this part of a lease are not told. A hold may be late by some of them in a row; whether
/// it would have been in time without them is for the checkers to say.
const TOLD_PART_OF_LEASE: u32 = 100;

/// Records each stall and each shortage, for as long as it is polled. Not needed in a backend whose
/// time cannot stall.
pub(super) async fn watch<W: Backend>(context: Rc<RunContext<W>>) {
    let clock = &context.clock;
    let long = SHORTEST.max(context.spec.ttl() / TOLD_PART_OF_LEASE);
    loop {
        let due = clock.elapsed() + LOOK;
        tokio::time::sleep(LOOK).await;
        let late = clock.elapsed().saturating_sub(due);
        if late >= long {
            let late_ms = millis(late);
            context.recorder.write(EventKind::Stalled { late_ms });
        }
        note_shortages(&context);
    }
}

/// Records the shortages that the backend has not told yet.
pub(super) fn note_shortages<W: Backend>(context: &RunContext<W>) {
    for shortage in context.backend.take_shortages() {
        context.recorder.write(match shortage {
            Shortage::Exhausted(reason) => EventKind::Shortage { reason },
            Shortage::ClientGone { worker, sent } => EventKind::ClientGone { worker, sent },
        });
    }
}
