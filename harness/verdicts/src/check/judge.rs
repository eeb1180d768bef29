//! One pass over a history, all checkers at once.

use crate::history::{Event, Header, History};
use crate::timeline::{Attempt, AttemptTracker, Step};

use super::checker::Checker;
use super::evidence::Evidence;
use super::exclusion::Exclusion;
use super::fencing::Fencing;
use super::lease::LeaseOverlap;
use super::ownership::Ownership;
use super::progress::Progress;
use super::resource::Resource;
use super::sufficiency::Sufficiency;
use super::verdict::{Property, Status, Verdict, Verdicts};

/// The table of checkers: one line each. They are called by name and not through pointers,
/// because most have nothing to do at most events, and saying so must not cost a call.
macro_rules! checkers {
    ($($name:ident: $checker:ty, $property:expr, $make:expr;)*) => {
        struct Checkers {
            $($name: $checker,)*
        }

        impl Checkers {
            fn new(header: &Header) -> Self {
                Checkers {
                    $($name: $make(header),)*
                }
            }

            fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
                $(self.$name.step(at_ns, attempt, step);)*
            }

            fn event(&mut self, event: &Event) {
                $(self.$name.event(event);)*
            }

            fn finish(self, evidence: &Evidence<'_>) -> Vec<(Property, Verdict)> {
                vec![$(($property, Box::new(self.$name).finish(evidence)),)*]
            }
        }
    };
}

checkers! {
    exclusion: Exclusion, Property::Exclusion, |run: &Header| Exclusion::new(run.keys.len());
    lease: LeaseOverlap, Property::Lease, |run: &Header| LeaseOverlap::new(run.keys.len());
    resource: Resource, Property::Resource,
        |run: &Header| Resource::new(run.keys.len(), run.stock_start);
    ownership: Ownership, Property::Ownership, |run: &Header| Ownership::new(run.keys.len());
    fencing: Fencing, Property::Fencing,
        |run: &Header| Fencing::new(run.workers, run.keys.len());
    progress: Progress, Property::Progress, Progress::new;
}

/// Judges a history: one verdict for each property.
pub fn judge(history: &History) -> Verdicts {
    let mut checkers = Checkers::new(&history.header);
    let mut sufficiency = Sufficiency::new(&history.header);
    let mut tracker = AttemptTracker::new(history.header.workers);
    let mut end_ns = 0;
    for event in &history.events {
        end_ns = event.at_ns;
        let followed = tracker.event(event, |attempt, step| {
            sufficiency.step(event.at_ns, attempt, step);
            checkers.step(event.at_ns, attempt, step);
        });
        if !followed {
            sufficiency.event(event);
            checkers.event(event);
        }
    }
    tracker.close(end_ns, |attempt, step| {
        sufficiency.step(end_ns, attempt, step);
        checkers.step(end_ns, attempt, step);
    });
    let evidence = Evidence::new(history);
    let too_little = sufficiency.reasons(end_ns);
    let verdicts = checkers.finish(&evidence).into_iter();
    verdicts
        .map(|(property, verdict)| (property, hedged(verdict, &too_little)))
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
