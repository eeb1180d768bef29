//! Detects stalls of the harness and of the machine, and lack of resources.
//!
//! The module also records servers and workers that stalled or died without a fault.
//!
//! If the host takes the CPUs away, or the machine swaps, everything stalls: clients, nodes, the proxy and the driver.
//! Leases expire in the meantime, for which the lock is not responsible. A sleep of the driver that ends late reveals
//! such a stall. A stall that only affects other processes is not detected in this way.
//!
//! If the harness runs out of file descriptors, processes or memory, the backend reports it, and
//! the event is recorded soon after it happened.

use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::backend::{Backend, ProxyIncident};
use crate::clock::millis;
use crate::context::RunContext;
use crate::history::{EndReason, EventKind, RECORDED_HARNESS_STALL};

/// Interval between two checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Minimum stall that is recorded. Timers are not more precise than this.
const MIN_HARNESS_STALL: Duration = Duration::from_millis(3);

/// Minimum stall of a server or worker that is recorded. The measurement is not more precise than this. `SLOW` of
/// `proxy/addresses/cluster_link.rs` has the same length.
const MIN_STALL: Duration = Duration::from_millis(60);

/// Starts to watch the machine, the servers and the workers.
pub(super) fn begin<B: Backend>(context: &Rc<RunContext<B>>) -> [JoinHandle<()>; 2] {
    [
        tokio::task::spawn_local(watch(Rc::clone(context))),
        tokio::task::spawn_local(monitor_liveness(Rc::clone(context))),
    ]
}

/// Records stalls and incidents while it is polled. Not needed in a backend whose time cannot stall.
async fn watch<B: Backend>(context: Rc<RunContext<B>>) {
    let clock = &context.clock;
    let min = MIN_HARNESS_STALL.max(RECORDED_HARNESS_STALL.duration_of(context.spec.ttl()));
    let mut detector = DelayDetector(clock.elapsed());
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let late = detector.late(clock.elapsed());
        if late >= min {
            let late_ms = millis(late);
            context
                .recorder
                .write(EventKind::HarnessStalled { late_ms });
        }
        record_incidents(&context);
    }
}

/// Measures how late each check is. Contains the time of the last check.
///
/// Each check is compared with the previous one, so that no time between two checks is lost. The
/// work after a check is short, but the machine can stall during it.
struct DelayDetector(Duration);

impl DelayDetector {
    /// Returns the delay of this check.
    fn late(&mut self, now: Duration) -> Duration {
        let before = std::mem::replace(&mut self.0, now);
        now.saturating_sub(before + CHECK_INTERVAL)
    }
}

/// Watches servers and workers while it is polled.
async fn monitor_liveness<B: Backend>(context: Rc<RunContext<B>>) {
    let shortest = MIN_STALL.max(context.spec.shortest_delay());
    let record = async {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            record_liveness_events(&context, false).await;
        }
    };
    // Both futures are endless; the caller aborts this task at the end of the run.
    tokio::join!(context.backend.monitor_liveness(shortest), record);
}

/// Records new stalls and deaths. Ends the run if a server was lost.
pub(super) async fn record_liveness_events<B: Backend>(context: &RunContext<B>, at_end: bool) {
    for mut event in context.backend.take_liveness_events(at_end) {
        if let EventKind::NodeLost { node, reason } = &mut event {
            if let Some(cause) = context.backend.why_lost(*node).await {
                *reason = cause;
            }
            context.early_end.request(EndReason::NodeLost);
        }
        context.recorder.write(event);
    }
}

/// Records the incidents that the backend has not reported yet.
pub(super) fn record_incidents<B: Backend>(context: &RunContext<B>) {
    for incident in context.backend.take_incidents() {
        context.recorder.write(match incident {
            ProxyIncident::Exhausted(reason) => EventKind::ResourceExhausted { reason },
            refused @ ProxyIncident::AddressWithheld { .. } => EventKind::ResourceExhausted {
                reason: refused.to_string(),
            },
            ProxyIncident::SlowAnswer {
                node,
                since_ns,
                until_ns,
            } => {
                let (waited_ns, ttl_ms) = (until_ns - since_ns, context.spec.ttl_ms());
                let stalled_ms = waited_ns / 1_000_000;
                // An answer within a lease is slow at most.
                if stalled_ms < ttl_ms {
                    continue;
                }
                EventKind::NodeStalled {
                    node,
                    since_ns,
                    stalled_ms,
                }
            }
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
    let is_locked_out =
        |worker| refused.contains(&worker) && !context.backend.has_sent_data(worker);
    if !refused.is_empty() && (0..context.spec.scenario.workload.workers).all(is_locked_out) {
        context.early_end.request(EndReason::ClientsRefused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stall_between_checks_delays_the_next_check() {
        let at = Duration::from_millis;
        let mut detector = DelayDetector(at(100));
        assert_eq!(detector.late(at(105)), at(0));
        // A stall of 700 ms before the driver slept again.
        assert_eq!(detector.late(at(811)), at(701));
        assert_eq!(detector.late(at(814)), at(0));
    }
}
