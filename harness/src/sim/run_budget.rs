//! Limits on the resources of a simulated run. Virtual time passes without waiting and the history is kept in memory,
//! so a run without an end would fill the memory or continue for hours.
//!
//! All budgets count steps of the simulation and not real time, so the same run ends at the same event on every
//! machine.

use std::cell::Cell;
use std::time::Duration;

use tokio::sync::Notify;

use crate::history::{Budget, Event, EventKind};
use crate::spec::RunSpec;

/// Maximum virtual time of a run: four times the maximum duration of a scenario.
const MAX_VIRTUAL_TIME: Duration = Duration::from_secs(4 * 7 * 24 * 3600);

/// Budgets of a run: a fixed part, and an additional part for each unit in stock or each arriving buyer.
const EVENTS: (u64, u64) = (2_000_000, 14);
const BYTES: (u64, u64) = (512 << 20, 2 << 10);
const STEPS: (u64, u64) = (20_000_000, 100);

/// Maximum number of units and of buyers that enlarge a budget. They equal the maxima of a scenario.
const MAX_UNITS: u64 = 100_000;
const MAX_BUYERS: u64 = 1_000_000;

/// Number of commands after which the key changes are counted again.
const KEYS_AFTER: u64 = 4096;

#[derive(Debug)]
pub(super) struct RunBudget {
    max_events: u64,
    max_bytes: u64,
    max_steps: u64,
    events: Cell<u64>,
    bytes: Cell<u64>,
    steps: Cell<u64>,
    commands: Cell<u64>,
    key_changes: Cell<u64>,
    spent: Cell<Option<(Budget, u64)>>,
    is_spent: Notify,
}

impl RunBudget {
    pub(super) fn for_spec(spec: &RunSpec) -> Self {
        let workload = &spec.scenario.workload;
        let units = match (workload.arrivals, workload.duration) {
            (Some(rate), Some(duration)) => {
                let ttl = spec.ttl();
                rate.within(duration.resolve(ttl), ttl).min(MAX_BUYERS)
            }
            _ => {
                let keys = u64::try_from(workload.keys).unwrap_or(u64::MAX);
                let stock = u64::try_from(workload.stock).unwrap_or(0);
                stock.saturating_mul(keys).min(MAX_UNITS)
            }
        };
        let max = |(always, each): (u64, u64)| always + each * units;
        RunBudget::new(max(EVENTS), max(BYTES), max(STEPS))
    }

    pub(super) fn new(max_events: u64, max_bytes: u64, max_steps: u64) -> Self {
        RunBudget {
            max_events,
            max_bytes,
            max_steps,
            events: Cell::default(),
            bytes: Cell::default(),
            steps: Cell::default(),
            commands: Cell::default(),
            key_changes: Cell::default(),
            spent: Cell::default(),
            is_spent: Notify::new(),
        }
    }

    pub(super) fn count_event(&self, event: &Event) {
        self.events.set(self.events.get() + 1);
        let bytes = size_of::<Event>() + text_len(&event.what);
        self.bytes.set(self.bytes.get() + bytes as u64);
        self.check();
    }

    pub(super) fn count_turn(&self) {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps >= self.max_steps {
            self.check();
        }
    }

    /// Counts a command. `key_changes` returns the number of key changes so far.
    pub(super) fn count_command(&self, key_changes: impl Fn() -> usize) {
        self.count_turn();
        let commands = self.commands.get() + 1;
        self.commands.set(commands);
        if commands.is_multiple_of(KEYS_AFTER) {
            self.key_changes.set(key_changes() as u64);
            self.check();
        }
    }

    fn check(&self) {
        let (events, steps, keys) = (self.events.get(), self.steps.get(), self.key_changes.get());
        let bytes = self.bytes.get() + keys * size_of::<Event>() as u64;
        let (budget, max) = if events + keys >= self.max_events {
            (Budget::Events, self.max_events)
        } else if bytes >= self.max_bytes {
            (Budget::Memory, self.max_bytes)
        } else if steps >= self.max_steps {
            (Budget::Steps, self.max_steps)
        } else {
            return;
        };
        if self.spent.get().is_none() {
            self.spent.set(Some((budget, max)));
            self.is_spent.notify_one();
        }
    }

    /// Waits until the run has exhausted a budget. Returns that budget and its size.
    pub(super) async fn spent(&self) -> (Budget, u64) {
        tokio::select! {
            biased;
            () = self.is_spent.notified() => {}
            () = tokio::time::sleep(MAX_VIRTUAL_TIME) => {}
        }
        let virtual_time = (Budget::VirtualTime, MAX_VIRTUAL_TIME.as_secs());
        self.spent.get().unwrap_or(virtual_time)
    }
}

/// Returns the size of an event's texts in bytes, for the frequent kinds of events only.
fn text_len(what: &EventKind) -> usize {
    match what {
        EventKind::Granted { token, .. } | EventKind::ExtendGranted { token, .. } => token.len(),
        EventKind::AcquireFailed { message, .. }
        | EventKind::ExtendFailed { message, .. }
        | EventKind::ReleaseFailed { message, .. } => message.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn event() -> Event {
        Event {
            at_ns: 0,
            what: EventKind::Refused { worker: 0, op: 1 },
        }
    }

    fn spent_by(budget: &RunBudget) -> Option<(Budget, u64)> {
        budget.spent().now_or_never()
    }

    #[tokio::test(start_paused = true)]
    async fn budget_ends_at_each_of_its_limits() {
        let budget = RunBudget::new(2, u64::MAX, u64::MAX);
        assert_eq!(
            budget.spent().await,
            (Budget::VirtualTime, MAX_VIRTUAL_TIME.as_secs())
        );
        budget.count_event(&event());
        assert_eq!(spent_by(&budget), None);
        budget.count_event(&event());
        assert_eq!(spent_by(&budget), Some((Budget::Events, 2)));
        let max = 2 * size_of::<Event>() as u64;
        let budget = RunBudget::new(u64::MAX, max, u64::MAX);
        (0..2).for_each(|_| budget.count_event(&event()));
        assert_eq!(spent_by(&budget), Some((Budget::Memory, max)));
        let budget = RunBudget::new(u64::MAX, u64::MAX, 3);
        (0..2).for_each(|_| budget.count_turn());
        assert_eq!(spent_by(&budget), None);
        budget.count_command(|| 0);
        assert_eq!(spent_by(&budget), Some((Budget::Steps, 3)));
    }

    #[tokio::test(start_paused = true)]
    async fn key_changes_count_as_events() {
        let budget = RunBudget::new(100, u64::MAX, u64::MAX);
        (1..KEYS_AFTER).for_each(|_| budget.count_command(|| 100));
        assert_eq!(spent_by(&budget), None);
        budget.count_command(|| 100);
        assert_eq!(spent_by(&budget), Some((Budget::Events, 100)));
    }
}
