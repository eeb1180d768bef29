//! What a simulated run may use up. Virtual time costs nothing and a history is kept in memory, so a
//! run that nothing ends would fill it.

use std::cell::Cell;
use std::time::Duration;

use tokio::sync::Notify;

/// Events of a history: a million arrivals, the most that a scenario may have, make nine million.
const MOST_EVENTS: u64 = 12_000_000;

/// Virtual time: four times as much as a scenario may ask for.
const LONGEST: Duration = Duration::from_secs(4 * 7 * 24 * 3600);

/// The budget of one run.
#[derive(Debug, Default)]
pub(super) struct RunBudget {
    events: Cell<u64>,
    spent: Notify,
}

impl RunBudget {
    /// One more event.
    pub(super) fn count_event(&self) {
        let events = self.events.get() + 1;
        self.events.set(events);
        if events == MOST_EVENTS {
            self.spent.notify_one();
        }
    }

    /// Ready when the run has used up its budget: of what, in words.
    pub(super) async fn spent(&self) -> String {
        tokio::select! {
            biased;
            () = self.spent.notified() => format!("{MOST_EVENTS} events"),
            () = tokio::time::sleep(LONGEST) => {
                format!("{} days of virtual time", LONGEST.as_secs() / (24 * 3600))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_budget_ends_with_its_last_event_or_its_last_day() {
        let budget = RunBudget::default();
        assert_eq!(budget.spent().await, "28 days of virtual time");
        budget.events.set(MOST_EVENTS - 2);
        budget.count_event();
        assert_eq!(budget.spent().now_or_never(), None);
        budget.count_event();
        let spent = budget.spent().now_or_never();
        assert_eq!(spent.as_deref(), Some("12000000 events"));
    }
}
