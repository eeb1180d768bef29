//! Checks of durations. The parser limits absolute durations; relative durations can be limited only once the lease is
//! known.

use std::time::Duration;

use crate::fault::FaultPlan;
use crate::lease_duration::{LeaseDuration, MAX_DURATION};
use crate::problem::Problem;
use crate::scenario::Scenario;

pub(super) fn durations(scenario: &Scenario) -> Result<(), Problem> {
    let workload = &scenario.workload;
    // At this point the ttl is known to be absolute.
    let ttl = workload.ttl.resolve(Duration::ZERO);
    let named = [
        ("ttl", Some(workload.ttl)),
        ("section", Some(workload.section)),
        ("short_lease", workload.short_lease),
        ("reader_think", workload.reader_think),
        ("act_every", workload.act_every),
        ("extend", workload.extend),
        ("reenter", workload.reenter),
        ("cancel", workload.cancel),
        ("wait", Some(workload.wait)),
        ("again", Some(workload.again)),
        ("think", Some(workload.think)),
        ("command_timeout", Some(workload.command_timeout)),
        ("duration", workload.duration),
        ("limit", Some(workload.limit)),
    ];
    for (field, duration) in named {
        bounded(&["workload", field], duration, ttl)?;
    }
    if let Some(schedule) = &workload.schedule {
        let path = |field| ["workload", "schedule", field];
        bounded(&path("interval"), Some(schedule.interval), ttl)?;
        bounded(&path("clock_shift"), Some(schedule.clock_shift), ttl)?;
    }
    let within = scenario.judge.progress_within;
    bounded(&["judge", "progress_within"], Some(within), ttl)?;
    if workload.command_timeout.resolve(ttl) < Duration::from_millis(1) {
        let text = format!(
            "{} for a command: no server answers in that time; expected 1ms or more",
            workload.command_timeout
        );
        return Err(Problem::at(&["workload", "command_timeout"], text));
    }
    Ok(())
}

/// Checks the durations of one fault for a lease of `ttl`.
pub(super) fn fault_durations(plan: &FaultPlan, ttl: Duration) -> Result<(), Problem> {
    bounded(&["at"], plan.at, ttl)?;
    bounded(&["for"], plan.duration, ttl)?;
    bounded(&["grace"], plan.grace, ttl)?;
    bounded(&["by"], plan.by.map(|by| by.span), ttl)?;
    bounded(&["jitter"], plan.jitter, ttl)
}

fn bounded(path: &[&str], duration: Option<LeaseDuration>, ttl: Duration) -> Result<(), Problem> {
    let too_long = duration.filter(|duration| duration.resolve(ttl) > MAX_DURATION);
    let Some(duration) = too_long else {
        return Ok(());
    };
    let hours = |duration: Duration| duration.as_secs() / 3600;
    let text = format!(
        "{duration} is {} h with a ttl of {}; expected {} h (a week) at most",
        hours(duration.resolve(ttl)),
        LeaseDuration::Absolute(ttl),
        hours(MAX_DURATION)
    );
    Err(Problem::at(path, text))
}
