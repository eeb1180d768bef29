//! A fault in words, for people.

use std::time::Duration;

use super::action::{Action, DataAction};
use super::plan::FaultPlan;
use super::target::Target;

impl FaultPlan {
    /// `pause-client of worker 1 for 1.500 s`, for a lease of `ttl`.
    pub fn describe(&self, target: &Target, ttl: Duration) -> String {
        let mut text = self.kind.as_str().to_owned();
        if let Some(of) = (self.kind.row().of)(self) {
            text.push_str(&format!(" of {of}"));
        }
        if !target.workers.is_empty() {
            text.push_str(&format!(" of worker{}", numbers(&target.workers)));
        }
        if !target.nodes.is_empty() {
            use DataAction::{Evict, Exhaust};
            let of_the_data =
                |action: &Action| matches!(action, Action::Data(Evict(_) | Exhaust(_)));
            let joint = match self.actions() {
                Some(actions) if actions.iter().any(of_the_data) => "on",
                _ if target.workers.is_empty() => "of",
                _ => "and",
            };
            text.push_str(&format!(" {joint} node{}", numbers(&target.nodes)));
        }
        if let Some(by_ns) = self.clock_shift_ns(ttl) {
            text.push_str(&format!(" by {:+.3} s", by_ns as f64 / 1e9));
        }
        if let Some(lasts) = self.duration.map(|span| span.resolve(ttl)) {
            text.push_str(&format!(" for {:.3} s", lasts.as_secs_f64()));
        }
        text
    }

    /// How far it sets wall clocks forward, in nanoseconds; negative: back. `None`: not at all.
    pub fn clock_shift_ns(&self, ttl: Duration) -> Option<i64> {
        self.actions()?.iter().find_map(|action| match action {
            Action::ShiftClocks(by) => Some(by.resolve_ns(ttl)),
            _ => None,
        })
    }
}

/// ` 1`, or `s 1, 2`: what follows the word for one of them.
pub(super) fn numbers(of: &[usize]) -> String {
    let words: Vec<String> = of.iter().map(ToString::to_string).collect();
    let plural = if of.len() == 1 { "" } else { "s" };
    format!("{plural} {}", words.join(", "))
}
