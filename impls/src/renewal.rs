//! Background renewal of leases, as by a watchdog, for any kind of lock.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::contract::{Grant, LockError, Notice};
use crate::lease_duration::LeaseDuration;
use crate::options::{OptionKind, OptionSpec, OptionValue, Options};
use crate::patience::RETRY_DELAY;
use crate::stopwatch::Deadline;

/// Interval of renewals. Half the lease leaves the other half for retries.
pub(crate) const RENEW_EVERY: OptionSpec = OptionSpec {
    name: "renew_every",
    meaning: "time from one renewal to the next",
    kind: OptionKind::Duration { zero: false },
    default: OptionValue::Duration(LeaseDuration::Ttl(0.5)),
};

/// A report of a renewal task.
enum Report {
    /// The lease now runs until this time.
    Extended(Deadline),
    /// The lease is lost.
    Lost,
}

/// The rules that make renewing safe. Some mutants break one of these rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RenewalRules {
    /// Whether an expired lease is no longer renewed.
    pub(crate) respects_lease: bool,
    /// Whether the holder gets a loss report.
    pub(crate) reports_loss: bool,
    /// Whether a released lock is no longer renewed.
    pub(crate) ends_at_release: bool,
    /// Whether each grant has its own renewal.
    pub(crate) renews_every_grant: bool,
}

impl RenewalRules {
    /// All rules, as a sound lock needs.
    pub(crate) const SOUND: RenewalRules = RenewalRules {
        respects_lease: true,
        reports_loss: true,
        ends_at_release: true,
        renews_every_grant: true,
    };
}

/// A task that ends with its handle.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The renewals of one client, by the token of the grant.
pub(crate) struct Renewals {
    rules: RenewalRules,
    tasks: BTreeMap<String, Task>,
    sender: UnboundedSender<(String, Report)>,
    reports: UnboundedReceiver<(String, Report)>,
}

impl Renewals {
    pub(crate) fn new(rules: RenewalRules) -> Self {
        let (sender, reports) = unbounded_channel();
        Renewals {
            rules,
            tasks: BTreeMap::new(),
            sender,
            reports,
        }
    }

    /// Starts to renew the lease of `grant` in the background, and replaces its earlier renewal. `renew` sends one
    /// request to Redis. It returns the new end of the validity, or `None` if the lease is gone.
    ///
    /// A grant without a validity time is not renewed.
    pub(crate) fn begin(
        &mut self,
        options: &Options,
        grant: &Grant,
        ttl: Duration,
        renew: impl AsyncFnMut() -> Result<Option<Deadline>, LockError> + 'static,
    ) {
        let Some(valid_until) = grant.valid_until else {
            return;
        };
        let timing = Timing {
            rules: self.rules,
            every: options.duration(&RENEW_EVERY, ttl),
            retry: options.duration(&RETRY_DELAY, ttl),
        };
        let token = grant.token.clone();
        let sender = self.sender.clone();
        let report = move |what| sender.send((token.clone(), what)).is_ok();
        let task = keep_alive(timing, valid_until, renew, report);
        let task = Task(tokio::task::spawn_local(task));
        if !self.rules.renews_every_grant {
            self.tasks.clear();
        }
        self.tasks.insert(grant.token.clone(), task);
    }

    /// Stops the renewal. No further notices about it are reported.
    pub(crate) fn end(&mut self, grant: &Grant) {
        if self.rules.ends_at_release {
            self.tasks.remove(&grant.token);
        }
    }

    /// Returns the next notice of any renewal. Cancel-safe.
    pub(crate) async fn notice(&mut self) -> Notice {
        loop {
            let Some((token, report)) = self.reports.recv().await else {
                // Unreachable: `self` holds a sender.
                std::future::pending::<()>().await;
                continue;
            };
            // A notice that was sent before the end of its renewal, but is read only now, is outdated.
            if !self.tasks.contains_key(&token) {
                continue;
            }
            return match report {
                Report::Extended(until) => Notice::Extended {
                    token,
                    valid_until: until,
                },
                Report::Lost => Notice::Lost { token },
            };
        }
    }
}

/// The timing of a renewal.
#[derive(Debug, Clone, Copy)]
struct Timing {
    rules: RenewalRules,
    /// Pause after a successful renewal.
    every: Duration,
    /// Pause after a failed renewal.
    retry: Duration,
}

/// Renews until the lease is lost, which is the last report, or the receiver is gone. A failed request is not a loss,
/// so it is retried for as long as the lease runs.
async fn keep_alive(
    timing: Timing,
    mut until: Deadline,
    mut renew: impl AsyncFnMut() -> Result<Option<Deadline>, LockError>,
    report: impl Fn(Report) -> bool,
) {
    let (mut pause, mut failed) = (timing.every, false);
    loop {
        // Without a lease there is no deadline. Failed requests are then repeated with growing pauses, because the
        // server may be gone permanently.
        let left = until.left();
        let is_unhurried = failed && left.is_zero();
        tokio::time::sleep(if is_unhurried { pause } else { pause.min(left) }).await;
        // Check the lease before each request to Redis, even after a freeze.
        let left = until.left();
        if left.is_zero() && timing.rules.respects_lease {
            break;
        }
        let patience = if left.is_zero() { timing.every } else { left };
        match tokio::time::timeout(patience, renew()).await {
            Ok(Ok(Some(valid_until))) => {
                until = valid_until;
                if !report(Report::Extended(until)) {
                    return;
                }
                (pause, failed) = (timing.every, false);
            }
            Ok(Err(_)) if is_unhurried => pause = (2 * pause).min(timing.every),
            Ok(Err(_)) => (pause, failed) = (timing.retry, true),
            Ok(Ok(None)) | Err(_) => break,
        }
    }
    if timing.rules.reports_loss {
        // If the receiver is gone, the report is not needed.
        report(Report::Lost);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A renewal that ignores the end of its lease must not spin while no server can be reached.
    #[tokio::test(start_paused = true)]
    async fn failing_renewal_without_a_lease_pauses() {
        let timing = Timing {
            rules: RenewalRules {
                respects_lease: false,
                ..RenewalRules::SOUND
            },
            every: Duration::from_millis(500),
            retry: Duration::from_millis(50),
        };
        let requests = Cell::new(0);
        let renew = async || {
            requests.set(requests.get() + 1);
            Err(LockError::Ambiguous("no connection".to_owned()))
        };
        let over = Deadline::after(Duration::ZERO);
        let renewing = keep_alive(timing, over, renew, |_| true);
        let ended = tokio::time::timeout(Duration::from_secs(1), renewing).await;
        assert!(ended.is_err(), "it goes on");
        // After 0, 50, 150, 350 and 750 ms: the pauses grow.
        assert_eq!(requests.get(), 5);
    }
}
