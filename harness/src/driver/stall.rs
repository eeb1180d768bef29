//! Watches whether the machine lets the run go on.
//!
//! A machine whose host takes the processors away, or that swaps, lets everybody stand still for a
//! while: buyers, nodes, the wire and this driver. Leases run out meanwhile, and no lock is to
//! blame. A sleep of ours that ends late shows it; what other processes alone are kept from is not
//! seen here.

use std::rc::Rc;
use std::time::Duration;

use crate::context::{RunContext, millis};
use crate::history::What;

/// How often we look.
const LOOK: Duration = Duration::from_millis(10);

/// A stall matters that is as long as this part of the lease: as long as Redlock waits for a node.
const PART_OF_LEASE: u32 = 10;

/// Writes down each stall, for as long as it is polled. Not for a world whose time cannot stall.
pub(super) async fn watch<W>(context: Rc<RunContext<W>>) {
    let clock = &context.clock;
    let long = context.plan.ttl / PART_OF_LEASE;
    loop {
        let due = clock.elapsed() + LOOK;
        tokio::time::sleep(LOOK).await;
        let late = clock.elapsed().saturating_sub(due);
        if late >= long {
            let late_ms = millis(late);
            context.recorder.write(What::Stalled { late_ms });
        }
    }
}
