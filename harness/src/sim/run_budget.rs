//! What a simulated run may use up. Virtual time costs nothing and a history is kept in memory, so a
//! run that nothing ends would fill it, or go on for hours.
//!
//! Everything is counted in what the simulation itself does, and nothing in real time: the same run ends at the
//! same event on every machine.

use std::cell::Cell;
use std::time::Duration;

use tokio::sync::Notify;

use crate::history::{Budget, Event, EventKind};
use crate::spec::RunSpec;

/// Virtual time: four times as much as a scenario may ask for.
const LONGEST: Duration = Duration::from_secs(4 * 7 * 24 * 3600);

/// What any run may use up, and what it may for each unit that is to be sold or buyer that is to come.
const EVENTS: (u64, u64) = (2_000_000, 14);
const BYTES: (u64, u64) = (512 << 20, 2 << 10);
const STEPS: (u64, u64) = (20_000_000, 100);

/// So many units count of a stock, and so many buyers: the most that a scenario may have.
const MAX_UNITS: u64 = 100_000;
const MAX_BUYERS: u64 = 1_000_000;

/// After so many commands the changed keys are counted.
const KEYS_AFTER: u64 = 4096;

#[derive(Debug)]
pub(super) struct RunBudget {
    most_events: u64,
    most_bytes: u64,
    most_steps: u64,
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
        let most = |(always, each): (u64, u64)| always + each * units;
        RunBudget::new(most(EVENTS), most(BYTES), most(STEPS))
    }

    pub(super) fn new(most_events: u64, most_bytes: u64, most_steps: u64) -> Self {
        RunBudget {
            most_events,
            most_bytes,
            most_steps,
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
        let bytes = size_of::<Event>() + text_of(&event.what);
        self.bytes.set(self.bytes.get() + bytes as u64);
        self.must_last();
    }

    pub(super) fn count_turn(&self) {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps >= self.most_steps {
            self.must_last();
        }
    }

    /// One more command. `key_changes`: how many changes of keys there are so far.
    pub(super) fn count_command(&self, key_changes: impl Fn() -> usize) {
        self.count_turn();
        let commands = self.commands.get() + 1;
        self.commands.set(commands);
        if commands.is_multiple_of(KEYS_AFTER) {
            self.key_changes.set(key_changes() as u64);
            self.must_last();
        }
    }

    fn must_last(&self) {
        let (events, steps, keys) = (self.events.get(), self.steps.get(), self.key_changes.get());
        let bytes = self.bytes.get() + keys * size_of::<Event>() as u64;
        let (budget, most) = if events + keys >= self.most_events {
            (Budget::Events, self.most_events)
        } else if bytes >= self.most_bytes {
            (Budget::Memory, self.most_bytes)
        } else if steps >= self.most_steps {
            (Budget::Steps, self.most_steps)
        } else {
            return;
        };
        if self.spent.get().is_none() {
            self.spent.set(Some((budget, most)));
            self.is_spent.notify_one();
        }
    }

    /// Ready when the run has used up a budget: which, and how much that was.
    pub(super) async fn spent(&self) -> (Budget, u64) {
        tokio::select! {
            biased;
            () = self.is_spent.notified() => {}
            () = tokio::time::sleep(LONGEST) => {}
        }
        let virtual_time = (Budget::VirtualTime, LONGEST.as_secs());
        self.spent.get().unwrap_or(virtual_time)
    }
}

/// The bytes of the texts in an event that comes often.
fn text_of(what: &EventKind) -> usize {
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
    async fn budget_ends_with_its_last_event_byte_step_or_day() {
        let budget = RunBudget::new(2, u64::MAX, u64::MAX);
        assert_eq!(
            budget.spent().await,
            (Budget::VirtualTime, LONGEST.as_secs())
        );
        budget.count_event(&event());
        assert_eq!(spent_by(&budget), None);
        budget.count_event(&event());
        assert_eq!(spent_by(&budget), Some((Budget::Events, 2)));
        let most = 2 * size_of::<Event>() as u64;
        let budget = RunBudget::new(u64::MAX, most, u64::MAX);
        (0..2).for_each(|_| budget.count_event(&event()));
        assert_eq!(spent_by(&budget), Some((Budget::Memory, most)));
        let budget = RunBudget::new(u64::MAX, u64::MAX, 3);
        (0..2).for_each(|_| budget.count_turn());
        assert_eq!(spent_by(&budget), None);
        budget.count_command(|| 0);
        assert_eq!(spent_by(&budget), Some((Budget::Steps, 3)));
    }

    #[tokio::test(start_paused = true)]
    async fn changes_of_keys_are_events_of_a_history() {
        let budget = RunBudget::new(100, u64::MAX, u64::MAX);
        (1..KEYS_AFTER).for_each(|_| budget.count_command(|| 100));
        assert_eq!(spent_by(&budget), None);
        budget.count_command(|| 100);
        assert_eq!(spent_by(&budget), Some((Budget::Events, 100)));
    }
}
