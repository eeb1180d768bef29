//! One pass over a history, all checkers at once.

use crate::history::{Header, History};

use super::checker::Checker;
use super::evidence::Evidence;
use super::exclusion::Exclusion;
use super::fencing::Fencing;
use super::follower::Follower;
use super::lease::LeaseOverlap;
use super::ownership::Ownership;
use super::progress::Progress;
use super::resource::Resource;
use super::sufficiency::Sufficiency;
use super::verdict::{Property, Status, Verdict, Verdicts};

/// The table of checkers: one line each.
fn checkers(header: &Header) -> Vec<(Property, Box<dyn Checker>)> {
    let keys = header.keys.len();
    vec![
        (Property::Exclusion, Box::new(Exclusion::new(keys))),
        (Property::Lease, Box::new(LeaseOverlap::new(keys))),
        (
            Property::Resource,
            Box::new(Resource::new(keys, header.stock_start)),
        ),
        (Property::Ownership, Box::new(Ownership::new(keys))),
        (
            Property::Fencing,
            Box::new(Fencing::new(header.workers, keys)),
        ),
        (Property::Progress, Box::new(Progress::new(header))),
    ]
}

/// Judges a history: one verdict for each property.
pub fn judge(history: &History) -> Verdicts {
    let mut checkers = checkers(&history.header);
    let mut sufficiency = Sufficiency::new(&history.header);
    let mut follower = Follower::new(history.header.workers);
    let mut end_ns = 0;
    for event in &history.events {
        end_ns = event.at_ns;
        let followed = follower.event(event, |attempt, step| {
            sufficiency.step(event.at_ns, attempt, step);
            for (_, checker) in &mut checkers {
                checker.step(event.at_ns, attempt, step);
            }
        });
        if !followed {
            sufficiency.event(event);
            for (_, checker) in &mut checkers {
                checker.event(event);
            }
        }
    }
    follower.close(end_ns, |attempt, step| {
        sufficiency.step(end_ns, attempt, step);
        for (_, checker) in &mut checkers {
            checker.step(end_ns, attempt, step);
        }
    });
    let evidence = Evidence::new(history);
    let too_little = sufficiency.reasons(end_ns);
    checkers
        .into_iter()
        .map(|(property, checker)| (property, hedged(checker.finish(&evidence), &too_little)))
        .collect()
}

/// Takes back a `held` that rests on too little.
fn hedged(verdict: Verdict, too_little: &[String]) -> Verdict {
    if verdict.status != Status::Held || too_little.is_empty() {
        return verdict;
    }
    Verdict {
        story: too_little.to_vec(),
        ..Verdict::unknown("")
    }
}
