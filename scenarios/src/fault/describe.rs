//! A fault as text for people.

use std::time::Duration;

use super::action::{Action, DataAction};
use super::plan::FaultPlan;
use super::target::Target;

impl FaultPlan {
    /// Describes the fault for a lease of `ttl`: `pause-client of client 1 for 1.500 s`.
    pub fn describe(&self, target: &Target, ttl: Duration) -> String {
        let mut text = self.kind.as_str().to_owned();
        if let Some(detail) = (self.kind.row().detail)(self) {
            text.push_str(&format!(" of {detail}"));
        }
        if !target.workers.is_empty() {
            text.push_str(&format!(" of client{}", numbers(&target.workers)));
        }
        if !target.nodes.is_empty() {
            use DataAction::{Evict, Exhaust};
            let changes_data =
                |action: &Action| matches!(action, Action::Data(Evict(_) | Exhaust(_)));
            let joint = match self.actions() {
                Some(actions) if actions.iter().any(changes_data) => "on",
                _ if target.workers.is_empty() => "of",
                _ => "and",
            };
            text.push_str(&format!(" {joint} node{}", numbers(&target.nodes)));
        }
        if let Some(by_ns) = self.clock_shift_ns(ttl) {
            text.push_str(&format!(" by {:+.3} s", by_ns as f64 / 1e9));
        }
        if let Some(grace) = self.grace().map(|span| span.resolve(ttl)) {
            text.push_str(&format!(" with a grace of {:.3} s", grace.as_secs_f64()));
        }
        if let Some(lasts) = self.duration.map(|span| span.resolve(ttl)) {
            text.push_str(&format!(" for {:.3} s", lasts.as_secs_f64()));
        }
        text
    }

    /// Returns the shift that the fault applies to wall clocks, in nanoseconds (negative for back), or `None` if it
    /// shifts none.
    pub fn clock_shift_ns(&self, ttl: Duration) -> Option<i64> {
        self.actions()?.iter().find_map(|action| match action {
            Action::ShiftClocks(by) => Some(by.resolve_ns(ttl)),
            _ => None,
        })
    }
}

/// Returns ` 1`, or `s 1, 2`: the text that follows a singular noun.
pub(super) fn numbers(list: &[usize]) -> String {
    let words: Vec<String> = list.iter().map(ToString::to_string).collect();
    let plural = if list.len() == 1 { "" } else { "s" };
    format!("{plural} {}", words.join(", "))
}
