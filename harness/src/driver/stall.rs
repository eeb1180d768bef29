//! Detects what keeps the harness itself from doing its part: stalls of the machine, and shortages.
//!
//! It also tells which servers and workers stood still or died although no fault asked for it.
//!
//! If the host takes the processors away, or the machine swaps, everything stalls for a while:
//! buyers, nodes, the proxy and the driver. Leases expire in the meantime, and the lock is not
//! responsible. A sleep of the driver that ends late shows such a stall. A stall of other processes
//! alone is not detected.
//!
//! Where the harness runs out of file descriptors, processes or memory, the backend says so, and the
//! history gets it at about the time at which it happened.

use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::backend::{Backend, ProxyIncident};
use crate::clock::millis;
use crate::context::RunContext;
use crate::history::{EndReason, EventKind};

/// Pause between two checks.
const LOOK: Duration = Duration::from_millis(5);

/// Shorter stalls are not told: timers are no more exact than this.
const SHORTEST: Duration = Duration::from_millis(3);

/// Servers and workers that stood still for a shorter time are not told: looking at them is no more exact.
const SHORTEST_STANDSTILL: Duration = Duration::from_millis(60);

/// Stalls of less than this part of a lease are not told. A hold may be late by some of them in a row; whether
/// it would have been in time without them is for the checkers to say.
const TOLD_PART_OF_LEASE: u32 = 100;

/// Begins to watch the machine, and servers and workers.
pub(super) fn begin<B: Backend>(context: &Rc<RunContext<B>>) -> [JoinHandle<()>; 2] {
    [
        tokio::task::spawn_local(watch(Rc::clone(context))),
        tokio::task::spawn_local(monitor_liveness(Rc::clone(context))),
    ]
}

/// Records each stall and each shortage, for as long as it is polled. Not needed in a backend whose
/// time cannot stall.
async fn watch<B: Backend>(context: Rc<RunContext<B>>) {
    let clock = &context.clock;
    let long = SHORTEST.max(context.spec.ttl() / TOLD_PART_OF_LEASE);
    let mut looks = Looks(clock.elapsed());
    loop {
        tokio::time::sleep(LOOK).await;
        let late = looks.late(clock.elapsed());
        if late >= long {
            let late_ms = millis(late);
            context
                .recorder
                .write(EventKind::HarnessStalled { late_ms });
        }
        record_incidents(&context);
    }
}

/// When the driver looked at the clock last.
///
/// Each look is held against the one before it, so that no time lies between two of them: what is done after a look
/// takes little, but the machine can stand still just then.
struct Looks(Duration);

impl Looks {
    /// How late this look is.
    fn late(&mut self, now: Duration) -> Duration {
        let before = std::mem::replace(&mut self.0, now);
        now.saturating_sub(before + LOOK)
    }
}

/// Watches servers and workers, for as long as it is polled.
async fn monitor_liveness<B: Backend>(context: Rc<RunContext<B>>) {
    let shortest = SHORTEST_STANDSTILL.max(context.spec.shortest_delay());
    let tell = async {
        loop {
            tokio::time::sleep(LOOK).await;
            record_liveness_events(&context, false).await;
        }
    };
    // Somebody else ends the run.
    tokio::join!(context.backend.monitor_liveness(shortest), tell);
}

/// Records who stood still or died and was not told yet. A run without one of its servers ends.
pub(super) async fn record_liveness_events<B: Backend>(context: &RunContext<B>, at_end: bool) {
    for mut sign in context.backend.take_liveness_events(at_end) {
        if let EventKind::NodeLost { node, reason } = &mut sign {
            if let Some(found) = context.backend.why_lost(*node).await {
                *reason = found;
            }
            context.early_end.request(EndReason::NodeLost);
        }
        context.recorder.write(sign);
    }
}

/// Records the shortages that the backend has not told yet.
pub(super) fn record_incidents<B: Backend>(context: &RunContext<B>) {
    for shortage in context.backend.take_incidents() {
        context.recorder.write(match shortage {
            ProxyIncident::Exhausted(reason) => EventKind::ResourceExhausted { reason },
            ProxyIncident::ClientGone { worker, sent } => EventKind::ClientGone { worker, sent },
            ProxyIncident::ClientRefused {
                worker,
                user,
                served,
            } => {
                context.refused.borrow_mut().insert(worker);
                EventKind::ClientRefused {
                    worker,
                    user,
                    served,
                }
            }
        });
    }
    let refused = context.refused.borrow();
    let is_kept_out = |worker| refused.contains(&worker) && !context.backend.has_sent_data(worker);
    if !refused.is_empty() && (0..context.spec.scenario.workload.workers).all(is_kept_out) {
        context.early_end.request(EndReason::ClientsRefused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_lost_after_a_look_makes_the_next_one_late() {
        let at = Duration::from_millis;
        let mut looks = Looks(at(100));
        assert_eq!(looks.late(at(105)), at(0));
        // 700 ms were lost before the driver slept again.
        assert_eq!(looks.late(at(811)), at(701));
        assert_eq!(looks.late(at(814)), at(0));
    }
}
