//! The behaviour of applications in and around a section: failing sections, repeated acquisition, and clients that end
//! or cancel.

use std::time::Duration;

use picklock_harness::Trial;
use picklock_harness::check::{Property, Status};
use picklock_harness::history::{EventKind, Misbehaviour};
use picklock_harness::sim::LockFactory;
use picklock_harness::trial::{Outcome, TrialRun};
use picklock_impls::{Context, DynLock, Grant, Lock, LockError, Node, find};
use picklock_scenarios::catalog;

fn built_in(lock: &str, scenario: &str) -> Outcome {
    let lock = LockFactory::built_in(find(lock).unwrap());
    let trial = Trial::scenario(scenario).unwrap().seeds(0..5);
    trial.run_lock(&lock).unwrap()
}

fn count(run: &TrialRun, is_it: impl Fn(&EventKind) -> bool) -> usize {
    let events = run.history.events.iter();
    events.filter(|event| is_it(&event.what)).count()
}

#[test]
fn failing_section_sells_nothing_and_is_released() {
    for run in built_in("set-nx-px", "failing-section").runs() {
        let mut failed = 0;
        for event in &run.history.events {
            let EventKind::SectionFailed { worker, op } = event.what else {
                continue;
            };
            failed += 1;
            let sells = |what: &EventKind| matches!(what, EventKind::StockChanged { op: sold, .. } if *sold == op);
            assert_eq!(count(run, sells), 0);
            let released = |what: &EventKind| matches!(what, EventKind::Released { worker: by, op: released, released: Some(true), .. } if (*by, *released) == (worker, op));
            assert_eq!(count(run, released), 1);
        }
        assert!((1..=3).contains(&failed), "{failed} sections failed");
    }
}

#[test]
fn reentrant_lock_is_held_until_the_outer_release() {
    let outcome = built_in("reentrant", "reentrant");
    for property in [Property::Exclusion, Property::Lease, Property::Claims] {
        outcome.assert_held(property);
    }
    for run in outcome.runs() {
        let twice = |what: &EventKind| matches!(what, EventKind::Reentered { granted: true, .. });
        let back = |what: &EventKind| matches!(what, EventKind::InnerReleased { .. });
        assert!(count(run, twice) >= 4);
        assert_eq!(count(run, twice), count(run, back));
    }
}

/// `set-nx-px` that declares reentrancy and does not support it.
struct OverstatesFeatures(Box<dyn DynLock>);

impl Lock for OverstatesFeatures {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        self.0.acquire(key, ttl, wait).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        self.0.release(key, grant).await
    }

    fn is_reentrant(&self) -> bool {
        true
    }
}

#[test]
fn falsely_declared_reentrancy_is_not_applicable() {
    let trial = Trial::scenario("reentrant").unwrap().seeds([1]);
    let build = |nodes: Vec<Node>, context: Context| {
        OverstatesFeatures((find("set-nx-px").unwrap().build)(nodes, context))
    };
    let outcome = trial.run("boastful", 1, build).unwrap();
    let progress = &outcome.runs()[0].verdicts[&Property::Progress];
    assert_eq!(progress.status, Status::NotApplicable);
    let story = progress.story.join("\n");
    assert_eq!(story, "the lock does not offer re-entry by its holder");
}

#[test]
fn ended_client_dies_once_and_sends_no_more_requests() {
    for run in built_in("watchdog", "ended-client").runs() {
        let died = |what: &EventKind| matches!(what, EventKind::WorkerDown { worker: 0, .. });
        assert_eq!(count(run, died), 1);
        let events = run.history.events.iter();
        let after = events.skip_while(|event| !died(&event.what)).skip(1);
        let requests = |what: &EventKind| {
            matches!(
                what,
                EventKind::Acquire { worker: 0, .. } | EventKind::Extended { worker: 0, .. }
            )
        };
        assert_eq!(after.filter(|event| requests(&event.what)).count(), 0);
    }
}

/// A lock that never answers, even if it receives `cancel`.
struct NeverAnswers;

impl Lock for NeverAnswers {
    async fn acquire(
        &mut self,
        _: &str,
        _: Duration,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        std::future::pending().await
    }

    async fn release(&mut self, _: &str, _: &Grant) -> Result<bool, LockError> {
        Ok(false)
    }
}

#[test]
fn unanswered_cancel_hangs_and_kills_its_client() {
    let trial = Trial::scenario("cancel-waiting").unwrap().seeds([1]);
    let outcome = trial.run("deaf", 1, |_, _| NeverAnswers).unwrap();
    let run = &outcome.runs()[0];
    for worker in 0..4 {
        let belongs = |what: &EventKind| what.worker() == Some(worker);
        let cancelled =
            |what: &EventKind| belongs(what) && matches!(what, EventKind::Cancel { .. });
        assert_eq!(count(run, cancelled), 1);
        let hung = |what: &EventKind| {
            belongs(what)
                && matches!(what, EventKind::Misbehaved { kind: Misbehaviour::Hung, detail, .. } if detail.contains("`acquire`"))
        };
        assert_eq!(count(run, hung), 1);
        let died = |what: &EventKind| belongs(what) && matches!(what, EventKind::WorkerDown { .. });
        assert_eq!(count(run, died), 1);
    }
    let mut verdicts = run.verdicts.values();
    assert!(!verdicts.any(|verdict| verdict.status == Status::Held));
}

/// The simulation has no threads, so this is a fault neither of the machine nor of the scenario.
#[test]
fn blocked_thread_is_not_applicable_in_the_simulation() {
    let mut scenario = catalog::named("blocked-loop").unwrap();
    scenario.faults[0] = serde_json::from_value(serde_json::json!({
        "kind": "pause-task", "scope": "thread", "when": { "on": "stock-read" }, "for": "1.5ttl"
    }))
    .unwrap();
    let lock = LockFactory::built_in(find("set-nx-px").unwrap());
    let outcome = Trial::from_scenario(scenario).seeds([1]).run_lock(&lock);
    let outcome = outcome.unwrap();
    let exclusion = &outcome.runs()[0].verdicts[&Property::Exclusion];
    assert_eq!(exclusion.status, Status::NotApplicable);
    let story = exclusion.story.join("\n");
    assert_eq!(story, "the lock does not offer a blocked thread");
}
