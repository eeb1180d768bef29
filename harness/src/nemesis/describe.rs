//! A fault in words, for people.

use std::time::Duration;

use picklock_scenarios::{FaultKind, FaultPlan, Resource};

use super::target::Target;

/// `pause-client of worker 1 for 1.500 s`.
pub(super) fn describe(plan: &FaultPlan, target: &Target, ttl: Duration) -> String {
    let mut text = plan.kind.word().to_owned();
    match plan.what {
        Some(Resource::Memory) => text.push_str(" of memory"),
        Some(Resource::Connections) => text.push_str(" of connections"),
        None => {}
    }
    if let Some(keys) = &plan.keys {
        text.push_str(&format!(" of key{}", numbers(keys)));
    }
    if !target.workers.is_empty() {
        text.push_str(&format!(" of worker{}", numbers(&target.workers)));
    }
    if !target.nodes.is_empty() {
        let joint = match plan.kind {
            FaultKind::Evict | FaultKind::Exhaust => "on",
            _ if target.workers.is_empty() => "of",
            _ => "and",
        };
        text.push_str(&format!(" {joint} node{}", numbers(&target.nodes)));
    }
    if let Some(by) = plan.by.filter(|_| plan.kind.is_of_a_clock()) {
        let ahead = by.resolve_ns(ttl) as f64 / 1e9;
        text.push_str(&format!(" by {ahead:+.3} s"));
    }
    if let Some(lasts) = plan.duration.map(|span| span.resolve(ttl)) {
        text.push_str(&format!(" for {:.3} s", lasts.as_secs_f64()));
    }
    text
}

pub(super) fn numbers(of: &[usize]) -> String {
    let words: Vec<String> = of.iter().map(ToString::to_string).collect();
    let plural = if of.len() == 1 { "" } else { "s" };
    format!("{plural} {}", words.join(", "))
}
